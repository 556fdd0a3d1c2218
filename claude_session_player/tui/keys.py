"""The keys of all screens: bindings, footer and help are made from the same tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widget import Widget

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL_WIDTH: Final = 14


class Key(NamedTuple):
    """Keys for one purpose, with a label and a word for the footer and a sentence for the help."""

    keys: tuple[str, ...]
    """As Textual names them."""
    actions: tuple[str, ...]
    """One for all keys, or one for each of them."""
    label: str
    word: str
    about: str
    has_priority: bool = False
    """It is handled first, so that whatever is typed after it, however fast, goes to the line that it opens."""


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """The bindings of these keys, as Textual needs them."""
    return [
        Binding(
            name, key.actions[number if len(key.actions) > 1 else 0], key.word, show=False, priority=key.has_priority
        )
        for key in keys
        for number, name in enumerate(key.keys)
    ]


def footer_lines(keys: Sequence[Key], width: int) -> list[Text]:
    """All keys with a word each, on as many lines as needed; a key and its word stay on one line."""
    lines = [Text()]
    for key in keys:
        one = Text.assemble((key.label, "bold"), (f" {key.word}", "dim"))
        if lines[-1] and lines[-1].cell_len + 2 + one.cell_len > width:
            lines.append(one)
        else:
            lines[-1] = Text("  ").join([lines[-1], one]) if lines[-1] else one
    return lines


def help_text(keys: Sequence[Key]) -> Text:
    """All keys, one per line, with what they do."""
    text = Text()
    for key in keys:
        text.append(f"  {key.label:<{_LABEL_WIDTH}}", style="bold")
        text.append(f"{key.about}\n")
    return text


class KeyBar(Widget):
    """The footer: every key and a word for it. Its height stays the same when other keys are shown."""

    DEFAULT_CSS = "KeyBar { height: auto; }"

    def __init__(self, *tables: Sequence[Key]) -> None:
        """The tables of keys that may be shown; the first one is shown first."""
        super().__init__()
        self._tables = tables
        self._keys = tables[0]

    def show(self, keys: Sequence[Key]) -> None:
        """Show another table of keys."""
        self._keys = keys
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the longest table needs."""
        return max(len(footer_lines(keys, width)) for keys in self._tables)

    def render(self) -> Text:
        """The keys that are shown."""
        return Text("\n").join(footer_lines(self._keys, self.size.width))


# --- the player -------------------------------------------------------------------------------------

_BACK: Final = Key(("escape",), ("back",), "Esc", "back", "end the search, or go back")

PLAYER_KEYS: Final = (
    Key(("space",), ("pause",), "space", "pause", "pause, or resume and catch up"),
    Key(("right", "left"), ("step(1)", "step(-1)"), "→ ←", "frame", "next or previous frame"),
    Key(("shift+right", "shift+left"), ("chapter(1)", "chapter(-1)"), "⇧→ ⇧←", "prompt", "next or previous prompt"),
    Key(
        (*"123456789", "plus,equals_sign", "minus"),
        (*(f"speed({number})" for number in range(9)), "faster(1)", "faster(-1)"),
        "1-9 + -",
        "speed",
        "speed: 1 is 0.25×, 3 is 1×, 9 is 64×; faster, slower",
    ),
    Key(("r",), ("real_time",), "r", "real time", "keep idle gaps at full length, or shorten them"),
    Key(("p",), ("paced",), "p", "paced", "time each frame by the length of its text, or not"),
    Key(("g",), ("screen.goto",), "g", "go to", "go to a line, percentage, time or timestamp", has_priority=True),
    Key(("home", "end"), ("home", "end"), "Home End", "ends", "first or last frame; after scrolling, End catches up"),
    Key(("slash",), ("screen.search",), "/", "search", "search, including truncated text", has_priority=True),
    Key(("n", "N"), ("match(1)", "match(-1)"), "n N", "next", "next or previous match"),
    Key(("t",), ("thinking",), "t", "thinking", "show or hide thinking"),
    Key(("up", "down"), ("cursor(-1)", "cursor(1)"), "↑ ↓", "cursor", "move the cursor"),
    Key(("enter",), ("expand",), "Enter", "expand", "expand or collapse: result, diff, todo list, image"),
    Key(
        ("pageup", "pagedown"),
        ("page(-1)", "page(1)"),
        "PgUp PgDn",
        "scroll",
        "scrolling back pauses following; press End to catch up",
    ),
    Key(("s",), ("agent",), "s", "sub-agent", "open the sub-agent at or above the cursor, or go back"),
    _BACK,
    Key(("h",), ("history",), "h", "history", "include messages from before compactions, or not"),
    Key(("c",), ("copy",), "c", "copy", "copy the element at the cursor"),
    Key(("question_mark",), ("help",), "?", "help", "show this help"),
    Key(("q",), ("app.quit",), "q", "quit", "quit"),
)
PROMPT_KEYS: Final = (
    Key(("enter",), (), "Enter", "go", "go there, or search"),
    Key(("escape",), (), "Esc", "cancel", "cancel"),
)
"""What the footer shows while a position or search words are typed; the search bar binds them."""


def footer_keys(*, has_search: bool, can_go_back: bool) -> tuple[Key, ...]:
    """The player's keys that do something now, each with the word for it."""
    word = "end search" if has_search else "back" if can_go_back else None
    return tuple(
        key._replace(word=word or "") if key is _BACK else key for key in PLAYER_KEYS if word or key is not _BACK
    )


# --- the list of sessions ---------------------------------------------------------------------------

