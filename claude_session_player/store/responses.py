"""The responses of one session file, as the catalogue keeps them: column by column, because that is fastest."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from claude_session_player.store.facts import Response

_MINUTE: Final = 16
_SMALL: Final = "I"
_LARGE: Final = "Q"
_LIMIT: Final = 1 << 32
_TOKENS: Final = 5

LINE: Final = "\0line "
"""How a response is known that has no id: by its line. No id begins like this."""


class Responses(NamedTuple):
    """The responses of a file, each once. Columns have one entry for each response."""

    models: Sequence[str | None] = ()
    agents: Sequence[str | None] = (None,)
    """The sub-agents inside of the file; `None` stands for the file's own conversation."""
    keys: Sequence[str] = ()
    """What a response is known by, in all files."""
    times: Sequence[str] = ()
    """To the minute; those that are spelled in another way are whole, and those that are not told are empty."""
    model: Sequence[int] = ()
    agent: Sequence[int] = ()
    """Which of `models` and `agents` it is."""
    input: Sequence[int] = ()
    output: Sequence[int] = ()
    cache_written: Sequence[int] = ()
    cache_read: Sequence[int] = ()
    one_hour: Sequence[int] = ()
    """Of those that were written into the cache, those that stay for an hour."""


def encode_responses(place: str, said: Mapping[str, Response], speakers: Mapping[str, str]) -> bytes:
    """Responses as bytes, by what they are known by, with the sub-agents inside of the file that gave them.

    An answer that has no id of any kind is known by its line in the file at `place`.
    """
    import struct

    if not said:
        return b""
    tokens, names, times = zip(*said.values(), strict=True)
    models = {name: number for number, name in enumerate(dict.fromkeys(names))}
    agents = {name: number for number, name in enumerate(dict.fromkeys((None, *speakers.values())))}
    keys = _lines([f"{place} {key}" if key.startswith(LINE) else key for key in said])
    minutes = _lines([time[:_MINUTE] if time and time[-1] == "Z" else time or "" for time in times])
    numbers = list(chain.from_iterable(zip(*tokens, strict=True)))
    if len(models) > 1:
        numbers += (models[name] for name in names)
    if len(agents) > 1:
        numbers += (agents[speakers.get(key)] for key in said)
    size = _SMALL if max(numbers) < _LIMIT else _LARGE
    head = json.dumps([len(said), list(models), list(agents), len(keys), len(minutes), size]).encode()
    return b"\n".join((head, keys, minutes, struct.pack(f"={len(numbers)}{size}", *numbers)))


def decode_responses(data: bytes) -> Responses:
    """The responses that bytes hold."""
    if not data:
        return Responses()
    head, _, body = data.partition(b"\n")
    count, models, agents, keys, times, size = json.loads(head.decode())
    numbers = memoryview(body[keys + times + 2 :]).cast(size).tolist()
    columns = [numbers[start : start + count] for start in range(0, len(numbers), count)]
    tokens, rest = columns[:_TOKENS], columns[_TOKENS:]
    model = rest.pop(0) if len(models) > 1 else [0] * count
    agent = rest.pop(0) if len(agents) > 1 else [0] * count
    minutes = body[keys + 1 : keys + 1 + times].decode().split("\n")
    return Responses(models, agents, body[:keys].decode().split("\n"), minutes, model, agent, *tokens)


def _lines(texts: Sequence[str]) -> bytes:
    joined = "\n".join(texts)
    if joined.count("\n") >= len(texts):  # an id with a line break in it
        joined = "\n".join(text.replace("\n", "\0") for text in texts)
    return joined.encode("utf-8", "replace")
