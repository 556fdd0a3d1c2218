"""Which files a session read, wrote and edited.

Changes by shell commands are unknown, and are not counted.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Raw

from claude_session_player.errors import Ambiguous, NoSuchFile
from claude_session_player.format.blocks import DECODE_ERRORS, NOTHING, ToolResult, ToolUse
from claude_session_player.format.events import (
    FILE_ATTACHED,
    FILE_CHANGED,
    Assistant,
    Attachment,
    Event,
    MessageEvent,
    User,
)
from claude_session_player.format.results import decode_file_result
from claude_session_player.linking.copies import drop_copies
from claude_session_player.linking.pairing import Pairing
from claude_session_player.tools import FileTouch, touched_file
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import base_name
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.store import Session

_WINDOWS_ROOT: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_HOME_ROOTS: Final = ("~/", "~\\")


def _has_windows_root(path: str) -> bool:
    return path.startswith("~\\") or _WINDOWS_ROOT.match(path) is not None


def is_absolute(path: str) -> bool:
    """True for a path that does not depend on the working directory, on any platform.

    A path below a home directory does not either: so are those of redacted sessions.

    >>> is_absolute("/a"), is_absolute("c:/a"), is_absolute("~/a"), is_absolute("a/b")
    (True, True, True, False)
    """
    return path[:1] == "/" or path.startswith(_HOME_ROOTS) or _WINDOWS_ROOT.match(path) is not None


def absolute_path(path: str, cwd: str | None) -> str:
    """An absolute path without `.` and `..`, otherwise spelled as given.

    >>> absolute_path("src/../a.py", "/home/ada"), absolute_path("//a/./b", None), absolute_path("c:/a/./b", None)
    ('/home/ada/a.py', '/a/b', 'c:/a/b')
    >>> absolute_path("~/kettle/./a.py", "~/kettle"), absolute_path("a.py", "~/kettle")
    ('~/kettle/a.py', '~/kettle/a.py')
    """
    if path.startswith(_HOME_ROOTS):
        cwd = None
    if _has_windows_root(path) or (not path.startswith("/") and _has_windows_root(cwd or "")):
        import ntpath  # rarely needed except on Windows

        joined = ntpath.join(cwd or "", path)
        full = ntpath.normpath(joined)
        return full if "\\" in joined else full.replace("\\", "/")
    full = posixpath.normpath(posixpath.join(cwd or "", path))
    return full[1:] if full.startswith("//") else full


def file_key(path: str) -> str:
    """The identity of an absolute path: on Windows, the case of the drive and the kind of slash do not matter.

    >>> file_key("c:/a/B.py") == file_key("C:\\\\a\\\\B.py"), file_key("/a/B.py")
    (True, '/a/B.py')
    """
    if _WINDOWS_ROOT.match(path) is None:
        return path
    path = path.replace("/", "\\")
    return path[:1].upper() + path[1:]


_TOOL_ERROR: Final = b'"<tool_use_error>'


class FileCall(NamedTuple):
    """A tool call that reads or changes a file."""

    line: int
    time: str | None
    tool: str
    touch: FileTouch
    path: str
    """Absolute, if the session records its working directory."""
    input: Any


class CompletedCall(NamedTuple):
    """A tool call with its result."""

    call: FileCall
    line: int
    """The line that completes the pair: usually that of the result."""
    time: str | None
    result: ToolResult
    structured: Raw
    """The structured result, which the model does not see; empty if it may belong to another result."""

    @property
    def failed(self) -> bool:
        """True if the tool changed nothing."""
        return bool(self.result.is_error) or bytes(memoryview(self.result.content)[: len(_TOOL_ERROR)]) == _TOOL_ERROR


class _Result(NamedTuple):
    line: int
    time: str | None
    result: ToolResult
    structured: Raw


class _PendingCall:
    """A call of any tool: what it does to a file, and whether its results so far include a failure."""

    __slots__ = ("call", "has_failed", "has_result")

    def __init__(self, call: FileCall | None) -> None:
        self.call = call
        self.has_result = False
        self.has_failed = False

    def complete(self, line: int, result: _Result) -> Iterator[CompletedCall]:
        """The call with a result, if that is its first one, or the first one that reports a failure."""
        if self.call is not None:
            completed = CompletedCall(self.call, line, *result[1:])
            if not self.has_result or (completed.failed and not self.has_failed):
                self.has_failed = completed.failed
                yield completed
        self.has_result = True


class FileCalls:
    """Pairs the tool calls that touch files with their results, event by event in file order."""

    def __init__(self) -> None:
        self.cwd: str | None = None
        self.home: str | None = None
        """The first working directory of the session."""
        self._pairing: Pairing[_PendingCall, _Result] = Pairing()

    def take(self, event: Event) -> Iterator[FileCall | CompletedCall]:
        """The calls of one event, and the calls that it completes; events must not be copies of earlier ones."""
        if event.cwd:
            self.cwd = event.cwd
            self.home = self.home or event.cwd
        if not isinstance(event, MessageEvent) or not isinstance(blocks := event.message_content, list):
            return
        if isinstance(event, Assistant):
            for block in blocks:
                if isinstance(block, ToolUse):
                    yield from self._add_call(event, block)
        elif isinstance(event, User):
            results = [block for block in blocks if type(block) is ToolResult]
            structured = event.tool_use_result if len(results) == 1 else NOTHING
            for result in results:
                yield from self._add_result(event, _Result(event.line, event.timestamp, result, structured))

    def absolute(self, path: str) -> str:
        """A path relative to the current working directory of the session as an absolute one."""
        return absolute_path(path, self.cwd)

    def without_result(self) -> list[FileCall]:
        """The calls without a result, in file order."""
        calls = (pending.call for pending in self._pairing.unanswered())
        return sorted([call for call in calls if call is not None], key=lambda call: call.line)

    def _add_call(self, event: Event, block: ToolUse) -> Iterator[FileCall | CompletedCall]:
        touched = touched_file(block.name, block.input)
        call = None
        if touched is not None:
            touch, path = touched
            call = FileCall(event.line, event.timestamp, block.name or "", touch, self.absolute(path), block.input)
            yield call
        pending = _PendingCall(call)
        early = self._pairing.add_call(pending, block.id, block.name or "", event.uuid)
        if early is not None:
            yield from pending.complete(event.line, early)

    def _add_result(self, event: User, found: _Result) -> Iterator[CompletedCall]:
        result = found.result
        pending = self._pairing.add_result(found, result.tool_use_id, result.name, event.source_uuid)
        if pending is not None:
            yield from pending.complete(found.line, found)


_CREATED: Final = (b'"create"', b'"File created')
"""How the type or the text of a result starts that created a file."""
_FILE_ATTACHMENTS: Final = frozenset((FILE_ATTACHED, FILE_CHANGED))


def attached_path(event: Event) -> str | None:
    """The file that an event attaches, as it names it."""
    attached = event.attachment if isinstance(event, Attachment) else None
    return attached.filename if attached is not None and attached.type in _FILE_ATTACHMENTS else None


@dataclass(slots=True)
class TouchCounts:
    """How often a file was read and changed, and when. A failed call counts only as failed."""

    reads: int = 0
    writes: int = 0
    edits: int = 0
    attached: int = 0
    """How often the file was attached: because the user named it, or because it changed outside the session."""
    failed: int = 0
    created: bool = False
    """True if a result says that the call created the file."""
    first_time: str | None = None
    last_time: str | None = None
    first_line: int = 0
    last_line: int = 0
    """Lines of one session file; 0 in totals over several files."""

    @property
    def changes(self) -> int:
        """Writes and edits."""
        return self.writes + self.edits

    def count(self, touch: FileTouch, by: int = 1) -> None:
        """Count a touch, or with -1 take one back."""
        name = _COUNT_FIELDS[touch]
        setattr(self, name, getattr(self, name) + by)

    def see(self, line: int, time: str | None) -> None:
        """Extend the span of touches to a line and its time."""
        self.first_line = min(self.first_line or line, line)
        self.last_line = max(self.last_line, line)
        self.widen(time, time)

    def widen(self, first: str | None, last: str | None) -> None:
        """Extend the span of touches to these times; in half of all session files, some times go backwards."""
        self.first_time = min(filter(None, (self.first_time, first)), default=None)
        self.last_time = max(filter(None, (self.last_time, last)), default=None)


_COUNT_FIELDS: Final = {FileTouch.READ: "reads", FileTouch.WRITE: "writes", FileTouch.EDIT: "edits"}


class TouchCounter:
    """Counts touches event by event; `files` are the counts so far, in the order of the first touch."""

    def __init__(self) -> None:
        self.files: dict[str, TouchCounts] = {}
        """By path, in its first spelling."""
        self._by_key: dict[str, TouchCounts] = {}
        self._calls = FileCalls()

    def take(self, event: Event) -> None:
        """Count the touches of one event."""
        for call in self._calls.take(event):
            if isinstance(call, FileCall):
                self._touches(call.path, call.line, call.time).count(call.touch)
            else:
                self._correct(call)
        if filename := attached_path(event):
            self._touches(self._calls.absolute(filename), event.line, event.timestamp).attached += 1

    def _touches(self, path: str, line: int, time: str | None) -> TouchCounts:
        key = file_key(path)
        if (touches := self._by_key.get(key)) is None:
            touches = self._by_key[key] = self.files[path] = TouchCounts()
        touches.see(line, normalize_time(time))
        return touches

    def _correct(self, completed: CompletedCall) -> None:
        """Correct the counts by a result: the call failed, or created the file."""
        touches = self._by_key[file_key(completed.call.path)]
        if completed.failed:
            touches.count(completed.call.touch, -1)
            touches.failed += 1
        elif completed.call.touch is FileTouch.WRITE and is_created(completed):
            touches.created = True


def count_touches(events: Iterable[Event]) -> dict[str, TouchCounts]:
    """The files that events touch, by absolute path, in the order of the first touch."""
    counter = TouchCounter()
    for event in drop_copies(events):
        counter.take(event)
    return counter.files


@dataclass(slots=True)
class TouchedFile:
    """A file that a session or its sub-agents touched, with the counts of each of them."""

    path: str
    all: TouchCounts = field(default_factory=TouchCounts)
    by: dict[str | None, TouchCounts] = field(default_factory=dict)
    """By the id of the sub-agent; `None` for the session itself."""

    def add(self, agent: str | None, touches: TouchCounts) -> None:
        """Add the counts of the session or of one sub-agent."""
        self.by[agent] = touches
        total = self.all
        for name in ("reads", "writes", "edits", "attached", "failed"):
            setattr(total, name, getattr(total, name) + getattr(touches, name))
        total.created = total.created or touches.created
        total.widen(touches.first_time, touches.last_time)


def touched_files(session: Session, own: bool = False) -> list[TouchedFile]:
    """The files that a session and its sub-agents touched, by first touch; with `own`, only those of the session."""
    files: dict[str, TouchedFile] = {}
    for agent, counter in _count_by_agent(session, None, own):
        for path, touches in counter.files.items():
            files.setdefault(file_key(path), TouchedFile(path)).add(agent, touches)
    return sorted(files.values(), key=lambda file: file.all.first_time or "")


def _count_by_agent(session: Session, id: str | None, own: bool) -> Iterator[tuple[str | None, TouchCounter]]:
    """The counts of a session and of each sub-agent. A file is read once, even if it has inline sub-agents."""
    agents = inline_agents(session)
    counters: dict[str | None, TouchCounter] = defaultdict(TouchCounter)
    for event in drop_copies(session.events()):
        counters[agents.get(event.line, id)].take(event)
    yield from ((agent, counter) for agent, counter in counters.items() if agent == id or not own)
    for child in () if own else session.subagents:
        if not child.is_inline or child.is_reported:
            yield from _count_by_agent(child, child.id, own)


def inline_agents(session: Session) -> dict[int, str]:
    """The sub-agents whose conversations are in the file of a session, by line."""
    inline = [] if session.is_inline else [agent for agent in session.facts.inline if not agent.is_reported]
    return {line: agent.id for agent in inline for first, last in agent.lines for line in range(first, last + 1)}


def is_created(completed: CompletedCall) -> bool:
    """True if the result of a call says that it created the file."""
    structured, content = completed.structured, completed.result.content
    try:
        kind = decode_file_result(structured).type if structured else content
    except DECODE_ERRORS:
        kind = content
    return bytes(memoryview(kind)[:13]).startswith(_CREATED)


_MAX_MATCHES: Final = 10
_MAX_SUGGESTIONS: Final = 3


def find_touched_file(given: str, paths: Sequence[str], project: str | None) -> str:
    """The touched path that a full or partial path refers to; raises `Ambiguous` or `NoSuchFile`.

    >>> paths = ["/a/b.py", "/a/c.py"]
    >>> find_touched_file("b.py", paths, None), find_touched_file("./c.py", paths, "/a")
    ('/a/b.py', '/a/c.py')
    """
    matches = matching_paths(given, paths, project)
    if len({file_key(path) for path in matches}) == 1:
        return matches[0]
    if matches:
        more = [f"… and {len(matches) - _MAX_MATCHES} more"] if len(matches) > _MAX_MATCHES else []
        shown = matches[:_MAX_MATCHES]
        raise Ambiguous(f"{given!r} matches {len(matches)} files; give more of the path", *shown, *more)
    raise _no_such_file(given, paths)


def matching_paths(given: str, paths: Sequence[str], project: str | None) -> list[str]:
    """The touched path that a full path refers to; if there is none, all that end like it.

    >>> matching_paths("b.py", ["/a/b.py", "/a/c/b.py", "/a/bb.py"], None)
    ['/a/b.py', '/a/c/b.py']
    """
    full = file_key(absolute_path(given, project))
    if same := [path for path in paths if file_key(path) == full]:
        return same
    end = "/" + _slashed(file_key(absolute_path(given, None))).lstrip("/")
    return [path for path in paths if _slashed(file_key(path)).endswith(end)]


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _no_such_file(given: str, paths: Sequence[str]) -> NoSuchFile:
    """An error with suggestions: paths that contain the given words, or have a similar name."""
    from difflib import get_close_matches

    words = _slashed(given).casefold()
    near = [path for path in paths if words in _slashed(path).casefold()]
    names = {base_name(path).casefold(): path for path in paths}
    near += [names[name] for name in get_close_matches(base_name(words), names, n=_MAX_SUGGESTIONS, cutoff=0.6)]
    if near:
        nearest = list(dict.fromkeys(near))[:_MAX_SUGGESTIONS]
        return NoSuchFile(f"the session touched no file {given!r}; did you mean", *nearest)
    if not paths:
        return NoSuchFile("the session touched no files")
    files = plural(len(paths), "file")
    return NoSuchFile(f"the session touched no file {given!r}; omit PATH to list the {files} it touched")
