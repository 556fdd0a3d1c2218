"""The files of a session: everything on disk that belongs to it, as it is at one moment."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.store import (
    AGENT_PREFIX,
    KIND_OF_DIR,
    MAX_DEPTH,
    META_SUFFIX,
    SESSION_SUFFIX,
    TOO_DEEP_REASON,
    SessionKind,
    is_session_id,
)
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from claude_session_player.store import Session

FILE: Final = "file"
FOLDER: Final = "folder"
LINK: Final = "link"
_KINDS: Final[dict[int, str]] = {stat.S_IFREG: FILE, stat.S_IFDIR: FOLDER, stat.S_IFLNK: LINK}

ByteProgress = Callable[[int], None]
"""Called with the number of bytes processed since the last call."""
SESSION_OVERHEAD: Final = 64 << 10
"""Bytes that a session adds to the progress besides its own: even an empty one takes time."""


class SessionRefused(SessionError):
    """A session that is left untouched because not all of it can be archived, moved or restored."""


class SessionItem(NamedTuple):
    """A file, a directory or a symbolic link of a session."""

    path: str
    """Relative to the root of the store, with "/" on every system."""
    kind: str
    size: int
    mtime_ns: int
    inode: int
    device: int
    mode: int
    target: str = ""
    """The target of a symbolic link."""


class SessionFiles(NamedTuple):
    """Everything that belongs to one session: its file, its directory, sub-agents beside it and their descriptions."""

    id: str
    kind: str
    root: str
    main: str
    """The path of the session's own file below the root; for orphaned sub-agents, where it would be."""
    items: tuple[SessionItem, ...]
    """The session's own file comes first, and each directory before its content."""
    title: str | None = None
    project: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    origin: str | None = None
    """The store that the files come from, if they have been moved out of it."""

    @property
    def store(self) -> str:
        """The root of the store that the files come from."""
        return self.origin or self.root

    @property
    def files(self) -> list[SessionItem]:
        """The regular files."""
        return [item for item in self.items if item.kind == FILE]

    @property
    def size(self) -> int:
        """The total size of all files, in bytes."""
        return sum(item.size for item in self.files)

    def path_of(self, item: SessionItem) -> str:
        """The path of an item on disk."""
        return os.path.join(self.root, *item.path.split("/"))


class CollectedFiles(NamedTuple):
    """The files of several sessions, and the sessions whose files could not be collected."""

    sessions: list[SessionFiles]
    refused: list[tuple[Session, SessionRefused]]


def collect_session_files(sessions: Iterable[Session], roots: Sequence[str]) -> CollectedFiles:
    """Collect the files of each session once, in the given order; a sub-agent stands for its session."""
    collected = CollectedFiles([], [])
    seen: set[tuple[str, str]] = set()
    for session in sessions:
        head = session.head
        key = (head.file.home, _owner_id(head) or head.path)
        if key in seen:
            continue
        seen.add(key)
        try:
            collected.sessions.append(session_files_of(head, store_root_of(head.path, roots)))
        except SessionRefused as refusal:
            collected.refused.append((head, refusal))
    return collected


def store_root_of(path: str, roots: Sequence[str]) -> str:
    """The root of the store that holds a file. Raises `SessionRefused` if none does."""
    for root in roots:
        if path.startswith(os.path.join(root, "")):
            return root
    raise SessionRefused(f"{display_path(path)} is not in a store: only sessions in a store can be archived or removed")


def session_files_of(session: Session, root: str) -> SessionFiles:
    """Everything that belongs to a session in a store. Raises `SessionRefused`."""
    head = session.head
    owner = _owner_id(head)
    main = head.path if owner is None else os.path.join(head.file.home, owner + SESSION_SUFFIX)
    files = [head.file] if head.is_orphan and owner is None else head.files
    beside = [file.path for file in files if os.path.dirname(file.path) == head.file.home]
    own = session_dir(main)
    try:
        if not _is_below(os.path.realpath(head.file.home), os.path.realpath(root)):
            raise SessionRefused(
                f"{display_path(_first_link(head.file.home, root))} is a symbolic link that leads out of the store: "
                "name the real location with --root"
            )
        if own is None and len(beside) < len(files):
            raise SessionRefused(
                f"{display_path(_stem(main))}: the name is not a session id, so its content may belong to others"
            )
        paths = sorted({*beside, *_description_files(beside)}, key=lambda path: (path != main, path))
        items = tuple(_item(path, root, own) for path in (*paths, *_walk(own)))
    except OSError as error:
        raise SessionRefused(f"{display_path(error.filename or main)}: {error.strerror or error}") from error
    return SessionFiles(
        id=os.path.basename(_stem(main)),
        kind=SessionKind.SUBAGENT if head.is_orphan else head.file.kind,
        root=root,
        main=_relative(main, root),
        items=items,
        title=head.title,
        project=head.project,
        created_at=head.created_at,
        updated_at=head.updated_at,
    )


