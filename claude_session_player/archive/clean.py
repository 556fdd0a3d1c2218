"""Cleaning up: first a plan of which sessions are to be removed and why, then its application.

What the plan does not name is not touched. A session that is in use, or not any more as it was planned, stays.
"""

from __future__ import annotations

import json
import os
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.add import archive_session
from claude_session_player.archive.handles import make_dirs
from claude_session_player.archive.pack import SessionChanged
from claude_session_player.archive.removal import (
    FinishedRemoval,
    KeepSession,
    Removal,
    Unleased,
    finish_pending,
    remove_sessions,
)
from claude_session_player.archive.session_files import (
    Progress,
    SessionFiles,
    SessionRefused,
    collect_session_files,
    describe_change,
)
from claude_session_player.errors import BadFilter, CannotWrite
from claude_session_player.store import (
    AGENT_PREFIX,
    META_SUFFIX,
    SESSION_SUFFIX,
    FileStamp,
    Filter,
    InUse,
    ReadProblem,
    SessionKind,
    is_session_id,
)
from claude_session_player.util.fsutil import regular_opener
from claude_session_player.util.text import display_path
from claude_session_player.util.times import format_time, local_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from claude_session_player.archive.archive_dir import ArchiveDir
    from claude_session_player.archive.trash import Log, TrashNote
    from claude_session_player.store import Session, Store

NAME: Final = "log.jsonl"


@contextmanager
def open_removal_log(folder: str) -> Iterator[Log]:
    """The log in a directory, open to be written to. Raises `CannotWrite`, before anything else is done if possible."""
    path = os.path.join(folder, NAME)
    try:
        make_dirs(folder)
        file = open(path, "ab", buffering=0, opener=regular_opener)  # noqa: SIM115 - what happens inside is not an error of the log
    except OSError as error:
        raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    def log(note: TrashNote) -> None:
        try:
            file.write((json.dumps(_record(note)) + "\n").encode())
        except OSError as error:
            raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    with file:
        yield log


def _record(note: TrashNote) -> dict[str, object]:
    return {
        "time": format_time(local_now()),
        "action": "deleted" if note.archive is None else "removed",
        "id": display_path(note.id),
        "title": note.title,
        "path": display_path(note.path),
        "size": note.size,
        "archive": None if note.archive is None else display_path(note.archive),
    }


_EXPORTED: Final = "ses_"
"""How the names of exported sessions begin."""
_TOGETHER: Final = 32
"""So many sessions are removed at a time, or fewer of so many bytes."""
_LARGE: Final = 64 << 20


class CleanReason(NamedTuple):
    """Why a session is in the plan: the rule that it fulfils, and what the rule asks for."""

    rule: str
    value: str | int | None = None


class CleanRules(NamedTuple):
    """Which sessions are to be removed: those of which all of this is true."""

    filter: Filter = Filter()
    """Its `before` means the last event, as `older_than` does."""
    older_than: datetime | None = None
    """Its last event is from before then."""
    larger_than: int | None = None
    """It has more bytes, with everything that belongs to it."""
    empty: bool = False
    """Nobody said anything, and nothing belongs to it that has a byte."""

    @property
    def reasons(self) -> tuple[CleanReason, ...]:
        """What is asked for."""
        reasons = [CleanReason("older_than", format_time(self.older_than))] if self.older_than is not None else []
        reasons += [CleanReason("larger_than", self.larger_than)] if self.larger_than is not None else []
        reasons += [CleanReason("empty")] if self.empty else []
        for word, value in self.filter.conditions:
            reasons.append(CleanReason(word, format_time(value) if isinstance(value, datetime) else value))
        return tuple(reasons)

    def check(self) -> None:
        """Raises `BadFilter` where nothing is asked for, or a word is empty: both are true of all sessions."""
        if not self.reasons:
            raise BadFilter("which sessions? Give a filter: an age, a size, emptiness, a project, a title, …")
        words = [reason for reason in self.reasons if isinstance(reason.value, str)]
        if blank := [reason.rule for reason in words if not str(reason.value).strip()]:
            raise BadFilter(f"which {blank[0]}? An empty word would be true of all sessions")


class SkippedSession(NamedTuple):
    """A session that stays although it fulfils the rules."""

    id: str
    title: str | None
    path: str
    reason: str


class CleanPlan(NamedTuple):
    """What would be removed. Each bundle says what its session consists of, as it was when the plan was made."""

    bundles: tuple[SessionFiles, ...]
    reasons: tuple[CleanReason, ...]
    """They are true of every session."""
    skipped: tuple[SkippedSession, ...] = ()
    hidden: int = 0
    """How many processes could not be looked into: what they have open is not known yet."""

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(bundle.size for bundle in self.bundles)

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(len(bundle.files) for bundle in self.bundles)


class CleanOutcome(NamedTuple):
    """What became of a session of the plan."""

    bundle: SessionFiles
    archive: str | None = None
    """The archive that has it, where it was removed and not deleted."""
    reason: str | None = None
    """Why it stays."""


