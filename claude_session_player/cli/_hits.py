"""How hits of a search are printed: below the session that they are in, each on one line, with what matches in it."""

from __future__ import annotations

import os
import shlex
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Final

from claude_session_player.cli._output import has_colours, print_styled, stdout
from claude_session_player.cli._tables import short_ids
from claude_session_player.store import SessionKind, resume_command
from claude_session_player.util import humanize
from claude_session_player.util.dirs import SHORT_PROGRAM
from claude_session_player.util.tables import cell_width, fit_cell, fit_marked
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import base_name, display_path, printable
from claude_session_player.util.times import local_now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.cli._options import Redaction, StoreOptions
    from claude_session_player.search import Hit, SessionHits
    from claude_session_player.store import Session

_CODES: Final = {"dim": "2", "bold": "1", "cyan": "36", "green": "32", "match": "1;35"}
"""ANSI codes."""
_GAP: Final = "  "
_SEPARATOR: Final = " · "
_LEAST_ROOM: Final = 32
"""Cells: a title or a snippet gets as many before anything else is shown beside it."""
_LINE_WIDTH: Final = 120
"""Cells of a line of commands, where a terminal has no fewer."""
_SOURCE_WIDTH: Final = 24
_COPIES_NAMED: Final = 2
_TITLE: Final = "title"
_TIME_WIDTH: Final = len("2026-01-17 20:31")


