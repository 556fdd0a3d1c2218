"""Errors that a user can cause or solve, each with its exit code.

Library code raises them; only the command line turns them into a message and an exit code.
"""

from __future__ import annotations

from typing import ClassVar


class SessionError(Exception):
    """The base of all errors; its message says what happened, where, and what to do next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message)
        self.details = details
        """More lines for people, for example the sessions that a reference could mean."""


class CannotRead(SessionError):
    """The file does not exist, is a directory, or may not be read."""

    exit_code = 3


class NotASession(SessionError):
    """The file can be read, but holds no session."""

    exit_code = 4


class CannotWrite(SessionError):
    """The output cannot be written: the disk is full, or stdout is closed."""

    exit_code = 5


class NoSpace(CannotWrite):
    """There is too little free space; the message says how much is needed, and where."""


class AlreadyThere(CannotWrite):
    """The target of a write already exists, and may not be replaced."""


class BadFilter(SessionError):
    """The value of a filter is not understood; the message says which values are."""

    exit_code = 2


class BadQuery(SessionError):
    """A search query is not understood; its details are the query, and a caret below the place."""

    exit_code = 2


class BadPrices(SessionError):
    """A file of prices is invalid; the message says where."""

    exit_code = 2


class NoStore(SessionError):
    """There is no Claude store at the expected places."""

    exit_code = 6


class NoSuchSession(SessionError):
    """A reference matches no session."""

    exit_code = 7

    def __init__(self, message: str, *details: str, meant: str | None = None) -> None:
        super().__init__(message, *details)
        self.meant = meant
        """The reference that was probably meant, which the message names; `None` if nothing is known."""


class Ambiguous(SessionError):
    """A reference matches several sessions, or several files of one."""

    exit_code = 8


class SessionInUse(SessionError):
    """A process is using the session, so it is left alone; the message gives the evidence."""

    exit_code = 9


class BadArchive(SessionError):
    """An archive is damaged, or has unexpected content; nothing of it is used."""

    exit_code = 10


class CannotResume(SessionError):
    """Claude Code is not installed, or would not find the session."""

    exit_code = 11


class NoSuchFile(SessionError):
    """A path matches no file that the session touched."""

    exit_code = 7


class NotKnown(SessionError):
    """The session has no record of what was requested."""

    exit_code = 1


class MissingExtra(SessionError):
    """A library is not installed that comes with an extra; the message names the extra."""

    exit_code = 1


class NotInstalled(SessionError):
    """A program or a font is not installed that an output needs; the message says where it comes from."""

    exit_code = 1


class BadRules(SessionError):
    """A file of rules or of known values is invalid; the message says where."""

    exit_code = 2
