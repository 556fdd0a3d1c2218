"""The header: what is played, where it was made, and what the model had used up by the present frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual.widget import Widget

from claude_session_player.stats import ContextFill
from claude_session_player.util.humanize import short_model_name, short_number
from claude_session_player.util.short_paths import short_path
from claude_session_player.util.text import ELLIPSIS, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.geometry import Size

_SEPARATOR: Final = " › "
_GAP: Final = "  "
_SHORTEST_TITLE: Final = 24
"""Columns of a title before anything else gets a place beside it."""
_SHORTEST_PROJECT: Final = 12
_ALWAYS: Final = 2
"""How many of the parts on the right come before the titles of callers: cost and context."""
_LONGEST_BRANCH: Final = 24
_CALLER_WIDTH: Final = 24
_TWO_LINES: Final = 80, 24
"""Columns and rows from which on the header has a second line, for the project and the git branch."""


class HeaderFacts(NamedTuple):
    """What the header says. What is not known is not shown."""

    title: str = ""
    callers: tuple[str, ...] = ()
    """The titles of the sessions from which this sub-agent was opened, the first one first."""
    project: str = ""
    """The directory that the session was made in."""
    git_branch: str = ""
    model: str = ""
    context_tokens: int | None = None
    """How much of the context window was in use at the present frame."""
    context_window: int | None = None
    cost: str = ""
    """What had been spent by the present frame, for example `$0.12`."""


def header_text(facts: HeaderFacts, width: int, lines: int = 1) -> Text:
    """The header in this width: the title on the left, and on the right what fits, the most important first.

    A second line has the project and the git branch.
    """
    model, context, cost = _model(facts), _context(facts), _cost(facts)
    branch, project = _branch(facts), printable(facts.project)
    if lines < 2:
        return _one_line(facts, width, [cost, context, model, branch], project)
    path = Text(short_path(project, max(width - branch.cell_len - len(_GAP), 0)), "dim")
    branch.truncate(width, overflow="ellipsis")
    return Text("\n").join([_one_line(facts, width, [cost, context, model], ""), _spread(path, branch, width)])


def _one_line(facts: HeaderFacts, width: int, parts: list[Text], project: str) -> Text:
    """The title, then the project if it fits, and on the right the parts that fit; the first ones come first."""
    title = title_line(facts, width)
    shortest = width - min(title.cell_len, _SHORTEST_TITLE) - len(_GAP)
    right = _fitting(parts, width - title.cell_len - len(_GAP) if facts.callers else shortest)
    if facts.callers:  # the titles on the way here matter more than model and branch
        right = max(_fitting(parts[:_ALWAYS], shortest), right, key=lambda text: text.cell_len)
    free = width - right.cell_len - (len(_GAP) if right else 0)
    title = title_line(facts, free)
    if project and title.cell_len + len(_GAP) + _SHORTEST_PROJECT <= free:
        title = Text.assemble(title, _GAP, (short_path(project, free - title.cell_len - len(_GAP)), "dim"))
    return _spread(title, right, width)


def _fitting(parts: Iterable[Text], width: int) -> Text:
    """As many parts as fit; the first one, which matters most, is at the right end."""
    text = Text()
    for part in filter(None, parts):
        longer = Text.assemble(part, _GAP, text) if text else part
        if longer.cell_len <= width:
            text = longer
    return text


def _spread(left: Text, right: Text, width: int) -> Text:
    """Two texts at both ends of a line."""
    return Text.assemble(left, " " * max(width - left.cell_len - right.cell_len, 0), right)


def title_line(facts: HeaderFacts, width: int) -> Text:
    """The title behind those of its callers; the title itself is shortened last."""
    title = printable(facts.title)
    callers = [shorten(printable(caller), _CALLER_WIDTH) for caller in facts.callers]
    while callers and cell_len(_SEPARATOR.join((*callers, title))) > width:
        if callers[0] == ELLIPSIS:
            callers.pop(0)
            if not callers:
                break
        callers[0] = ELLIPSIS
    if callers == [ELLIPSIS] and width < len(_SEPARATOR) + _SHORTEST_PROJECT:
        callers = []
    before = "".join(caller + _SEPARATOR for caller in callers)
    return Text.assemble((before, "dim"), (shorten(title, width - cell_len(before)), "bold"))


def shorten(text: str, width: int) -> str:
    """A text in at most this many columns; a cut is at the end of a word where possible, and marked.

    >>> shorten("The bell of my tea timer", 16), shorten("Assyriology", 6), shorten("tea", 5)
    ('The bell of my…', 'Assyr…', 'tea')
    """
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[: max(width, 0)]
    room = width - 1
    whole = set_cell_size(text, room).rstrip()
    head, blank, _ = whole.rpartition(" ")
    is_cut_inside = text[len(whole) : len(whole) + 1].strip()
    return (head.rstrip() if blank and is_cut_inside and cell_len(head) * 2 >= room else whole) + ELLIPSIS


def _model(facts: HeaderFacts) -> Text:
    return Text(printable(short_model_name(facts.model)) if facts.model else "", "magenta")


def _cost(facts: HeaderFacts) -> Text:
    cost = printable(facts.cost)
    return Text(f"cost {cost}" if cost == "?" else cost, "bold")


def _branch(facts: HeaderFacts) -> Text:
    return Text(f"⎇ {shorten(printable(facts.git_branch), _LONGEST_BRANCH)}" if facts.git_branch else "", "green")


def _context(facts: HeaderFacts) -> Text:
    """How full the context window is; where its size is unknown, the tokens."""
    if facts.context_tokens is None:
        return Text()
    fill = ContextFill(facts.context_tokens, facts.context_window)
    if fill.share is None:
        return Text(f"{short_number(fill.tokens)} context", "dim")
    style = "bold red" if fill.is_full else "yellow" if fill.is_filling else ""
    return Text(f"{fill.words()} context", style)


class Header(Widget):
    """One line at the top; two in a terminal of the usual size or more."""

    DEFAULT_CSS = "Header { height: 1; padding: 0 1; background: $panel; &.-two { height: 2; } }"

    def __init__(self, facts: HeaderFacts) -> None:
        super().__init__(id="title")
        self._facts = facts

    @property
    def facts(self) -> HeaderFacts:
        """What the header says."""
        return self._facts

    def show(self, facts: HeaderFacts) -> None:
        """Say something else."""
        if facts != self._facts:
            self._facts = facts
            self.refresh()

    def fit(self, terminal: Size) -> None:
        """Have two lines where the terminal has the room."""
        width, height = _TWO_LINES
        self.set_class(terminal.width >= width and terminal.height >= height, "-two")

    def render(self) -> Text:
        """The facts."""
        text = header_text(self._facts, self.size.width, self.size.height)
        text.no_wrap = True
        return text
