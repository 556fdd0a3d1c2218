"""Elements of a screen as rows of a terminal: as the specification's screen has them, or as the rich view tells them.

The rich view shows what happened rather than what was printed: changes as diffs, commands with the end of their output
where they failed, searches as counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from claude_session_player import tools
from claude_session_player.export.drawing import (
    MOST_DRAWN,
    NARROWEST,
    code_text,
    crop_row,
    indent_rows,
    markdown_rows,
    row_width,
    text_rows,
)
from claude_session_player.export.part_rows import PartLook, part_rows
from claude_session_player.export.terminal import style_element
from claude_session_player.format.content import Checklist, Code
from claude_session_player.format.prompts import PeerRecord, PeerText, parse_peer_messages
from claude_session_player.formatter import (
    FAILURE,
    INDENT,
    PROMPT,
    RESPONSE,
    RESULT,
    RESULT_INDENT,
    STATUS,
    activity_text,
    gap_between,
    note_text,
    turn_duration,
)
from claude_session_player.linking.prompts import ANOTHER_AGENT
from claude_session_player.models import (
    AssistantText,
    CompactionRule,
    Note,
    PeerMessage,
    ScreenElement,
    SystemOutput,
    ThinkingIndicator,
    ToolCall,
    TurnDuration,
    UserMessage,
    View,
)
from claude_session_player.tools.brief import CallBrief, Folded
from claude_session_player.util.humanize import plural, short_duration, short_number
from claude_session_player.util.text import base_name, mark_controls, one_line, printable, truncate
from claude_session_player.util.times import to_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claude_session_player.export.drawing import Row

MOST_SHOWN: Final = 50_000
"""Characters that are shown of an element that is not unfolded."""
PROMPT_ROWS: Final = 24
"""Rows of a prompt that is not unfolded; after so many, no further message of another agent begins."""
MESSAGE_ROWS: Final = 12
"""Rows of another agent's message that is not unfolded."""
_DRAWN_TOGETHER: Final = 100_000
"""Characters of messages of one record that are drawn as markdown; further ones are shown as they are."""
_LEAST_DRAWN: Final = 500
"""As many characters a message counts at least: it takes time to draw any."""
_ERROR_ROWS: Final = 3
"""Rows of an error of one line in a call that is not unfolded."""
_SLOW: Final = 2.0
"""Seconds from which on the time that a tool took is shown."""
_PERSON: Final = Style(color="cyan", bold=True)
_PEER: Final = Style(color="magenta", bold=True)
_SPEECH: Final = Style(bold=True)
_MODEL: Final = Style(bold=True)
_DONE: Final = Style(color="green")
_PENDING: Final = Style(color="yellow")
_FAILED: Final = Style(color="red", bold=True)
_ERROR: Final = Style(color="red")
_QUIET: Final = Style(dim=True)
_BAR: Final = "▎ "
_RECEIVED: Final = "◂ "
_COMMAND: Final = "$ "
_HOOK: Final = "  ┆ "
_NOTE_ROWS: Final = 2
"""Rows of a notice that is not unfolded."""
_FAILED_MARK: Final = "✗ "
_MORE: Final = Style(dim=True, italic=True)
"""The style of what says how much is left out. No other text has this very object as its style."""


def draw_element(element: ScreenElement, view: View, width: int, *, is_folded: bool = True) -> list[Row]:
    """The rows of one element."""
    width = max(width, NARROWEST)
    if view.briefs:
        return [crop_row(row, width) for row in _DRAWINGS[type(element)](element, view, width, is_folded)]
    if isinstance(element, AssistantText) and len(element.text) <= MOST_DRAWN:
        return indent_rows(markdown_rows(element.text, width - 2) or [[]], RESPONSE, _MODEL)
    return text_rows(style_element(_shortened(element), view), width)


def is_shortened(element: UserMessage | PeerMessage, view: View, rows: Iterable[Iterable[Segment]]) -> bool:
    """True if the rows of a prompt or message that is not unfolded leave out some of it; without drawing it again."""
    if not view.briefs:
        return False
    if isinstance(element, PeerMessage):
        record = parse_peer_messages(element.text)
        if record.advice or any(message.text and message.notice for message in record.messages):
            return True
    return any(segment.style is _MORE for row in rows for segment in row)


def blank_rows(previous: ScreenElement, element: ScreenElement, view: View) -> int:
    """The number of blank rows between two neighbours. In the rich view, what takes one row each stays together."""
    if not view.briefs:
        return gap_between(previous, element).count("\n") - 1
    return 0 if _is_brief(previous) and _is_brief(element) else 1


