"""The audit of a store: which secrets its sessions hold, and where.

Each secret is known by a hash whose key is made for the run, so that nothing is kept that could be used to guess it.
"""

from __future__ import annotations

import os
import pickle
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.redact.masks import MaskTable
from claude_session_player.redact.report import MOST_PLACES
from claude_session_player.redact.rule import Kind, Rule
from claude_session_player.redact.session_audit import (
    AuditedFile,
    AuditJob,
    AuditSetup,
    FoundSecret,
    Preview,
    SessionSecrets,
    audit_session,
)
from claude_session_player.store import (
    FILE_HISTORY_DIR,
    MAX_DEPTH,
    META_SUFFIX,
    SESSION_SUFFIX,
    ReadProblem,
    SessionFile,
    SessionKind,
)
from claude_session_player.util.text import one_line
from claude_session_player.util.times import file_time
from claude_session_player.util.workers import WorkerTask, run_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.redact.known import KnownValue
    from claude_session_player.redact.own_rules import OwnRules
    from claude_session_player.store import Progress, Store

_KEY_BYTES: Final = 32
_KINDS: Final = {kind.word: kind for kind in Kind}
OWN: Final = "rules"
"""Names the rules of this package and of the user, as what found a secret."""
KINGFISHER: Final = "kingfisher"
_TASK: Final[WorkerTask[AuditJob, SessionSecrets]] = WorkerTask(audit_session.__module__, audit_session.__name__)


class SecretPlace(NamedTuple):
    """A place where a secret stands."""

    session: str
    """The id of the session."""
    path: str
    """The file: that of the session, or one that belongs to it."""
    line: int | None
    field: str
    """The path of the field in the record; empty in files that are only text."""
    preview: str
    """The text around it, with masks."""


@dataclass
class Secret:
    """A secret, wherever it stands."""

    kind: Kind
    rule: str
    mask: str
    found_by: tuple[str, ...]
    occurrences: int
    first: str
    last: str
    sessions: int
    places: list[SecretPlace]
    """The first ones."""


@dataclass
class SecretsReport:
    """What an audit found."""

    sessions: int = 0
    files: int = 0
    bytes: int = 0
    lines: int = 0
    decoded: int = 0
    """How many lines were decoded: all others could hold nothing."""
    secrets: list[Secret] = field(default_factory=list)
    problems: list[ReadProblem] = field(default_factory=list)
    """Files that could not be read, or not fully."""
    session_ids: list[str] = field(default_factory=list)
    """The sessions with secrets."""


class AuditRules(NamedTuple):
    """What counts as a secret."""

    keep: tuple[str, ...] = ()
    """Words for kinds and rules that are not reported."""
    known: tuple[KnownValue, ...] = ()
    own: OwnRules | None = None


_ALL_RULES: Final = AuditRules()
TextKey = tuple[int, int, int | None, str]
"""Names a text: by the numbers of its session, its file and its line, and its field."""


class AuditedSession(NamedTuple):
    """The files that are read of one session."""

    id: str
    home: str
    files: tuple[SessionFile, ...]


def audit_files(
    store: Store,
    files: Sequence[SessionFile],
    rules: AuditRules = _ALL_RULES,
    progress: Progress | None = None,
    *,
    is_deep: bool = False,
) -> SecretsReport:
    """Look for secrets in session files, and in everything that lies beside those of whole sessions.

    With `is_deep`, kingfisher looks, too. Raises `MissingExtra` or `NotInstalled` if it cannot be run.
    """
    audit = Audit(store, files, rules)
    if is_deep:
        from claude_session_player.redact.kingfisher import find_kingfisher

        find_kingfisher()
    for result in audit.results(progress):
        audit.add(result)
    if is_deep:
        from claude_session_player.redact.deep_audit import add_deep_finds

        add_deep_finds(audit)
    return audit.report()


