"""The screen: its elements, its state, and what the last line changed.

Elements hold facts. `formatter` and `export` decide how they look, and the `View` decides how much of them is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from claude_session_player.line_audit import LineAudit
from claude_session_player.util.text import Cut

if TYPE_CHECKING:
    from collections.abc import Iterator

RICH: Final = "rich"
SCREEN: Final = "screen"


@dataclass(frozen=True, slots=True)
class View:
    """How much of a session is kept and shown; `None` as a size means no limit.

    >>> View().result_lines, View.full().result_lines, View.full(thinking=True).thinking
    (5, None, True)
    """

    label_width: int | None = 60
    """Characters of a tool's name, and of its label."""
    result_lines: int | None = 5
    """Lines of a tool result; a longer one ends in a line that says so."""
    summary_width: int | None = 80
    """Characters of a sub-agent's response, which is shown on one line."""
    progress_width: int | None = 76
    """Characters of the last line of a running command."""
    thinking: bool = False
    """Show the thinking itself below `✱ Thinking…`."""
    history: bool = False
    """Keep what comes before a compaction."""
    sidechains: bool = False
    """Show sidechain lines, as in the file of a sub-agent."""
    queued: bool = False
    """Show prompts that are only in the queue; the screen of the specification does not."""
    notices: bool = False
    """Show notices, hooks and what sub-agents do; the screen of the specification does not."""
    briefs: bool = False
    """Keep of each result what its tool shows at a glance: a diff, a count, the last lines of a failure."""

    @property
    def name(self) -> str:
        """Which of the two views this is."""
        return RICH if self.briefs else SCREEN

    @classmethod
    def rich(cls) -> View:
        """What the rich view shows: everything that happened, across compactions."""
        return cls().as_rich()

    @classmethod
    def full(cls, *, thinking: bool = False, history: bool = False) -> View:
        """A view without limits."""
        return cls(None, None, None, None, thinking=thinking, history=history)

    def as_rich(self) -> View:
        """The rich view, with the thinking and the limits of this one."""
        return replace(self, history=True, queued=True, notices=True, briefs=True)

    def as_screen(self) -> View:
        """The screen of the specification, with the thinking and the limits of this view."""
        return replace(self, history=False, queued=True, notices=False, briefs=False)

    def with_queue(self) -> View:
        """The same view, with prompts that are only in the queue."""
        return replace(self, queued=True)

    def of_subagent(self) -> View:
        """The same view, for a sub-agent's own file."""
        return replace(self, sidechains=True)


T = TypeVar("T")


class OpenCalls(Generic[T]):
    """Tool calls without a result, in ascending order of their numbers; every operation takes constant time.

    A call that was taken by age stays in the queue of its name, and the other way round; it is skipped there when its
    turn comes.

    >>> calls = OpenCalls[str]()
    >>> for number, name in enumerate(("Bash", "Read", "Bash")):
    ...     calls.add(number, name, f"{name} {number}")
    >>> calls.pop_oldest("Read"), calls.pop_oldest(), calls.pop_oldest("Read"), list(calls)
    ('Read 1', 'Bash 0', None, ['Bash 2'])
    """

    def __init__(self) -> None:
        self._open: dict[int, T] = {}
        self._all: deque[int] = deque()
        self._by_name: dict[str, deque[int]] = {}

    def add(self, number: int, name: str, call: T) -> None:
        """Add a call; its number is greater than all before."""
        self._open[number] = call
        self._all.append(number)
        self._by_name.setdefault(name, deque()).append(number)

    def pop_oldest(self, name: str | None = None) -> T | None:
        """Remove and return the oldest call of a tool, or of all tools; `None` if there is none."""
        queue = self._all if name is None else self._by_name.get(name)
        while queue:
            number = queue.popleft()
            if number in self._open:
                return self._open.pop(number)
        return None

    def discard(self, number: int) -> None:
        """Remove the call with this number, if it is open."""
        self._open.pop(number, None)

    def copy(self) -> OpenCalls[T]:
        """An independent copy."""
        other = OpenCalls[T]()
        other._open = self._open.copy()
        other._all = self._all.copy()
        other._by_name = {name: queue.copy() for name, queue in self._by_name.items()}
        return other

    def clear(self) -> None:
        """Remove all calls."""
        self._open.clear()
        self._all.clear()
        self._by_name.clear()

    def __iter__(self) -> Iterator[T]:
        """The open calls, tool by tool."""
        return (self._open[number] for queue in self._by_name.values() for number in queue if number in self._open)


@dataclass(slots=True, kw_only=True)
class ElementOrigin:
    """Where an element comes from: its source line, time, response and record."""

    line: int = 0
    timestamp: str | None = None
    request_id: str | None = None
    """The response that it belongs to; no blank line separates neighbours of one response."""
    uuid: str | None = None