def _is_brief(element: ScreenElement) -> bool:
    """True for what takes a row or two and says little: steps on the way, notices."""
    match element:
        case ToolCall(brief=CallBrief(given=(), returned=()), is_error=False):
            return True
        case ToolCall(brief=None, activity=None):
            return not _brief(element).given
        case Note(is_error=False) | ThinkingIndicator(text=""):
            return True
    return False


def _shortened(element: ScreenElement) -> ScreenElement:
    """The element without the end of a text that is too long to be shown."""
    name = "result" if isinstance(element, ToolCall) else "text"
    text = getattr(element, name, None)
    if not isinstance(text, str) or len(text) <= MOST_SHOWN:
        return element
    changed: dict[str, Any] = {name: _shortened_text(text)}
    return replace(element, **changed)


def _shortened_text(text: str) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n… ({plural(len(text) - MOST_SHOWN, 'more character')})"


# --- people and the model -----------------------------------------------------------------------------


def _prompt(element: UserMessage, view: View, width: int, is_folded: bool) -> list[Row]:
    """What a person typed: a coloured bar along all of it."""
    shortened = _shortened(element) if is_folded else element
    assert isinstance(shortened, UserMessage)
    text = Text(mark_controls(shortened.text), style=_SPEECH)
    rows = text_rows(text, width - len(_BAR)) if shortened.text else [[]]
    return indent_rows(_first_rows(rows, PROMPT_ROWS) if is_folded else rows, f"{PROMPT} ", _PERSON, rest=_BAR)


def _message(element: PeerMessage, view: View, width: int, is_folded: bool) -> list[Row]:
    """What other agents sent, each with its name, and what is around it; unfolded, also Claude Code's advice."""
    record = parse_peer_messages(element.text)
    if not record.messages:
        record = PeerRecord((PeerText(element.sender, "", element.text),))
    rows: list[Row] = []
    room = _DRAWN_TOGETHER
    for number, message in enumerate(record.messages):
        if is_folded and len(rows) >= PROMPT_ROWS:
            rows += indent_rows([[_more(len(record.messages) - number, "message")]], _BAR, _PEER)
            break
        room -= max(len(message.text), _LEAST_DRAWN)
        rows += _message_head(message, width, is_folded)
        rows += indent_rows(_message_body(message, width - len(_BAR), is_folded, room > 0), _BAR, _PEER, rest=_BAR)
    if record.outside:
        text = _shortened_text(record.outside) if is_folded else record.outside
        outside = text_rows(Text(mark_controls(text), style=_QUIET), width - len(INDENT))
        rows += indent_rows(_first_rows(outside, MESSAGE_ROWS) if is_folded else outside, INDENT)
    if record.advice and not is_folded:
        advice = Text(mark_controls(record.advice), style=_QUIET)
        rows += indent_rows(text_rows(advice, width - len(_BAR)), _BAR, _PEER, rest=_BAR)
    return rows


def _message_head(message: PeerText, width: int, is_folded: bool) -> list[Row]:
    """Who sent a message, and what it is about: in one row until it is unfolded."""
    said = ((message.sender or ANOTHER_AGENT, _PEER), (message.summary, Style.null()), (message.notice, _QUIET))
    words = [(printable(one_line(text)), style) for text, style in said if text]
    pieces = [(f"  {text}" if number else text, style) for number, (text, style) in enumerate(words)]
    row = [Segment(_RECEIVED, _PEER), *(Segment(text, style) for text, style in pieces)]
    if is_folded or row_width(row) <= width:
        return [crop_row(row, width)]
    return indent_rows(text_rows(Text.assemble(*pieces), width - len(_BAR)), _RECEIVED, _PEER, rest=_BAR)


def _message_body(message: PeerText, width: int, is_folded: bool, is_drawn: bool) -> list[Row]:
    """The text of a message; folded, nothing of one that a program wrote: its name says enough."""
    if not message.text or (is_folded and message.notice):
        return []
    text = _shortened_text(message.text) if is_folded else message.text
    rows = markdown_rows(text, width) if is_drawn else text_rows(Text(mark_controls(text)), width)
    return _first_rows(rows, MESSAGE_ROWS) if is_folded else rows


def _first_rows(rows: list[Row], count: int) -> list[Row]:
    """The first rows, and how many more there are; one more row is shown rather than counted."""
    hidden = len(rows) - count
    return [*rows[:count], [_more(hidden, "line")]] if hidden > 1 else rows


