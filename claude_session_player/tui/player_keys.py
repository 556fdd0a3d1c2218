"""The keys of the player."""

from __future__ import annotations

from typing import Final

from claude_session_player.tui.keys import Key

KEYS: Final = (
    Key(("space",), ("pause",), "space", "pause", "pause, or go on"),
    Key(("right", "left"), ("step(1)", "step(-1)"), "→ ←", "frame", "next or previous frame"),
    Key(("shift+right", "shift+left"), ("chapter(1)", "chapter(-1)"), "⇧→ ⇧←", "prompt", "next or previous prompt"),
    Key(
        (*"123456789", "plus,equals_sign", "minus"),
        (*(f"speed({number})" for number in range(9)), "faster(1)", "faster(-1)"),
        "1-9 + -",
        "speed",
        "speed: 1 is 0.25×, 3 is 1×, 9 is 64×; faster, slower",
    ),
    Key(("r",), ("real_time",), "r", "real time", "real time: with all pauses, or without"),
    Key(("p",), ("paced",), "p", "paced", "paced: each frame as long as its text needs, or not"),
    Key(("g",), ("screen.goto",), "g", "go to", "go to a line, a percentage, a time or a moment", is_first=True),
    Key(("home", "end"), ("home", "end"), "Home End", "ends", "first or last frame"),
    Key(("slash",), ("screen.search",), "/", "search", "search, also in what is cut off on the screen", is_first=True),
    Key(("n", "N"), ("hit(1)", "hit(-1)"), "n N", "hit", "next or previous hit"),
    Key(("t",), ("thinking",), "t", "thinking", "show thoughts, or not"),
    Key(("up", "down"), ("cursor(-1)", "cursor(1)"), "↑ ↓", "cursor", "move the cursor"),
    Key(("enter",), ("expand",), "Enter", "expand", "all of the element: result, diff, list, picture"),
    Key(("pageup", "pagedown"), ("page(-1)", "page(1)"), "PgUp PgDn", "scroll", "scroll what is shown"),
    Key(("s",), ("agent",), "s", "sub-agent", "into the sub-agent at the cursor, or above it, and back"),
    Key(("escape",), ("back",), "Esc", "back", "back from a sub-agent, or from a search"),
    Key(("h",), ("history",), "h", "history", "keep what was before a compaction, or not"),
    Key(("c",), ("copy",), "c", "copy", "copy the element at the cursor"),
    Key(("question_mark",), ("help",), "?", "help", "this help"),
    Key(("q",), ("leave",), "q", "quit", "quit"),
)