@dataclass(slots=True)
class UserMessage(ElementOrigin):
    """What a person typed."""

    text: str = ""


@dataclass(slots=True)
class PeerMessage(ElementOrigin):
    """What another agent, or Claude Code, sent in the place of a prompt; shown by views with notices.

    The screen of the specification shows it as a prompt.
    """

    text: str = ""
    sender: str = ""


@dataclass(slots=True)
class AssistantText(ElementOrigin):
    """Text of a response, as markdown."""

    text: str = ""
    is_error: bool = False
    """True if Claude Code wrote it in place of a response, because the request failed."""


@dataclass(slots=True)
class ThinkingIndicator(ElementOrigin):
    """Thinking of the model; its text is kept if the view shows thinking."""

    text: str = ""


@dataclass(slots=True)
class TurnDuration(ElementOrigin):
    """How long a turn took."""

    duration_ms: int = 0


@dataclass(slots=True)
class SystemOutput(ElementOrigin):
    """Plain lines: the output of a local command, a notice, or a result whose call is not on the screen."""

    text: str = ""
    cut: Cut = Cut.NONE
    is_error: bool = False


@dataclass(slots=True)
class Note(ElementOrigin):
    """A notice of Claude Code in one line; shown by views with notices."""

    text: str = ""
    is_error: bool = False
    is_summary: bool = False
    """True for what the model is told of the conversation before a compaction; it may be long."""


@dataclass(slots=True)
class CompactionRule(ElementOrigin):
    """The place where the conversation was compacted; shown by views with history."""

    trigger: str | None = None
    pre_tokens: int | None = None


@dataclass(slots=True, frozen=True)
class ToolActivity:
    """What a running tool last reported."""

    kind: str
    detail: str = ""
    steps: int = 0
    """How many tools a sub-agent has used so far, if the view keeps this."""


@dataclass(slots=True)
class ToolCall(ElementOrigin):
    """A tool call, with its result once there is one.

    `label` is the whole text that represents the input.
    """

    tool_name: str = ""
    label: str = ""
    result: str | None = None
    is_error: bool = False
    cut: Cut = Cut.NONE
    id: str | None = None
    input: Any = None
    activity: ToolActivity | None = None
    result_line: int | None = None
    result_timestamp: str | None = None
    hooks: tuple[str, ...] = ()
    """What hooks said about it, if the view keeps this."""
    brief: Any = None
    """The call and its result at a glance, if the view keeps this; see `tools.brief.CallBrief`."""


ScreenElement: TypeAlias = (
    UserMessage
    | PeerMessage
    | AssistantText
    | ToolCall
    | ThinkingIndicator
    | TurnDuration
    | SystemOutput
    | Note
    | CompactionRule
)


@dataclass(frozen=True, slots=True)
class ScreenChanges:
    """What the last `render` did to the elements, so that a window can redraw only that.

    Apply them in this order: `cleared` (all elements are gone), `removed` (positions as they were,
    each after the removals before it), then `changed` and `added` (positions as they are now).
    """

    cleared: bool
    removed: tuple[int, ...]
    changed: tuple[int, ...]
    added: range


@dataclass(slots=True)
class OrphanResult:
    """A result that came before its call: its serial number, and what the call takes over.

    `audit_position` is the position of its line in the account of lines, if the line holds nothing else. `summary` is
    the text that the call of a sub-agent shows instead.
    """

    serial: int
    audit_position: int | None
    summary: str
    summary_cut: Cut
    reply: Any = None
    """The whole result, if the view keeps what tools show of it; see `tools.parts.ToolReply`."""