class Audit:
    """One run: the jobs, and what they found."""

    def __init__(self, store: Store, files: Sequence[SessionFile], rules: AuditRules) -> None:
        self.setup = AuditSetup(secrets.token_bytes(_KEY_BYTES), *rules)
        self._data = pickle.dumps(tuple(self.setup))
        self._store = store
        self._groups = group_files(files)
        self._done: dict[int, SessionSecrets] = {}
        self._files: dict[int, tuple[AuditedFile, ...]] = {}
        """The files of sessions with secrets or problems."""
        self._problems: list[ReadProblem] = []
        self._file_count = 0
        self._deep: dict[int, dict[bytes, FoundSecret]] = {}
        """What kingfisher found, by the numbers of sessions."""
        self._hidden: set[TextKey] = set()
        """Texts in which kingfisher found more."""

    def jobs(self) -> Iterator[AuditJob]:
        """A job for each session."""
        for number, group in enumerate(self._groups):
            files = group.files
            if self._store.is_packed:
                try:
                    files = tuple(map(self._store.unpacked, files))
                except SessionError as error:
                    problem = ReadProblem(group.files[0].name, str(error))
                    self._problems += [problem] if problem not in self._problems else []
                    continue
            audited = tuple(_audited_files(files))
            yield AuditJob(number, audited, sum(_size(file.path) for file in audited), self._data)

    def results(self, progress: Progress | None = None) -> Iterator[SessionSecrets]:
        """What the jobs find, in any order."""
        if self._store.is_packed:  # the files of one archive at a time
            for job in self.jobs():
                self._note_files(job)
                yield audit_session(job)
            return
        jobs = list(self.jobs())
        done, total = 0, sum(job.size for job in jobs)
        by_number = {job.number: job for job in jobs}
        for result in run_jobs(jobs, _TASK):
            self._note_files(by_number[result.number])
            done += by_number[result.number].size
            if progress is not None:
                progress(done, total)
            yield result

    def _note_files(self, job: AuditJob) -> None:
        self._file_count += len(job.files)
        self._files[job.number] = job.files

    def add(self, result: SessionSecrets) -> None:
        """Take in what was found in a session."""
        self._done[result.number] = result
        for number, reason in result.problems:
            self._problems.append(ReadProblem(self._files[result.number][number].name, reason))
        if not result.secrets:
            self._files[result.number] = ()

    def add_deep(self, job: AuditJob, secret: FoundSecret) -> None:
        """Take in what another program found in a session."""
        self._files[job.number] = job.files
        of_session = self._deep.setdefault(job.number, {})
        known = of_session.get(secret.digest)
        if known is not None:
            secret = known._replace(
                occurrences=known.occurrences + secret.occurrences,
                places=[*known.places, *secret.places][:MOST_PLACES],
                first=min(known.first, secret.first),
                last=max(known.last, secret.last),
            )
        of_session[secret.digest] = secret

    def hide_previews(self, job: AuditJob, file: int, line: int | None, field: str) -> None:
        """Show nothing around the secrets of a text: what kingfisher found there was not masked in it."""
        self._hidden.add((job.number, file, line if job.files[file].has_lines else None, field))

    def _visible(self, number: int, secret: FoundSecret) -> FoundSecret:
        """The same secret without previews of such texts."""
        files = self._files[number]
        places = [
            place._replace(preview=(secret.digest,))
            if (number, place.file, place.line if files[place.file].has_lines else None, place.field) in self._hidden
            else place
            for place in secret.places
        ]
        return secret._replace(places=places)

    def report(self) -> SecretsReport:
        """All that was found, in the order of the sessions, whichever was read first."""
        collected = _Collected()
        for number in sorted(self._done):
            group = self._groups[number]
            for secret in self._done[number].secrets:
                collected.add(number, group.id, self._files[number], self._visible(number, secret), OWN)
            for secret in self._deep.get(number, {}).values():
                collected.add(number, group.id, self._files[number], secret, KINGFISHER)
        found = list(self._done.values())
        return SecretsReport(
            sessions=len(self._groups),
            files=self._file_count,
            bytes=sum(one.bytes_read for one in found),
            lines=sum(one.lines for one in found),
            decoded=sum(one.decoded for one in found),
            secrets=collected.secrets(),
            problems=self._problems,
            session_ids=collected.session_ids,
        )


class _Collected:
    """Brings together what was found of each secret, and names it by a mask."""

    def __init__(self) -> None:
        self._by_digest: dict[bytes, list[tuple[int, str, tuple[AuditedFile, ...], FoundSecret, str]]] = {}
        self._ids: dict[int, str] = {}

    def add(self, number: int, id: str, files: tuple[AuditedFile, ...], secret: FoundSecret, found_by: str) -> None:
        self._by_digest.setdefault(secret.digest, []).append((number, id, files, secret, found_by))
        self._ids[number] = id

    @property
    def session_ids(self) -> list[str]:
        return list(self._ids.values())

    def secrets(self) -> list[Secret]:
        """The secrets: those that were used last come first."""
        best = {digest: min((row[3] for row in rows), key=_rank) for digest, rows in self._by_digest.items()}
        table = MaskTable()
        masks = {digest: table.mask(_rule_of(one), digest.hex()) for digest, one in best.items()}
        made = [_to_secret(rows, best[digest], masks[digest], masks) for digest, rows in self._by_digest.items()]
        return sorted(made, key=lambda secret: secret.last, reverse=True)


