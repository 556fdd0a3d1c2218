"""Random but reproducible damage to sessions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final

from tests.hostile.payloads import PAYLOADS
from tests.hostile.sessions import places, poisoned

_ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 10**30, 1e308, "", " ", "\0", [], {}, [[]], {"": ""}, [None], [{}]),
    *("9999-12-31T23:59:59Z", "0000-01-01", "+292278994-08-17", "x" * 5000, "\ud800", "<system-reminder>", "```"),
)
_ODD_BYTES: Final = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b"\x1b[2J",
    b"\xed\xa0\x80",
    b"}{",
    b'"',
    b"\\",
    b"[" * 999,
)

Lines = list[bytes]
Mutation = Callable[[Lines, random.Random], Lines]


def mutate(lines: Lines, chance: random.Random) -> Lines:
    """A copy with one to six random mutations."""
    for _ in range(chance.randint(1, 6)):
        lines = chance.choice(MUTATIONS)(list(lines), chance) or [b""]
    return lines


def _drop(lines: Lines, chance: random.Random) -> Lines:
    del lines[chance.randrange(len(lines))]
    return lines


def _repeat(lines: Lines, chance: random.Random) -> Lines:
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return lines


def _swap(lines: Lines, chance: random.Random) -> Lines:
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return lines


def _shuffle(lines: Lines, chance: random.Random) -> Lines:
    start = chance.randrange(len(lines))
    part = lines[start : start + 20]
    chance.shuffle(part)
    return lines[:start] + part + lines[start + 20 :]


def _glue(lines: Lines, chance: random.Random) -> Lines:
    at = chance.randrange(len(lines))
    return lines[:at] + [b"".join(lines[at : at + 2])] + lines[at + 2 :]


def _cut(lines: Lines, chance: random.Random) -> Lines:
    at = chance.randrange(len(lines))
    return lines[:at] + [lines[at][: chance.randrange(len(lines[at]) + 1)]] + lines[at + 1 :]


def _insert_bytes(lines: Lines, chance: random.Random) -> Lines:
    at = chance.randrange(len(lines))
    place = chance.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:place] + chance.choice(_ODD_BYTES) + lines[at][place:]
    return lines


def _flip(lines: Lines, chance: random.Random) -> Lines:
    at = chance.randrange(len(lines))
    changed = bytearray(lines[at] or b" ")
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    lines[at] = bytes(changed)
    return lines


def _change_record(change: Callable[[Any, random.Random], Any]) -> Mutation:
    def mutation(lines: Lines, chance: random.Random) -> Lines:
        at = chance.randrange(len(lines))
        try:
            lines[at] = json.dumps(change(json.loads(lines[at]), chance)).encode()
        except (ValueError, RecursionError):  # no longer a record
            return _insert_bytes(lines, chance)
        return lines

    return mutation


def _odd_value(record: Any, chance: random.Random) -> Any:
    inner = record
    while isinstance(inner, dict | list) and inner:
        key = chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        if chance.random() < 0.5 or not isinstance(inner[key], dict | list):
            inner[key] = chance.choice(_ODD_VALUES)
            return record
        inner = inner[key]
    return record


def _payload(record: Any, chance: random.Random) -> Any:
    where = [place for place in places(record) if place]
    return poisoned(record, chance.choice(where), chance.choice(list(PAYLOADS.values()))) if where else record


def _moved_value(record: Any, chance: random.Random) -> Any:
    if isinstance(record, dict) and len(record) > 1:
        one, other = chance.sample(list(record), 2)
        record[one], record[other] = record[other], record[one]
    return record


def _loop(record: Any, chance: random.Random) -> Any:
    if isinstance(record, dict):
        record["parentUuid"] = (
            record.get("uuid") if chance.random() < 0.5 else f"{chance.randrange(9):08}-0000-4000-8000"
        )
    return record


MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_drop, _repeat, _swap, _shuffle, _glue, _cut, _insert_bytes, _flip),
    *map(_change_record, (_odd_value, _odd_value, _payload, _moved_value, _loop)),
)
