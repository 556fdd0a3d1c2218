"""A conversation as facts: a record for each entry, flat; `depth` and `agent` say whose it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_session_player.conversation.cast import Actor
from claude_session_player.conversation.entries import Call, Kind
from claude_session_player.conversation.walk import Told


def record(told: Told, resolve: Callable[[str], str]) -> dict[str, Any] | None:
    """The facts of one entry; `None` for what only separates others. Nothing is cut."""
    entry = told.entry
    if told.is_end or entry.kind is Kind.SECTION:
        return None
    facts: dict[str, Any] = {
        "kind": entry.kind.value,
        "line": entry.line or None,
        "timestamp": entry.timestamp,
        "uuid": entry.uuid,
        "depth": told.depth,
        "agent": told.actor.id if told.actor else None,
    }
    if isinstance(entry, Call):
        return facts | _call(entry, resolve)
    if isinstance(entry.body, Actor):
        return facts | _actor(entry.body)
    if entry.kind is Kind.FORK:
        return facts | {"back_to": entry.body.line}
    facts["text"] = entry.text
    if entry.kind is Kind.BLOCK:
        facts["body"] = entry.body
    if entry.pictures:
        facts["pictures"] = [{"kind": one.kind, "media_type": one.media_type, "url": one.url} for one in entry.pictures]
    return facts


def _call(call: Call, resolve: Callable[[str], str]) -> dict[str, Any]:
    reply, result = call.reply(), call.result
    return {
        "tool": call.name,
        "tool_use_id": call.id,
        "input": call.input,
        "result": None
        if reply is None or result is None
        else {
            "text": resolve(reply.text),
            "is_error": reply.is_error,
            "line": result.line,
            "timestamp": result.timestamp,
            "uuid": result.uuid,
        },
        "agents": [actor.id for actor in call.actors],
    }


def _actor(actor: Actor) -> dict[str, Any]:
    return {"id": actor.id, "type": actor.kind, "title": actor.title, "workflow": actor.workflow}
