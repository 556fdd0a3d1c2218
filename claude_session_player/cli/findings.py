"""What is wrong with sessions, in words and as JSON data."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

import click

from claude_session_player import humanize
from claude_session_player.care.findings import KINDS, Finding, Severity
from claude_session_player.care.verify import Report
from claude_session_player.names import PROGRAM
from claude_session_player.text import display_path, printable

_MOST: Final = 10
_NOUNS: Final = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("warning", "warnings"),
    Severity.ADVICE: ("piece of advice", "pieces of advice"),
}
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}


def at_least(findings: Sequence[Finding], severity: Severity) -> list[Finding]:
    """The findings that are so bad, or worse."""
    return [finding for finding in findings if finding.kind.severity >= severity]


def record(finding: Finding) -> dict[str, Any]:
    """A finding as JSON data."""
    kind = finding.kind
    return {
        "path": display_path(finding.path),
        "kind": kind.name,
        "severity": kind.severity.name.lower(),
        "problem": kind.problem,
        "line": finding.line,
        "offset": finding.offset,
        "what": kind.what,
        "detail": display_path(finding.detail),
        "advice": _advice(finding),
    }


def told(report: Report, severity: Severity, *, in_colour: bool) -> Iterator[str]:
    """A report for people: files with what is wrong with each, kind by kind, and what it comes to."""
    for path, of_file in groupby(at_least(report.findings, severity), lambda finding: finding.path):
        yield click.style(printable(humanize.near(display_path(path))), bold=True) if in_colour else _plain(path)
        by_kind = sorted(of_file, key=lambda finding: KINDS.index(finding.kind))
        for _, alike in groupby(by_kind, lambda finding: finding.kind):
            yield from _of_kind(list(alike), in_colour)
        yield ""
    yield _total(report, severity)


def _plain(path: str) -> str:
    return printable(humanize.near(display_path(path)))


def _of_kind(findings: Sequence[Finding], in_colour: bool) -> Iterator[str]:
    kind = findings[0].kind
    word = kind.severity.name.lower()
    word = click.style(word, fg=_COLOURS[kind.severity]) if in_colour else word
    yield f"  {word}: {f'{kind.problem}: ' if kind.problem else ''}{kind.what}"
    for finding in findings[:_MOST]:
        place = f"line {finding.line}, byte {finding.offset}" if finding.line is not None else ""
        if said := ": ".join(filter(None, (place, printable(display_path(finding.detail))))):
            yield f"    {said}"
    if len(findings) > _MOST:
        yield f"    … and {len(findings) - _MOST} more (--json names them all)"
    yield f"    → {_advice(findings[0])}"


def _advice(finding: Finding) -> str:
    return finding.kind.advice.format(repair=f"{PROGRAM} repair {shlex.quote(_plain(finding.path))} -o NEW.jsonl")


def _total(report: Report, severity: Severity) -> str:
    counts = Counter(finding.kind.severity for finding in report.findings)
    worst_first = sorted(counts, reverse=True)
    seen = [_many(counts[one], one) for one in worst_first if one >= severity]
    unseen = [_many(counts[one], one) for one in worst_first if one < severity]
    more = f" ({', '.join(unseen)} left out: see --severity)" if unseen else ""
    looked_at = f"{humanize.many(report.files, 'file')}, {humanize.size(report.bytes)}"
    return f"{looked_at}: {', '.join(seen) or 'nothing is wrong'}{more}"


def _many(count: int, severity: Severity) -> str:
    return humanize.many(count, *_NOUNS[severity])
