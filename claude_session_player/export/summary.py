"""A summary of a session as markdown: the words of the specification first, and what else there is to say."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from claude_session_player.export.commonmark import inline_code
from claude_session_player.export.escaping import escape_inline
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import dollars, duration_words, noun_for, plural
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from claude_session_player.stats import SessionSummary

_MOST_KINDS: Final = 8
_PLAIN: Final = re.compile(r"[\w./-]+")
_PARTS: Final = {
    "full": "",
    "tools only": " --only tools",
    "errors only": " --only errors",
    "subagents only": " --only subagents",
}
"""What can be shown of a session, and the option for it."""


def summary_markdown(summary: SessionSummary, ref: str | None = None, roots: Sequence[str] = ()) -> str:
    """All of a summary; `ref` is what the commands at its end call the session, by default its id."""
    show = show_command(ref or summary.id, roots)
    commands = [f"- {part}: {inline_code(show + option)}" for part, option in _PARTS.items()]
    return "\n".join((facts_markdown(summary), "", "Show:", *commands))


def facts_markdown(summary: SessionSummary) -> str:
    """A summary without the commands that show more."""
    lines = [f"- {name}: {value}" for name, value in _facts(summary) if value]
    return "\n".join((f"Session {_plain(summary.id)} ({plural(summary.events, 'event')})", *lines))


def show_command(ref: str, roots: Sequence[str] = ()) -> str:
    """The command that shows a session, of these stores where they are not the usual one."""
    words = [ref, *(word for root in roots for word in ("--root", root))]
    quoted = (word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in map(printable, words))
    return f"{PROGRAM} show {' '.join(quoted)}"


def _facts(summary: SessionSummary) -> Iterator[tuple[str, str]]:
    tokens = summary.tokens._asdict()
    yield "Duration", duration_words(summary.duration_seconds)
    yield "User messages", f"{summary.user_messages:,}"
    yield "Tool calls", _total(summary.tool_calls)
    yield "Sub-agents", _total(summary.subagents)
    yield "Errors", f"{summary.errors:,}"
    yield "Title", _plain(summary.title or "")
    yield "Project", _plain(summary.project or "")
    yield noun_for(len(summary.git_branches), "Branch"), ", ".join(map(_plain, summary.git_branches))
    yield noun_for(len(summary.models), "Model"), ", ".join(map(_plain, summary.models))
    yield noun_for(len(summary.versions), "Version"), ", ".join(map(_plain, summary.versions))
    yield "Active time", duration_words(summary.active_seconds) if summary.duration_seconds else ""
    yield "Compactions", _unless_none(summary.compactions)
    yield "Forks", _unless_none(summary.forks)
    yield "Files read", _unless_none(summary.files_read)
    yield "Files changed", _unless_none(summary.files_changed)
    urls = [_plain(link.url) for link in summary.pull_requests]
    yield noun_for(len(summary.pull_requests), "Pull request"), ", ".join(urls)
    scope = " with sub-agents" if summary.subagents else ""
    yield f"Tokens{scope}", ", ".join(f"{tokens[key]:,} {word}" for key, word in _TOKENS.items() if tokens[key])
    yield f"Cost{scope}", _cost(summary)


_TOKENS: Final = {
    "input": "in",
    "output": "out",
    "cache_write_5m": "written to the cache for 5 minutes",
    "cache_write_1h": "written to the cache for an hour",
    "cache_read": "read from the cache",
}


def _cost(summary: SessionSummary) -> str:
    if summary.cost is None or not summary.tokens.total:
        return ""
    unknown = ", ".join(map(_plain, summary.unpriced_models))
    return dollars(summary.cost) + (f", without {unknown}: no price is known" if unknown else "")


def _total(kinds: Mapping[str, int]) -> str:
    """How many there are, and of which kinds.

    >>> _total({"Plan": 2, "Explore": 1}), _total({})
    ('3 (2 Plan, Explore)', '0')
    """
    named = [f"{count:,} {_plain(kind)}" if count > 1 else _plain(kind) for kind, count in kinds.items()]
    if len(named) > _MOST_KINDS:
        others = plural(len(named) - _MOST_KINDS, "other kind")
        named[_MOST_KINDS:] = [others]
    return f"{sum(kinds.values()):,} ({', '.join(named)})" if named else "0"


def _unless_none(number: int) -> str:
    return f"{number:,}" if number else ""


def _plain(text: str) -> str:
    """A text of which nothing is taken as markup.

    >>> _plain("my_file and *stars*")
    'my_file and \\\\*stars\\\\*'
    """
    return escape_inline(printable(text))
