"""The responses of one session file, as the catalogue keeps them: column by column, because that is fastest."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from claude_session_player.store.facts import Response

LINE: Final = "line "
"""How a response is known that has no id: by its line."""


class Responses(NamedTuple):
    """The responses of a file, each once. Columns have one entry for each response."""

    models: Sequence[str | None] = ()
    agents: Sequence[str | None] = (None,)
    """The sub-agents inside of the file; `None` stands for the file's own conversation."""
    keys: Sequence[str] = ()
    """What a response is known by, in all files."""
    times: Sequence[str | None] = ()
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

    from claude_session_player import rawjson

    if not said:
        return b""
    tokens, names, times = zip(*said.values(), strict=True)
    models = {name: number for number, name in enumerate(dict.fromkeys(names))}
    agents = {name: number for number, name in enumerate(dict.fromkeys((None, *speakers.values())))}
    keys = [f"{place} {key}" if key.startswith(LINE) else key for key in said]
    model = [models[name] for name in names] if len(models) > 1 else [0] * len(said)
    agent = [agents[speakers.get(key)] for key in said] if speakers else [0] * len(said)
    numbers = [*model, *agent, *chain.from_iterable(zip(*tokens, strict=True))]
    head = rawjson.dump((list(models), list(agents), keys, times))
    return b"%b\n%b" % (head, struct.pack(f"={len(numbers)}q", *numbers))


def decode_responses(data: bytes) -> Responses:
    """The responses that bytes hold."""
    if not data:
        return Responses()
    head, _, body = data.partition(b"\n")
    models, agents, keys, times = json.loads(head)
    numbers = memoryview(body).cast("q").tolist()
    count = len(keys)
    columns = (numbers[start : start + count] for start in range(0, len(numbers), count or 1))
    return Responses(models, agents, keys, times, *columns)
