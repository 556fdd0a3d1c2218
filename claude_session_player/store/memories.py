"""What Claude was asked to remember: `memories/*.json`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from claude_session_player.store.documents import documents, text
from claude_session_player.store.layout import Trouble
from claude_session_player.text import display_path

_MEMORIES: Final = "memories"


class Memory(NamedTuple):
    """Something to remember."""

    id: str
    content: str
    created: str | None
    updated: str | None
    tags: list[str]
    projects: list[str]
    path: str


def memories_of(roots: Sequence[str], project: str | None, tag: str | None, troubles: list[Trouble]) -> list[Memory]:
    """The memories of some stores, the last changed first; those of a project, or with a tag, where one is given."""
    found = []
    for root in roots:
        for path, value in documents(os.path.join(root, _MEMORIES), troubles):
            if isinstance(value, dict):
                found.append(_memory(path, value))
            else:
                troubles.append(Trouble(path, "not a JSON object"))
    wanted = [memory for memory in found if _has(tag, memory.tags, whole=True) and _has(project, memory.projects)]
    return sorted(wanted, key=lambda memory: memory.updated or memory.created or "", reverse=True)


def _memory(path: str, value: dict[str, Any]) -> Memory:
    name = os.path.basename(path).removesuffix(".json")
    return Memory(
        id=text(value.get("id")) or display_path(name),
        content=text(value.get("content")) or "",
        created=text(value.get("created")),
        updated=text(value.get("updated")),
        tags=_texts(value.get("tags")),
        projects=_texts(value.get("projects")),
        path=display_path(path),
    )


def _has(word: str | None, texts: Sequence[str], whole: bool = False) -> bool:
    if word is None:
        return True
    wanted = word.casefold()
    return any(wanted == text.casefold() if whole else wanted in text.casefold() for text in texts)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
