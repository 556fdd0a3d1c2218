"""The conversation of a session in order: prompts, responses, tool calls, forks, compactions, nested sub-agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.transcript.builder import TranscriptBuilder as TranscriptBuilder
    from claude_session_player.transcript.chains import chain_of as chain_of, relatives_of as relatives_of
    from claude_session_player.transcript.entries import (
        CallResult as CallResult,
        Entry as Entry,
        EntryKind as EntryKind,
        TranscriptCall as TranscriptCall,
    )
    from claude_session_player.transcript.filters import (
        CATEGORIES as CATEGORIES,
        HEADS as HEADS,
        Bound as Bound,
        EntryFilter as EntryFilter,
    )
    from claude_session_player.transcript.outline import (
        MarkedConversation as MarkedConversation,
        Node as Node,
        NodeKind as NodeKind,
        build_outline as build_outline,
    )
    from claude_session_player.transcript.prompts import (
        TypedPrompt as TypedPrompt,
        all_prompts as all_prompts,
        session_prompts as session_prompts,
    )
    from claude_session_player.transcript.subagents import (
        Subagent as Subagent,
        SubagentFinder as SubagentFinder,
        all_subagents as all_subagents,
        subagent_of as subagent_of,
    )
    from claude_session_player.transcript.tree import (
        ConversationTree as ConversationTree,
        LineRole as LineRole,
        TreeProblem as TreeProblem,
    )
    from claude_session_player.transcript.walk import (
        Conversation as Conversation,
        PlacedEntry as PlacedEntry,
        TranscriptWalk as TranscriptWalk,
    )

_HOMES = {
    "Bound": "filters",
    "CATEGORIES": "filters",
    "CallResult": "entries",
    "Conversation": "walk",
    "ConversationTree": "tree",
    "Entry": "entries",
    "EntryFilter": "filters",
    "EntryKind": "entries",
    "HEADS": "filters",
    "LineRole": "tree",
    "MarkedConversation": "outline",
    "Node": "outline",
    "NodeKind": "outline",
    "PlacedEntry": "walk",
    "Subagent": "subagents",
    "SubagentFinder": "subagents",
    "TranscriptBuilder": "builder",
    "TranscriptCall": "entries",
    "TranscriptWalk": "walk",
    "TreeProblem": "tree",
    "TypedPrompt": "prompts",
    "all_prompts": "prompts",
    "all_subagents": "subagents",
    "build_outline": "outline",
    "chain_of": "chains",
    "relatives_of": "chains",
    "session_prompts": "prompts",
    "subagent_of": "subagents",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
