"""References: the words by which people name a session, and the one session that they mean.

Nothing is guessed. Where several sessions fit, they are listed; where none does, the nearest are.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from claude_session_player.errors import Ambiguous, CannotRead, NoSuchSession
from claude_session_player.store.layout import AGENT, HISTORY, SUFFIX, SessionFile
from claude_session_player.store.roots import enclosing_store, project_dir_spellings
from claude_session_player.store.session import Session
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import base_name, display_path, truncate

if TYPE_CHECKING:
    from claude_session_player.store.store import Store

SHORTEST: Final = 4
"""A prefix of an id has at least so many characters."""
LATEST: Final = "latest"
"""The reference to the session that was active last."""
_LATEST: Final = re.compile(rf"{LATEST}(?::(\d+))?")
_MANY: Final = 10
_NEAREST: Final = 3
_TITLE: Final = 60
BREADCRUMB_SIZE: Final = 1 << 16


def resolve_ref(store: Store, ref: str) -> Session:
    """The session that a reference means, with all that is known of it."""
    meant = locate_ref(store, ref)
    return store.of(meant) if isinstance(meant, SessionFile) else meant


def locate_ref(store: Store, ref: str) -> SessionFile | Session:
    """What a reference means: the place of its file, unless more had to be read to find it."""
    if match := _LATEST.fullmatch(ref):
        return _latest(store, int(match[1] or 1))
    if os.path.isfile(ref):
        crumb = read_breadcrumb(ref)
        return store.place(ref) if crumb is None else follow_breadcrumb(store, crumb)
    if not looks_like_path(ref):
        try:
            return _named(store, ref)
        except NoSuchSession:
            if not os.path.exists(ref):
                raise
    raise CannotRead(not_a_session_reason(ref))


def not_a_session_reason(path: str) -> str:
    """Why a path is no session file."""
    if os.path.isdir(path):
        around = enclosing_store(path)
        root = f"--root {shlex.quote(around)}" if around else ""
        more = f", or use 'list {root}' or 'browse {root}' to see the sessions of the store" if around else ""
        return f"{path} is a directory: name a session file (*.jsonl) in it{more}"
    reason = "not a regular file" if os.path.exists(path) else "No such file or directory"
    return f"{path}: {reason}"


def looks_like_path(ref: str) -> bool:
    """True for what can only be meant as the path of a file.

    >>> [looks_like_path(ref) for ref in ("./1f2e", "1f2e.jsonl", "src/", "feature/login")]
    [True, True, True, False]
    """
    if os.path.isabs(ref) or ref.startswith(("./", "../", "~", f".{os.sep}", f"..{os.sep}")):
        return True
    return ref.endswith((SUFFIX, "/", os.sep))


def read_breadcrumb(path: str) -> dict[str, Any] | None:
    """The breadcrumb in a file; `None` where it is something else."""
    try:
        with open(path, "rb", opener=regular_opener) as file:
            return parse_breadcrumb(file.read(BREADCRUMB_SIZE))
    except OSError as error:
        raise CannotRead(f"{path}: {error.strerror or error}") from error


def parse_breadcrumb(data: bytes) -> dict[str, Any] | None:
    """The breadcrumb in some bytes: one JSON object with a session's id, which is no record of a session.

    >>> parse_breadcrumb(b'{"project": "/home/ada", "sessionId": "1f2e3d4c"}')
    {'project': '/home/ada', 'sessionId': '1f2e3d4c'}
    >>> parse_breadcrumb(b'{"sessionId": "1f2e3d4c", "type": "mode"}') is None
    True
    """
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or len(data) >= BREADCRUMB_SIZE:
        return None
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "type" in value or not isinstance(value.get("sessionId"), str):
        return None
    return value


def follow_breadcrumb(store: Store, crumb: dict[str, Any]) -> SessionFile:
    """The file of a breadcrumb's session; its project decides where several have the id."""
    id, project = crumb["sessionId"], crumb.get("project")
    matches = _with_id(store.files(), id)
    if len(matches) > 1 and isinstance(project, str):
        names = {name.lstrip("-") for name in project_dir_spellings(project.rstrip("/"))}
        matches = [file for file in matches if (file.project or "").lstrip("-") in names] or matches
    return _only(store, id, matches)


def _latest(store: Store, number: int) -> Session:
    sessions = store.sessions()
    if not sessions:
        raise NoSuchSession(f"there is no session in {', '.join(store.roots)}")
    if not 1 <= number <= len(sessions):
        there = f"there {'is' if len(sessions) == 1 else 'are'} {plural(len(sessions), 'session')}"
        raise NoSuchSession(f"latest:{number}: {there}, latest:1 is the last active one")
    return sessions[number - 1]


