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
    from claude_session_player.redact.known import KnownValue as KnownValue, read_known as read_known
    from claude_session_player.redact.own_rules import OwnRules as OwnRules, load_own_rules as load_own_rules
    from claude_session_player.redact.redacted_store import RedactedStore as RedactedStore
    from claude_session_player.redact.redactor import Redactor as Redactor, known_kinds as known_kinds
    from claude_session_player.redact.report import Place as Place, RedactionReport as RedactionReport
    from claude_session_player.redact.rule import Find as Find, Group as Group, Kind as Kind, Rule as Rule
    from claude_session_player.redact.session_copy import SourceFile as SourceFile, copy_redacted as copy_redacted
    from claude_session_player.redact.written_copy import WrittenCopy as WrittenCopy, write_copy as write_copy

_HOMES = {
    "Find": "rule",
    "Group": "rule",
    "Kind": "rule",
    "KnownValue": "known",
    "OwnRules": "own_rules",
    "Place": "report",
    "RedactedStore": "redacted_store",
    "RedactionReport": "report",
    "Redactor": "redactor",
    "Rule": "rule",
    "SourceFile": "session_copy",
    "WrittenCopy": "written_copy",
    "copy_redacted": "session_copy",
    "known_kinds": "redactor",
    "load_own_rules": "own_rules",
    "read_known": "known",
    "write_copy": "written_copy",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
