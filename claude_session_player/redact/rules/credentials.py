"""Rules for secrets that their context gives away: URLs, headers, commands, assignments.

Where several of them find something at the same place, the one that is surer stands before the others.
"""

from __future__ import annotations

from typing import Final

from claude_session_player.redact.rules.assignments import ASSIGNMENT_RULES
from claude_session_player.redact.rules.commands import COMMAND_RULES
from claude_session_player.redact.rules.requests import REQUEST_RULES

CREDENTIAL_RULES: Final = (*REQUEST_RULES, *COMMAND_RULES, *ASSIGNMENT_RULES)