def _named(store: Store, ref: str) -> SessionFile | Session:
    """By id, by the beginning of an id, by title, by the beginning of a title, in this order."""
    files = store.files()
    if matches := _with_id(files, ref):
        return _only(store, ref, matches)
    sessions = store.sessions()
    inline = [child for session in sessions if session.facts.inline for child in session.subagents]
    if inner := _matching(inline, _by_id(ref)):
        return _one_of(ref, inner)
    if titled := _matching(sessions, _by_title(ref)):
        originals = _originals(titled, [s.found.kind for s in titled], [s.id for s in titled])
        return _one_of(ref, originals)
    raise _unknown(store, ref, files, sessions)


_T = TypeVar("_T", SessionFile, Session)
_Rules = Iterable[Callable[[Any], bool]]


def _with_id(files: Sequence[SessionFile], ref: str) -> list[SessionFile]:
    """The files with this id, or whose ids begin so. Copies of a session are meant only by more than its own id."""
    matches = _matching(files, _by_id(ref.removeprefix(AGENT)))
    return _originals(matches, [file.kind for file in matches], [file.id for file in matches])


def _originals(matches: list[_T], kinds: list[str], ids: list[str]) -> list[_T]:
    """The session alone, where all that fits besides are copies that were made of it."""
    originals = [number for number, kind in enumerate(kinds) if kind != HISTORY]
    if len(originals) == 1 and all(id.startswith(ids[originals[0]]) for id in ids):
        return [matches[originals[0]]]
    return matches


def _matching(things: Sequence[_T], rules: _Rules) -> list[_T]:
    """What fits the first rule that fits anything."""
    for rule in rules:
        if matches := [thing for thing in things if rule(thing)]:
            return matches
    return []


def _by_id(ref: str) -> _Rules:
    folded = ref.casefold()
    yield lambda thing: ref in (thing.id, display_path(thing.id))
    yield lambda thing: thing.id.casefold() == folded
    if len(ref) >= SHORTEST:
        yield lambda thing: thing.id.startswith(ref)
        yield lambda thing: thing.id.casefold().startswith(folded)


def _by_title(ref: str) -> _Rules:
    wanted = " ".join(ref.split()).casefold()
    yield lambda session: session.title is not None and session.title.casefold() == wanted
    if len(wanted) >= SHORTEST:
        yield lambda session: session.title is not None and session.title.casefold().startswith(wanted)


def _only(store: Store, ref: str, files: Sequence[SessionFile]) -> SessionFile:
    if not files:
        raise _unknown(store, ref, store.files(), store.sessions())
    if len(files) > 1:
        raise _several(ref, [store.of(file) for file in files[:_MANY]], len(files))
    return files[0]


def _one_of(ref: str, sessions: Sequence[Session]) -> Session:
    if len(sessions) > 1:
        raise _several(ref, sessions, len(sessions))
    return sessions[0]


def _several(ref: str, sessions: Sequence[Session], count: int) -> Ambiguous:
    are_distinct = len({session.id for session in sessions}) == len(sessions)
    return Ambiguous(
        f"{ref!r} fits {count} sessions: name one by its id, or by its path",
        *(_described(session, with_path=not are_distinct) for session in sessions[:_MANY]),
        *([f"… and {count - _MANY} more"] if count > _MANY else []),
    )


def _unknown(store: Store, ref: str, files: Sequence[SessionFile], sessions: Sequence[Session]) -> NoSuchSession:
    """An error that names what is nearest: ids that begin alike, titles that sound alike."""
    from difflib import get_close_matches  # seldom needed, and slow to load

    ids = {file.id[: max(len(ref), SHORTEST)].casefold(): file.id for file in files}
    near = [ids[match] for match in get_close_matches(ref.casefold(), ids, n=3, cutoff=0.7)]
    titles = {session.title.casefold(): session for session in sessions if session.title}
    close = get_close_matches(ref.casefold(), titles, n=3, cutoff=0.5)
    if len(ref) >= SHORTEST:
        close += [title for title in titles if ref.casefold() in title and title not in close]
    by_id = {session.id: session for session in sessions}
    meant = [_described(by_id[id]) if id in by_id else display_path(id) for id in near]
    meant += [_described(titles[title]) for title in close[:_NEAREST]]
    meant += [LATEST] if get_close_matches(ref, [LATEST]) else []
    hint = f" (a prefix has at least {SHORTEST} characters)" if len(ref) < SHORTEST else ""
    waiting = [f"an interrupted clean-up left sessions behind: '{PROGRAM} clean --recover' puts them back"]
    details = waiting if store.has_removals else []
    if meant:
        names = dict.fromkeys(meant)
        return NoSuchSession(f"there is no file or session {ref!r}{hint}; the nearest are", *names, *details)
    see = f"see '{PROGRAM} {store.listing}'"
    return NoSuchSession(f"there is no file {ref!r}, and no session among {len(files)}{hint}: {see}", *details)


def _described(session: Session, with_path: bool = False) -> str:
    when = session.updated_at[:16].replace("T", " ")
    about = display_path(session.path) if with_path else truncate(session.title or "(no title)", _TITLE)
    project = "" if with_path or not session.project else f"  {base_name(session.project)}"
    return f"{display_path(session.id)}  {when}{project}  {about}"