def plan_clean(store: Store, rules: CleanRules, *, reread: bool = True) -> CleanPlan:
    """The sessions that are to be removed. Raises `BadFilter` where the rules ask for nothing.

    What the catalogue says of a session is not enough to remove it: its files are read again. Without `reread` the plan
    is only good to be looked at.
    """
    rules.check()
    wanted = rules.filter._replace(before=None, include_subagents=False, include_orphans=False, limit=None, offset=0)
    sessions = [session for session in store.sessions(wanted) if _fulfils(session, rules)]
    if reread and sessions:
        named = {session.path for session in sessions}
        again = [session for session in store.reread(sessions) if session.path in named]
        sessions = [session for session in wanted.apply(again) if _fulfils(session, rules)]
    unreadable = UnreadableFiles(store.problems)
    unread = {session.path: why for session in sessions if (why := unreadable.of(session))}
    unknown = [SkippedSession(one.id, one.title, one.path, unread[one.path]) for one in sessions if one.path in unread]
    sessions = [session for session in sessions if session.path not in unread]
    gathered = collect_session_files(sessions, store.roots)
    bundles = [bundle for bundle in gathered.bundles if _fits(bundle, rules)]
    end = None if rules.filter.limit is None else rules.filter.offset + rules.filter.limit
    bundles = bundles[rules.filter.offset : end]
    look = InUse()
    read = {file.path: file.stamp for session in sessions for file in session.files}
    spared = {bundle: why for bundle in bundles if (why := _use(look, bundle) or _news(bundle, read))}
    refused = [SkippedSession(one.id, one.title, one.path, str(why)) for one, why in gathered.refused]
    return CleanPlan(
        tuple(bundle for bundle in bundles if bundle not in spared),
        rules.reasons,
        (*(skip_session(bundle, why) for bundle, why in spared.items()), *refused, *unknown),
        look.methods.hidden if bundles else 0,
    )


def finish_removals(store: Store, vault: ArchiveDir) -> list[FinishedRemoval]:
    """Finish what a run that was killed left behind. Do so before the plan is made. Raises `CannotWrite`."""
    with vault.locked(), open_removal_log(vault.folder) as log:
        return list(finish_pending(store.roots, log))


def recover_removals(store: Store, vault: ArchiveDir) -> list[FinishedRemoval]:
    """The same; where something new is in the place of a session, it goes into the archive. Raises `CannotWrite`."""
    with vault.locked(), open_removal_log(vault.folder) as log:
        keeping = KeepSession(lambda bundle: archive_session(vault, bundle).path or vault.place(bundle.main), _uses_now)
        return list(finish_pending(store.roots, log, keeping))


def clean_sessions(
    plan: CleanPlan,
    vault: ArchiveDir,
    *,
    delete: bool = False,
    progress: Progress | None = None,
    unleased: Unleased | None = None,
) -> Iterator[CleanOutcome]:
    """Remove the sessions of a plan, in order; each is in the archive first, unless it is to be deleted.

    A session that cannot be removed stays, and the outcome says why. Raises `CannotWrite` where the archive, or the log
    beside it, cannot be written to; the sessions that were not told of by then stay.
    """
    with vault.locked(), open_removal_log(vault.folder) as log:
        for group in _groups(plan.bundles):
            yield from _removed(group, None if delete else vault, log, progress, unleased)


def _groups(bundles: Iterable[SessionFiles]) -> Iterator[list[SessionFiles]]:
    """Sessions that are removed together: few enough that little is archived twice on disk and still in the store."""
    group: list[SessionFiles] = []
    for bundle in bundles:
        group.append(bundle)
        if len(group) == _TOGETHER or sum(one.size for one in group) >= _LARGE:
            yield group
            group = []
    if group:
        yield group


def _removed(
    group: list[SessionFiles], vault: ArchiveDir | None, log: Log, progress: Progress | None, unleased: Unleased | None
) -> Iterator[CleanOutcome]:
    """What becomes of some sessions. Where the archive cannot take all of them, those that it has are removed."""
    steps: list[Removal | CleanOutcome] = []
    failure = None
    for bundle in group:
        try:
            _require_unchanged(bundle)
            steps.append(Removal(bundle, archive_session(vault, bundle, progress).path if vault else None))
        except (SessionRefused, SessionChanged) as error:
            steps.append(CleanOutcome(bundle, reason=str(error)))
        except CannotWrite as error:
            failure = error
            break
    leaving = [step for step in steps if isinstance(step, Removal)]
    with closing(remove_sessions(leaving, _uses_now, log, unleased)) as reasons:
        for step in steps:
            yield step if isinstance(step, CleanOutcome) else _outcome(step, next(reasons))
    if failure is not None:
        raise failure


def _outcome(step: Removal, reason: str | None) -> CleanOutcome:
    return CleanOutcome(step.bundle, step.archive) if reason is None else CleanOutcome(step.bundle, reason=reason)


