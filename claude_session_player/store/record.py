"""A session as scripts see it: the contract. Names and types of these fields stay as they are.

What depends on a file alone is kept in the catalogue as JSON, so that a long list needs no work for each session.
"""

import re
import shlex
from datetime import datetime
from typing import Any, Final, NamedTuple

from claude_session_player.linking.titles import session_title
from claude_session_player.store.facts import ConversationFacts, FileFacts, TokenTotals
from claude_session_player.store.layout import SessionFile
from claude_session_player.store.roots import real_path
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path
from claude_session_player.util.times import file_time

_PLAIN: Final = re.compile(r"[\w.-]+")
PLATFORM: Final = "claude"


class SessionRecord(NamedTuple):
    """What a session is, in one look."""

    platform: str
    id: str
    kind: str
    path: str
    project: str | None
    cwd: str | None
    created_at: str | None
    updated_at: str
    duration_seconds: float
    provider: str | None
    model: str | None
    models: list[str]
    version: str | None
    git_branch: str | None
    title: str | None
    first_user_message: str | None
    last_user_message: str | None
    usage: dict[str, int]
    parent_id: str | None
    parent_agent_id: str | None
    agent: str | None
    workflow: str | None
    subagent_count: int
    size: int
    events: int
    event_count: int
    malformed: int
    in_use: bool
    detail_hint: str


def file_record(found: SessionFile, facts: FileFacts) -> dict[str, Any]:
    """What a file tells by itself. Whatever depends on its relatives, or on the moment, is missing."""
    record = {
        "platform": PLATFORM,
        "id": display_path(found.id),
        "kind": found.kind,
        "path": display_path(found.name),
        "project": real_path(found.project or "", facts.cwds),
        "cwd": facts.cwds[0] if facts.cwds else None,
        "version": facts.version,
        "git_branch": facts.branches[-1] if facts.branches else None,
        "workflow": display_path(found.workflow) if found.workflow else None,
        "size": found.stamp.size,
        "malformed": facts.malformed,
        **conversation_record(facts.speech),
        "detail_hint": detail_command(found.id, is_archived=bool(found.label)),
    }
    if not found.is_agent:
        record["title"] = session_title(facts.titles, None, facts.speech.topic, facts.speech.first_prompt)
    return record


def conversation_record(speech: ConversationFacts) -> dict[str, Any]:
    """What was said in a conversation, and when."""
    return {
        "created_at": speech.started,
        "provider": speech.provider,
        "model": speech.models[-1] if speech.models else None,
        "models": list(speech.models[::-1]),
        "first_user_message": speech.first_prompt,
        "last_user_message": speech.last_prompt or speech.first_prompt,
        "usage": TokenTotals(*speech.usage)._asdict(),
        "events": speech.events,
        "event_count": speech.events,
    }


def modified_time(found: SessionFile) -> str:
    """When a file was last written to."""
    return file_time(found.stamp.mtime_ns)


def detail_command(id: str, *, is_archived: bool = False) -> str:
    """The command that shows more of a session."""
    word = display_path(id)
    return (
        f"{PROGRAM} get {'--archived ' if is_archived else ''}{word if _PLAIN.fullmatch(word) else shlex.quote(word)}"
    )


def seconds_between(started: str | None, ended: str | None) -> float:
    """From one time to another, as files write them."""
    if not started or not ended:
        return 0.0
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()
