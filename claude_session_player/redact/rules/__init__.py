"""The rules: tables by subject, in the order in which they win where several match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from claude_session_player.redact.rules.ai import AI_RULES
from claude_session_player.redact.rules.assignments import ASSIGNMENT_RULES
from claude_session_player.redact.rules.cloud import CLOUD_RULES
from claude_session_player.redact.rules.code_hosting import CODE_RULES
from claude_session_player.redact.rules.commands import COMMAND_RULES
from claude_session_player.redact.rules.keys import KEY_RULES
from claude_session_player.redact.rules.named import NAMED_RULES
from claude_session_player.redact.rules.products import PRODUCT_RULES
from claude_session_player.redact.rules.prose import PROSE_RULES
from claude_session_player.redact.rules.requests import REQUEST_RULES
from claude_session_player.redact.rules.services import SERVICE_RULES

if TYPE_CHECKING:
    from claude_session_player.redact.rule import Rule

PROVIDER_RULES: Final[tuple[Rule, ...]] = (
    *AI_RULES,
    *CLOUD_RULES,
    *CODE_RULES,
    *SERVICE_RULES,
    *PRODUCT_RULES,
    *KEY_RULES,
    *NAMED_RULES,
)
"""Secrets that are known by their shape, or by a provider's name: the specific ones before the general ones."""
CREDENTIAL_RULES: Final[tuple[Rule, ...]] = (*REQUEST_RULES, *COMMAND_RULES, *ASSIGNMENT_RULES, *PROSE_RULES)
"""Secrets that their context gives away: URLs, headers, commands, assignments. The surer ones before the others."""
SECRET_RULES: Final[tuple[Rule, ...]] = (*PROVIDER_RULES, *CREDENTIAL_RULES)
"""All rules for secrets: those of providers first, because they say more."""
