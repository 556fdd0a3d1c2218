"""The keys of the list of sessions."""

from __future__ import annotations

from typing import Final

from claude_session_player.tui.keys import Key
from claude_session_player.tui.row_table import MOVE

_PLAY: Final = Key(("enter",), ("screen.play(False)",), "Enter", "play", "play the session")
_ALL: Final = Key(("escape",), ("screen.widen",), "Esc", "all", "show all sessions again")

KEYS: Final = (
    _PLAY,
    Key(("f",), ("screen.play(True)",), "f", "follow", "follow it: what happens now, as it happens"),
    Key(("v",), ("screen.summary",), "v", "summary", "what it comes to: time, tools, files, tokens, cost"),
    Key(("e",), ("screen.export",), "e", "export", "write it into a file"),
    Key(("y",), ("screen.copy",), "y", "copy", "copy the command that goes on with it"),
    Key(("slash",), ("screen.filter",), "/", "find", "find: type words, each has to be in it", is_first=True),
    Key(("s", "S"), ("screen.sort", "screen.reverse"), "s S", "sort", "sort by what comes next; turn the order around"),
    Key(("p",), ("screen.projects",), "p", "project", "choose a project"),
    Key(("a",), ("screen.subagents",), "a", "sub-agents", "show sub-agents as well, or not"),
    Key(("r",), ("screen.reload",), "r", "reload", "read the stores again"),
    _ALL,
    MOVE,
    Key(("question_mark",), ("screen.help",), "?", "help", "this help"),
    Key(("q",), ("app.quit",), "q", "quit", "quit"),
)
"""Those of the table."""
FILTER_KEYS: Final = (
    _PLAY,
    Key(("down,up",), ("screen.table",), "↑ ↓", "to the table", "while words are typed: back to the table"),
    _ALL,
)
"""Those of the line in which words are typed."""
