"""What happened to one file across sessions: each read and change, with its diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.errors import CannotRead
from claude_session_player.files.activity import (
    CompletedCall,
    FileCall,
    FileCalls,
    attached_path,
    inline_agents,
    is_created,
    matching_paths,
)
from claude_session_player.format import lenient_json
from claude_session_player.format.content import Code, Diff, result_parts
from claude_session_player.linking.copies import drop_copies
from claude_session_player.store import ReadProblem
from claude_session_player.tools import FileTouch, call_parts
from claude_session_player.tools.parts import ToolReply
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import base_name
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from claude_session_player.format.events import Event
    from claude_session_player.store import Session

FAILED: Final = "failed"
_ATTACHED: Final = "attachment"
_PORTION: Final = 1 << 20
_ESCAPED: Final = frozenset('"\\')
"""Characters that JSON spells differently."""


class RecordedTouch(NamedTuple):
    """One read or change of a file."""

    session: Session
    agent: str | None
    """The id of the sub-agent that did it; `None` for the session itself."""
    path: str
    line: int
    time: str | None
    tool: str
    what: str
    """`read`, `written`, `edited` or `failed`."""
    created: bool = False
    """True if a result says that the call created the file."""
    diff: str = ""
    """What it changed, as lines that begin with a space, a minus or a plus; empty for other touches."""
    key: str = ""
    """What a copy in another session shares with it; empty if it cannot have one."""

    @property
    def added(self) -> int:
        """How many lines were added."""
        return sum(line[:1] == "+" for line in self.diff.split("\n"))

    @property
    def removed(self) -> int:
        """How many lines were removed."""
        return sum(line[:1] == "-" for line in self.diff.split("\n"))


def file_history(
    sessions: Iterable[Session],
    given: str,
    note: Callable[[ReadProblem], object],
    *,
    own: bool = False,
    newest_first: bool = True,
) -> Iterator[RecordedTouch]:
    """What sessions did to the file that a full or partial path refers to, session by session.

    With `own`, what sub-agents did is left out. Of copies in several sessions, the one that comes first counts. A
    session is read when what came before it was taken, and only if its files name the file. One that cannot be read is
    noted.
    """
    known: set[str] = set()
    for session in sessions:
        try:
            found = _session_history(session, given, own)
        except (OSError, CannotRead) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            note(ReadProblem(session.path, getattr(cause, "strerror", None) or str(error)))
            continue
        new = [touch for touch in found if touch.key not in known]
        known.update(touch.key for touch in found if touch.key)
        yield from reversed(new) if newest_first else new


def _session_history(session: Session, given: str, own: bool) -> list[RecordedTouch]:
    """What one session did, in the order of time, as far as the order of each file allows."""
    name = base_name(given)
    if not any(_may_name(path, name) for path in ([session.path] if own else session.paths)):
        return []
    touches: list[tuple[str, RecordedTouch]] = []
    for stream in _streams(session, None, own):
        latest = ""
        for touch in stream.touches(name):
            latest = max(latest, touch.time or "")
            touches.append((latest, touch))
    touches.sort(key=lambda pair: pair[0])
    paths = list(dict.fromkeys(touch.path for _, touch in touches))
    wanted = set(matching_paths(given, paths, session.project))
    return [touch for _, touch in touches if touch.path in wanted]


def _may_name(path: str, name: str) -> bool:
    """False if the bytes of a session file certainly do not name a file; saves decoding most sessions."""
    if not name.isascii() or not name.isprintable() or not _ESCAPED.isdisjoint(name):
        return True
    wanted, rest = name.encode(), b""
    with open(path, "rb", opener=regular_opener) as file:
        while portion := file.read(_PORTION):
            if wanted in rest + portion:
                return True
            rest = portion[1 - len(wanted) :] if len(wanted) > 1 else b""
    return False


# --- one conversation ---------------------------------------------------------------------------------


def _streams(session: Session, agent: str | None, own: bool) -> Iterator[_TouchStream]:
    """The conversations of a session and its sub-agents. A file is read once, even if it has inline sub-agents."""
    inside, streams = inline_agents(session), dict[str | None, _TouchStream]()
    for event in drop_copies(session.events()):
        by = inside.get(event.line, agent)
        if by not in streams:
            streams[by] = _TouchStream(session.head, by)
        streams[by].take(event)
    yield from (stream for by, stream in streams.items() if by == agent or not own)
    for child in () if own else session.subagents:
        if not child.is_inline or child.is_reported:
            yield from _streams(child, child.id, own)


class _TouchStream:
    """The touches of files in one conversation, event by event."""

    def __init__(self, session: Session, agent: str | None) -> None:
        self._session = session
        self._agent = agent
        self._calls = FileCalls()
        self._found: dict[int, tuple[FileCall, CompletedCall | None]] = {}
        """The calls by identity, in the order of the file, with the last of their results."""

    def take(self, event: Event) -> None:
        """Note the touches of one event."""
        for call in self._calls.take(event):
            if isinstance(call, FileCall):
                self._found[id(call)] = (call, None)
            else:
                self._found[id(call.call)] = (call.call, call)
        if filename := attached_path(event):
            path = self._calls.absolute(filename)
            attached = FileCall(event.line, event.timestamp, _ATTACHED, FileTouch.READ, path, None)
            self._found[id(attached)] = (attached, None)

    def touches(self, name: str) -> Iterator[RecordedTouch]:
        """The touches of files with this name."""
        for call, completed in self._found.values():
            if base_name(call.path) == name:
                yield self._touch(call, completed)

    def _touch(self, call: FileCall, completed: CompletedCall | None) -> RecordedTouch:
        has_failed = completed is not None and completed.failed
        is_change = call.touch is not FileTouch.READ and not has_failed
        time = normalize_time(call.time)
        return RecordedTouch(
            session=self._session,
            agent=self._agent,
            path=call.path,
            line=call.line,
            time=time,
            tool=call.tool,
            what=FAILED if has_failed else call.touch.value,
            created=is_change and completed is not None and call.touch is FileTouch.WRITE and is_created(completed),
            diff=_diff(call, completed) if is_change else "",
            key=f"{time} {call.tool} {call.path} {_checksum(call.input)}" if time else "",
        )


def _checksum(given: Any) -> int:
    return hash(lenient_json.compact(given))


def _diff(call: FileCall, completed: CompletedCall | None) -> str:
    """What a call changed, by its result, or by its input alone."""
    reply = None
    if completed is not None:
        reply = ToolReply(result_parts(completed.result)[0], False, completed.structured)
    texts = []
    for part in call_parts(call.tool, call.input, reply).given:
        if isinstance(part, Diff):
            texts.append(part.text)
        elif isinstance(part, Code) and part.text:  # a cell of a notebook: what it replaced is not known
            texts.append("+" + part.text.removesuffix("\n").replace("\n", "\n+"))
    return "\n".join(filter(None, texts))
