"""The errors that users see, each with its exit code.

Library code raises them; only the command line turns them into a message and an exit code.
"""

from __future__ import annotations

from typing import ClassVar


class SessionError(Exception):
    """A request that cannot be fulfilled: the message says what happened, where, and what to do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message)
        self.details = details
        """Further lines of the message, one for each possible meaning."""


class CannotRead(SessionError):
    """The file does not exist, is a directory, or may not be read."""

    exit_code = 3


class NotASession(SessionError):
    """The file is readable, but not a session."""

    exit_code = 4


class CannotWrite(SessionError):
    """The output could not be written: the disk is full, or stdout is closed."""

    exit_code = 5


class NoSpace(CannotWrite):
    """The disk has too little space; the message says how much is needed, and where."""


class AlreadyThere(CannotWrite):
    """The file to be written exists already, and was not to be replaced."""


class BadFilter(SessionError):
    """The value of a filter is invalid; the message says which values are valid."""

    exit_code = 2


class BadPrices(SessionError):
    """A price file is invalid; the message says where."""

    exit_code = 2


class NoStore(SessionError):
    """There is no Claude store at the given place."""

    exit_code = 6


class NoSuchSession(SessionError):
    """No session of the store matches a reference."""

    exit_code = 7


class Ambiguous(SessionError):
    """A reference matches several sessions, or several files of one."""

    exit_code = 8


class SessionInUse(SessionError):
    """The session is in use, so nothing was done to it; the message names the evidence."""

    exit_code = 9


class BadArchive(SessionError):
    """An archive is damaged, or contains what no archive should: nothing of it is used."""

    exit_code = 10


class NoSuchFile(SessionError):
    """No file that the session touched matches a path."""

    exit_code = 7


class NotKnown(SessionError):
    """The session does not record what was asked for."""

    exit_code = 1
