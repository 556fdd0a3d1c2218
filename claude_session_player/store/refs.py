"""References: how people name a session, and the one session that is meant.

Nothing is guessed. If several sessions match, they are listed; if none does, the nearest are.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from claude_session_player.errors import Ambiguous, CannotRead, NoSuchSession
from claude_session_player.store.layout import (
    AGENT_PREFIX,
    SESSION_SUFFIX,
    SessionFile,
    SessionKind,
    project_dir_spellings,
)
from claude_session_player.store.session import Session
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import base_name, display_path, truncate

if TYPE_CHECKING:
    from claude_session_player.store.store import Store

MIN_PREFIX_LENGTH: Final = 4
"""The length of the shortest prefix of an id or a title."""
LATEST: Final = "latest"
"""The reference to the session that was active last: in the project of this directory if there is one, else of all."""
_LATEST: Final = re.compile(rf"{LATEST}(?P<all>:all)?(?::(?P<number>\d+))?")
_LATEST_FORMS: Final = "write latest, latest:2, latest:all or latest:all:2"
MAX_BREADCRUMB_SIZE: Final = 1 << 16
_MAX_LISTED: Final = 10
_MAX_NEAREST: Final = 3
_TITLE_LENGTH: Final = 60


def resolve_ref(store: Store, ref: str) -> Session:
    """The session that a reference means."""
    meant = locate_ref(store, ref)
    return store.session_of(meant) if isinstance(meant, SessionFile) else meant


def locate_ref(store: Store, ref: str) -> SessionFile | Session:
    """What a reference means: its file, unless more had to be read to find it."""
    if (choice := latest_choice(store, ref)) is not None:
        return choice.session
    if os.path.isfile(ref):
        crumb = Breadcrumb.read(ref)
        return store.file_at(ref) if crumb is None else crumb.follow(store)
    if not looks_like_path(ref):
        try:
            return _named(store, ref)
        except NoSuchSession as error:
            if ref.startswith(f"{LATEST}:"):
                raise NoSuchSession(f"there is no session {ref!r}: {_LATEST_FORMS}") from error
            if not os.path.exists(ref):
                raise
    raise CannotRead(not_a_session_reason(ref))


def latest_meant(ref: str) -> str | None:
    """What a reference should have been that is one typing error away from `latest`.

    >>> [latest_meant(ref) for ref in ("latst", "latets:2", "Latest", "latest", "late")]
    ['latest', 'latest:2', 'latest', None, None]
    """
    word, colon, rest = ref.partition(":")
    if word == LATEST or not (word.casefold() == LATEST or _is_one_error_away(word.casefold(), LATEST)):
        return None
    return LATEST + colon + rest


def _is_one_error_away(word: str, right: str) -> bool:
    """True if a letter is missing, is too many or is another, or if two neighbours have changed places."""
    if abs(len(word) - len(right)) > 1:
        return False
    start = 0
    while start < min(len(word), len(right)) and word[start] == right[start]:
        start += 1
    end, right_end = word[start:], right[start:]
    swapped = right_end[1:2] + right_end[:1] + right_end[2:]
    return word != right and (end[1:] in (right_end, right_end[1:]) or end in (right_end[1:], swapped))


def not_a_session_reason(path: str) -> str:
    """Why a path does not name a session file."""
    if os.path.isdir(path):
        from claude_session_player.store.store import enclosing_store

        around = enclosing_store(path)
        root = f"--root {shlex.quote(around)}" if around else ""
        more = f", or use 'list {root}' or 'browse {root}' to see the sessions of the store" if around else ""
        return f"{path} is a directory: name a session file (*.jsonl) in it{more}"
    reason = "not a regular file" if os.path.exists(path) else "No such file or directory"
    return f"{path}: {reason}"


def looks_like_path(ref: str) -> bool:
    """True for what can only be the path of a file.

    >>> [looks_like_path(ref) for ref in ("./1f2e", "1f2e.jsonl", "src/", "feature/login")]
    [True, True, True, False]
    """
    if os.path.isabs(ref) or ref.startswith(("./", "../", "~", f".{os.sep}", f"..{os.sep}")):
        return True
    return ref.endswith((SESSION_SUFFIX, "/", os.sep))


class Breadcrumb(NamedTuple):
    """A small file that names a session: one JSON object with the session's id, and perhaps its project."""

    session_id: str
    project: str | None = None

    @classmethod
    def read(cls, path: str) -> Breadcrumb | None:
        """The breadcrumb in a file; `None` if it is something else."""
        try:
            with open(path, "rb", opener=regular_opener) as file:
                return cls.parse(file.read(MAX_BREADCRUMB_SIZE))
        except OSError as error:
            raise CannotRead(f"{path}: {error.strerror or error}") from error

    @classmethod
    def parse(cls, data: bytes) -> Breadcrumb | None:
        """The breadcrumb in some bytes; a record of a session has an id as well, but also a type.

        >>> Breadcrumb.parse(b'{"project": "/home/ada", "sessionId": "1f2e3d4c"}')
        Breadcrumb(session_id='1f2e3d4c', project='/home/ada')
        >>> Breadcrumb.parse(b'{"sessionId": "1f2e3d4c", "type": "mode"}') is None
        True
        """
        if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or len(data) >= MAX_BREADCRUMB_SIZE:
            return None
        import json

        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or "type" in value or not isinstance(id := value.get("sessionId"), str):
            return None
        project = value.get("project")
        return cls(id, project if isinstance(project, str) else None)

    def follow(self, store: Store) -> SessionFile:
        """The file of the session; the project decides if several have the id."""
        matches = _with_id(store.files(), self.session_id)
        if len(matches) > 1 and self.project is not None:
            names = {name.lstrip("-") for name in project_dir_spellings(self.project.rstrip("/"))}
            matches = [file for file in matches if (file.project or "").lstrip("-") in names] or matches
        return _only(store, self.session_id, matches)


