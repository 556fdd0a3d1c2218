"""The findings of `verify`: their kinds, how severe each is, and what to do about it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from claude_session_player.util.dirs import PROGRAM


class Severity(IntEnum):
    """How severe a finding is, from the lowest to the highest."""

    ADVICE = 0
    """Good to know."""
    WARNING = 1
    """Something is missing or inconsistent."""
    ERROR = 2
    """Something is damaged and cannot be read as it is."""


class FindingKind(NamedTuple):
    """A kind of finding."""

    name: str
    severity: Severity
    what: str
    advice: str
    """What to do; `{repair}` stands for the command that writes a repaired copy of the file."""
    problem: str | None = None
    """The common problem behind it, by the name that people know it by."""


class Finding(NamedTuple):
    """Something that is wrong, and where: the line number and the byte offset in the file."""

    kind: FindingKind
    path: str
    line: int | None = None
    offset: int | None = None
    detail: str = ""


SESSION_NOT_FOUND: Final = "Session not found"
_CORRUPTED: Final = "Session corrupted"
_LOCKED: Final = "Session locked"
_TOO_LARGE: Final = "Session too large"
_WRONG_PROJECT: Final = "Wrong project"

_A, _W, _E = Severity

UNREADABLE: Final = FindingKind(
    "unreadable", _E, "cannot be read", "check that the file exists and that you may read it"
)
MALFORMED_LINE: Final = FindingKind(
    "malformed-line", _E, "a line that is not valid JSON", "{repair} moves it to a separate file", _CORRUPTED
)
CUT_LINE: Final = FindingKind("cut-line", _E, "a truncated record", "{repair} moves it to a separate file", _CORRUPTED)
GLUED_RECORDS: Final = FindingKind(
    "glued-records", _E, "several records on one line", "{repair} splits them", _CORRUPTED
)
NUL_BYTES: Final = FindingKind(
    "nul-bytes", _E, "NUL bytes, probably left by a crash", "{repair} drops them", _CORRUPTED
)
INVALID_UTF8: Final = FindingKind("invalid-utf-8", _E, "invalid UTF-8", "{repair} escapes the bytes", _CORRUPTED)
NOT_AN_OBJECT: Final = FindingKind(
    "not-an-object", _E, "a record that is not a JSON object", "{repair} moves it to a separate file", _CORRUPTED
)
LONG_LINE: Final = FindingKind(
    "long-line", _W, "a line that is too long to read", f"{PROGRAM} get FILE --line NUMBER prints it", _TOO_LARGE
)
BYTE_ORDER_MARK: Final = FindingKind("byte-order-mark", _W, "a byte order mark", "{repair} drops it", _CORRUPTED)
MISSING_UUID: Final = FindingKind(
    "missing-uuid", _W, "a record without a uuid", "no action needed: it is read, but no record can follow it"
)
DUPLICATE_UUID: Final = FindingKind(
    "duplicate-uuid",
    _W,
    "a uuid that occurs more than once",
    "no action needed: copies are read once, and different records are all kept",
)
MISSING_PARENT: Final = FindingKind(
    "missing-parent",
    _W,
    "a parent that is not in the file",
    "no action needed if the session continues another one",
)
CALL_WITHOUT_RESULT: Final = FindingKind(
    "call-without-result", _W, "a tool call without a result", "no action needed: the session was interrupted there"
)
RESULT_WITHOUT_CALL: Final = FindingKind(
    "result-without-call", _W, "a tool result without a call", "no action needed: it is shown without its call"
)
BAD_TIMESTAMP: Final = FindingKind(
    "bad-timestamp", _W, "an invalid timestamp", "no action needed: the record is read without a time"
)
UNLINKED_SUBAGENT: Final = FindingKind(
    "unlinked-subagent", _W, "a sub-agent without a tool call", f"read it on its own: {PROGRAM} show ID"
)
MISSING_OUTPUT: Final = FindingKind(
    "missing-output",
    _W,
    "a tool output file that no longer exists",
    f"{PROGRAM} restore brings it back if the session is archived",
)
WRONG_PROJECT: Final = FindingKind(
    "wrong-project",
    _W,
    "the project directory matches no recorded working directory",
    "resume the session from the directory where it was created, or move it to that directory's project",
    _WRONG_PROJECT,
)
BAD_ID: Final = FindingKind(
    "bad-id",
    _W,
    "the file name is not a session id (a UUID, or 26 letters and digits)",
    "Claude Code does not find it by this name: rename the file to the id in its records",
    SESSION_NOT_FOUND,
)
TOO_LARGE: Final = FindingKind("too-large", _W, "larger than 10 MB", "start a new session", _TOO_LARGE)
IN_USE: Final = FindingKind("in-use", _W, "in use", "do not change it until it is no longer in use", _LOCKED)
INTERRUPTED_REMOVAL: Final = FindingKind(
    "interrupted-removal",
    _W,
    "a session whose removal was interrupted",
    f"{PROGRAM} clean --recover moves it back, or archives it if its place is taken",
    SESSION_NOT_FOUND,
)
OLD: Final = FindingKind(
    "old", _A, "not written to for more than 24 hours", "start a new session instead of resuming it"
)
EMPTY: Final = FindingKind("empty", _A, "empty", f"{PROGRAM} clean --empty removes empty sessions")

FINDING_KINDS: Final = tuple(value for value in globals().values() if isinstance(value, FindingKind))
"""All kinds, in the order in which they are reported."""
REPAIRABLE_KINDS: Final = frozenset(
    (MALFORMED_LINE, CUT_LINE, GLUED_RECORDS, NUL_BYTES, INVALID_UTF8, NOT_AN_OBJECT, BYTE_ORDER_MARK)
)
"""What a repaired copy no longer has."""
