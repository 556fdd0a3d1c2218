"""The keys of the player."""

from __future__ import annotations

from typing import Final

from claude_session_player.tui.keys import Key

_BACK: Final = Key(("escape",), ("back",), "Esc", "back", "end the search, else back to the caller or list")

KEYS: Final = (
    Key(("space",), ("pause",), "space", "pause", "pause; or go on, and return to what is played"),
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
    Key(
        ("home", "end"),
        ("home", "end"),
        "Home End",
        "ends",
        "first or last frame; after scrolling, End returns",
    ),
    Key(("slash",), ("screen.search",), "/", "search", "search, also in what is cut off on the screen", is_first=True),
    Key(("n", "N"), ("hit(1)", "hit(-1)"), "n N", "hit", "next or previous hit"),
    Key(("t",), ("thinking",), "t", "thinking", "show thoughts, or not"),
    Key(("up", "down"), ("cursor(-1)", "cursor(1)"), "↑ ↓", "cursor", "move the cursor"),
    Key(("enter",), ("expand",), "Enter", "expand", "all of the element: result, diff, list, picture"),
    Key(
        ("pageup", "pagedown"),
        ("page(-1)", "page(1)"),
        "PgUp PgDn",
        "scroll",
        "scroll: it plays on, and End or any step returns",
    ),
    Key(("s",), ("agent",), "s", "sub-agent", "into the sub-agent at the cursor, or above it, and back"),
    _BACK,
    Key(("h",), ("history",), "h", "history", "keep what was before a compaction, or not"),
    Key(("c",), ("copy",), "c", "copy", "copy the element at the cursor"),
    Key(("question_mark",), ("help",), "?", "help", "this help"),
    Key(("q",), ("app.quit",), "q", "quit", "quit, from anywhere"),
)
"""All of them."""
ASKING_KEYS: Final = (
    Key(("enter",), (), "Enter", "go", "go there, or search"),
    Key(("escape",), (), "Esc", "cancel", "ask for nothing"),
)
"""What keys do while something is typed; the line in which it is typed has them."""


def footer_keys(*, has_search: bool, can_go_back: bool) -> tuple[Key, ...]:
    """The keys that do something now, each with the word for it."""
    word = "end search" if has_search else "back" if can_go_back else None
    return tuple(key._replace(word=word or "") if key is _BACK else key for key in KEYS if word or key is not _BACK)