def _rank(secret: FoundSecret) -> tuple[int, str]:
    return secret.rank, secret.rule


def _rule_of(secret: FoundSecret) -> Rule:
    return Rule(name=secret.rule, kind=_KINDS[secret.kind], pattern="", keywords=(), mask=secret.mask)


def _to_secret(
    rows: Sequence[tuple[int, str, tuple[AuditedFile, ...], FoundSecret, str]],
    best: FoundSecret,
    mask: str,
    masks: dict[bytes, str],
) -> Secret:
    places = (
        SecretPlace(id, files[place.file].name, place.line, place.field, _preview(place.preview, masks))
        for _, id, files, secret, _ in rows
        for place in secret.places
    )
    distinct = dict.fromkeys(place for place, _ in zip(places, range(MOST_PLACES), strict=False))
    counted = [row[3] for row in rows if row[4] == OWN] or [row[3] for row in rows]
    return Secret(
        kind=_KINDS[best.kind],
        rule=best.rule,
        mask=mask,
        found_by=tuple(dict.fromkeys(row[4] for row in rows)),
        occurrences=sum(secret.occurrences for secret in counted),
        first=min(secret.first for secret in counted),
        last=max(secret.last for secret in counted),
        sessions=len({row[0] for row in rows}),
        places=list(distinct),
    )


def _preview(pieces: Preview, masks: dict[bytes, str]) -> str:
    return one_line("".join(piece if isinstance(piece, str) else masks.get(piece, "[…]") for piece in pieces))


# --- which files --------------------------------------------------------------------------------------


def group_files(files: Iterable[SessionFile]) -> list[AuditedSession]:
    """Session files by the sessions that they belong to, as far as their paths say."""
    groups: dict[tuple[str, str], dict[str, SessionFile]] = {}
    for file in files:
        groups.setdefault((file.home, file.parent or file.id), {})[file.path] = file
    return [AuditedSession(id, home, tuple(some.values())) for (home, id), some in groups.items()]


def _audited_files(files: Sequence[SessionFile]) -> Iterator[AuditedFile]:
    """The files of a session, everything in its directory, and its backups; beside a sub-agent, its description."""
    seen: set[str] = set()
    for file in files:
        seen.add(file.path)
        yield AuditedFile(file.path, file.name, file_time(file.stamp.mtime_ns))
    for file in files:
        beside = [file.path.removesuffix(SESSION_SUFFIX) + META_SUFFIX] if file.is_agent else []
        if file.kind == SessionKind.SESSION:
            beside += _files_below(file.own_dir)
        for path in beside:
            if path not in seen and os.path.isfile(path) and not _is_subagent(path):
                seen.add(path)
                yield AuditedFile(path, file.name_of(path), file_time(os.stat(path).st_mtime_ns))
        for path in _backups(file):
            if path not in seen:
                seen.add(path)
                yield AuditedFile(path, path, file_time(os.stat(path).st_mtime_ns))


def _backups(file: SessionFile) -> Iterator[str]:
    """The copies of files that Claude Code made before it changed them: they lie elsewhere in the store."""
    if file.kind == SessionKind.SESSION and not file.label:
        above = os.path.dirname(os.path.dirname(file.home))
        yield from filter(os.path.isfile, _files_below(os.path.join(above, FILE_HISTORY_DIR, file.id)))


def _is_subagent(path: str) -> bool:
    """True for a session file of its own, which is read if its session is read with its sub-agents."""
    return os.path.basename(path).startswith("agent-") and path.endswith(SESSION_SUFFIX)


def _files_below(directory: str) -> Iterator[str]:
    above = directory.count(os.sep)
    for folder, folders, names in os.walk(directory):
        if folder.count(os.sep) - above >= MAX_DEPTH:
            folders.clear()
        folders.sort()
        for name in sorted(names):
            if not os.path.islink(path := os.path.join(folder, name)):
                yield path


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
