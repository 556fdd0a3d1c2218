"""What can be wrong with a session: the kinds of findings, how bad each is, and what to do about it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from claude_session_player.util.dirs import PROGRAM


class Severity(IntEnum):
    """How bad a finding is, the least first."""

    ADVICE = 0
    """Good to know."""
    WARNING = 1
    """Something is missing, or does not fit together."""
    ERROR = 2
    """Something is damaged, and cannot be read as it is."""


class FindingKind(NamedTuple):
    """A kind of finding."""

    name: str
    severity: Severity
    what: str
    advice: str
    """What to do; `{repair}` stands for the command that writes a repaired copy of the file."""
    problem: str | None = None
    """One of the common problems of sessions, by the name under which people know it."""


class Finding(NamedTuple):
    """Something that is wrong, and where: the number of the line, and the offset of a byte in the file."""

    kind: FindingKind
    path: str
    line: int | None = None
    offset: int | None = None
    detail: str = ""


SESSION_NOT_FOUND: Final = "Session not found"
SESSION_CORRUPTED: Final = "Session corrupted"
SESSION_LOCKED: Final = "Session locked"
SESSION_TOO_LARGE: Final = "Session too large"
SESSION_ELSEWHERE: Final = "Wrong project"

_A, _W, _E = Severity

UNREADABLE: Final = FindingKind("unreadable", _E, "cannot be read", "see to it that the file is there and may be read")
MALFORMED_LINE: Final = FindingKind(
    "malformed-line", _E, "a line that is no JSON", "{repair} moves it aside", SESSION_CORRUPTED
)
CUT_LINE: Final = FindingKind(
    "cut-line", _E, "a record that is cut short", "{repair} moves it aside", SESSION_CORRUPTED
)
GLUED_RECORDS: Final = FindingKind(
    "glued-records", _E, "several records on one line", "{repair} splits them", SESSION_CORRUPTED
)
NUL_BYTES: Final = FindingKind(
    "nul-bytes", _E, "NUL bytes, as a crash leaves them", "{repair} drops them", SESSION_CORRUPTED
)
INVALID_UTF8: Final = FindingKind(
    "invalid-utf-8", _E, "bytes that are no UTF-8", "{repair} escapes them", SESSION_CORRUPTED
)
NOT_AN_OBJECT: Final = FindingKind(
    "not-an-object", _E, "a record that is no object", "{repair} moves it aside", SESSION_CORRUPTED
)
LONG_LINE: Final = FindingKind(
    "long-line",
    _W,
    "a line that is too large to be read",
    f"{PROGRAM} get FILE --line NUMBER prints it",
    SESSION_TOO_LARGE,
)
BYTE_ORDER_MARK: Final = FindingKind("byte-order-mark", _W, "a byte order mark", "{repair} drops it", SESSION_CORRUPTED)
MISSING_UUID: Final = FindingKind(
    "missing-uuid", _W, "a record without a uuid", "nothing to do: it is read all the same, but no other can follow it"
)
DUPLICATE_UUID: Final = FindingKind(
    "duplicate-uuid", _W, "a uuid that another record has", "nothing to do: a copy is read once, other words are kept"
)
MISSING_PARENT: Final = FindingKind(
    "missing-parent", _W, "a parent that is not in the file", "nothing to do, if the session continues another one"
)
CALL_WITHOUT_RESULT: Final = FindingKind(
    "call-without-result", _W, "a call of a tool without a result", "nothing to do: the session was interrupted there"
)
RESULT_WITHOUT_CALL: Final = FindingKind(
    "result-without-call", _W, "a result of a tool without its call", "nothing to do: it is shown without its call"
)
BAD_TIMESTAMP: Final = FindingKind(
    "bad-timestamp", _W, "a timestamp that is none", "nothing to do: the record is read without a time"
)
UNLINKED_SUBAGENT: Final = FindingKind(
    "unlinked-subagent", _W, "a sub-agent that no call leads to", f"read it by itself: {PROGRAM} show ID"
)
MISSING_OUTPUT: Final = FindingKind(
    "missing-output",
    _W,
    "an output of a tool that is not beside the session any more",
    f"{PROGRAM} restore, if the session is in the archive",
)
WRONG_PROJECT: Final = FindingKind(
    "wrong-project",
    _W,
    "no working directory of the session is spelled like its project directory",
    "resume it from the directory where it was created, or move it into the project directory of that one",
    SESSION_ELSEWHERE,
)
BAD_ID: Final = FindingKind(
    "bad-id",
    _W,
    "the file's name is no session id, neither a UUID nor 26 letters and digits",
    "Claude Code does not find it by this name: rename the file to the id inside of it",
    SESSION_NOT_FOUND,
)
TOO_LARGE: Final = FindingKind("too-large", _W, "larger than 10 MB", "start a new session", SESSION_TOO_LARGE)
IN_USE: Final = FindingKind(
    "in-use", _W, "in use", "wait until whoever uses it is done, and change nothing", SESSION_LOCKED
)
INTERRUPTED_REMOVAL: Final = FindingKind(
    "interrupted-removal",
    _W,
    "a session whose removal was interrupted",
    f"{PROGRAM} clean --recover puts it back, or into the archive where something new is in its place",
    SESSION_NOT_FOUND,
)
OLD: Final = FindingKind(
    "old", _A, "last written to more than 24 hours ago", "start a new session instead of resuming it"
)
EMPTY: Final = FindingKind("empty", _A, "nothing in it", f"{PROGRAM} clean --empty removes such sessions")

FINDING_KINDS: Final = tuple(value for value in globals().values() if isinstance(value, FindingKind))
"""All kinds, in the order in which they are told."""
REPAIRABLE_KINDS: Final = frozenset(
    (MALFORMED_LINE, CUT_LINE, GLUED_RECORDS, NUL_BYTES, INVALID_UTF8, NOT_AN_OBJECT, BYTE_ORDER_MARK)
)
"""What a repaired copy is free of."""
