"""Statistics of sessions: counts, durations, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.stats.context import (
        ContextFill as ContextFill,
        ContextMeter as ContextMeter,
        LargestContexts as LargestContexts,
        context_fill as context_fill,
        context_tokens as context_tokens,
        context_window as context_window,
    )
    from claude_session_player.stats.prices import Prices as Prices, TokenCount as TokenCount
    from claude_session_player.stats.summary import (
        Expense as Expense,
        SessionSummary as SessionSummary,
        session_expense as session_expense,
        summarize as summarize,
    )
    from claude_session_player.stats.tokens import (
        DAY as DAY,
        GROUP_KEYS as GROUP_KEYS,
        PERIODS as PERIODS,
        SESSION as SESSION,
        ResponseCost as ResponseCost,
        TimeWindow as TimeWindow,
        UsageGroup as UsageGroup,
        UsageShare as UsageShare,
        cost_responses as cost_responses,
        count_sessions as count_sessions,
        count_tokens as count_tokens,
        group_usage as group_usage,
        response_cost as response_cost,
        sum_usage as sum_usage,
        token_count as token_count,
        total_cost as total_cost,
        unpriced_models as unpriced_models,
    )

_HOMES = {
    "ContextFill": "context",
    "ContextMeter": "context",
    "LargestContexts": "context",
    "GROUP_KEYS": "tokens",
    "DAY": "tokens",
    "PERIODS": "tokens",
    "Prices": "prices",
    "Expense": "summary",
    "SESSION": "tokens",
    "SessionSummary": "summary",
    "TimeWindow": "tokens",
    "ResponseCost": "tokens",
    "TokenCount": "prices",
    "UsageGroup": "tokens",
    "UsageShare": "tokens",
    "context_fill": "context",
    "context_tokens": "context",
    "context_window": "context",
    "count_sessions": "tokens",
    "cost_responses": "tokens",
    "count_tokens": "tokens",
    "group_usage": "tokens",
    "response_cost": "tokens",
    "session_expense": "summary",
    "sum_usage": "tokens",
    "summarize": "summary",
    "token_count": "tokens",
    "total_cost": "tokens",
    "unpriced_models": "tokens",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
