"""The summary of a session as markdown: the lines of the specification first, then further facts."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from claude_session_player.export.commonmark import inline_code
from claude_session_player.export.escaping import escape_inline
from claude_session_player.tools import AGENTS
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.humanize import dollars, duration_words, noun_for, plural
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from claude_session_player.stats import SessionSummary

_MAX_KINDS: Final = 8
_NEEDS_NO_QUOTES: Final = re.compile(r"[\w./-]+")
_VIEWS: Final = {
    "full": "",
    "tools only": " --only tools",
    "errors only": " --only errors",
    "sub-agents only": " --only subagents",
}
"""What `show` can print of a session, with the options for it."""


def summary_markdown(summary: SessionSummary, ref: str | None = None, options: Sequence[str] = ()) -> str:
    """A summary with commands that show more; they refer to the session by `ref`, or by default by its id."""
    show = show_command(ref or summary.id, options)
    commands = [f"- {view}: {inline_code(show + option)}" for view, option in _VIEWS.items()]
    return "\n".join((facts_markdown(summary), "", "Show:", *commands))


def facts_markdown(summary: SessionSummary) -> str:
    """A summary without commands."""
    lines = [f"- {name}: {value}" for name, value in _facts(summary) if value]
    return "\n".join((f"Session {_plain(summary.id)} ({plural(summary.events, 'event')})", *lines))


def show_command(ref: str, options: Sequence[str] = ()) -> str:
    """The command that shows a session; `options` lead it to the same store, and let it redact in the same way."""
    words = map(printable, (ref, *options))
    quoted = (word if _NEEDS_NO_QUOTES.fullmatch(word) else shlex.quote(word) for word in words)
    return f"{PROGRAM} show {' '.join(quoted)}"


def _facts(summary: SessionSummary) -> Iterator[tuple[str, str]]:
    tokens = summary.tokens._asdict()
    yield "Duration", duration_words(summary.duration_seconds)
    yield "User messages", f"{summary.user_messages:,}"
    yield "Tool calls", _total(summary.tool_calls)
    yield "Sub-agents", _total(summary.subagents) if summary.subagents else _no_subagents(summary.tool_calls)
    yield "Errors", f"{summary.errors:,}"
    yield "Title", _plain(summary.title or "")
    yield "Project", _plain(summary.project or "")
    yield noun_for(len(summary.git_branches), "Git branch"), ", ".join(map(_plain, summary.git_branches))
    yield noun_for(len(summary.models), "Model"), ", ".join(map(_plain, summary.models))
    yield noun_for(len(summary.versions), "Version"), ", ".join(map(_plain, summary.versions))
    yield "Active time", duration_words(summary.active_seconds) if summary.duration_seconds else ""
    yield "Compactions", _if_any(summary.compactions)
    yield "Forks", _if_any(summary.forks)
    yield "Files read", _if_any(summary.files_read)
    yield "Files changed", _if_any(summary.files_changed)
    urls = [_plain(link.url) for link in summary.pull_requests]
    yield noun_for(len(summary.pull_requests), "Pull request"), ", ".join(urls)
    scope = " with sub-agents" if summary.subagents else ""
    yield f"Tokens{scope}", ", ".join(f"{tokens[key]:,} {word}" for key, word in _TOKENS.items() if tokens[key])
    yield f"Cost{scope}", _cost(summary)


_TOKENS: Final = {
    "input": "input",
    "output": "output",
    "cache_write_5m": "cache write (5 min)",
    "cache_write_1h": "cache write (1 h)",
    "cache_read": "cache read",
}


def _cost(summary: SessionSummary) -> str:
    if summary.cost is None or not summary.tokens.total:
        return ""
    unpriced = ", ".join(map(_plain, summary.unpriced_models))
    return dollars(summary.cost) + (f", excluding {unpriced} (no known price)" if unpriced else "")


def _total(kinds: Mapping[str, int]) -> str:
    """The total, with the number of each kind, unless all are 1.

    >>> _total({"Plan": 2, "Explore": 1}), _total({"Plan": 1, "Explore": 1}), _total({})
    ('3 (2 Plan, 1 Explore)', '2 (Plan, Explore)', '0')
    """
    is_counted = any(count > 1 for count in kinds.values())
    parts = [f"{count:,} {_plain(kind)}" if is_counted else _plain(kind) for kind, count in kinds.items()]
    if len(parts) > _MAX_KINDS:
        parts[_MAX_KINDS:] = [plural(sum(list(kinds.values())[_MAX_KINDS:]), "other")]
    return f"{sum(kinds.values()):,} ({', '.join(parts)})" if parts else "0"


def _no_subagents(tool_calls: Mapping[str, int]) -> str:
    """What is said where there is no sub-agent: some may have been called, and their files are gone.

    >>> _no_subagents({"Agent": 4, "Bash": 2}), _no_subagents({"Bash": 2})
    ('0 of 4 calls recorded', '0')
    """
    calls = sum(count for name, count in tool_calls.items() if name in AGENTS)
    return f"0 of {plural(calls, 'call')} recorded" if calls else "0"


def _if_any(number: int) -> str:
    return f"{number:,}" if number else ""


def _plain(text: str) -> str:
    """A text with its markdown escaped.

    >>> _plain("my_file and *stars*")
    'my_file and \\\\*stars\\\\*'
    """
    return escape_inline(printable(text))
