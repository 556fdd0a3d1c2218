"""Which files a session read, wrote and edited.

What a shell command does to files is not known, and is not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from claude_session_player.events import FILE_ATTACHED, FILE_CHANGED, REFUSALS, Attachment, Event
from claude_session_player.insight.answers import Answer, Answers, Call
from claude_session_player.insight.file_paths import file_key
from claude_session_player.linking.copies import drop_copies
from claude_session_player.results import decode_file_result
from claude_session_player.times import moment
from claude_session_player.tools import Touch

if TYPE_CHECKING:
    from claude_session_player.store.session import Session

_CREATED: Final = (b'"create"', b'"File created')
_ATTACHED: Final = frozenset((FILE_ATTACHED, FILE_CHANGED))


@dataclass(slots=True)
class Touches:
    """How often a file was touched, and when. A failed call counts as nothing else."""

    reads: int = 0
    writes: int = 0
    edits: int = 0
    attached: int = 0
    """How often the harness showed the file: because a person named it, or because somebody changed it."""
    failed: int = 0
    created: bool = False
    """True where it is known that a call created it."""
    first_time: str | None = None
    last_time: str | None = None
    first_line: int = 0
    last_line: int = 0
    """Lines of the session's file, or of the sub-agent's; 0 for those of several."""

    @property
    def changes(self) -> int:
        """How often it was changed."""
        return self.writes + self.edits

    def count(self, touch: Touch, by: int = 1) -> None:
        """Count a touch, or take one back."""
        name = _COUNTERS[touch]
        setattr(self, name, getattr(self, name) + by)

    def see(self, line: int, time: str | None) -> None:
        """Let the touches span a line and its time."""
        self.first_line = min(self.first_line or line, line)
        self.last_line = max(self.last_line, line)
        self.widen(time, time)

    def widen(self, first: str | None, last: str | None) -> None:
        """Let the touches span these times, of which half of all files have some that go backwards."""
        self.first_time = min(filter(None, (self.first_time, first)), default=None)
        self.last_time = max(filter(None, (self.last_time, last)), default=None)


_COUNTERS: Final = {Touch.READ: "reads", Touch.WRITE: "writes", Touch.EDIT: "edits"}


class Toucher:
    """Counts touches while events go by; `files` is what is known so far, in the order of the first touch."""

    def __init__(self) -> None:
        self.files: dict[str, Touches] = {}
        """By path, as it was first spelled."""
        self._by_key: dict[str, Touches] = {}
        self._answers = Answers()

    def take(self, event: Event) -> None:
        """Count what one event does to files."""
        for known in self._answers.take(event):
            if isinstance(known, Call):
                self._touches(known.path, known.line, known.time).count(known.touch)
            else:
                self._correct(known)
        attached = event.attachment if isinstance(event, Attachment) else None
        if attached is not None and attached.type in _ATTACHED and attached.filename:
            path = self._answers.absolute(attached.filename)
            self._touches(path, event.line, event.timestamp).attached += 1

    def _touches(self, path: str, line: int, time: str | None) -> Touches:
        key = file_key(path)
        if (touches := self._by_key.get(key)) is None:
            touches = self._by_key[key] = self.files[path] = Touches()
        touches.see(line, moment(time))
        return touches

    def _correct(self, answer: Answer) -> None:
        """Take back what a result shows to have failed."""
        touches = self._by_key[file_key(answer.call.path)]
        if answer.failed:
            touches.count(answer.call.touch, -1)
            touches.failed += 1
        elif answer.call.touch is Touch.WRITE and _is_created(answer):
            touches.created = True


def touched(events: Iterable[Event]) -> dict[str, Touches]:
    """The files that events touch, by absolute path, in the order of the first touch."""
    toucher = Toucher()
    for event in drop_copies(events):
        toucher.take(event)
    return toucher.files


@dataclass(slots=True)
class TouchedFile:
    """A file that a session or its sub-agents touched, and what each of them did with it."""

    path: str
    all: Touches = field(default_factory=Touches)
    by: dict[str | None, Touches] = field(default_factory=dict)
    """By the id of the sub-agent; the session itself has none."""

    def add(self, agent: str | None, touches: Touches) -> None:
        """Count what one of them did."""
        self.by[agent] = touches
        total = self.all
        for name in ("reads", "writes", "edits", "attached", "failed"):
            setattr(total, name, getattr(total, name) + getattr(touches, name))
        total.created = total.created or touches.created
        total.widen(touches.first_time, touches.last_time)


def files_of(session: Session, own: bool = False) -> list[TouchedFile]:
    """The files that a session and its sub-agents touched, the first touched first; with `own`, the session alone."""
    files: dict[str, TouchedFile] = {}
    for agent, toucher in _touchers(session, None, own):
        for path, touches in toucher.files.items():
            files.setdefault(file_key(path), TouchedFile(path)).add(agent, touches)
    return sorted(files.values(), key=lambda file: file.all.first_time or "")


def _touchers(session: Session, id: str | None, own: bool) -> Iterator[tuple[str | None, Toucher]]:
    """What each of a family touched. A file is read once, also where sub-agents are inside of it."""
    inline = [] if session.is_inline else [one for one in session.facts.inline if not one.is_reported]
    whose = {line: agent.id for agent in inline for first, last in agent.lines for line in range(first, last + 1)}
    touchers: dict[str | None, Toucher] = defaultdict(Toucher)
    for event in drop_copies(session.events()):
        touchers[whose.get(event.line, id)].take(event)
    yield from ((agent, toucher) for agent, toucher in touchers.items() if agent == id or not own)
    for child in () if own else session.subagents:
        if not child.is_inline or child.is_reported:
            yield from _touchers(child, child.id, own)


def _is_created(answer: Answer) -> bool:
    try:
        kind = decode_file_result(answer.structured).type if answer.structured else answer.result.content
    except REFUSALS:
        kind = answer.result.content
    return bytes(memoryview(kind)[:13]).startswith(_CREATED)
