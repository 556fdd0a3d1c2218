"""Which files a session read, wrote and edited.

What a shell command does to files is not known, and is not counted.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from dataclasses import dataclass, field
from difflib import get_close_matches
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
from claude_session_player.util.text import base_name
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.store import Session

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def is_absolute(path: str) -> bool:
    """True for a path that means the same file whatever directory a session is in.

    >>> is_absolute("/a"), is_absolute("c:/a"), is_absolute("a/b")
    (True, True, False)
    """
    return path[:1] == "/" or _WINDOWS.match(path) is not None


def absolute_path(path: str, cwd: str | None) -> str:
    """A path from the root on, without detours, and otherwise spelled as it was.

    >>> absolute_path("src/../a.py", "/home/ada"), absolute_path("//a/./b", None), absolute_path("c:/a/./b", None)
    ('/home/ada/a.py', '/a/b', 'c:/a/b')
    """
    if _WINDOWS.match(path) or (not path.startswith("/") and _WINDOWS.match(cwd or "")):
        import ntpath  # seldom needed elsewhere than on Windows

        joined = ntpath.join(cwd or "", path)
        full = ntpath.normpath(joined)
        return full if "\\" in joined else full.replace("\\", "/")
    full = posixpath.normpath(posixpath.join(cwd or "", path))
    return full[1:] if full.startswith("//") else full


def file_key(path: str) -> str:
    """What tells an absolute path from those of other files: on Windows, the case of the drive and slashes do not.

    >>> file_key("c:/a/B.py") == file_key("C:\\\\a\\\\B.py"), file_key("/a/B.py")
    (True, '/a/B.py')
    """
    if _WINDOWS.match(path) is None:
        return path
    path = path.replace("/", "\\")
    return path[:1].upper() + path[1:]


_REFUSED: Final = b'"<tool_use_error>'


class FileCall(NamedTuple):
    """A call that touches a file."""

    line: int
    time: str | None
    tool: str
    touch: FileTouch
    path: str
    """Absolute, where the session tells the directory that it was in."""
    input: Any


class AnsweredCall(NamedTuple):
    """A call whose result is known as well."""

    call: FileCall
    line: int
    """Where both are known: as a rule, the line of the result."""
    time: str | None
    result: ToolResult
    structured: Raw
    """What the tool gave back beside what the model saw; nothing where it cannot be told whose it is."""

    @property
    def failed(self) -> bool:
        """True where the tool did nothing."""
        return bool(self.result.is_error) or bytes(memoryview(self.result.content)[: len(_REFUSED)]) == _REFUSED


class _Result(NamedTuple):
    line: int
    time: str | None
    result: ToolResult
    structured: Raw


class _Asked:
    """A call of any tool: the file that it touches, whether it has a result, and whether one says that it failed."""

    __slots__ = ("call", "has_failed", "is_answered")

    def __init__(self, call: FileCall | None) -> None:
        self.call = call
        self.is_answered = False
        self.has_failed = False

    def answer(self, line: int, found: _Result) -> Iterator[AnsweredCall]:
        """The answer that a result gives: the first one, and a later one that says that it failed after all."""
        if self.call is not None:
            answer = AnsweredCall(self.call, line, *found[1:])
            if not self.is_answered or (answer.failed and not self.has_failed):
                self.has_failed = answer.failed
                yield answer
        self.is_answered = True


class FileCalls:
    """Takes events in the order of the file, and gives the calls in them, and the answers that they complete."""

    def __init__(self) -> None:
        self.cwd: str | None = None
        self.home: str | None = None
        """The first directory that the session was in."""
        self._pairing: Pairing[_Asked, _Result] = Pairing()

    def take(self, event: Event) -> Iterator[FileCall | AnsweredCall]:
        """What one event tells; copies of earlier ones are not to be given."""
        if event.cwd:
            self.cwd = event.cwd
            self.home = self.home or event.cwd
        if not isinstance(event, MessageEvent) or not isinstance(blocks := event.message_content, list):
            return
        if isinstance(event, Assistant):
            for block in blocks:
                if isinstance(block, ToolUse):
                    yield from self._called(event, block)
        elif isinstance(event, User):
            results = [block for block in blocks if type(block) is ToolResult]
            structured = event.tool_use_result if len(results) == 1 else NOTHING
            for result in results:
                yield from self._answered(event, _Result(event.line, event.timestamp, result, structured))

    def absolute(self, path: str) -> str:
        """A path as seen from the directory that the session is in."""
        return absolute_path(path, self.cwd)

    def unanswered(self) -> list[FileCall]:
        """The calls whose results are missing, in the order of the file."""
        asked = (asked.call for asked in self._pairing.unanswered())
        return sorted([call for call in asked if call is not None], key=lambda call: call.line)

    def _called(self, event: Event, block: ToolUse) -> Iterator[FileCall | AnsweredCall]:
        touched = touched_file(block.name, block.input)
        call = None
        if touched is not None:
            touch, path = touched
            call = FileCall(event.line, event.timestamp, block.name or "", touch, self.absolute(path), block.input)
            yield call
        asked = _Asked(call)
        early = self._pairing.add_call(asked, block.id, block.name or "", event.uuid)
        if early is not None:
            yield from asked.answer(event.line, early)

    def _answered(self, event: User, found: _Result) -> Iterator[AnsweredCall]:
        result = found.result
        asked = self._pairing.add_result(found, result.tool_use_id, result.name, event.source_uuid)
        if asked is not None:
            yield from asked.answer(found.line, found)


_CREATED: Final = (b'"create"', b'"File created')
_ATTACHED: Final = frozenset((FILE_ATTACHED, FILE_CHANGED))


@dataclass(slots=True)
class TouchCounts:
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

    def count(self, touch: FileTouch, by: int = 1) -> None:
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


_COUNTERS: Final = {FileTouch.READ: "reads", FileTouch.WRITE: "writes", FileTouch.EDIT: "edits"}


class TouchCounter:
    """Counts touches while events go by; `files` is what is known so far, in the order of the first touch."""

    def __init__(self) -> None:
        self.files: dict[str, TouchCounts] = {}
        """By path, as it was first spelled."""
        self._by_key: dict[str, TouchCounts] = {}
        self._answers = FileCalls()

    def take(self, event: Event) -> None:
        """Count what one event does to files."""
        for known in self._answers.take(event):
            if isinstance(known, FileCall):
                self._touches(known.path, known.line, known.time).count(known.touch)
            else:
                self._correct(known)
        attached = event.attachment if isinstance(event, Attachment) else None
        if attached is not None and attached.type in _ATTACHED and attached.filename:
            path = self._answers.absolute(attached.filename)
            self._touches(path, event.line, event.timestamp).attached += 1

    def _touches(self, path: str, line: int, time: str | None) -> TouchCounts:
        key = file_key(path)
        if (touches := self._by_key.get(key)) is None:
            touches = self._by_key[key] = self.files[path] = TouchCounts()
        touches.see(line, normalize_time(time))
        return touches

    def _correct(self, answer: AnsweredCall) -> None:
        """Take back what a result shows to have failed."""
        touches = self._by_key[file_key(answer.call.path)]
        if answer.failed:
            touches.count(answer.call.touch, -1)
            touches.failed += 1
        elif answer.call.touch is FileTouch.WRITE and _is_created(answer):
            touches.created = True


def count_touches(events: Iterable[Event]) -> dict[str, TouchCounts]:
    """The files that events touch, by absolute path, in the order of the first touch."""
    toucher = TouchCounter()
    for event in drop_copies(events):
        toucher.take(event)
    return toucher.files


@dataclass(slots=True)
class TouchedFile:
    """A file that a session or its sub-agents touched, and what each of them did with it."""

    path: str
    all: TouchCounts = field(default_factory=TouchCounts)
    by: dict[str | None, TouchCounts] = field(default_factory=dict)
    """By the id of the sub-agent; the session itself has none."""

    def add(self, agent: str | None, touches: TouchCounts) -> None:
        """Count what one of them did."""
        self.by[agent] = touches
        total = self.all
        for name in ("reads", "writes", "edits", "attached", "failed"):
            setattr(total, name, getattr(total, name) + getattr(touches, name))
        total.created = total.created or touches.created
        total.widen(touches.first_time, touches.last_time)


def touched_files(session: Session, own: bool = False) -> list[TouchedFile]:
    """The files that a session and its sub-agents touched, the first touched first; with `own`, the session alone."""
    files: dict[str, TouchedFile] = {}
    for agent, toucher in _touchers(session, None, own):
        for path, touches in toucher.files.items():
            files.setdefault(file_key(path), TouchedFile(path)).add(agent, touches)
    return sorted(files.values(), key=lambda file: file.all.first_time or "")


def _touchers(session: Session, id: str | None, own: bool) -> Iterator[tuple[str | None, TouchCounter]]:
    """What each of a family touched. A file is read once, also where sub-agents are inside of it."""
    inline = [] if session.is_inline else [one for one in session.facts.inline if not one.is_reported]
    whose = {line: agent.id for agent in inline for first, last in agent.lines for line in range(first, last + 1)}
    touchers: dict[str | None, TouchCounter] = defaultdict(TouchCounter)
    for event in drop_copies(session.events()):
        touchers[whose.get(event.line, id)].take(event)
    yield from ((agent, toucher) for agent, toucher in touchers.items() if agent == id or not own)
    for child in () if own else session.subagents:
        if not child.is_inline or child.is_reported:
            yield from _touchers(child, child.id, own)


def _is_created(answer: AnsweredCall) -> bool:
    try:
        kind = decode_file_result(answer.structured).type if answer.structured else answer.result.content
    except DECODE_ERRORS:
        kind = answer.result.content
    return bytes(memoryview(kind)[:13]).startswith(_CREATED)


_MANY: Final = 10
_NEAREST: Final = 3


def find_touched_file(given: str, paths: Sequence[str], project: str | None) -> str:
    """The one path that is meant; raises `Ambiguous` or `NoSuchFile`.

    >>> paths = ["/a/b.py", "/a/c.py"]
    >>> find_touched_file("b.py", paths, None), find_touched_file("./c.py", paths, "/a")
    ('/a/b.py', '/a/c.py')
    """
    full = file_key(absolute_path(given, project))
    for path in paths:
        if file_key(path) == full:
            return path
    end = "/" + _slashed(file_key(absolute_path(given, None))).lstrip("/")
    matches = [path for path in paths if _slashed(file_key(path)).endswith(end)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        more = [f"… and {len(matches) - _MANY} more"] if len(matches) > _MANY else []
        raise Ambiguous(f"{given!r} fits {len(matches)} files: write more of the path", *matches[:_MANY], *more)
    raise _unknown(given, paths)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _unknown(given: str, paths: Sequence[str]) -> NoSuchFile:
    """An error that names what is nearest: paths that hold the words, names that sound alike."""
    words = _slashed(given).casefold()
    near = [path for path in paths if words in _slashed(path).casefold()]
    names = {base_name(path).casefold(): path for path in paths}
    near += [names[name] for name in get_close_matches(base_name(words), names, n=_NEAREST, cutoff=0.6)]
    if near:
        nearest = list(dict.fromkeys(near))[:_NEAREST]
        return NoSuchFile(f"the session touched no file {given!r}; the nearest are", *nearest)
    if not paths:
        return NoSuchFile("the session touched no file at all")
    return NoSuchFile(f"the session touched no file {given!r}: leave PATH out to see which ({len(paths)}) it did touch")
