"""Looks for the secrets in one session and in what lies beside it; one process does this for one session at a time.

A session is read once, and only lines that may hold a secret are decoded. If there are any, it is read a second time: a
password that one line shows behind `password =` is found in the line that only prints it, too. What leaves this module
are places, masked texts and keyed hashes, never a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from ahocorasick_rs import BytesAhoCorasick

from claude_session_player.errors import SessionError
from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.format.line_reader import LongLine, read_batches
from claude_session_player.parser import open_session, salvage_line
from claude_session_player.redact.line_filter import SecretLineFilter, raw_spellings
from claude_session_player.redact.plausibility import is_secret_name
from claude_session_player.redact.records import FREE, STRUCTURE, is_structure, remove_images, transform
from claude_session_player.redact.redactor import Redactor
from claude_session_player.redact.report import MOST_PLACES
from claude_session_player.redact.session_texts import text_portions
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.redact.known import KnownValue
    from claude_session_player.redact.own_rules import OwnRules
    from claude_session_player.redact.rule import Find

_AROUND: Final = 40
_SHORT: Final = 256
_REMEMBERED: Final = 20_000
_UTF16: Final = 3
"""A file with more than one NUL byte in as many bytes is UTF-16, if it is text."""
_IMAGE_SIGN: Final = b"base64"
_decode: Final = msgspec.json.Decoder().decode

Preview = tuple[str | bytes, ...]
"""A text around a secret; hashes stand for secrets."""


class AuditSetup(NamedTuple):
    """What is looked for, and the key of the hashes."""

    key: bytes
    keep: tuple[str, ...] = ()
    known: tuple[KnownValue, ...] = ()
    own: OwnRules | None = None


class AuditedFile(NamedTuple):
    """A file that is read: its path, what people call it, and when it was changed."""

    path: str
    name: str
    time: str

    @property
    def has_lines(self) -> bool:
        """True for a session file: each line is a record."""
        return self.path.endswith(".jsonl")


class AuditJob(NamedTuple):
    """A session with everything that belongs to it."""

    number: int
    files: tuple[AuditedFile, ...]
    size: int
    setup: bytes
    """The pickled `AuditSetup`: it passes to other processes through pipes only."""


class FoundPlace(NamedTuple):
    """Where a secret stands."""

    file: int
    """The number of the file in the job."""
    line: int | None
    field: str
    preview: Preview


class FoundSecret(NamedTuple):
    """A secret of a session, by its hash."""

    digest: bytes
    rule: str
    mask: str
    kind: str
    rank: int
    """The place of its rule in the order of rules."""
    occurrences: int
    places: list[FoundPlace]
    first: str
    last: str


class SessionSecrets(NamedTuple):
    """What was found in a session."""

    number: int
    secrets: list[FoundSecret]
    problems: list[tuple[int, str]]
    """Files that could not be read, by their numbers, and lines that are too long."""
    bytes_read: int
    lines: int
    decoded: int
    """How many of the lines were decoded the first time."""


def audit_session(job: AuditJob) -> SessionSecrets:
    """The secrets in a session."""
    return SessionAuditor(job).run()


@lru_cache(maxsize=1)
def load_setup(data: bytes) -> tuple[AuditSetup, Redactor, SecretLineFilter, RecordLearner]:
    """What all sessions of a run have in common."""
    setup = AuditSetup(*pickle.loads(data))
    redactor = Redactor(keep=("identity", "images", *setup.keep), known=setup.known, own=setup.own)
    line_filter = SecretLineFilter(redactor.scanner.gate, redactor.values.spellings)
    return setup, redactor, line_filter, RecordLearner(redactor)


class SessionAuditor:
    """Reads the files of one session."""

    def __init__(self, job: AuditJob) -> None:
        self._job = job
        self._setup, self._redactor, self._filter, self._learner = load_setup(job.setup)
        self._redactor.forget()
        self._hits: set[tuple[int, int]] = set()
        """The lines that show a secret, by the numbers of their files."""
        self._found: dict[bytes, _Finds] = {}
        self._problems: list[tuple[int, str]] = []
        self._bytes = self._lines = self._decoded = 0
        self._has_found = False

    def run(self) -> SessionSecrets:
        """Read the session once, or twice if it has secrets."""
        self._read(self._learn_lines, self._learn_text)
        if self._has_found or self._hits or len(self._redactor.values):
            problems, self._problems = self._problems, []
            self._read(self._collect_lines, self._collect_text)
            self._problems = problems
        secrets = [finds.result(self._job.files) for finds in self._found.values()]
        return SessionSecrets(self._job.number, secrets, self._problems, self._bytes, self._lines, self._decoded)

    def _read(self, read_lines: Callable[[int, str], None], read_text: Callable[[int, str, int], None]) -> None:
        for number, file in enumerate(self._job.files):
            try:
                if file.has_lines:
                    read_lines(number, file.path)
                else:
                    for text, line in read_texts(file.path):
                        read_text(number, text, line)
            except SessionError as error:
                self._problems.append((number, str(error).removeprefix(f"{file.path}: ")))
            except OSError as error:
                self._problems.append((number, error.strerror or str(error)))

    # --- the first time -------------------------------------------------------------------------

    def _learn_lines(self, file: int, path: str) -> None:
        number = 0
        with open_session(path) as source:
            for lines in read_batches(source):
                admitted = self._filter.admitted(lines)
                for at, line in enumerate(lines):
                    number += 1
                    self._bytes += len(line)
                    if isinstance(line, LongLine):
                        self._problems.append((file, f"line {number} is too long to be read"))
                    elif at in admitted:
                        self._decoded += 1
                        if self._learn_line(line):
                            self._hits.add((file, number))
        self._lines += number

    def _learn_line(self, line: bytes) -> bool:
        is_found = False
        for value in values_of_line(line):
            if _IMAGE_SIGN in line:
                remove_images(value)
            is_found = self._learner.learn(value) or is_found
        return is_found

    def _learn_text(self, file: int, text: str, line: int) -> None:
        self._bytes += len(text)
        value = document_of(self._job.files[file].path, text)
        remove_images(value)
        self._has_found = self._learner.learn(value) or self._has_found

    # --- the second time ------------------------------------------------------------------------

    def _collect_lines(self, file: int, path: str) -> None:
        number = 0
        has_value = self._value_test()
        with open_session(path) as source:
            for lines in read_batches(source):
                for line in lines:
                    number += 1
                    if (file, number) in self._hits or (has_value(line) and not isinstance(line, LongLine)):
                        for value in values_of_line(line):
                            self._collect(file, number, value)

    def _value_test(self) -> Callable[[bytes], bool]:
        """A function that is false for lines in which no value stands that was found elsewhere in the session."""
        spellings = {raw for known in self._redactor.values.spellings for raw in raw_spellings(known)}
        if not spellings:
            return lambda line: False
        find = BytesAhoCorasick([one.encode("utf-8", "surrogatepass") for one in spellings]).find_matches_as_indexes
        return lambda line: bool(find(line))

    def _collect_text(self, file: int, text: str, line: int) -> None:
        value = document_of(self._job.files[file].path, text)
        self._collect(file, line if value is text else None, value)

    def _collect(self, file: int, line: int | None, value: Any) -> None:
        time = normalize_time(value.get("timestamp")) if type(value) is dict and line is not None else None
        has_lines = self._job.files[file].has_lines

        def visit(key: str, text: str, field: str) -> str:
            finds = self._redactor.finds(text, key)
            for find in finds:
                at = line if has_lines or line is None else line + text.count("\n", 0, find.start)
                preview = preview_around(text, find, finds, self._setup.key)
                self._add(find, FoundPlace(file, at, field, preview), time or "")
            return text

        remove_images(value)
        transform(value, visit)

    def _add(self, find: Find, place: FoundPlace, time: str) -> None:
        digest = digest_of(self._setup.key, find.value)
        finds = self._found.get(digest)
        if finds is None:
            finds = self._found[digest] = _Finds(digest, find, self._redactor.scanner.rank(find.rule))
        finds.add(find, self._redactor.scanner.rank(find.rule), place, time)


class FieldFacts(NamedTuple):
    """What is known of fields of a name."""

    is_secret: bool
    is_structure: bool
    is_free: bool
    """True if what is below them is not structure."""


class RecordLearner:
    """Learns the secrets of records; most of their texts are short, and repeated in every line."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._fields: dict[str, FieldFacts] = {}
        self._harmless: set[str] = set()
        """Texts that show no secret, unless the name of their field makes them one."""

    def learn(self, value: Any) -> bool:
        """Learn the secrets in a record or a text, without its images; false if it shows none.

        It looks at the same texts as `transform`, without changing anything or knowing where they are.
        """
        if len(self._harmless) >= _REMEMBERED:
            self._harmless.clear()
        is_found = False
        seen: set[str] = set()
        """Long texts: results of tools stand in a record twice."""
        waiting: list[tuple[Any, str, bool]] = [([value], "", False)]
        harmless, fields = self._harmless, self._fields
        while waiting:
            part, key, is_free = waiting.pop()
            if type(part) is list:
                self._learn_list(part)
                items: Iterable[tuple[str, Any]] = [(key, item) for item in part]
            else:
                items = part.items()
            for name, item in items:
                field = fields.get(name)
                if field is None:
                    field, is_secret = self._new_field(name)
                    is_found = is_secret or is_found
                kind = type(item)
                if kind is str:
                    if field.is_secret or not (item in harmless or item in seen):
                        is_found = self._learn_text(item, name, field, is_free, seen) or is_found
                elif kind is dict or kind is list:
                    waiting.append((item, name, is_free or field.is_free))
        return is_found

    def _learn_text(self, text: str, key: str, field: FieldFacts, is_free: bool, seen: set[str]) -> bool:
        if field.is_structure and is_structure(key, text, is_free):
            return False
        if finds := self._redactor.secrets(text, key):
            self._redactor.learn_finds(finds)
            return True
        (self._harmless if len(text) <= _SHORT else seen).add(text)
        return False

    def _learn_list(self, part: list[Any]) -> None:
        """Learn what stands in several texts of a list: words of a command, lines of a key."""
        texts = [item for item in part if type(item) is str]
        if len(texts) > 1:
            self._redactor.learn_pieces(texts, "\n")
            self._redactor.learn_pieces(texts, " ")

    def _new_field(self, name: str) -> tuple[FieldFacts, bool]:
        """What is known of a name, and whether it has a secret in it: such a name is not remembered."""
        field = FieldFacts(is_secret_name(name), name in STRUCTURE, name in FREE)
        if finds := self._redactor.secrets(name):
            self._redactor.learn_finds(finds)
        elif len(self._fields) < _REMEMBERED:
            self._fields[name] = field
        return field, bool(finds)


