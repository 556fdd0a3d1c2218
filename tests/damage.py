"""Damage to session files, made on purpose: each kind as it happens, with the findings that it has to give.

Lines are damaged, not bytes at random, so that the kinds and counts of what has to be found are known.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Final

from claude_session_player.doctor import findings as kinds
from claude_session_player.doctor.findings import FindingKind

Damaged = tuple[list[bytes], Counter[FindingKind]]
"""Some lines in place of one or two, and the damage that is in them."""


def cut(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """A line that ends too early, as when a process is killed while it writes."""
    return [_beginning(line, chance) + b"\n", after], Counter([kinds.CUT_LINE])


def flip(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """A byte whose highest bit has changed."""
    at = chance.choice([number for number, byte in enumerate(line[:-1]) if byte < 0x80])
    return [line[:at] + bytes([line[at] | 0x80]) + line[at + 1 :], after], Counter([kinds.INVALID_UTF8])


def break_up(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """A byte of the structure whose lowest bit has changed: the first or the last brace, or the first colon."""
    at = chance.choice([0, line.index(b":"), line.rindex(b"}")])
    return [line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :], after], Counter([kinds.MALFORMED_LINE])


def glue(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """Two records on one line."""
    return [line.rstrip(b"\n") + after], Counter([kinds.GLUED_RECORDS])


def duplicate(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """A record that is written twice."""
    return [line, line, after], Counter([kinds.DUPLICATE_UUID])


def interleave(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """Two processes that write at the same time: the second record stands in the middle of the first."""
    head = _beginning(line, chance)
    return [head + after, line[len(head) :]], Counter([kinds.CUT_LINE, kinds.MALFORMED_LINE])


def overwrite(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """A line whose end was never written to the disk: NUL bytes are in its place."""
    head = _beginning(line, chance)
    return [head + b"\0" * (len(line) - 1 - len(head)) + b"\n", after], Counter([kinds.NUL_BYTES])


def pad(line: bytes, after: bytes, chance: random.Random) -> Damaged:
    """NUL bytes between two lines."""
    return [line, b"\0" * chance.randrange(1, 5000) + after], Counter([kinds.NUL_BYTES])


MAKERS: Final[tuple[Callable[[bytes, bytes, random.Random], Damaged], ...]] = (
    cut,
    flip,
    break_up,
    glue,
    duplicate,
    interleave,
    overwrite,
    pad,
)


def damage(lines: list[bytes], count: int, chance: random.Random) -> tuple[list[bytes], Counter[FindingKind]]:
    """The same lines with so many damages in them, no two in the same pair of lines, and what has to be found."""
    pairs = set(chance.sample(range(len(lines) // 2), min(count, len(lines) // 2)))
    damaged: list[bytes] = []
    made: Counter[FindingKind] = Counter()
    for pair in range(len(lines) // 2):
        first, second = lines[2 * pair : 2 * pair + 2]
        if pair in pairs:
            some, kinds_made = chance.choice(MAKERS)(first, second, chance)
            damaged += some
            made += kinds_made
        else:
            damaged += [first, second]
    return damaged + lines[len(lines) // 2 * 2 :], made


def _beginning(line: bytes, chance: random.Random) -> bytes:
    """The beginning of a record, which may be cut anywhere, also in the middle of a character."""
    return line[: chance.randrange(1, len(line) - 1)]
