"""The keys of all screens: bindings, footer, help and commands are made from the same tables."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.binding import Binding, BindingType

if TYPE_CHECKING:
    from collections.abc import Sequence


class KeyGroup(StrEnum):
    """The headings of the help, in their order."""

    PLAY = "Play"
    MOVE = "Move"
    SHOW = "Show"
    FIND = "Find"
    SESSION = "Session"
    WINDOW = "Window"


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
    group: KeyGroup = KeyGroup.WINDOW
    """The heading of the help under which it is found."""
    is_command: bool = True
    """False for keys that only move the cursor or scroll: nobody looks for these by their names."""
    second_keys: tuple[tuple[str, str], ...] = ()
    """The keys of which one has to follow, and what each of them stands for."""


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """The bindings of these keys, as Textual needs them."""
    return [
        Binding(
            name, key.actions[number if len(key.actions) > 1 else 0], key.word, show=False, priority=key.has_priority
        )
        for key in keys
        for number, name in enumerate(key.keys)
    ]


# --- the player -------------------------------------------------------------------------------------

PAUSE: Final = Key(("space",), ("pause",), "space", "pause", "pause, or go on and catch up", group=KeyGroup.PLAY)
STEP: Final = Key(
    ("right", "left"), ("step(1)", "step(-1)"), "→ ←", "frame", "next or previous frame", group=KeyGroup.MOVE
)
CHAPTER: Final = Key(
    ("shift+right", "shift+left"),
    ("chapter(1)", "chapter(-1)"),
    "⇧→ ⇧←",
    "prompt",
    "next or previous prompt",
    group=KeyGroup.MOVE,
)
ENDS: Final = Key(
    ("home", "end"),
    ("home", "end"),
    "Home End",
    "ends",
    "first or last frame; after scrolling, End catches up",
    group=KeyGroup.MOVE,
)
FIND: Final = Key(
    ("slash",), ("screen.search",), "/", "search", "search, including truncated text", True, KeyGroup.FIND
)
NEXT_MATCH: Final = Key(
    ("n", "N"), ("match(1)", "match(-1)"), "n N", "next", "next or previous match", group=KeyGroup.FIND
)
UNFOLD: Final = Key(
    ("enter",),
    ("unfold",),
    "Enter",
    "unfold",
    "unfold or fold: result, diff, todo list, image",
    group=KeyGroup.SHOW,
)
AGENT: Final = Key(
    ("s",),
    ("agent",),
    "s",
    "sub-agent",
    "open the sub-agent at or above the cursor, or go back",
    group=KeyGroup.SESSION,
)
BACK: Final = Key(("escape",), ("back",), "Esc", "back", "end the search, or go back")
HELP: Final = Key(("question_mark",), ("help",), "?", "all keys", "show all keys")
PALETTE: Final = Key(("ctrl+p",), ("app.command_palette",), "^P", "commands", "find a command by its name")
THEME: Final = Key(("T",), ("app.theme",), "T", "theme", "change the theme; the choice is remembered")
QUIT: Final = Key(("q",), ("app.quit",), "q", "quit", "quit")

PLAYER_KEYS: Final = (
    PAUSE,
    STEP,
    CHAPTER,
    Key(
        (*"123456789", "plus,equals_sign", "minus"),
        (*(f"speed({number})" for number in range(9)), "faster(1)", "faster(-1)"),
        "1-9 + -",
        "speed",
        "speed: 1 is 0.25×, 3 is 1×, 9 is 64×; faster, slower",
        group=KeyGroup.PLAY,
    ),
    Key(
        ("r",),
        ("real_time",),
        "r",
        "real time",
        "keep idle gaps at full length, or shorten them",
        group=KeyGroup.PLAY,
    ),
    Key(("p",), ("paced",), "p", "paced", "time each frame by the length of its text, or not", group=KeyGroup.PLAY),
    Key(("g",), ("screen.goto",), "g", "go to", "go to a line, percent, playing time or date", True, KeyGroup.MOVE),
    ENDS,
    FIND,
    NEXT_MATCH,
    Key(
        ("tab",),
        ("probe",),
        "Tab",
        "timeline",
        "move over the timeline: it says what is there",
        group=KeyGroup.MOVE,
    ),
    Key(("t",), ("thinking",), "t", "thinking", "show or hide thinking", group=KeyGroup.SHOW),
    Key(
        ("up", "down"),
        ("cursor(-1)", "cursor(1)"),
        "↑ ↓",
        "cursor",
        "move the cursor",
        group=KeyGroup.MOVE,
        is_command=False,
    ),
    UNFOLD,
    Key(
        ("e", "E"),
        ("fold_all(True)", "fold_all(False)"),
        "e E",
        "unfold all",
        "unfold everything, or fold it again",
        group=KeyGroup.SHOW,
    ),
    Key(
        ("v",),
        ("view",),
        "v",
        "view",
        "switch between what happened and what the terminal showed",
        group=KeyGroup.SHOW,
    ),
    Key(
        ("pageup", "pagedown"),
        ("page(-1)", "page(1)"),
        "PgUp PgDn",
        "scroll",
        "scrolling back pauses following; press End to catch up",
        group=KeyGroup.MOVE,
        is_command=False,
    ),
    AGENT,
    BACK,
    Key(("h",), ("history",), "h", "history", "include messages from before compactions, or not", group=KeyGroup.SHOW),
    Key(
        ("o",),
        ("side",),
        "o",
        "side pane",
        "choose what is beside the session, or hide it",
        group=KeyGroup.SHOW,
    ),
    Key(
        ("shift+up", "shift+down"),
        ("scroll_side(-1)", "scroll_side(1)"),
        "⇧↑ ⇧↓",
        "side pane",
        "scroll the element beside the session",
        group=KeyGroup.SHOW,
        is_command=False,
    ),
    Key(("y",), ("copy",), "y", "copy", "copy the element at the cursor", group=KeyGroup.SESSION),
    HELP,
    QUIT,
    PALETTE,
    THEME,
)
TIMELINE_KEYS: Final = (
    Key(("left", "right"), ("probe_column(-1)", "probe_column(1)"), "← →", "move", "point at another column"),
    Key(
        ("shift+left", "shift+right"),
        ("probe_mark(-1)", "probe_mark(1)"),
        "⇧← ⇧→",
        "mark",
        "point at the previous or next mark",
    ),
    Key(("up", "down"), ("probe_row(-1)", "probe_row(1)"), "↑ ↓", "lane", "point at a sub-agent's lane"),
    Key(("home", "end"), ("probe_edge(False)", "probe_edge(True)"), "Home End", "ends", "point at either end"),
    Key(("enter",), ("go",), "Enter", "go", "go there"),
    Key(("escape", "tab"), ("screen.probe",), "Esc", "leave", "leave the timeline"),
)
"""The keys of the timeline while it has the focus."""
CHAPTERS: Final = Key(
    ("c",), ("chapters",), "c", "chapters", "list the prompts with time, cost, errors, files", group=KeyGroup.FIND
)
HIGHLIGHTS: Final = Key(
    ("m",),
    ("highlights",),
    "m",
    "highlights",
    "play only prompts, responses, edits and errors, or all",
    group=KeyGroup.PLAY,
)
MOTION: Final = Key(
    ("right_square_bracket", "left_square_bracket"),
    ("screen.motion(1)", "screen.motion(-1)"),
    "] [",
    "next …",
    "next or previous: e error, d edit, a sub-agent, p prompt",
    group=KeyGroup.MOVE,
    second_keys=(("e", "error"), ("d", "edit"), ("a", "sub-agent"), ("p", "prompt")),
)
MOTION_KEYS: Final = (
    CHAPTERS,
    MOTION,
    HIGHLIGHTS,
    Key(
        ("R",),
        ("continue_here",),
        "R",
        "continue",
        "continue where you left this session the last time",
        group=KeyGroup.PLAY,
    ),
)
"""The player's keys that go to what a person looks for."""
PROMPT_KEYS: Final = (
    Key(("enter",), (), "Enter", "go", "go there, or search"),
    Key(("escape",), (), "Esc", "cancel", "cancel"),
)
"""What the footer shows while a position or search words are typed; the search bar binds them."""