def _response(element: AssistantText, view: View, width: int, is_folded: bool) -> list[Row]:
    if element.is_error:
        return _marked(element.text, _FAILED_MARK, _FAILED, width, _ERROR)
    if len(element.text) > MOST_DRAWN:
        return _marked(element.text, RESPONSE, _MODEL, width, Style.null())
    return indent_rows(markdown_rows(element.text, width - len(RESPONSE)) or [[]], RESPONSE, _MODEL)


def _thinking(element: ThinkingIndicator, view: View, width: int, is_folded: bool) -> list[Row]:
    style = Style(color="magenta", italic=True, dim=True)
    head: list[Row] = [[Segment(f"{STATUS}Thinking…", style)]]
    if not (element.text and (view.thinking or not is_folded)):
        return head
    text = Text(mark_controls(element.text), style=Style(dim=True, italic=True))
    return head + indent_rows(text_rows(text, width - len(INDENT)), INDENT)


def _marked(text: str, mark: str, mark_style: Style, width: int, style: Style) -> list[Row]:
    """A text with a mark before it."""
    kept = text[:MOST_SHOWN]
    rows = text_rows(Text(mark_controls(kept), style=style), width - len(mark))
    if len(kept) < len(text):
        rows.append([_more(len(text) - len(kept), "character")])
    return indent_rows(rows, mark, mark_style)


# --- what Claude Code says ----------------------------------------------------------------------------


def _duration(element: TurnDuration, view: View, width: int, is_folded: bool) -> list[Row]:
    return [[Segment(f"{STATUS}Crunched for {turn_duration(element.duration_ms)}", _QUIET)]]


def _output(element: SystemOutput, view: View, width: int, is_folded: bool) -> list[Row]:
    text = style_element(_shortened(element), view)
    return text_rows(Text(text.plain, style=_ERROR if element.is_error else _QUIET), width)


def _note(element: Note, view: View, width: int, is_folded: bool) -> list[Row]:
    if element.is_error:
        return _marked(element.text, _FAILED_MARK, _FAILED, width, _ERROR)
    rows = _marked(note_text(element), "┆ ", _QUIET, width, _QUIET)
    if is_folded and len(rows) > _NOTE_ROWS:
        return [*rows[: _NOTE_ROWS - 1], crop_row([*rows[_NOTE_ROWS - 1], Segment(" …", _QUIET)], width)]
    return rows


def _compaction(element: CompactionRule, view: View, width: int, is_folded: bool) -> list[Row]:
    """A line across the whole width: the model does not know what is above it."""
    said = (element.trigger, None if element.pre_tokens is None else f"{short_number(element.pre_tokens)} tokens")
    details = ", ".join(printable(part) for part in said if part)
    words = f"── compacted ({details}) " if details else "── compacted "
    return [crop_row([Segment(words.ljust(width, "─"), Style(color="yellow"))], width)]


# --- tool calls ---------------------------------------------------------------------------------------


def _call(element: ToolCall, view: View, width: int, is_folded: bool) -> list[Row]:
    """A tool call at a glance."""
    brief = _brief(element)
    rows = call_head(element, brief, width)
    inner = width - len(RESULT_INDENT)
    for folded in brief.given:
        quiet = _QUIET if element.tool_name in tools.AGENTS else None
        rows += indent_rows(_folded_rows(folded, inner, brief.name, quiet), RESULT_INDENT)
    if element.result is None and element.activity is not None:
        words = _progress(element, view)
        rows.append(crop_row([Segment(f"{RESULT}{words}", _QUIET)], width))
    mark, style = (FAILURE, _ERROR) if element.is_error else (RESULT, _QUIET)
    for folded in brief.returned:
        drawn = _folded_rows(folded, inner, "", style if element.is_error else _QUIET)
        rows += indent_rows(drawn, mark, style)
        mark = RESULT_INDENT
    return rows + hook_rows(element, width)


def _brief(element: ToolCall) -> CallBrief:
    """The call at a glance; without a result, what its input says."""
    if isinstance(element.brief, CallBrief):
        return element.brief
    key = element.tool_name, id(element.input)
    known = _input_briefs.get(key)
    if known is None or known.input is not element.input:
        if len(_input_briefs) >= _MOST_BRIEFS:
            _input_briefs.clear()
        brief = tools.call_brief(element.tool_name, element.input, None)
        known = _input_briefs[key] = _InputBrief(element.input, brief)
    return known.brief


class _InputBrief(NamedTuple):
    """What an input says, and the input itself: as long as this exists, no other has its id."""

    input: Any
    brief: CallBrief