class LatestChoice(NamedTuple):
    """The session that `latest` means."""

    session: Session
    project: str | None
    """The directory of the project that it was chosen from, if not from all."""
    is_latest_of_all: bool
    """True if there is no project here, or if it would have been chosen from all sessions as well."""


def latest_choice(store: Store, ref: str) -> LatestChoice | None:
    """The session that `latest`, `latest:2`, `latest:all` or `latest:all:2` means; `None` for another reference."""
    if not (match := _LATEST.fullmatch(ref)):
        return None
    number, everything = int(match["number"] or 1), store.sessions()
    if not everything:
        raise NoSuchSession(f"there are no sessions in {', '.join(store.roots)}")
    sessions, project = (everything, None) if match["all"] else sessions_here(everything)
    if not 1 <= number <= len(sessions):
        place = f" in {display_path(project)}" if project else ""
        there = f"there {'is' if len(sessions) == 1 else 'are'} {plural(len(sessions), 'session')}{place}"
        first = f"{LATEST}:all:1" if match["all"] else f"{LATEST}:1"
        counted = f", and latest:all:{number} is one of all projects" if 1 <= number <= len(everything) else ""
        raise NoSuchSession(f"{ref}: {there}, {first} is the last active one{counted}")
    chosen = sessions[number - 1]
    return LatestChoice(chosen, project, chosen is everything[number - 1])


class SessionsHere(NamedTuple):
    """The sessions of the project that the working directory belongs to; all sessions if it belongs to none."""

    sessions: list[Session]
    project: str | None
    """The directory of the project."""


def sessions_here(sessions: Sequence[Session]) -> SessionsHere:
    """Of some sessions, those of the project whose directory is the working directory or the nearest parent of it.

    The home directory counts only where one is in it: else it would be the project of every directory that has none.
    """
    names = [os.path.normcase(session.project or session.file.project or "") for session in sessions]
    known = set(names)
    for folder in _working_dirs():
        # a session that has just started names no directory yet: only that of the store has a name
        wanted = {os.path.normcase(name) for name in (folder, *project_dir_spellings(folder))}
        if not wanted.isdisjoint(known):
            found = [session for session, name in zip(sessions, names, strict=True) if name in wanted]
            return SessionsHere(found, folder)
    return SessionsHere(list(sessions), None)


def _working_dirs() -> Iterator[str]:
    """The working directory and its parents, the nearest first, without those that hold more than a project."""
    try:
        folder = os.getcwd()
    except OSError:  # it has been removed
        return
    yield folder
    home = os.path.realpath(os.path.expanduser("~"))
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        if folder != home and os.path.dirname(folder) != folder:
            yield folder


def _named(store: Store, ref: str) -> SessionFile | Session:
    """By id, by prefix of an id, by title, by prefix of a title, in this order."""
    files = store.files()
    if matches := _with_id(files, ref):
        return _only(store, ref, matches)
    sessions = store.sessions()
    inline = [child for session in sessions if session.facts.inline for child in session.subagents]
    if inner := _matching(inline, _by_id(ref)):
        return _one_of(ref, inner)
    if titled := _matching(sessions, _by_title(ref)):
        originals = _originals(titled, [s.file.kind for s in titled], [s.id for s in titled])
        return _one_of(ref, originals)
    raise _unknown(store, ref, files, sessions)


_T = TypeVar("_T", SessionFile, Session)
_Rules = Iterable[Callable[[Any], bool]]


