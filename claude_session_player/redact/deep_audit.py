"""`secrets --deep`: lets kingfisher look at the texts of sessions, and adds what it found to an audit.

It gets decoded texts, because it knows nothing of records: in files of a private directory, many texts in each, which
are deleted as soon as it has read them. Several sessions are given to it at a time, as it takes a while to start.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.format.line_reader import LongLine, read_batches
from claude_session_player.parser import open_session
from claude_session_player.redact.kingfisher import KingfisherFind, find_kingfisher, run_kingfisher
from claude_session_player.redact.records import remove_images, transform
from claude_session_player.redact.rule import Find, Kind, Rule
from claude_session_player.redact.session_audit import (
    FoundPlace,
    FoundSecret,
    Preview,
    digest_of,
    document_of,
    load_setup,
    preview_around,
    read_texts,
    values_of_line,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.fsutil import private_directory
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.redact.audit import Audit
    from claude_session_player.redact.session_audit import AuditedFile, AuditJob, AuditSetup

_BATCH: Final = 48 << 20
_FILE: Final = 4 << 20
"""Bytes of texts: in a file, and in all that are scanned at a time."""
_SHORTEST: Final = 8
_LAST_RANK: Final = 1_000_000
_GAP: Final = b"\n\n"
_KINDS: Final = (
    ("private", Kind.PRIVATE_KEY),
    ("password", Kind.PASSWORD),
    ("credential", Kind.PASSWORD),
    ("token", Kind.TOKEN),
    ("pat", Kind.TOKEN),
    ("jwt", Kind.TOKEN),
    ("key", Kind.API_KEY),
)
"""Kinds by what the name of a rule of kingfisher contains."""


class ScannedText(NamedTuple):
    """A text that kingfisher looks at, and where it comes from."""

    job: AuditJob
    file: int
    line: int | None
    key: str
    field: str
    time: str
    text: str

    @property
    def audited_file(self) -> AuditedFile:
        """The file that holds the text."""
        return self.job.files[self.file]


class TextPlace(NamedTuple):
    """Where a text is in a file for kingfisher."""

    line: int
    """The number of its first line."""
    offset: int
    size: int
    origin: ScannedText
    """The text's origin, without the text."""


def add_deep_finds(audit: Audit) -> None:
    """Scan everything that an audit looked at. Raises `MissingExtra` or `NotInstalled`."""
    program = find_kingfisher()
    for batch in _batches(text for job in audit.jobs() for text in texts_of(job)):
        with private_directory(f"{PROGRAM}-") as private:
            _scan(program, private, batch, audit)


def _batches(texts: Iterable[ScannedText]) -> Iterator[Iterator[ScannedText]]:
    """The texts in portions; each has to be consumed before the next."""
    texts = iter(texts)
    for first in texts:

        def portion(first: ScannedText = first) -> Iterator[ScannedText]:
            size = len(first.text)
            yield first
            while size < _BATCH and (text := next(texts, None)) is not None:
                size += len(text.text)
                yield text

        yield portion()


def texts_of(job: AuditJob) -> Iterator[ScannedText]:
    """Every text of a session and of what lies beside it, without images. What cannot be read is left out."""
    for number, file in enumerate(job.files):
        try:
            for line, value in _values(file.path):
                yield from _texts_of_value(job, number, line, value)
        except (SessionError, OSError):  # the audit has reported it
            continue


def _values(path: str) -> Iterator[tuple[int | None, Any]]:
    if not path.endswith(".jsonl"):
        for text, first in read_texts(path):
            value = document_of(path, text)
            yield (first if value is text else None), value
        return
    number = 0
    with open_session(path) as source:
        for lines in read_batches(source):
            for line in lines:
                number += 1
                if not isinstance(line, LongLine):
                    for value in values_of_line(line):
                        yield number, value


def _texts_of_value(job: AuditJob, file: int, line: int | None, value: Any) -> list[ScannedText]:
    found: list[ScannedText] = []
    time = normalize_time(value.get("timestamp")) if type(value) is dict else None

    def visit(key: str, text: str, field: str) -> str:
        if len(text) >= _SHORTEST:
            found.append(ScannedText(job, file, line, key, field, time or job.files[file].time, text))
        return text

    remove_images(value)
    transform(value, visit)
    return found


def _scan(program: str, private: str, texts: Iterable[ScannedText], audit: Audit) -> None:
    folder = os.path.join(private, "texts")
    os.mkdir(folder, 0o700)
    places = _write_texts(folder, texts)
    by_text: dict[tuple[str, int], list[KingfisherFind]] = {}
    for find in run_kingfisher(program, folder, private):
        number = bisect_right(places.get(find.file, []), find.line, key=lambda place: place.line) - 1
        if number >= 0:
            by_text.setdefault((find.file, number), []).append(find)
    for (name, number), finds in by_text.items():
        _add(audit, finds, places[name][number], os.path.join(folder, name))