MOVE: Final = Key(
    ("up,k", "down,j", "pageup", "pagedown", "home", "end"),
    ("move(-1)", "move(1)", "page(-1)", "page(1)", "first", "last"),
    "↑ ↓",
    "move",
    "move; also k, j, PgUp, PgDn, Home, End and the mouse; click a heading to sort",
)
_PLAY: Final = Key(
    ("enter",), ("screen.choose",), "Enter", "play", "play the session, or play from the hit; unfold or fold a group"
)
_FOLLOW: Final = Key(("f",), ("screen.play(True)",), "f", "follow", "follow the session as it is written")
_SUMMARY: Final = Key(("v",), ("screen.summary",), "v", "summary", "show duration, tool use, files, tokens and cost")
_EXPORT: Final = Key(("e",), ("screen.export",), "e", "export", "export the session to a file")
_COPY: Final = Key(("y",), ("screen.copy",), "y", "copy", "copy the command that resumes it, or plays the hit")
_FILTER: Final = Key(
    ("slash",), ("screen.filter",), "/", "filter", "show only sessions with all these words", has_priority=True
)
_SEARCH: Final = Key(
    ("ctrl+f",), ("screen.search",), "^F", "search", "search everything in all sessions; also //", has_priority=True
)
_FOLD: Final = Key(
    ("x", "X"),
    ("screen.fold", "screen.fold_all"),
    "x X",
    "unfold",
    "unfold or fold the headless runs, or the same prompts, at the cursor; all of them",
)
_PART: Final = Key(
    ("b",), ("screen.part",), "b", "end", "preview the beginning or the end; first the hit, if there is one"
)
_SCROLL: Final = Key(
    ("J,shift+down", "K,shift+up"),
    ("screen.scroll(1)", "screen.scroll(-1)"),
    "J K",
    "scroll",
    "scroll the preview; also ⇧↓ ⇧↑ and the wheel",
)
_SORT: Final = Key(("s", "S"), ("screen.sort", "screen.reverse"), "s S", "sort", "change the sort order; reverse it")
_PROJECT: Final = Key(("p",), ("screen.projects",), "p", "project", "choose a project")
_RELOAD: Final = Key(("r",), ("screen.reload",), "r", "reload", "read the stores again")
_ALL: Final = Key(("escape",), ("screen.widen",), "Esc", "all", "clear the filter or search, and show all sessions")
_HELP: Final = Key(("question_mark",), ("screen.help",), "?", "help", "show this help")
_QUIT: Final = Key(("q",), ("app.quit",), "q", "quit", "quit")
NEXT_HIT: Final = Key(
    ("n", "N"), ("screen.hit(1)", "screen.hit(-1)"), "n N", "next hit", "next or previous hit of the search"
)

BROWSE_KEYS: Final = (
    _PLAY,
    _SEARCH,
    _FILTER,
    _FOLD,
    _SORT,
    _SUMMARY,
    _FOLLOW,
    _PROJECT,
    _PART,
    _SCROLL,
    _EXPORT,
    _COPY,
    Key(("a",), ("screen.subagents",), "a", "sub-agents", "show or hide sub-agents"),
    _RELOAD,
    _ALL,
    MOVE,
    _HELP,
    _QUIT,
)
GROUP_KEYS: Final = (_PLAY._replace(word="unfold"), *(key for key in BROWSE_KEYS[1:] if key is not _FOLD))
OPEN_GROUP_KEYS: Final = (_PLAY._replace(word="fold"), *GROUP_KEYS[1:])
"""The keys of the table while the cursor is on a group: the others work with its latest session."""
HIT_KEYS: Final = (
    _PLAY,
    NEXT_HIT,
    _SEARCH,
    _FILTER,
    _SORT._replace(label="s", word="order"),
    _SUMMARY,
    _FOLLOW,
    _PROJECT,
    _PART._replace(word="beginning"),
    _SCROLL,
    _EXPORT,
    _COPY,
    _RELOAD,
    _ALL,
    MOVE,
    _HELP,
    _QUIT,
)
"""The keys of the table while it shows what a search found."""
FILTER_KEYS: Final = (
    _PLAY,
    Key(("down,up",), ("screen.table",), "↑ ↓", "to the table", "while typing: back to the table"),
    _SEARCH._replace(word="search everything"),
    _ALL,
)
"""The keys of the line in which the filter is typed."""
BROWSE_HELP: Final = (*BROWSE_KEYS[:-2], NEXT_HIT, FILTER_KEYS[1], *BROWSE_KEYS[-2:])
"""All keys of the list, for its help."""
SEARCH_KEYS: Final = (_PLAY, FILTER_KEYS[1]._replace(label="↑ ↓ Esc"))
"""What the footer shows while words to search for are typed; `Esc` clears them only from the table."""


def list_keys(*, is_typing: bool, is_search: bool, has_hits: bool, is_open: bool | None) -> tuple[Key, ...]:
    """The keys of the list that do something now; `is_open` tells a group that is unfolded from one that is not."""
    if is_typing:
        return SEARCH_KEYS if is_search else FILTER_KEYS
    if has_hits:
        return HIT_KEYS
    return BROWSE_KEYS if is_open is None else OPEN_GROUP_KEYS if is_open else GROUP_KEYS


LIST_TABLES: Final = (BROWSE_KEYS, HIT_KEYS, GROUP_KEYS, FILTER_KEYS, SEARCH_KEYS)
"""All that the footer of the list may show."""

# --- running sessions -------------------------------------------------------------------------------

RUNNING_KEYS: Final = (
    Key(("up,k", "down,j"), ("move(-1)", "move(1)"), "↑ ↓", "move", "previous or next session"),
    Key(("enter",), ("open",), "Enter", "follow", "follow the session or sub-agent in the player"),
    Key(("home", "end"), ("move(-9999)", "move(9999)"), "Home End", "ends", "first or last session"),
    Key(("question_mark",), ("help",), "?", "help", "show this help"),
    Key(("q",), ("quit",), "q", "quit", "quit"),
)
