"""The responses of one session file, as the catalogue keeps them: column by column, because that is fastest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.format.line_reader import read_lines
from claude_session_player.linking.subagents import AgentCall
from claude_session_player.util.fsutil import regular_opener

if TYPE_CHECKING:
    from claude_session_player.store.index import IndexRow
    from claude_session_player.store.layout import SessionFile


class TokenTotals(NamedTuple):
    """How many tokens responses took, each response counted once."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


Counted = tuple[int, int, int, int, int]
"""The tokens of one response: the four of `TokenTotals`, and the cache writes that stay an hour."""

Response = tuple[Counted, str | None, str | None]
"""A response: its tokens, its model, its time. A plain tuple, because one is made for every answer of a file."""


class ConversationFacts(NamedTuple):
    """What was said in one conversation, and when: in a session, or by a sub-agent inside of its file."""

    events: int = 0
    first_prompt: str | None = None
    last_prompt: str | None = None
    """`None` where the first is the last."""
    topic: str | None = None
    """The beginning of the first prompt that is more than a bare command."""
    task: str | None = None
    """The digest of the first text in a user's place: for a sub-agent, its task."""
    models: tuple[str, ...] = ()
    """In the order of their last use."""
    provider: str | None = None
    started: str | None = None
    ended: str | None = None
    usage: TokenTotals = TokenTotals()


class InlineSubagent(NamedTuple):
    """A sub-agent whose lines stand inside of its parent's file."""

    id: str
    lines: tuple[tuple[int, int], ...]
    """The first and last line of every stretch."""
    speech: ConversationFacts
    call: str | None = None
    """The call for which it reports its progress; `None` where its lines are a conversation in the file."""

    @property
    def is_reported(self) -> bool:
        """True for a sub-agent that is known from lines of progress; it may have a file of its own as well."""
        return self.call is not None


class FileFacts(NamedTuple):
    """All that is known of a session file."""

    speech: ConversationFacts
    session_id: str | None
    cwds: tuple[str, ...]
    """In the order of their first appearance."""
    branches: tuple[str, ...]
    """In the order of their first appearance, but the last one stands last."""
    version: str | None
    titles: dict[str, str]
    """By the type of the record that gave the title."""
    malformed: int
    calls: tuple[AgentCall, ...]
    """The calls that started sub-agents, or may have started them."""
    inline: tuple[InlineSubagent, ...]
    is_session: bool
    """True where at least one line is a record of a session."""
    meta: dict[str, Any]
    """What the file beside a sub-agent's says about it."""


def decode_facts(data: bytes) -> FileFacts:
    """The facts of their JSON form."""
    speech, session_id, cwds, branches, version, titles, malformed, calls, inline, is_session, meta = json.loads(data)
    return FileFacts(
        ConversationFacts(*speech),
        session_id,
        tuple(cwds),
        tuple(branches),
        version,
        titles,
        malformed,
        tuple(AgentCall(id, kind, about, task, tuple(map(tuple, named))) for id, kind, about, task, named in calls),
        tuple(InlineSubagent(id, tuple(lines), ConversationFacts(*said), call) for id, lines, said, call in inline),
        is_session,
        meta,
    )


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


Stretch = tuple[int, int]
"""The numbers of the first and of the last line."""


class LineRangeReader:
    """Knows where stretches of lines begin in a file, so that n of them are read without reading all of it n times.

    The file is read through once, for the places of all stretches, and again only where it is another file by then.
    """

    def __init__(self, path: str, stretches: Iterable[Stretch]) -> None:
        self._path = path
        self._firsts = sorted({first for first, _ in stretches})
        self._known: tuple[int, ...] = ()
        self._offsets: dict[int, int] = {}

    def lines(self, stretches: Sequence[Stretch]) -> Iterator[tuple[int, bytes]]:
        """The lines of some of the stretches with their numbers, in the order of the file. Raises `OSError`."""
        with open(self._path, "rb", opener=regular_opener) as file:
            status = os.fstat(file.fileno())
            version = (status.st_ino, status.st_size, status.st_mtime_ns)
            if version != self._known:
                self._offsets = dict(_offsets(read_lines(file), self._firsts))
                self._known = version
            done = 0
            for first, last in sorted(stretches):
                if first in self._offsets:
                    file.seek(self._offsets[first])
                    for number, line in zip(range(first, last + 1), read_lines(file), strict=False):
                        if number > done:  # stretches may overlap
                            yield number, line
                    done = max(done, last)


def _offsets(lines: Iterable[bytes], firsts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The offset of each of these lines, as far as the file has them."""
    wanted = iter(firsts)
    first = next(wanted, None)
    offset = 0
    for number, line in enumerate(lines, 1):
        if number == first:
            yield number, offset
            first = next(wanted, None)
            if first is None:
                return
        offset += len(line)


Recall = Callable[[Sequence["IndexedFile"]], dict[str, bytes]]
"""Fetches the responses of some files, by path."""


class IndexedFile:
    """A session file with its row of the catalogue. Facts and responses are fetched when somebody asks for them."""

    __slots__ = ("_facts", "_recall", "_responses", "found", "inline_calls", "inline_lines", "row")

    def __init__(self, found: SessionFile, row: IndexRow, recall: Recall, responses: bytes | None = None) -> None:
        self.found = found
        self.row = row
        self.inline_calls: dict[str, AgentCall] | None = None
        """The calls of the sub-agents inside of the file, as soon as somebody has found them."""
        self.inline_lines: LineRangeReader | None = None
        """Reads the lines of these sub-agents, as soon as somebody has asked for some."""
        self._facts: FileFacts | None = None
        self._recall = recall
        self._responses = responses

    @property
    def facts(self) -> FileFacts:
        """All that is known of the file."""
        if self._facts is None:
            self._facts = decode_facts(self.row.facts)
        return self._facts

    @property
    def is_stale(self) -> bool:
        """True where the file is another one since the catalogue knows it."""
        return self.row.stamp != self.found.version

    @property
    def responses(self) -> Responses:
        """The responses of the file, each once."""
        load_responses([self])
        return decode_responses(self._responses or b"")

    @property
    def session_id(self) -> str | None:
        """The session that the file belongs to: by its directory, else by what its lines say."""
        if not self.found.is_agent:
            return self.found.id
        return self.found.parent or self.facts.session_id


def load_responses(members: Sequence[IndexedFile]) -> None:
    """Let these files have their responses at hand: all at once is much faster than one by one."""
    unknown: dict[Recall, list[IndexedFile]] = {}
    for member in members:
        if member._responses is None:
            unknown.setdefault(member._recall, []).append(member)
    for fetch, some in unknown.items():
        known = fetch(some)
        for member in some:
            member._responses = known.get(member.found.name, b"")
