"""`--redact` and what belongs to it: sessions that are read, are read from redacted copies."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import click

from claude_session_player.cli._options import Redaction
from claude_session_player.cli._output import encode_json, masked_messages, note, say, start_bar, warn
from claude_session_player.errors import SessionError
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import display_path, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.progress import Progress

    from claude_session_player.cli._refs import SessionSource
    from claude_session_player.errors import AlreadyThere
    from claude_session_player.redact import RedactedStore, Redactor
    from claude_session_player.store import Session, Store

INCOMPLETE: Final = 1
_STANDARD_OUTPUT: Final = "-"
_INPUT: Final = "input"
"""The directory for what can be read only once, until it was copied."""


class CopyBar:
    """A progress bar for the copying of long sessions, on a terminal only."""

    _LONG: Final = 32 << 20
    """Bytes: larger sessions are copied with a bar."""
    _PASSES: Final = 2

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def start(self, size: int) -> None:
        """Show the bar, if a session is that long and none was shown before."""
        if size >= self._LONG and is_terminal(sys.stderr) and self._bar is None:
            self._bar = start_bar("redacting", size * self._PASSES)
            click.get_current_context().call_on_close(self._bar.stop)

    def advance(self, size: int) -> None:
        """Move the bar; it disappears at the end."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], size)
            if self._bar.finished:
                self._bar.stop()

    def stop(self) -> None:
        """Remove the bar before anything else is said."""
        if self._bar is not None:
            self._bar.stop()