def _with_id(files: Sequence[SessionFile], ref: str) -> list[SessionFile]:
    """The files with this id, or with this prefix. A copy of a session is meant only by more than the session's id."""
    matches = _matching(files, _by_id(ref.removeprefix(AGENT_PREFIX)))
    return _originals(matches, [file.kind for file in matches], [file.id for file in matches])


def _originals(matches: list[_T], kinds: list[str], ids: list[str]) -> list[_T]:
    """The session alone, if all other matches are copies of it."""
    originals = [number for number, kind in enumerate(kinds) if kind != SessionKind.PRE_COMPACT]
    if len(originals) == 1 and all(id.startswith(ids[originals[0]]) for id in ids):
        return [matches[originals[0]]]
    return matches


def _matching(things: Sequence[_T], rules: _Rules) -> list[_T]:
    """What the first rule that matches anything matches."""
    for rule in rules:
        if matches := [thing for thing in things if rule(thing)]:
            return matches
    return []


def _by_id(ref: str) -> _Rules:
    folded = ref.casefold()
    yield lambda thing: ref in (thing.id, display_path(thing.id))
    yield lambda thing: thing.id.casefold() == folded
    if len(ref) >= MIN_PREFIX_LENGTH:
        yield lambda thing: thing.id.startswith(ref)
        yield lambda thing: thing.id.casefold().startswith(folded)


def _by_title(ref: str) -> _Rules:
    wanted = " ".join(ref.split()).casefold()
    yield lambda session: session.title is not None and session.title.casefold() == wanted
    if len(wanted) >= MIN_PREFIX_LENGTH:
        yield lambda session: session.title is not None and session.title.casefold().startswith(wanted)


def _only(store: Store, ref: str, files: Sequence[SessionFile]) -> SessionFile:
    if not files:
        raise _unknown(store, ref, store.files(), store.sessions())
    if len(files) > 1:
        raise _several(ref, [store.session_of(file) for file in files[:_MAX_LISTED]], len(files))
    return files[0]


def _one_of(ref: str, sessions: Sequence[Session]) -> Session:
    if len(sessions) > 1:
        raise _several(ref, sessions, len(sessions))
    return sessions[0]


def _several(ref: str, sessions: Sequence[Session], count: int) -> Ambiguous:
    are_distinct = len({session.id for session in sessions}) == len(sessions)
    return Ambiguous(
        f"{ref!r} matches {count} sessions: name one by its id, or by its path",
        *(_described(session, with_path=not are_distinct) for session in sessions[:_MAX_LISTED]),
        *([f"… and {count - _MAX_LISTED} more"] if count > _MAX_LISTED else []),
    )


def _unknown(store: Store, ref: str, files: Sequence[SessionFile], sessions: Sequence[Session]) -> NoSuchSession:
    """An error that names the nearest: ids with a similar beginning, similar titles."""
    from difflib import get_close_matches  # rarely needed, and slow to load

    ids = {file.id[: max(len(ref), MIN_PREFIX_LENGTH)].casefold(): file.id for file in files}
    near = [ids[match] for match in get_close_matches(ref.casefold(), ids, n=3, cutoff=0.7)]
    titles = {session.title.casefold(): session for session in sessions if session.title}
    close = get_close_matches(ref.casefold(), titles, n=3, cutoff=0.5)
    if len(ref) >= MIN_PREFIX_LENGTH:
        close += [title for title in titles if ref.casefold() in title and title not in close]
    by_id = {session.id: session for session in sessions}
    meant = [_described(by_id[id]) if id in by_id else display_path(id) for id in near]
    meant += [_described(titles[title]) for title in close[:_MAX_NEAREST]]
    hint = f" (a prefix has at least {MIN_PREFIX_LENGTH} characters)" if len(ref) < MIN_PREFIX_LENGTH else ""
    waiting = [f"an interrupted clean-up left sessions behind: '{PROGRAM} clean --recover' puts them back"]
    details = waiting if store.has_removals else []
    names = dict.fromkeys(meant)
    if latest := latest_meant(ref):
        others = " The nearest others are" if meant else ""
        message = f"no file or session matches {ref!r}: did you mean {latest!r}?{others}"
        return NoSuchSession(message, *names, *details, meant=latest)
    if meant:
        return NoSuchSession(f"no file or session matches {ref!r}{hint}; the nearest are", *names, *details)
    see = f"see '{PROGRAM} {store.list_command}'"
    return NoSuchSession(f"no file and none of {plural(len(files), 'session')} matches {ref!r}{hint}: {see}", *details)


def _described(session: Session, with_path: bool = False) -> str:
    when = session.updated_at[:16].replace("T", " ")
    about = display_path(session.path) if with_path else truncate(session.title or "(no title)", _TITLE_LENGTH)
    project = "" if with_path or not session.project else f"  {base_name(session.project)}"
    return f"{display_path(session.id)}  {when}{project}  {about}"