class HitPrinter:
    """Prints sessions with their hits, on a terminal each hit on one line."""

    def __init__(self, stores: StoreOptions, ids: Sequence[str], redaction: Redaction) -> None:
        """`ids` are those of all sessions: among them, a shortened id must be unique."""
        self._stores = stores
        self._redaction = redaction
        self._short_ids = dict(zip(ids, short_ids(ids, ()), strict=True))
        self._width = get_terminal_size().columns if is_terminal(stdout()) else sys.maxsize
        self._has_colours = has_colours()
        self._now = local_now()
        self._is_first = True
        try:
            self._directory = os.getcwd()
        except OSError:  # it was deleted
            self._directory = ""

    def print(self, number: int, group: SessionHits, hits: Sequence[Hit]) -> None:
        """Print a session, some of its hits, and how to open the best of them."""
        lead = f"{number:>2}{_GAP}"
        indent = " " * len(lead)
        lines = [] if self._is_first else [""]
        lines.append(self._paint(lead, "dim") + self._heading(group.session, self._width - len(lead)))
        lines += [indent + line for line in self._hit_lines(hits, self._width - len(lead))]
        if (more := group.count - len(hits)) > 0:
            lines.append(self._paint(f"{indent}… and {humanize.plural(more, 'more hit')}", "dim"))
        commands = (
            self._paint(line, "dim")
            for line in self._commands(hit_to_open(group), min(self._width, _LINE_WIDTH) - len(lead))
        )
        print_styled("\n".join((*lines, *(indent + line for line in commands))))
        self._is_first = False

    def _heading(self, session: Session, room: int) -> str:
        id = self._id(session)
        title = printable(("↳ " if session.is_subagent else "") + (session.title or "(no title)"))
        project = (printable(base_name(session.project or "")), "green")
        when = (humanize.ago(session.updated_at, self._now), "dim")
        for about in ((project, when), (when,), ()):
            left = room - len(id) - len(_GAP) - sum(cell_width(text) + len(_SEPARATOR) for text, _ in about)
            if left >= min(cell_width(title), _LEAST_ROOM):
                break
        title = fit_cell(title, max(min(left, cell_width(title)), 1))
        parts = [self._paint(text, style) for text, style in ((title, "bold"), *about) if text]
        return self._paint(id, "cyan") + _GAP + _SEPARATOR.join(parts)

    def _hit_lines(self, hits: Sequence[Hit], room: int) -> Iterator[str]:
        sources = [self._source(hit) for hit in hits]
        widest = max(map(cell_width, sources))
        digits = max(len(str(hit.line)) for hit in hits)
        for hit, name in zip(hits, sources, strict=True):
            line = (f"{hit.line or '':>{digits}}", "dim")
            time = (f"{self._time(hit):<{_TIME_WIDTH}}", "dim")
            source = (fit_cell(name, widest), "")
            copies = self._copies(hit)
            for cells in ((line, time, source), (line, source), (line,)):
                left = room - cell_width(copies) - sum(cell_width(text) + len(_GAP) for text, _ in cells)
                if left >= _LEAST_ROOM:
                    break
            text, spans = fit_marked(printable(hit.snippet), hit.spans, max(left, 1))
            painted = (self._paint(text, style) for text, style in cells)
            yield _GAP.join((*painted, self._highlight(text, spans))) + self._paint(copies, "dim")

    def _source(self, hit: Hit) -> str:
        """Who said it; in a sub-agent, its id first, because lines are those of its file."""
        name = printable(hit.source)
        name = fit_cell(name, _SOURCE_WIDTH, keeps_end=True) if cell_width(name) > _SOURCE_WIDTH else name
        return f"↳ {self._id(hit.session)} {name}" if hit.session.is_subagent else name

    def _time(self, hit: Hit) -> str:
        time = humanize.local_time(hit.time, self._now)
        return "" if time == humanize.UNKNOWN else time[:_TIME_WIDTH]

    def _copies(self, hit: Hit) -> str:
        """The other sessions that hold the same; a terminal has room for a few."""
        if not hit.copies:
            return ""
        named = hit.copies[:_COPIES_NAMED] if is_terminal(stdout()) else hit.copies
        more = f" and {len(hit.copies) - len(named)} more" if len(named) < len(hit.copies) else ""
        return f" (also in {', '.join(map(self._id, named))}{more})"

    def _commands(self, hit: Hit, room: int) -> Iterator[str]:
        """Lines with the commands that open a hit; a command is not broken."""
        options = [*start_words(hit), *self._stores.words, *map(self._redaction.masked, self._redaction.words)]
        names = ("show",) if self._redaction.is_on else ("play", "show")  # what cannot redact is not suggested
        commands = [shlex.join((SHORT_PROGRAM, name, self._id(hit.session), *options)) for name in names]
        has_resume = not (self._redaction.is_on or self._stores.is_archive)
        if has_resume and hit.session.head.file.kind == SessionKind.SESSION:
            commands.append(self._resume_command(hit.session))
        line = ""
        for command in map(printable, map(display_path, commands)):
            if line and len(line) + len(_SEPARATOR) + len(command) > room:
                yield line
                line = ""
            line = f"{line}{_SEPARATOR}{command}" if line else command
        yield line

    def _resume_command(self, session: Session) -> str:
        """The command that resumes a session, from this directory if it is that of its project."""
        command = resume_command(session)
        if (session.head.project or session.project) == self._directory:
            return command.partition(" && ")[2]
        home = os.path.join(os.path.expanduser("~"), "")
        return command.replace(f"cd {home}", "cd ~/", 1)

    def _id(self, session: Session) -> str:
        return printable(self._short_ids.get(session.id) or display_path(session.id))

    def _highlight(self, text: str, spans: Iterable[tuple[int, int]]) -> str:
        pieces: list[str] = []
        at = 0
        for start, end in spans:
            pieces += (text[at:start], self._paint(text[start:end], "match"))
            at = end
        return "".join((*pieces, text[at:]))

    def _paint(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if text and style and self._has_colours else text


def hit_to_open(group: SessionHits) -> Hit:
    """The best hit that is a place in the session: the line of a title is where it was set, often at the end."""
    best = next(iter(group))
    return next((hit for hit in group if hit.field != _TITLE), best)


def start_words(hit: Hit) -> list[str]:
    """The option that starts at a hit; it is none if the hit has no place, or is in a file beside the session."""
    return ["--from", str(hit.line)] if hit.line and hit.field != _TITLE else []