_input_briefs: Final[dict[tuple[str, int], _InputBrief]] = {}
"""What the inputs of calls without results say: a diff takes time, and such calls are drawn again and again."""
_MOST_BRIEFS: Final = 200


def call_head(element: ToolCall, brief: CallBrief, width: int) -> list[Row]:
    """The row with the name of the tool, what it is used on, and what came of it."""
    is_pending = element.result is None
    mark = _FAILED_MARK if element.is_error else RESPONSE
    mark_style = _FAILED if element.is_error else _PENDING if is_pending else _DONE
    row: Row = [Segment(mark, mark_style), Segment(printable(tools.display_name(element.tool_name)), _MODEL)]
    name = base_name(brief.name) if tools.touched_file(element.tool_name, element.input) else brief.name
    words = () if brief.name else (brief.words,)
    for text, style in ((name, Style(color="cyan")), *((word, Style.null()) for word in words)):
        if text := printable(one_line(text)):
            row.append(Segment(f"  {text}", style))
    said = [Segment(f"  {printable(text)}", style) for text, style in _outcome(element, brief, width) if text]
    room = width - sum(segment.cell_length for segment in said)
    return [crop_row([*crop_row(row, max(room, NARROWEST)), *said], width)]


def _outcome(element: ToolCall, brief: CallBrief, width: int) -> Sequence[tuple[str, Style]]:
    """What came of a call, and how long it took; leaves room for what it is used on."""
    took = (_took(element), _QUIET)
    if element.is_error:
        return ((brief.count, _ERROR), took)
    if brief.count[:1] in ("+", "−"):
        return (*((count, _DONE if count[0] == "+" else _ERROR) for count in brief.count.split()), took)
    about = truncate(one_line(brief.words), width // 3) if brief.name else ""
    return ((about, _QUIET), (brief.count, _QUIET), took)


def _took(element: ToolCall) -> str:
    """How long a tool ran, if that was long."""
    start, end = to_epoch(element.timestamp), to_epoch(element.result_timestamp)
    if start is None or end is None or end - start < _SLOW or element.tool_name in tools.AGENTS:
        return ""
    return short_duration(end - start)


def _progress(element: ToolCall, view: View) -> str:
    activity = element.activity
    assert activity is not None  # asked before
    if activity.kind != "agent":
        return printable(activity_text(activity, view.progress_width))
    steps = plural(activity.steps, "tool") if activity.steps else "working…"
    return printable(" · ".join(filter(None, (steps, one_line(activity.detail)))))


def _folded_rows(folded: Folded, width: int, name: str, style: Style | None = None) -> list[Row]:
    """A few lines of a part, and how many more there are."""
    part = folded.part
    if isinstance(part, Code) and part.is_command:
        text = Text.assemble((_COMMAND, "dim"), code_text(part.text, part.language))
        rows = [crop_row(row, width) for row in text_rows(text, width)]
    else:
        is_sentence = style is _ERROR and isinstance(part, Code) and "\n" not in part.text
        rows = part_rows(part, PartLook(width, name, is_cropped=not is_sentence))
        if len(rows) > _ERROR_ROWS and is_sentence:
            rows = [*rows[: _ERROR_ROWS - 1], crop_row([*rows[_ERROR_ROWS - 1], Segment(" …")], width)]
    if style is not None:
        rows = [[Segment(segment.text, (segment.style or Style.null()) + style) for segment in row] for row in rows]
    more = folded.more
    if folded.rows is not None and len(rows) > folded.rows:
        rows, more = rows[: folded.rows], more + len(rows) - folded.rows
    thing = "item" if isinstance(part, Checklist) else "line"
    head, tail = ([[_more(count, thing)]] if count else [] for count in (folded.above, more))
    return [*head, *rows, *tail]


def _more(count: int, thing: str) -> Segment:
    return Segment(f"+{plural(count, thing)}", _MORE)


def hook_rows(element: ToolCall, width: int) -> list[Row]:
    """What hooks said about a call."""
    return [crop_row([Segment(f"{_HOOK}{printable(words)}", _QUIET)], width) for words in element.hooks]


_DRAWINGS: Final[dict[type, Callable[[Any, View, int, bool], list[Row]]]] = {
    UserMessage: _prompt,
    PeerMessage: _message,
    AssistantText: _response,
    ToolCall: _call,
    ThinkingIndicator: _thinking,
    TurnDuration: _duration,
    SystemOutput: _output,
    Note: _note,
    CompactionRule: _compaction,
}