def _write_texts(folder: str, texts: Iterable[ScannedText]) -> dict[str, list[TextPlace]]:
    """Write texts into files that nobody else may read; returns where they are, by the names of the files."""
    places: dict[str, list[TextPlace]] = {}
    texts = iter(texts)
    for first in texts:
        name = f"{len(places)}.txt"
        with open(os.path.join(folder, name), "xb", opener=_private_opener) as file:
            places[name] = list(_write_file(file, first, texts))
    return places


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _write_file(file: BinaryIO, first: ScannedText, more: Iterator[ScannedText]) -> Iterator[TextPlace]:
    line, offset = 1, 0
    text: ScannedText | None = first
    while text is not None:
        data = text.text.encode("utf-8", "replace")
        file.write(data + _GAP)
        yield TextPlace(line, offset, len(data), text._replace(text=""))
        line += data.count(b"\n") + len(_GAP)
        offset += len(data) + len(_GAP)
        text = next(more, None) if offset < _FILE else None


def _add(audit: Audit, finds: Sequence[KingfisherFind], place: TextPlace, path: str) -> None:
    """Add what was found in a text: as another proof of a secret that is known, or as a secret of its own."""
    with open(path, "rb") as file:
        file.seek(place.offset)
        text = file.read(place.size).decode("utf-8", "replace")
    origin = place.origin
    setup, redactor, _, _ = load_setup(origin.job.setup)
    redactor.forget()
    own = redactor.finds(text, origin.key)
    others: list[Find] = []
    for found in finds:
        find = _to_find(found, text, place)
        same = next((one for one in own if one.start < find.end and find.start < one.end), None)
        if same is not None:
            audit.add_deep(origin.job, _secret(same, redactor.scanner.rank(same.rule), setup.key, origin))
        elif not any(one.start < find.end and find.start < one.end for one in others):
            others.append(find)
    if others:
        audit.hide_previews(origin.job, origin.file, origin.line, origin.field)
    everything = sorted((*own, *(find for find in others if find.start < find.end)), key=lambda find: find.start)
    for find in others:
        if not _is_kept(find, setup):
            found_place = _place(text, find, everything, origin, setup.key)
            audit.add_deep(origin.job, _secret(find, _LAST_RANK, setup.key, origin, found_place))


def _to_find(found: KingfisherFind, text: str, place: TextPlace) -> Find:
    """Where kingfisher found something; an empty span if it stands there only in another form, as in base64."""
    rule = Rule(name=_slug(found.rule), kind=_kind(found.rule), pattern="", keywords=())
    start = text.find(found.value, _offset_of_line(text, found.line - place.line))
    return Find(start, start + len(found.value), rule, found.value) if start >= 0 else Find(0, 0, rule, found.value)


def _is_kept(find: Find, setup: AuditSetup) -> bool:
    words = {find.rule.name, find.rule.kind.word, find.rule.kind.group.value}
    return not words.isdisjoint(setup.keep) or (setup.own is not None and setup.own.allows(find))


def _secret(find: Find, rank: int, key: bytes, origin: ScannedText, place: FoundPlace | None = None) -> FoundSecret:
    return FoundSecret(
        digest=digest_of(key, find.value),
        rule=find.rule.name,
        mask=find.rule.mask,
        kind=find.rule.kind.word,
        rank=rank,
        occurrences=1,
        places=[] if place is None else [place],
        first=origin.time,
        last=origin.time,
    )


def _place(text: str, find: Find, finds: Sequence[Find], origin: ScannedText, key: bytes) -> FoundPlace:
    line = origin.line
    if line is not None and not origin.audited_file.has_lines:
        line += text.count("\n", 0, find.start)
    preview: Preview = (digest_of(key, find.value),)
    if find.start < find.end:
        preview = preview_around(text, find, finds, key)
    return FoundPlace(origin.file, line, origin.field, preview)


def _offset_of_line(text: str, lines: int) -> int:
    """Where a line begins; 0 if there are not so many."""
    at = 0
    for _ in range(lines):
        at = text.find("\n", at) + 1
        if not at:
            return 0
    return at


def _kind(name: str) -> Kind:
    return next((kind for word, kind in _KINDS if word in name.lower()), Kind.SECRET)


def _slug(name: str) -> str:
    """The name of a rule as masks can have it.

    >>> _slug("Generic Credential (URI)")
    'generic-credential-uri'
    """
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    return slug if slug[:1].isalpha() else f"k-{slug}"
