"""One session for people: what it is, its sub-agents as a tree, its events a line each."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from claude_session_player import humanize, rawjson
from claude_session_player.cli.output import stdout
from claude_session_player.store.session import Session
from claude_session_player.text import cut, printable
from claude_session_player.times import local_now

_TEXT: Final = 100
_NAME: Final = 12


def print_session(session: Session, events: Iterable[dict[str, Any]] | None) -> None:
    """Write all of it to stdout; on a terminal, facts are wrapped and events cut to its width."""
    write = stdout().write
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    now = local_now()
    for name, value in _facts(session, now):
        if value:
            write(_wrapped(f"{name:<{_NAME}} {printable(value)}", width) + "\n")
    if session.subagents:
        count = session.subagent_count
        write(f"\n{humanize.many(count, 'sub-agent')}\n")
        for line in _tree(session, ""):
            write(f"{_fitted(printable(line), width)}\n")
    if events is not None:
        write("\nevents\n")
        for event in events:
            write(f"{_fitted(printable(_event(event, now)), width)}\n")


def _wrapped(text: str, width: int | None) -> str:
    if width is None or len(text) <= width:
        return text
    room = max(width, 2 * _NAME)
    return "\n".join(textwrap.wrap(text, room, subsequent_indent=" " * (_NAME + 1), break_on_hyphens=False))


def _fitted(text: str, width: int | None) -> str:
    return text if width is None else cut(text, max(width - 1, 0))


def _facts(session: Session, now: datetime) -> Iterator[tuple[str, str]]:
    summary = session.summary
    usage = summary.usage
    yield "title", summary.title or "(no title)"
    yield "id", summary.id
    yield "parent", " / ".join(filter(None, (summary.parent_id, summary.parent_agent_id)))
    yield "agent", summary.agent or ""
    yield "workflow", summary.workflow or ""
    yield "project", summary.project or ""
    yield "cwd", summary.cwd if summary.cwd and summary.cwd != summary.project else ""
    yield "branch", summary.git_branch or ""
    yield "model", ", ".join(summary.models)
    yield "version", summary.version or ""
    yield "from", humanize.local(summary.created_at, now) if summary.created_at else ""
    yield "to", f"{humanize.local(summary.updated_at, now)}{humanize.aside(humanize.ago(summary.updated_at, now))}"
    yield "lasted", humanize.span(summary.duration_seconds)
    yield "events", f"{summary.events:,}" + (f", {summary.malformed} malformed" if summary.malformed else "")
    yield "tokens", f"{usage['input_tokens']:,} in, {usage['output_tokens']:,} out" if any(usage.values()) else ""
    yield "size", humanize.size(summary.size) if summary.size else ""
    yield "state", "in use" if summary.in_use else ""
    yield "workflows", ", ".join(run["id"] for run in session.workflows)
    yield "outputs", humanize.many(len(session.tool_results), "file") if session.tool_results else ""
    yield "path", humanize.near(summary.path)
    yield "first prompt", cut(_one_line(summary.first_user_message or ""), 2 * _TEXT)
    if summary.last_user_message != summary.first_user_message:
        yield "last prompt", cut(_one_line(summary.last_user_message or ""), 2 * _TEXT)


def _tree(session: Session, indent: str) -> Iterator[str]:
    for number, child in enumerate(session.subagents, 1):
        is_last = number == len(session.subagents)
        summary = child.summary
        parts = (summary.workflow or "", summary.agent or "", cut(summary.title or "", _TEXT))
        about = "  ".join(filter(None, (summary.id, *parts, humanize.many(summary.events, "event"))))
        yield f"{indent}{'└─' if is_last else '├─'} {about}"
        yield from _tree(child, indent + ("   " if is_last else "│  "))


def _event(event: dict[str, Any], now: datetime) -> str:
    time = humanize.local(event["timestamp"], now)[11:] if event["timestamp"] else ""
    said = event.get("text") or event.get("reason") or (rawjson.compact(event["input"]) if event.get("input") else "")
    words = " ".join(filter(None, (event.get("name"), cut(_one_line(said), _TEXT))))
    return f"{event['line']:>6}  {time:<8}  {event['type']:<12} {words}".rstrip()


def _one_line(text: str) -> str:
    return " ".join(text[: 8 * _TEXT].split())