class _Finds:
    """Collects the places of one secret of a session."""

    def __init__(self, digest: bytes, find: Find, rank: int) -> None:
        self._digest = digest
        self._rule, self._rank = find.rule, rank
        self._occurrences = 0
        self._places: list[FoundPlace] = []
        self._files: set[int] = set()
        self._first = self._last = ""

    def add(self, find: Find, rank: int, place: FoundPlace, time: str) -> None:
        if rank < self._rank:
            self._rule, self._rank = find.rule, rank
        self._occurrences += 1
        self._files.add(place.file)
        if len(self._places) < MOST_PLACES:
            self._places.append(place)
        if time:
            self._first = min(self._first or time, time)
            self._last = max(self._last, time)

    def result(self, files: Sequence[AuditedFile]) -> FoundSecret:
        times = sorted(files[number].time for number in self._files)
        return FoundSecret(
            digest=self._digest,
            rule=self._rule.name,
            mask=self._rule.mask,
            kind=self._rule.kind.word,
            rank=self._rank,
            occurrences=self._occurrences,
            places=self._places,
            first=self._first or times[0],
            last=self._last or times[-1],
        )


def digest_of(key: bytes, value: str) -> bytes:
    """What tells one secret from another, and is of no use without the key."""
    return hmac.digest(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256)


