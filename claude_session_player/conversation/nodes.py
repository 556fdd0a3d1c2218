"""The nodes of an outline."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple


class NodeKind(StrEnum):
    """What a node of an outline stands for."""

    SESSION = "session"
    SEGMENT = "segment"
    BRANCH = "branch"
    FORK = "fork"
    COMPACTION = "compaction"
    PROMPT = "prompt"
    AGENT = "agent"
    WORKFLOW = "workflow"
    CONTINUES = "continues"
    CONTINUED = "continued-by"


class Node(NamedTuple):
    """A line of an outline, and what stands below it. Which facts there are depends on the kind."""

    kind: NodeKind
    facts: dict[str, Any]
    children: list[Node]
