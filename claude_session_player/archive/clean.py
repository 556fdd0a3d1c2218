"""Cleans up a store: first a plan of which sessions to remove and why, then the removal.

Nothing outside of the plan is touched. A session that is in use, or has changed since the plan was made, is skipped.
"""

from __future__ import annotations

import json
import os
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.archive.add import READS_PER_SESSION, archive_session
from claude_session_player.archive.directories import make_dirs
from claude_session_player.archive.pack import SessionChanged
from claude_session_player.archive.removal import (
    ArchiveFallback,
    FinishedRemoval,
    Removal,
    ReportUnleased,
    finish_pending,
    remove_sessions,
)
from claude_session_player.archive.session_files import (
    ByteProgress,
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
    from claude_session_player.archive.trash import RemovalLog, TrashInfo
    from claude_session_player.store import Session, Store

LOG_NAME: Final = "log.jsonl"


@contextmanager
def open_removal_log(directory: str) -> Iterator[RemovalLog]:
    """Open the log in a directory for writing, before anything is removed. Raises `CannotWrite`."""
    path = os.path.join(directory, LOG_NAME)
    try:
        make_dirs(directory)
        file = open(path, "ab", buffering=0, opener=regular_opener)  # noqa: SIM115 - errors in the block are not errors of the log
    except OSError as error:
        raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    def log(info: TrashInfo) -> None:
        try:
            file.write((json.dumps(_log_record(info)) + "\n").encode())
        except OSError as error:
            raise CannotWrite(f"{display_path(path)}: {error.strerror or error}") from error

    with file:
        yield log


def _log_record(info: TrashInfo) -> dict[str, object]:
    return {
        "time": format_time(local_now()),
        "action": "deleted" if info.archive is None else "removed",
        "id": display_path(info.id),
        "title": info.title,
        "path": display_path(info.path),
        "size": info.size,
        "archive": None if info.archive is None else display_path(info.archive),
    }


_EXPORTED_PREFIX: Final = "ses_"
"""The beginning of the names of exported sessions."""
_GROUP_COUNT: Final = 32
_GROUP_SIZE: Final = 64 << 20
"""Sessions are removed in groups: a group ends at this number of sessions, or of bytes."""


class CleanReason(NamedTuple):
    """Why a session is in the plan: the rule that it matches, and the value of the rule."""

    rule: str
    value: str | int | None = None


class CleanRules(NamedTuple):
    """Which sessions to remove: those that match all of these rules."""

    filter: Filter = Filter()
    """Its `before` refers to the last event, as `older_than` does."""
    older_than: datetime | None = None
    """The last event is from before this time."""
    larger_than: int | None = None
    """The session has more bytes than this, with everything that belongs to it."""
    empty: bool = False
    """The session has no prompts and no responses, and all its other files are empty."""

    @property
    def reasons(self) -> tuple[CleanReason, ...]:
        """The rules that are set, with their values."""
        reasons = [CleanReason("older_than", format_time(self.older_than))] if self.older_than is not None else []
        reasons += [CleanReason("larger_than", self.larger_than)] if self.larger_than is not None else []
        reasons += [CleanReason("empty")] if self.empty else []
        for word, value in self.filter.conditions:
            reasons.append(CleanReason(word, format_time(value) if isinstance(value, datetime) else value))
        return tuple(reasons)

    def check(self) -> None:
        """Raises `BadFilter` if no rule is set or a text is empty, because all sessions would match."""
        if not self.reasons:
            raise BadFilter("no filter given: name an age, a size, a project or a title, or ask for empty sessions")
        texts = [reason for reason in self.reasons if isinstance(reason.value, str)]
        if blank := [reason.rule for reason in texts if not str(reason.value).strip()]:
            raise BadFilter(f"the {blank[0]} filter is empty and would match all sessions")


class SkippedSession(NamedTuple):
    """A session that matches the rules but is not removed."""

    id: str
    title: str | None
    path: str
    reason: str


class CleanPlan(NamedTuple):
    """The sessions to remove, with their files as they were when the plan was made."""

    sessions: tuple[SessionFiles, ...]
    reasons: tuple[CleanReason, ...]
    """The rules that every one of them matches."""
    skipped: tuple[SkippedSession, ...] = ()
    hidden: int = 0
    """The number of processes whose open files could not be examined."""

    @property
    def size(self) -> int:
        """The total size of all files, in bytes."""
        return sum(session.size for session in self.sessions)

    @property
    def work(self) -> int:
        """The number of bytes that `clean_sessions` reports as progress if it archives the sessions."""
        return READS_PER_SESSION * self.size

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(len(session.files) for session in self.sessions)


class CleanOutcome(NamedTuple):
    """The result for a session of the plan."""

    session: SessionFiles
    archive: str | None = None
    """The path of its archive, if it was archived before it was removed."""
    reason: str | None = None
    """Why it was not removed."""


def plan_clean(store: Store, rules: CleanRules, *, reread: bool = True) -> CleanPlan:
    """The sessions to remove. Raises `BadFilter` if the rules would match all sessions.

    With `reread` their files are read again, because the index alone is not enough to remove a session. A plan without
    it is only for display.
    """
    rules.check()
    matching = _matching_sessions(store, rules, reread)
    unreadable = UnreadableFiles(store.problems)
    unread = {session.path: reason for session in matching if (reason := unreadable.reason_for(session))}
    readable = [session for session in matching if session.path not in unread]
    collected = collect_session_files(readable, store.roots)
    candidates = _page([session for session in collected.sessions if _files_match(session, rules)], rules.filter)
    in_use = InUse()
    stamps = {file.path: file.stamp for session in readable for file in session.files}
    blocked = {
        session: reason
        for session in candidates
        if (reason := _use_reason(in_use, session) or _change_reason(session, stamps))
    }
    skipped = [skip_session(session, reason) for session, reason in blocked.items()]
    skipped += [_skip(session, str(refusal)) for session, refusal in collected.refused]
    skipped += [_skip(session, unread[session.path]) for session in matching if session.path in unread]
    return CleanPlan(
        tuple(session for session in candidates if session not in blocked),
        rules.reasons,
        tuple(skipped),
        in_use.methods.hidden if candidates else 0,
    )


def _matching_sessions(store: Store, rules: CleanRules, reread: bool) -> list[Session]:
    """The sessions that match the rules, as far as that can be decided without collecting their files."""
    wanted = rules.filter._replace(before=None, include_subagents=False, include_orphans=False, limit=None, offset=0)
    sessions = [session for session in store.sessions(wanted) if _matches(session, rules)]
    if not (reread and sessions):
        return sessions
    paths = {session.path for session in sessions}
    again = [session for session in store.reread(sessions) if session.path in paths]
    return [session for session in wanted.apply(again) if _matches(session, rules)]


def _page(sessions: list[SessionFiles], filter: Filter) -> list[SessionFiles]:
    """The part of the sessions that the limit and the offset of a filter select."""
    return sessions[filter.offset : None if filter.limit is None else filter.offset + filter.limit]


def finish_removals(store: Store, archive_dir: ArchiveDir) -> list[FinishedRemoval]:
    """Finish removals that were interrupted; to be called before a plan is made. Raises `CannotWrite`."""
    with archive_dir.lock(), open_removal_log(archive_dir.path) as log:
        return list(finish_pending(store.roots, log))


def recover_removals(store: Store, archive_dir: ArchiveDir) -> list[FinishedRemoval]:
    """The same, but archive sessions that cannot be moved back because their place is taken. Raises `CannotWrite`."""

    def archive(session: SessionFiles) -> str:
        return archive_session(archive_dir, session).path or archive_dir.archive_path(session.main)

    with archive_dir.lock(), open_removal_log(archive_dir.path) as log:
        return list(finish_pending(store.roots, log, ArchiveFallback(archive, _use_reasons)))


def clean_sessions(
    plan: CleanPlan,
    archive_dir: ArchiveDir,
    *,
    delete: bool = False,
    progress: ByteProgress | None = None,
    report_unleased: ReportUnleased | None = None,
) -> Iterator[CleanOutcome]:
    """Remove the sessions of a plan, in order; each is archived first, unless `delete` is set.

    The outcome of a session that cannot be removed gives the reason. Raises `CannotWrite` if the archive or the log
    cannot be written to; sessions without an outcome by then are not removed.
    """
    with archive_dir.lock(), open_removal_log(archive_dir.path) as log:
        for group in _in_groups(plan.sessions):
            yield from _clean_group(group, None if delete else archive_dir, log, progress, report_unleased)


def _in_groups(sessions: Iterable[SessionFiles]) -> Iterator[list[SessionFiles]]:
    """Groups of sessions that are removed together, so small that little is both archived and still in the store."""
    group: list[SessionFiles] = []
    for session in sessions:
        group.append(session)
        if len(group) == _GROUP_COUNT or sum(one.size for one in group) >= _GROUP_SIZE:
            yield group
            group = []
    if group:
        yield group


def _clean_group(
    group: list[SessionFiles],
    archive_dir: ArchiveDir | None,
    log: RemovalLog,
    progress: ByteProgress | None,
    report_unleased: ReportUnleased | None,
) -> Iterator[CleanOutcome]:
    """Remove a group of sessions. If the archive cannot take all of them, those that it has are removed."""
    steps: list[Removal | CleanOutcome] = []
    failure = None
    for session in group:
        try:
            _require_unchanged(session)
            steps.append(
                Removal(session, archive_session(archive_dir, session, progress).path if archive_dir else None)
            )
        except (SessionRefused, SessionChanged) as error:
            steps.append(CleanOutcome(session, reason=str(error)))
        except CannotWrite as error:
            failure = error
            break
    removals = [step for step in steps if isinstance(step, Removal)]
    with closing(remove_sessions(removals, _use_reasons, log, report_unleased)) as reasons:
        for step in steps:
            yield step if isinstance(step, CleanOutcome) else _outcome(step, next(reasons))
    if failure is not None:
        raise failure


def _outcome(step: Removal, reason: str | None) -> CleanOutcome:
    return CleanOutcome(step.session, step.archive) if reason is None else CleanOutcome(step.session, reason=reason)


def skip_session(session: SessionFiles, reason: str) -> SkippedSession:
    """The entry for a session of the plan that is not removed."""
    return SkippedSession(session.id, session.title, main_file_path(session), reason)


def _skip(session: Session, reason: str) -> SkippedSession:
    return SkippedSession(session.id, session.title, session.path, reason)


def main_file_path(session: SessionFiles) -> str:
    """The path of a session's own file."""
    return session.path_of(session.items[0])


def _matches(session: Session, rules: CleanRules) -> bool:
    """True if a session matches the rules that can be decided without collecting its files.

    Because it is removed as a whole, all of it has to be from before a time limit, unlike in a list.
    """
    limits = [time for time in (rules.older_than, rules.filter.before) if time is not None]
    if any(session.updated_at >= format_time(limit) for limit in limits) or not _is_session(session):
        return False
    return not rules.empty or is_empty_session(session)


def _files_match(session: SessionFiles, rules: CleanRules) -> bool:
    """True if the sizes of a session's files match the rules."""
    if rules.empty and any(item.size for item in session.files if item.path != session.main):
        return False
    return rules.larger_than is None or session.size > rules.larger_than


class UnreadableFiles:
    """The files that could not be read, whose age and content are therefore unknown."""

    def __init__(self, problems: Iterable[ReadProblem]) -> None:
        self._below: dict[str, ReadProblem] = {}
        """By path, and by every directory above."""
        self._agents: dict[str, dict[str, ReadProblem]] = {}
        """Sub-agents beside sessions, by directory and id."""
        for problem in problems:
            directory, name = os.path.split(problem.path)
            if name.startswith(AGENT_PREFIX):
                agent = name.removeprefix(AGENT_PREFIX).removesuffix(META_SUFFIX).removesuffix(SESSION_SUFFIX)
                self._agents.setdefault(directory, {}).setdefault(agent, problem)
            path = problem.path
            while path not in self._below:
                self._below[path] = problem
                path = os.path.dirname(path)

    def reason_for(self, session: Session) -> str | None:
        """The unreadable file in a session's directory, or sub-agent beside it that may be its own; else `None`."""
        home = session.file.home
        problem = self._below.get(os.path.join(home, session.id)) or self._beside(session, self._agents.get(home, {}))
        return f"{display_path(problem.path)} cannot be read: {problem.reason}" if problem is not None else None

    def _beside(self, session: Session, agents: Mapping[str, ReadProblem]) -> ReadProblem | None:
        for call in session.facts.calls if agents else ():
            if not call.named:
                return next(iter(agents.values()))
            for agent in dict(call.named):
                if agent in agents:
                    return agents[agent]
        return None


def _is_session(session: Session) -> bool:
    """True for a file with the records of a session, or for a file without records whose name is a session id."""
    if session.facts.is_session:
        return True
    found = session.file
    has_session_name = is_session_id(found.id) or (
        found.kind == SessionKind.TRANSCRIPT and found.id.startswith(_EXPORTED_PREFIX)
    )
    return has_session_name and not session.conversation.events and not session.facts.malformed


def is_empty_session(session: Session) -> bool:
    """True if a session has no prompt and no response, and nothing that could be one."""
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
    conversation = (User, Assistant, Malformed, UnknownRecord)
    return not any(
        isinstance(event, conversation)
        or (isinstance(event, Attachment) and human_prompt(event))
        or (isinstance(event, QueueOperation) and event.content)  # typed, even if it never reached the model
        for event in session.events()
    )


def _require_unchanged(session: SessionFiles) -> None:
    if (change := describe_change(session)) is not None:
        raise SessionChanged(f"{change} since the plan was made")


def _use_reason(in_use: InUse, session: SessionFiles) -> str | None:
    """The evidence that a session is in use; `None` if it is not."""
    evidence = dict.fromkeys(sign.words for sign in in_use.uses(_paths(session)))
    return f"in use: {', '.join(evidence)}" if evidence else None


def _use_reasons(sessions: Sequence[SessionFiles]) -> Iterator[str | None]:
    """The same for several sessions, with a single scan of all processes, which may take long."""
    in_use = InUse()
    return (_use_reason(in_use, session) for session in sessions)


def _change_reason(session: SessionFiles, stamps: Mapping[str, FileStamp]) -> str | None:
    """A file that has changed since its session was found to match the rules; `None` if none has."""
    for item in session.files:
        stamp = stamps.get(session.path_of(item))
        if stamp is not None and stamp != (item.size, item.mtime_ns, item.inode):
            return f"{display_path(item.path)} has changed while the plan was made"
    return None


def _paths(session: SessionFiles) -> list[str]:
    return [session.path_of(item) for item in session.files]
