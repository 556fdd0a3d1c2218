"""What is asked of a digest, and what it answers: small enough to go from process to process."""

from typing import Final, NamedTuple

from claude_session_player.store.catalogue import Row
from claude_session_player.store.layout import Found, Trouble
from claude_session_player.store.reading import Purpose


class Job(NamedTuple):
    """A file to digest."""

    found: Found
    state: bytes | None = None
    """What an earlier digest of the file left behind."""
    size: int = 0
    """How many bytes there are to read, as far as one can tell."""
    is_kept: bool = True
    """Whether the digest may be taken up again."""


class Result(NamedTuple):
    """What a file holds, and what is needed to take its digest up again; no row where it cannot be read."""

    path: str
    row: Row | None
    state: bytes
    responses: bytes
    """See `responses`."""
    troubles: tuple[Trouble, ...]
    """What could not be read, and why."""


DIGEST: Final[Purpose[Job, Result]] = Purpose("claude_session_player.store.digest", "digest")
