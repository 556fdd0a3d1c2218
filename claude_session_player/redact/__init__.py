"""Masks secrets, the identity of people and images in what leaves the house.

>>> from claude_session_player.redact import Redactor
>>> redactor = Redactor(keep=["identity"])
>>> redactor.text("password: Tr0ub4dor&3x")
'password: [password-1]'
>>> redactor.report.summary
'1 password'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.redact.audit import (
        AuditRules as AuditRules,
        Secret as Secret,
        SecretPlace as SecretPlace,
        SecretsReport as SecretsReport,
        audit_files as audit_files,
    )
    from claude_session_player.redact.here import redactor_here as redactor_here
    from claude_session_player.redact.known import KnownValue as KnownValue, read_known as read_known
    from claude_session_player.redact.own_rules import (
        PROJECT_FILE as PROJECT_FILE,
        OwnRules as OwnRules,
        allowance_notes as allowance_notes,
        load_own_rules as load_own_rules,
        read_rule_files as read_rule_files,
        rule_sources as rule_sources,
    )
    from claude_session_player.redact.pattern_speed import BUILT_IN as BUILT_IN, WHEN_CHECKED as WHEN_CHECKED
    from claude_session_player.redact.redacted_store import RedactedStore as RedactedStore
    from claude_session_player.redact.redactor import Redactor as Redactor
    from claude_session_player.redact.report import Place as Place, RedactionReport as RedactionReport
    from claude_session_player.redact.rule import (
        Find as Find,
        Group as Group,
        Kind as Kind,
        Rule as Rule,
        known_kinds as known_kinds,
    )
    from claude_session_player.redact.rule_check import RuleCheck as RuleCheck, check_rule as check_rule
    from claude_session_player.redact.rule_file import builtin_rules as builtin_rules
    from claude_session_player.redact.rules import SECRET_RULES as SECRET_RULES
    from claude_session_player.redact.session_copy import SourceFile as SourceFile, copy_redacted as copy_redacted
    from claude_session_player.redact.written_copy import WrittenCopy as WrittenCopy, write_copy as write_copy

_HOMES = {
    "AuditRules": "audit",
    "Find": "rule",
    "Group": "rule",
    "Kind": "rule",
    "KnownValue": "known",
    "OwnRules": "own_rules",
    "PROJECT_FILE": "own_rules",
    "Place": "report",
    "RedactedStore": "redacted_store",
    "RedactionReport": "report",
    "Redactor": "redactor",
    "redactor_here": "here",
    "Rule": "rule",
    "RuleCheck": "rule_check",
    "SECRET_RULES": "rules",
    "Secret": "audit",
    "SecretPlace": "audit",
    "SecretsReport": "audit",
    "SourceFile": "session_copy",
    "BUILT_IN": "pattern_speed",
    "WHEN_CHECKED": "pattern_speed",
    "WrittenCopy": "written_copy",
    "allowance_notes": "own_rules",
    "audit_files": "audit",
    "builtin_rules": "rule_file",
    "check_rule": "rule_check",
    "copy_redacted": "session_copy",
    "known_kinds": "rule",
    "load_own_rules": "own_rules",
    "read_known": "known",
    "read_rule_files": "own_rules",
    "rule_sources": "own_rules",
    "write_copy": "written_copy",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
