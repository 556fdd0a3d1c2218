"""The keys of the player."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widget import Widget

from claude_session_player.tui.widgets.text import TextPopup

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH = 14


class Key(NamedTuple):
    """Keys that do one thing."""

    keys: tuple[str, ...]
    """As Textual names them."""
    actions: tuple[str, ...]
    """One for all keys, or one for each of them."""
    shown: str
    word: str
    about: str
    is_first: bool = False
    """It goes before all others, so that what is typed behind it, however fast, is meant for what it opens."""


def bindings(keys: Sequence[Key]) -> list[BindingType]:
    """What Textual needs to know of the keys."""
    return [
        Binding(name, key.actions[number if len(key.actions) > 1 else 0], key.word, show=False, priority=key.is_first)
        for key in keys
        for number, name in enumerate(key.keys)
    ]


def footer_lines(keys: Sequence[Key], width: int) -> list[Text]:
    """All keys in a few words, over as many lines as needed; none is separated from what it does."""
    lines = [Text()]
    for key in keys:
        one = Text.assemble((key.shown, "bold"), (f" {key.word}", "dim"))
        if lines[-1] and lines[-1].cell_len + 2 + one.cell_len > width:
            lines.append(one)
        else:
            lines[-1] = Text("  ").join([lines[-1], one]) if lines[-1] else one
    return lines


def help_text(keys: Sequence[Key]) -> Text:
    """All keys, one a line, with what they do."""
    text = Text()
    for key in keys:
        text.append(f"  {key.shown:<{_WIDTH}}", style="bold")
        text.append(f"{key.about}\n")
    return text


class KeyBar(Widget):
    """The footer: every key, and a word for it. Where the keys change, its height does not."""

    DEFAULT_CSS = "KeyBar { height: auto; }"

    def __init__(self, *tables: Sequence[Key]) -> None:
        """The keys that may be shown; at first it is the first table of them."""
        super().__init__()
        self._tables = tables
        self._keys = tables[0]

    def show(self, keys: Sequence[Key]) -> None:
        """Show another table of keys."""
        self._keys = keys
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the keys need."""
        return max(len(footer_lines(keys, width)) for keys in self._tables)

    def render(self) -> Text:
        """The keys."""
        return Text("\n").join(footer_lines(self._keys, self.size.width))


class HelpScreen(TextPopup):
    """Every key and what it does, above whatever was there."""

    DEFAULT_CSS = """
    HelpScreen > #box { width: auto; }
    HelpScreen > #box > #text { width: auto; max-width: 100%; }
    """

    def __init__(self, title: str, keys: Sequence[Key], notes: str = "") -> None:
        super().__init__(title, help_text(keys) + Text(f"\n{notes}" if notes else "", style="dim"))


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