class ScreenState:
    """The screen after the lines that were rendered so far.

    An element is identified by its serial number, which does not change when others are removed: removing n elements
    takes n steps, not one for each element behind each of them.

    >>> from claude_session_player import render
    >>> state = ScreenState()
    >>> _ = render(state, {"type": "user", "message": {"content": "Hello"}})
    >>> state.to_markdown()
    '❯ Hello'
    """

    __slots__ = (
        "_gone",
        "_touched",
        "account",
        "answered",
        "calls",
        "cleared",
        "compacted",
        "current_request_id",
        "elements",
        "first_serial",
        "notices",
        "open_calls",
        "orphans",
        "queue",
        "removed",
        "sealed",
        "settled",
        "tasks",
        "view",
    )

    def __init__(self, view: View | None = None) -> None:
        self.view: View = view or View()
        self.elements: list[ScreenElement] = []
        self.calls: dict[str, int] = {}
        """The serial number of each call's element, by the call's id."""
        self.current_request_id: str | None = None
        """The response of the last assistant line."""
        self.open_calls: OpenCalls[int] = OpenCalls()
        """Serial numbers of calls without an id and without a result, for dialects that pair them by order."""
        self.orphans: dict[str, OrphanResult] = {}
        """Results whose call has not been rendered yet, by the call's id."""
        self.queue: Any = None
        """The queued prompts, if the view shows them; see `linking.prompts.PromptQueue`."""
        self.notices: Any = None
        """What notices have said so far, if the view shows them; see `linking.notices.Notices`."""
        self.tasks: Any = None
        """The task list so far, if the view shows it; see `linking.task_list.TaskList`."""
        self.account = LineAudit()
        """What happened to every line so far."""
        self.settled = 0
        """The number of elements before the last `render`, without those that it removed."""
        self.answered: list[int] = []
        """The serial numbers of calls with results, in the order of the results."""
        self.removed: list[int] = []
        """The positions that the last `render` removed."""
        self.cleared = False
        """True if the last `render` cleared the screen."""
        self.compacted = 0
        """The number of elements that compactions have removed so far."""
        self.sealed = 0
        """The number of leading elements that are shared with copies: they are replaced, never changed."""
        self._touched: list[int] = []
        self.first_serial = 0
        """The serial number of the first element since the screen was last cleared, removed or not."""
        self._gone: list[int] = []
        """The serial numbers of removed elements, in ascending order."""

    @property
    def tool_calls(self) -> dict[str, int]:
        """The position of each call's element, by the call's id."""
        return {id: self.position(serial) for id, serial in self.calls.items()}

    @property
    def touched(self) -> list[int]:
        """The positions that the last `render` changed."""
        return [self.position(serial) for serial in self._touched]

    @property
    def next_serial(self) -> int:
        """The serial number of the next element."""
        return self.first_serial + len(self._gone) + len(self.elements)

    def position(self, serial: int) -> int:
        """The position of an element that was not removed."""
        return serial - self.first_serial - (bisect_left(self._gone, serial) if self._gone else 0)

    def serial(self, position: int) -> int:
        """The serial number of the element at a position."""
        start, gone = self.first_serial + position, self._gone
        return start + bisect_right(range(len(gone)), start, key=lambda number: gone[number] - number)

    def touch(self, serial: int) -> None:
        """Note that an element has changed."""
        self._touched.append(serial)

    def begin(self) -> None:
        """Forget what the last `render` changed."""
        self.settled = len(self.elements)
        if self._touched:
            self._touched = []
        if self.removed or self.cleared:
            self.removed, self.cleared = [], False

    @property
    def changes(self) -> ScreenChanges:
        """What the last `render` changed."""
        added = range(self.settled, len(self.elements))
        return ScreenChanges(self.cleared, tuple(self.removed), tuple(self.touched), added)

    def seal(self) -> None:
        """Share the elements: from now on, an element that changes is replaced by a new object."""
        self.sealed = len(self.elements)

    def copy(self) -> ScreenState:
        """An independent copy with an empty account. The elements are shared, and sealed."""
        self.seal()
        other = ScreenState(self.view)
        other.elements = self.elements.copy()
        other.calls = self.calls.copy()
        other.answered = self.answered.copy()
        other.first_serial, other._gone = self.first_serial, self._gone.copy()
        other.current_request_id = self.current_request_id
        other.compacted = self.compacted
        other.open_calls = self.open_calls.copy()
        other.orphans = {key: replace(orphan, audit_position=None) for key, orphan in self.orphans.items()}
        other.queue = deepcopy(self.queue)
        other.notices = deepcopy(self.notices)
        other.tasks = None if self.tasks is None else self.tasks.copy()
        other.settled = other.sealed = len(other.elements)
        return other

    def mutable_call(self, serial: int) -> ToolCall:
        """The call with this serial number, as an object that is not shared."""
        position = self.position(serial)
        call = self.elements[position]
        assert isinstance(call, ToolCall)  # only calls are registered
        if position < self.sealed:
            call = self.elements[position] = replace(call)
        return call

    def clear(self) -> None:
        """Remove all elements."""
        self.compacted += len(self.elements)
        self.first_serial = self.next_serial
        self._gone.clear()
        self._touched.clear()
        self.answered.clear()
        self.elements.clear()
        self.calls.clear()
        self.open_calls.clear()
        self.orphans.clear()
        self.current_request_id = None
        self.settled = self.sealed = 0
        self.cleared = True

    def remove(self, serial: int) -> None:
        """Remove one element that is not a call; those behind it move up."""
        position = self.position(serial)
        del self.elements[position]
        insort(self._gone, serial)
        self.sealed -= position < self.sealed
        if position < self.settled:
            self.settled -= 1
            self.removed.append(position)

    def to_markdown(self) -> str:
        """The screen as markdown text, without a final line break."""
        from claude_session_player.formatter import to_markdown  # the one import that points upwards

        return to_markdown(self.elements, self.view)
