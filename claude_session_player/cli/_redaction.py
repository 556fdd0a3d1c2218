"""`--redact` and what belongs to it: sessions that are read, are read from redacted copies."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import click

from claude_session_player.cli._options import Redaction
from claude_session_player.cli._output import encode_json, note, say, start_bar, warn
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from claude_session_player.cli._refs import SessionSource
    from claude_session_player.redact import RedactedStore, Redactor
    from claude_session_player.store import Session, Store

INCOMPLETE: Final = 1
_LONG_COPY: Final = 32 << 20
"""Bytes: larger sessions are copied with a progress bar."""
_PASSES: Final = 2
_INPUT: Final = "input"
"""The directory for what can be read only once, until it was copied."""


@dataclass(frozen=True)
class RedactionOptions(Redaction):
    """What is masked, and where that is reported. Raises `BadParameter` and `AlreadyThere`."""

    is_on: ClassVar[bool] = True
    redaction_report: str | None
    keep: tuple[str, ...]
    known: tuple[str, ...]
    rules: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", _kinds(self.keep))
        self._check_report()

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor of these options. Raises `BadRules` or `CannotRead`."""
        from claude_session_player.redact import Redactor, load_own_rules, read_known

        own = load_own_rules(self.rules)
        for line in own.notes:
            note(printable(line))
        known = [one for path in self.known for one in read_known(path)]
        return Redactor(
            keep=self.keep,
            known=known,
            own=own,
            reports_places=self.redaction_report is not None,
            home=os.path.expanduser("~"),
            user=os.environ.get("USER") or os.environ.get("USERNAME"),
            host=platform.node(),
        )

    def _check_report(self) -> None:
        """Refuse a report file that exists. Raises `AlreadyThere`."""
        from claude_session_player.errors import AlreadyThere

        path = self.redaction_report
        if path is not None and os.path.lexists(path) and os.path.isfile(path) and os.path.getsize(path):
            raise AlreadyThere(f"{path} already exists: name another file for the report")

    def session(self, session: Session) -> Session:
        """The redacted copy of a session."""
        return self._copies(session.file.stamp.size).copy_of(session)

    def source(self, source: SessionSource, store: Store | None = None) -> SessionSource:
        """The same for a session that was found, or is on standard input."""
        from claude_session_player.cli._refs import SessionSource, check_file

        if source.found is None and source.inline is None and source.path is not None and os.path.isfile(source.path):
            check_file(source.path, source.name)
            file = self._copies(os.path.getsize(source.path)).copy_of_file(source.path, source.name)
            return SessionSource(file.name, file.path)
        copy = self.session(self.original(source, store))
        shutil.rmtree(os.path.join(self._directory, _INPUT), ignore_errors=True)
        name = source.name if source.path is None else copy.file.name
        return SessionSource(name, copy.path, copy.file, copy if copy.is_inline else None)

    def original(self, source: SessionSource, store: Store | None = None) -> Session:
        """The session of a source; what can be read only once is put into a file first."""
        from claude_session_player.cli._refs import check_file
        from claude_session_player.store import Store

        if source.inline is not None:
            return source.inline
        if source.path is None or not os.path.isfile(source.path):
            return self._session_of_lines(source)
        check_file(source.path, source.name)
        looked_in = store or source.store or Store.open(cache=None, required=False)
        return looked_in.session_of(source.found or looked_in.file_at(source.path))

    def copies_of(self, sessions: Iterable[Session], store: Store) -> RedactedStore:
        """A store with redacted copies of some sessions of a store, and of no others."""
        for session in sessions:
            self.session(store.session_of(session.file) if store.is_packed else session)
        return self._store

    @property
    def words(self) -> list[str]:
        """The options that let another command redact in the same way."""
        lists = (("--keep", self.keep), ("--known", self.known), ("--rules", self.rules))
        return ["--redact", *(word for name, values in lists for value in values for word in (name, value))]

    def store(self, store: Store) -> Store:
        """The store of the copies."""
        return self._store

    def masked(self, text: str) -> str:
        """The same text with masks."""
        return self.redactor.text(text)

    def finish(self) -> int:
        """Tell how much was masked, and write the report; returns 1 if anything could not be read, else 0."""
        unread = self._store.unread if "_store" in self.__dict__ else []
        if unread:
            warn(printable(f"not read, and left out: {', '.join(unread)}"))
        if summary := self.redactor.report.summary:
            say(f"redacted: {summary}")
        if self.redaction_report is not None:
            from claude_session_player.util.fsutil import atomic_file

            with atomic_file(self.redaction_report, may_replace=True) as file:
                file.write(encode_json(self.redactor.report.json) + "\n")
        return INCOMPLETE if unread else 0

    @cached_property
    def _store(self) -> RedactedStore:
        from claude_session_player.redact import RedactedStore

        return RedactedStore(self._directory, self.redactor, self._moved_on)

    @cached_property
    def _directory(self) -> str:
        """A private directory that is deleted when the command ends."""
        from claude_session_player.util.fsutil import private_directory

        return click.get_current_context().with_resource(private_directory(f"{PROGRAM}-"))

    def _copies(self, size: int) -> RedactedStore:
        if size >= _LONG_COPY and is_terminal(sys.stderr) and "_bar" not in self.__dict__:
            bar = self.__dict__["_bar"] = start_bar("redacting", size * _PASSES)
            click.get_current_context().call_on_close(bar.stop)
        return self._store

    def _moved_on(self, size: int) -> None:
        if (bar := self.__dict__.get("_bar")) is not None:
            bar.advance(bar.task_ids[0], size)
            if bar.finished:
                bar.stop()

    def _session_of_lines(self, source: SessionSource) -> Session:
        """A session that can be read only once, in a file of its own."""
        from claude_session_player.cli._refs import lines_of
        from claude_session_player.store import Store

        folder = os.path.join(self._directory, _INPUT)
        os.makedirs(folder)
        name = os.path.basename(source.path) if source.path else "standard-input"
        path = os.path.join(folder, f"{os.path.splitext(name)[0]}.jsonl")
        with open(path, "xb") as file:
            for line in lines_of(source):
                file.write(line)
        return Store.open(cache=None, required=False).at(path)


def _kinds(values: Iterable[str]) -> tuple[str, ...]:
    """The kinds to keep, as they were typed: separated by commas, or one after the other."""
    from claude_session_player.redact import known_kinds

    words = [word.strip().casefold() for value in values for word in value.split(",") if word.strip()]
    known = known_kinds()
    for word in words:
        if word not in known:
            text = printable(display_path(word))
            raise click.BadParameter(f"{text!r} is not one of {', '.join(known)}", param_hint="'--keep'")
    return tuple(words)