# --- the list of sessions ---------------------------------------------------------------------------

MOVE: Final = Key(
    ("up,k", "down,j", "pageup", "pagedown", "home", "end"),
    ("move(-1)", "move(1)", "page(-1)", "page(1)", "first", "last"),
    "↑ ↓",
    "move",
    "move; also k, j, PgUp, PgDn, Home, End and the mouse; click a heading to sort",
    group=KeyGroup.MOVE,
    is_command=False,
)
_PLAY: Final = Key(
    ("enter",),
    ("screen.choose",),
    "Enter",
    "play",
    "play the session, or play from the hit; unfold or fold a group",
    group=KeyGroup.PLAY,
)
_FOLLOW: Final = Key(
    ("f",), ("screen.play(True)",), "f", "follow", "follow the session as it is written", group=KeyGroup.PLAY
)
_SUMMARY: Final = Key(
    ("i",),
    ("screen.summary",),
    "i",
    "summary",
    "show duration, tool use, files, tokens and cost",
    group=KeyGroup.SESSION,
)
_VIEW: Final = Key(
    ("v",),
    ("screen.view",),
    "v",
    "view",
    "preview what happened, or what the terminal showed",
    group=KeyGroup.SHOW,
)
_EXPORT: Final = Key(("e",), ("screen.export",), "e", "export", "export the session to a file", group=KeyGroup.SESSION)
_COPY: Final = Key(
    ("y",), ("screen.copy",), "y", "copy", "copy the command that resumes it, or plays the hit", group=KeyGroup.SESSION
)
_FILTER: Final = Key(
    ("slash",), ("screen.filter",), "/", "filter", "show only sessions with all these words", True, KeyGroup.FIND
)
_SEARCH: Final = Key(
    ("ctrl+f",), ("screen.search",), "^F", "search", "search everything in all sessions; also //", True, KeyGroup.FIND
)
_FOLD: Final = Key(
    ("x", "X"),
    ("screen.fold", "screen.fold_all"),
    "x X",
    "unfold",
    "unfold or fold the headless runs, or the same prompts, at the cursor; all of them",
    group=KeyGroup.SHOW,
)
_PART: Final = Key(
    ("b",),
    ("screen.part",),
    "b",
    "end",
    "preview the beginning or the end; first the hit, if there is one",
    group=KeyGroup.SHOW,
)
_SCROLL: Final = Key(
    ("J,shift+down", "K,shift+up"),
    ("screen.scroll(1)", "screen.scroll(-1)"),
    "J K",
    "scroll",
    "scroll the preview; also ⇧↓ ⇧↑ and the wheel",
    group=KeyGroup.MOVE,
    is_command=False,
)
_SORT: Final = Key(
    ("s", "S"),
    ("screen.sort", "screen.reverse"),
    "s S",
    "sort",
    "change the sort order; reverse it",
    group=KeyGroup.SHOW,
)
_PROJECT: Final = Key(("p",), ("screen.projects",), "p", "project", "choose a project", group=KeyGroup.SHOW)
_RELOAD: Final = Key(("r",), ("screen.reload",), "r", "reload", "read the stores again")
_ALL: Final = Key(
    ("escape",),
    ("screen.widen",),
    "Esc",
    "all",
    "clear the filter or search, and show all sessions",
    group=KeyGroup.FIND,
)
_HELP: Final = HELP._replace(actions=("screen.help",))
NEXT_HIT: Final = Key(
    ("n", "N"),
    ("screen.hit(1)", "screen.hit(-1)"),
    "n N",
    "next hit",
    "next or previous hit of the search",
    group=KeyGroup.FIND,
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
    _VIEW,
    _PART,
    _SCROLL,
    _EXPORT,
    _COPY,
    Key(("a",), ("screen.subagents",), "a", "sub-agents", "show or hide sub-agents", group=KeyGroup.SHOW),
    _RELOAD,
    _ALL,
    MOVE,
    _HELP,
    QUIT,
    PALETTE,
    THEME,
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
    _VIEW,
    _RELOAD,
    _ALL,
    MOVE,
    _HELP,
    QUIT,
    PALETTE,
    THEME,
)
"""The keys of the table while it shows what a search found."""
FILTER_KEYS: Final = (
    _PLAY,
    Key(
        ("down,up",),
        ("screen.table",),
        "↑ ↓",
        "to the table",
        "while typing: back to the table",
        group=KeyGroup.MOVE,
        is_command=False,
    ),
    _SEARCH._replace(word="search everything"),
    _ALL,
)
"""The keys of the line in which the filter is typed."""
BROWSE_HELP: Final = (*BROWSE_KEYS, NEXT_HIT, FILTER_KEYS[1])
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
    Key(
        ("enter",),
        ("open",),
        "Enter",
        "open",
        "open the session or sub-agent in the player, and follow it",
        group=KeyGroup.SESSION,
    ),
    Key(("R",), ("resume",), "R", "resume", "show the command that resumes the session", group=KeyGroup.SESSION),
    Key(
        ("up,k", "down,j"),
        ("move(-1)", "move(1)"),
        "↑ ↓",
        "move",
        "previous or next session",
        group=KeyGroup.MOVE,
        is_command=False,
    ),
    HELP,
    QUIT,
    Key(
        ("home", "end"), ("move(-9999)", "move(9999)"), "Home End", "ends", "first or last session", group=KeyGroup.MOVE
    ),
    PALETTE,
    THEME,
)