def preview_around(text: str, find: Find, finds: Sequence[Find], key: bytes) -> Preview:
    """The text around a secret; `finds` are all secrets in it, from left to right."""
    start, end = max(find.start - _AROUND, 0), min(find.end + _AROUND, len(text))
    pieces: list[str | bytes] = []
    at = start
    for one in finds:
        if one.end > start and one.start < end:
            pieces += (text[at : max(one.start, at)], digest_of(key, one.value))
            at = max(at, one.end)
    pieces.append(text[at : max(end, at)])
    before, after = "…" if start else "", "…" if max(end, at) < len(text) else ""
    return tuple(piece for piece in (before, *pieces, after) if piece)


def values_of_line(line: bytes) -> Iterator[Any]:
    """The record on a line; of a damaged line the records that are whole, and everything else as text."""
    try:
        yield _decode(line)
        return
    except DECODE_ERRORS:
        pass
    at = 0
    for piece in salvage_line(line):
        if not isinstance(piece.value, dict):
            continue
        try:
            record = _decode(line[piece.start : piece.end])
        except DECODE_ERRORS:
            continue
        if text := _as_text(line[at : piece.start]):
            yield text
        yield record
        at = piece.end
    if text := _as_text(line[at:]):
        yield text


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").strip()


def document_of(path: str, text: str) -> Any:
    """The value of a JSON file; of others, and of damaged ones, the text."""
    if path.endswith(".json"):
        try:
            return _decode(text.encode("utf-8", "surrogateescape"))
        except DECODE_ERRORS:
            pass
    return text


def read_texts(path: str) -> Iterator[tuple[str, int]]:
    """The text of a file, a large one in portions of whole lines, each with the number of its first line.

    NUL bytes, as between the names that `find -print0` prints, are read as spaces; where they are every other byte, as
    in UTF-16, they are left out. Files that are not text are read as far as there is text in them.
    """
    line = 1
    for data in text_portions(path):
        if nuls := data.count(b"\0"):
            text = data.replace(b"\0", b"" if nuls * _UTF16 > len(data) else b" ")
        else:
            text = data
        yield text.decode("utf-8", "surrogateescape"), line
        line += data.count(b"\n")
