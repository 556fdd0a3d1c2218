"""Finds what is wrong with session files, and repairs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.doctor.findings import (
        FINDING_KINDS as FINDING_KINDS,
        OLD as OLD,
        SESSION_NOT_FOUND as SESSION_NOT_FOUND,
        UNREADABLE as UNREADABLE,
        Finding as Finding,
        FindingKind as FindingKind,
        Severity as Severity,
    )
    from claude_session_player.doctor.repair import (
        REJECTED_SUFFIX as REJECTED_SUFFIX,
        RepairReport as RepairReport,
        repair_file as repair_file,
    )
    from claude_session_player.doctor.verify import (
        KindTotal as KindTotal,
        VerifyReport as VerifyReport,
        verify_files as verify_files,
    )

_HOMES = {
    "Finding": "findings",
    "FINDING_KINDS": "findings",
    "FindingKind": "findings",
    "SESSION_NOT_FOUND": "findings",
    "KindTotal": "verify",
    "OLD": "findings",
    "REJECTED_SUFFIX": "repair",
    "RepairReport": "repair",
    "Severity": "findings",
    "UNREADABLE": "findings",
    "VerifyReport": "verify",
    "repair_file": "repair",
    "verify_files": "verify",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
