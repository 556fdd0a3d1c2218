"""The nodes of an outline."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

SESSION: Final = "session"
SEGMENT: Final = "segment"
BRANCH: Final = "branch"
FORK: Final = "fork"
COMPACTION: Final = "compaction"
PROMPT: Final = "prompt"
AGENT: Final = "agent"
WORKFLOW: Final = "workflow"
CONTINUES: Final = "continues"
CONTINUED: Final = "continued-by"


class Node(NamedTuple):
    """A line of an outline, and what stands below it. Which facts there are depends on the kind."""

    kind: str
    facts: dict[str, Any]
    children: list[Node]