def session_files_below(root: str, main: str, *, title: str | None, origin: str) -> SessionFiles:
    """Everything in a session's home below a directory that is laid out like a store. Raises `SessionRefused`."""
    path = os.path.join(root, *main.split("/"))
    home, own = os.path.dirname(path), session_dir(path)
    try:
        beside = sorted(os.path.join(home, name) for name in os.listdir(home) if os.path.join(home, name) != own)
        beside.sort(key=lambda one: one != path)
        items = tuple(_item(one, root, own) for one in (*beside, *_walk(own)))
    except OSError as error:
        raise SessionRefused(f"{display_path(error.filename or path)}: {error.strerror or error}") from error
    kind = KIND_OF_DIR.get(main.partition("/")[0], SessionKind.SESSION)
    return SessionFiles(os.path.basename(_stem(path)), kind, root, main, items, title, origin=origin)


def describe_change(session: SessionFiles) -> str | None:
    """What has changed on disk since the files were collected; `None` if nothing has. Directory times are ignored."""
    own = session_dir(os.path.join(session.root, *session.main.split("/")))
    beside = [session.path_of(item) for item in session.items if not is_in_session_dir(item.path, session.main)]
    try:
        now = [_item(path, session.root, own) for path in {*beside, *_description_files(beside), *_walk(own)}]
    except (OSError, SessionRefused) as error:
        return error.strerror or str(error) if isinstance(error, OSError) else str(error)
    before, after = ({item.path: _state(item) for item in items} for items in (session.items, now))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            return f"{display_path(path)} {_CHANGES[path in before, path in after]}"
    return None


_CHANGES: Final = {(True, True): "has changed", (True, False): "is gone", (False, True): "is new"}


def session_dir(main: str) -> str | None:
    """The directory that a session owns, by the path of its file; `None` if it owns none.

    Only a session id makes a directory its own: the directory `memory` does not belong to a file `memory.jsonl`.
    """
    own = _stem(main)
    return own if is_session_id(os.path.basename(own)) else None


def is_in_session_dir(path: str, main: str) -> bool:
    """True for the directory that a session owns, and for everything in it."""
    own = session_dir(main)
    return own is not None and (path == own or path.startswith(f"{own}/"))


def links_outside(path: str, target: str, own: str | None) -> bool:
    """True if a symbolic link may lead out of the directory that a session owns.

    Only a target that goes up first, no further than that directory, and then down is certain to stay inside.

    >>> [links_outside(*link, "p/s") for link in [("p/s/a/link", "../b"), ("p/s/link", "../b"), ("p/s/l", "/b")]]
    [False, True, True]
    """
    if own is None:
        return True
    steps = target.split("/")
    climbs = next((number for number, step in enumerate(steps) if step != ".."), len(steps))
    depth = path.count("/") - own.count("/") - 1
    rest = steps[climbs:]
    is_plain = "\\" not in target and "\0" not in target and not {"", ".", ".."} & set(rest)
    return not is_plain or climbs > depth or not path.startswith(f"{own}/")


def _first_link(path: str, root: str) -> str:
    """The first symbolic link on the path from the root of a store to something in it."""
    names = _relative(path, root).split("/")
    steps = (os.path.join(root, *names[:count]) for count in range(1, len(names)))
    return next((step for step in steps if os.path.islink(step)), path)


def _owner_id(head: Session) -> str | None:
    """The id of the session that an orphaned sub-agent belonged to; `None` for all others."""
    return head.parent_id if head.is_orphan else None


def _description_files(paths: Iterable[str]) -> Iterator[str]:
    """The description files of the sub-agents among some files."""
    for path in paths:
        if os.path.basename(path).startswith(AGENT_PREFIX) and path.endswith(SESSION_SUFFIX):
            meta = path.removesuffix(SESSION_SUFFIX) + META_SUFFIX
            if os.path.lexists(meta):
                yield meta


def _walk(own: str | None, depth: int = 0) -> Iterator[str]:
    """A directory and everything in it, hidden or not, without following links; nothing if it does not exist."""
    if depth > MAX_DEPTH:
        raise SessionRefused(
            f"{display_path(own or '')} is {TOO_DEEP_REASON} and cannot be archived: move it away first"
        )
    if own is None or not os.path.lexists(own):
        return
    yield own
    if os.path.islink(own) or not os.path.isdir(own):
        return
    with os.scandir(own) as entries:
        by_name = sorted(entries, key=lambda entry: entry.name)
    for entry in by_name:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, depth + 1)
        else:
            yield entry.path


def _item(path: str, root: str, own: str | None) -> SessionItem:
    """The state of a file, directory or link. Raises `SessionRefused` for anything else, and `OSError`."""
    status = os.lstat(path)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    relative = _relative(path, root)
    if kind is None:
        raise SessionRefused(
            f"{display_path(path)} is not a file, directory or link and cannot be archived: move it away first"
        )
    target = os.readlink(path) if kind == LINK else ""
    if kind == LINK and links_outside(relative, target, own and _relative(own, root)):
        raise SessionRefused(
            f"{display_path(path)} is a symbolic link that leads out of the session: move it away first"
        )
    size = status.st_size if kind == FILE else 0
    return SessionItem(
        relative, kind, size, status.st_mtime_ns, status.st_ino, status.st_dev, stat.S_IMODE(status.st_mode), target
    )


def _state(item: SessionItem) -> object:
    """What has to stay the same for an item to count as unchanged."""
    return (FOLDER, item.inode) if item.kind == FOLDER else item._replace(mode=0)


def _stem(main: str) -> str:
    return main.removesuffix(SESSION_SUFFIX)


def _relative(path: str, root: str) -> str:
    return path.removeprefix(os.path.join(root, "")).replace(os.sep, "/")


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(os.path.join(directory, ""))
