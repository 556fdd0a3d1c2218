"""What can go wrong for a user, each with the exit code that the command line gives it.

Library code raises these; only the command line turns them into a message and an exit code.
"""

from __future__ import annotations

from typing import ClassVar


class SessionError(Exception):
    """A mistake in what was asked for: the message says what, where and what to do."""

    exit_code: ClassVar[int] = 1


class CannotRead(SessionError):
    """The file is not there, is a directory, or may not be read."""

    exit_code = 3


class NotASession(SessionError):
    """The file could be read, but it holds no session."""

    exit_code = 4


class CannotWrite(SessionError):
    """The output could not be written: the disk is full, or stdout is closed."""

    exit_code = 5