@dataclass(eq=False)
class RedactionOptions(Redaction):
    """What is masked, and where that is reported. Raises `BadParameter`, `UsageError` and `CannotWrite`."""

    is_on: ClassVar[bool] = True
    redaction_report: str | None
    keep: tuple[str, ...]
    known: tuple[str, ...]
    rules: tuple[str, ...]
    _redactor: Redactor | None = field(default=None, init=False)
    _is_preparing: bool = field(default=False, init=False)
    """True while there is no redactor yet that messages could go through."""
    _is_handed_over: bool = field(default=False, init=False)
    progress: CopyBar = field(default_factory=CopyBar, init=False)

    def __post_init__(self) -> None:
        self.keep = kept_words(self.keep, self.rules)
        self._check_report()

    @property
    def redactor(self) -> Redactor:
        """The redactor of these options. Raises `BadRules` or `CannotRead`."""
        if self._redactor is None:
            self._is_preparing = True  # what is said of rules is about files that the user named
            self._redactor = self._make_redactor()
            self._is_preparing = False
        return self._redactor

    def _make_redactor(self) -> Redactor:
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
        """Refuse a report that is the output, is in a store, or exists. Raises `UsageError` or `CannotWrite`."""
        from claude_session_player.errors import CannotWrite
        from claude_session_player.store import enclosing_store

        if (path := self.redaction_report) is None:
            return
        place = os.path.realpath(path)
        output = click.get_current_context().params.get("output")
        if output not in (None, _STANDARD_OUTPUT) and os.path.realpath(output) == place:
            raise click.UsageError(
                f"--output and --redaction-report are the same file: {printable(display_path(path))}"
            )
        if enclosing_store(os.path.dirname(place)) is not None:
            raise CannotWrite(f"{display_path(path)} is in a Claude store: name a place outside of it")
        if os.path.isfile(path) and os.path.getsize(path):
            raise _report_exists(path)

    def _write_report(self, path: str) -> None:
        """Write the report; no file is replaced but one that was empty from the start."""
        from claude_session_player.util.fsutil import atomic_file

        if os.path.isfile(path) and os.path.getsize(path):
            raise _report_exists(path)  # written meanwhile
        with atomic_file(path, may_replace=True) as file:
            file.write(encode_json(self.redactor.report.json) + "\n")

    def session(self, session: Session) -> Session:
        """The redacted copy of a session."""
        return self._copies(session.file.stamp.size).copy_of(session)

    def sources(self, sources: list[SessionSource], store: Store) -> list[SessionSource]:
        """The same for several, each with what all of them say in mind."""
        self.learn_all([self.original(one, store) for one in sources] if len(sources) > 1 else ())
        return [self.source(one, store) for one in sources]

    def learn_all(self, sessions: Sequence[Session]) -> None:
        """Learn what several sessions say before the first is copied."""
        if len(sessions) > 1:
            self._store.learn_all(sessions)

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
        found = [store.session_of(one.file) if store.is_packed else one for one in sessions]
        self.learn_all(found)
        for session in found:
            self.session(session)
        return self._store

    @property
    def words(self) -> list[str]:
        """The options that let another command redact in the same way."""
        lists = (("--keep", self.keep), ("--known", self.known), ("--rules", self.rules))
        return ["--redact", *(word for name, values in lists for value in values for word in (name, value))]

    def hand_over(self) -> list[str]:
        """The same for a command that goes on in place of this one: it also tells what was done."""
        self._is_handed_over = True
        report = self.redaction_report
        return [*self.words, *(("--redaction-report", report) if report is not None else ())]

    def store(self, store: Store) -> Store:
        """The store of the copies."""
        return self._store

    def masked(self, text: str) -> str:
        """The same text with masks."""
        return self.redactor.text(text)

    @contextmanager
    def masked_messages(self) -> Iterator[None]:
        """Let what is said on stderr have masks, and what errors say."""
        with masked_messages(self._message):
            try:
                yield
            except SessionError as error:
                error.args = (self._message(str(error)),)
                error.details = tuple(map(self._message, error.details))
                raise

    def _message(self, text: str) -> str:
        """A message with masks; without a redactor, it is about the rules that the user named."""
        return text if self._is_preparing or self._is_handed_over else self.redactor.text(text)

    def finish(self) -> int:
        """Tell how much was masked, and write the report; returns 1 if anything could not be read, else 0."""
        if self._is_handed_over:
            return 0
        unread = self._store.unread if "_store" in self.__dict__ else []
        if unread:
            warn(printable(f"not read, and left out: {', '.join(unread)}"))
        if summary := self.redactor.report.summary:
            say(f"redacted: {summary}", is_masked=True)
        if self.redaction_report is not None:
            self._write_report(self.redaction_report)
        return INCOMPLETE if unread else 0

    @cached_property
    def _store(self) -> RedactedStore:
        from claude_session_player.redact import RedactedStore

        return RedactedStore(self._directory, self.redactor, self.progress.advance)

    @cached_property
    def _directory(self) -> str:
        """A private directory that is deleted when the command ends."""
        from claude_session_player.util.fsutil import private_directory

        return click.get_current_context().with_resource(private_directory(f"{PROGRAM}-"))

    def _copies(self, size: int) -> RedactedStore:
        self.progress.start(size)
        return self._store

    def _session_of_lines(self, source: SessionSource) -> Session:
        """A session that can be read only once, in a file of its own."""
        from claude_session_player.cli._refs import lines_of
        from claude_session_player.store import Store

        folder = os.path.join(self._directory, _INPUT)
        os.makedirs(folder)
        name = os.path.basename(source.path) if source.path else "standard-input"
        path = os.path.join(folder, f"{os.path.splitext(name)[0]}.jsonl")
        with open(path, "xb") as file:
            os.chmod(path, 0o600)
            for line in lines_of(source):
                file.write(line)
        return Store.open(cache=None, required=False).at(path)


def _report_exists(path: str) -> AlreadyThere:
    from claude_session_player.errors import AlreadyThere

    return AlreadyThere(f"{display_path(path)} already exists: name another file for the report")


def kept_words(values: Iterable[str], rules: Sequence[str] = ()) -> tuple[str, ...]:
    """What is kept, as it was typed: groups, kinds and rules, separated by commas, or one after the other.

    `rules` are the files of one's own rules. Raises `BadParameter` or `BadRules`.
    """
    from claude_session_player.redact import builtin_rules, known_kinds, load_own_rules

    words = [word.strip().casefold() for value in values for word in value.split(",") if word.strip()]
    if not words:
        return ()
    known = [*known_kinds(), *(rule.name for rule in builtin_rules())]
    if not set(words) <= set(known):
        known += (rule.name for rule in load_own_rules(rules).rules)
    for word in words:
        if word not in known:
            raise click.BadParameter(_unknown_word(word, known), param_hint="'--keep'")
    return tuple(words)


def _unknown_word(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    meant = f": did you mean {near[0]!r}?" if near else ":"
    return f"{printable(display_path(word))!r} is no kind and no rule{meant} 'help redaction' lists the kinds"
