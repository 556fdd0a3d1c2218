"""The rules: tables by subject, in the order in which they win where several match."""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.rules.ai import AI_RULES

SECRET_RULES: Final = (*AI_RULES,)
"""Rules for secrets: those of providers first, because they say more."""
