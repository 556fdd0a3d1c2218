"""What can go wrong for a user, each with the exit code that the command line gives it.

Library code raises these; only the command line turns them into a message and an exit code.
"""

from __future__ import annotations

from typing import ClassVar


class SessionError(Exception):
    """A mistake in what was asked for: the message says what, where and what to do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message)
        self.details = details
        """More lines for a person, one for each thing that could be meant."""


class CannotRead(SessionError):
    """The file is not there, is a directory, or may not be read."""

    exit_code = 3


class NotASession(SessionError):
    """The file could be read, but it holds no session."""

    exit_code = 4


class CannotWrite(SessionError):
    """The output could not be written: the disk is full, or stdout is closed."""

    exit_code = 5


class NoSpace(CannotWrite):
    """There is not enough space for what would be written; the message says how much is needed, and where."""


class AlreadyThere(CannotWrite):
    """Something else is where a file shall be written to, and nobody said that it may be replaced."""


class BadFilter(SessionError):
    """A word that is asked for is not understood; the message says which are."""

    exit_code = 2


class BadPrices(SessionError):
    """A file of prices is not what it should be; the message says where."""

    exit_code = 2


class NoStore(SessionError):
    """There is no Claude store where one was looked for."""

    exit_code = 6


class NoSuchSession(SessionError):
    """No session of the store is meant by these words."""

    exit_code = 7


class Ambiguous(SessionError):
    """Several sessions, or files of one, can be meant."""

    exit_code = 8


class SessionInUse(SessionError):
    """Somebody works with the session right now, so that nothing is done to it; the message says how it is known."""

    exit_code = 9


class BadArchive(SessionError):
    """An archive of a session is damaged, or holds what none should: nothing of it is used."""

    exit_code = 10


class NoSuchFile(SessionError):
    """No file that the session touched is meant by these words."""

    exit_code = 7


class NotKnown(SessionError):
    """The session tells nothing of what was asked for."""

    exit_code = 1