def skip_session(bundle: SessionFiles, reason: str) -> SkippedSession:
    """A session that stays, and why."""
    return SkippedSession(bundle.id, bundle.title, main_file_path(bundle), reason)


def main_file_path(bundle: SessionFiles) -> str:
    """Where a session's own file is."""
    return bundle.place(bundle.items[0])


def _fulfils(session: Session, rules: CleanRules) -> bool:
    """True where a session is one, and fulfils the rules that can be told without a look at all of its files.

    What is removed is gone as a whole: unlike in a list, all of a session has to be from before a moment.
    """
    ends = [moment for moment in (rules.older_than, rules.filter.before) if moment is not None]
    if any(session.updated_at >= format_time(end) for end in ends) or not _is_session(session):
        return False
    return not rules.empty or is_empty_session(session)


def _fits(bundle: SessionFiles, rules: CleanRules) -> bool:
    """True where the files of a session fulfil the rules."""
    if rules.empty and any(item.size for item in bundle.files if item.path != bundle.main):
        return False
    return rules.larger_than is None or bundle.size > rules.larger_than


class UnreadableFiles:
    """The files that could not be read, by where they are: nobody knows how old they are, or what is in them."""

    def __init__(self, troubles: Iterable[ReadProblem]) -> None:
        self._below: dict[str, ReadProblem] = {}
        """By their paths, and by every directory that they are below."""
        self._agents: dict[str, dict[str, ReadProblem]] = {}
        """Sub-agents beside sessions: by their directory, and by their ids."""
        for trouble in troubles:
            folder, name = os.path.split(trouble.path)
            if name.startswith(AGENT_PREFIX):
                agent = name.removeprefix(AGENT_PREFIX).removesuffix(META_SUFFIX).removesuffix(SESSION_SUFFIX)
                self._agents.setdefault(folder, {}).setdefault(agent, trouble)
            place = trouble.path
            while place not in self._below:
                self._below[place] = trouble
                place = os.path.dirname(place)

    def of(self, session: Session) -> str | None:
        """Which file of a session could not be read: in its directory, or a sub-agent beside it that may be its own."""
        home = session.file.home
        found = self._below.get(os.path.join(home, session.id)) or self._beside(session, self._agents.get(home, {}))
        return f"{display_path(found.path)} cannot be read: {found.reason}" if found is not None else None

    def _beside(self, session: Session, agents: Mapping[str, ReadProblem]) -> ReadProblem | None:
        for call in session.facts.calls if agents else ():
            if not call.named:
                return next(iter(agents.values()))
            for agent in dict(call.named):
                if agent in agents:
                    return agents[agent]
        return None


def _is_session(session: Session) -> bool:
    """True for a file with the records of a session; one without any record has to be called like a session."""
    if session.facts.is_session:
        return True
    found = session.file
    is_called_so = is_session_id(found.id) or (found.kind == SessionKind.TRANSCRIPT and found.id.startswith(_EXPORTED))
    return is_called_so and not session.conversation.events and not session.facts.malformed


def is_empty_session(session: Session) -> bool:
    """True where nobody said anything: there is no prompt and no answer, and nothing that could be one."""
    from claude_session_player.format.events import (
        Assistant,
        Attachment,
        Malformed,
        QueueOperation,
        UnknownRecord,
        User,
    )
    from claude_session_player.linking.prompts import human_prompt

    if session.conversation.first_prompt is not None or session.conversation.models or session.subagent_count:
        return False
    said = (User, Assistant, Malformed, UnknownRecord)
    events = session.events()
    return not any(
        isinstance(event, said)
        or (isinstance(event, Attachment) and human_prompt(event))
        or (isinstance(event, QueueOperation) and event.content)  # typed, even if the model was never given it
        for event in events
    )


def _require_unchanged(bundle: SessionFiles) -> None:
    if (change := describe_change(bundle)) is not None:
        raise SessionChanged(f"{change} since the plan was made")


def _use(look: InUse, bundle: SessionFiles) -> str | None:
    """How it is known that a session is in use; `None` where it is not."""
    signs = dict.fromkeys(sign.words for sign in look.uses(_paths(bundle)))
    return f"in use: {', '.join(signs)}" if signs else None


def _uses_now(bundles: Sequence[SessionFiles]) -> Iterator[str | None]:
    """The same of some sessions, by one look at all processes: that takes long where there are many."""
    look = InUse()
    return (_use(look, bundle) for bundle in bundles)


def _news(bundle: SessionFiles, read: Mapping[str, FileStamp]) -> str | None:
    """Which file is another one than that which was found to fulfil the rules."""
    for item in bundle.files:
        stamp = read.get(bundle.place(item))
        if stamp is not None and stamp != (item.size, item.mtime_ns, item.inode):
            return f"{display_path(item.path)} has changed while the plan was made"
    return None


def _paths(bundle: SessionFiles) -> list[str]:
    return [bundle.place(item) for item in bundle.files]
