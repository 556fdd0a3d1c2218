"""What one pass over a session file yields: its facts and its responses, and how both are encoded.

Nothing here loads the decoder of session lines: a store that is indexed is listed without it.
"""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store.layout import real_path
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from claude_session_player.format.blocks import Usage
    from claude_session_player.format.events import Event, UsageLine
    from claude_session_player.linking.subagents import AgentCall
    from claude_session_player.store.layout import ReadProblem, SessionFile

PLATFORM: Final = "claude"
_PLAIN: Final = re.compile(r"[\w.-]+")


class TokenTotals(NamedTuple):
    """How many tokens responses took, each response counted once."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


TokenCounts = tuple[int, int, int, int, int]
"""The tokens of one response: the four of `TokenTotals`, and the cache writes that are kept for an hour."""

Response = tuple[TokenCounts, str | None, str | None]
"""A response: its tokens, model and time. A plain tuple, because one is made for every response of a file."""


class ConversationFacts(NamedTuple):
    """What was said in one conversation, and when: in a session, or by a sub-agent inside its file."""

    events: int = 0
    first_prompt: str | None = None
    last_prompt: str | None = None
    """`None` if the first prompt is the last one."""
    topic: str | None = None
    """The beginning of the first prompt that is more than a bare command."""
    task: str | None = None
    """A checksum of the first text in the user's role: for a sub-agent, its task."""
    models: tuple[str, ...] = ()
    """In the order of their last use."""
    provider: str | None = None
    started: str | None = None
    ended: str | None = None
    usage: TokenTotals = TokenTotals()


class InlineSubagent(NamedTuple):
    """A sub-agent whose lines are inside its parent's file."""

    id: str
    lines: tuple[tuple[int, int], ...]
    """The first and last line of every range."""
    conversation: ConversationFacts
    call: str | None = None
    """The call for which it reports progress; `None` if its conversation is in the file."""

    @property
    def is_reported(self) -> bool:
        """True for a sub-agent that is known from progress records; it may have a file of its own as well."""
        return self.call is not None


class FileFacts:
    """All that is known of a session file, as the index keeps it.

    What a list of sessions needs is at hand. The details are decoded when one of them is first used.
    """

    stamp: str
    """The version of the file that the facts are about; see `SessionFile.version`."""
    encoded: bytes
    """The details, as a JSON array."""
    record: str
    """The part of the session's record that depends on the file alone, as a JSON object."""
    started: str | None
    ended: str | None
    """The earliest and the latest time in the file."""
    inline_count: int
    """How many sub-agents have their conversation inside the file."""
    reported: str
    """The ids of sub-agents that report progress in the file, as a JSON array; empty if there are none."""
    is_helper: int
    """1 for a sub-agent that Claude Code started for itself, else 0."""
    project: str | None
    """The real path of the project that the file belongs to."""

    conversation: ConversationFacts
    session_id: str | None
    cwds: tuple[str, ...]
    """In the order of their first appearance."""
    branches: tuple[str, ...]
    """Git branches in the order of their first appearance, but the last one comes last."""
    version: str | None
    entrypoints: tuple[str, ...]
    """How Claude Code was started, each way once, in the order of their first appearance."""
    titles: dict[str, str]
    """By the type of the record that gave the title."""
    malformed: int
    calls: tuple[AgentCall, ...]
    """The calls that started sub-agents, or may have started them."""
    inline: tuple[InlineSubagent, ...]
    is_session: bool
    """True if at least one line is a record of a session."""
    meta: dict[str, Any]
    """The content of the `.meta.json` file beside a sub-agent's."""

    responses: bytes | None
    """See `encode_responses`; `None` until they are loaded from the index."""
    state: bytes
    """What the extraction needs to continue when the file has grown; empty for facts that come from the index."""

    COLUMNS: Final = (
        *("stamp", "encoded", "record", "started", "ended"),
        *("inline_count", "reported", "is_helper", "project"),
    )
    DETAILS: Final = (
        *("conversation", "session_id", "cwds", "branches", "version", "entrypoints", "titles"),
        *("malformed", "calls", "inline", "is_session", "meta"),
    )
    __slots__ = (*COLUMNS, *DETAILS, "responses", "state")

    def __init__(
        self,
        stamp: str,
        encoded: bytes,
        record: str = "",
        started: str | None = None,
        ended: str | None = None,
        inline_count: int = 0,
        reported: str = "",
        is_helper: int = 0,
        project: str | None = None,
    ) -> None:
        self.stamp = stamp
        self.encoded = encoded
        self.record = record
        self.started = started
        self.ended = ended
        self.inline_count = inline_count
        self.reported = reported
        self.is_helper = is_helper
        self.project = project
        self.responses = None
        self.state = b""

    if not TYPE_CHECKING:  # else any name would do

        def __getattr__(self, name: str) -> Any:
            """Decode the details: called for the first one that is used, because its slot is still empty."""
            if name not in self.DETAILS:
                raise AttributeError(name)
            for detail, value in zip(self.DETAILS, _decode_details(self.encoded), strict=True):
                setattr(self, detail, value)
            return getattr(self, name)

    def __reduce__(self) -> tuple[Callable[..., FileFacts], tuple[Any, ...]]:
        """Pickle no details: looking for their slots would decode each of them, and send it a second time."""
        return _restore_facts, (self.columns, self.responses, self.state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileFacts) and self.columns == other.columns

    __hash__ = None  # type: ignore[assignment]

    @property
    def columns(self) -> tuple[Any, ...]:
        """What the index keeps, in the order of `COLUMNS`."""
        return tuple(getattr(self, name) for name in self.COLUMNS)

    @property
    def reported_ids(self) -> list[str]:
        """The ids of sub-agents that report progress in the file."""
        ids: list[str] = json.loads(self.reported) if self.reported else []
        return ids


def _restore_facts(columns: tuple[Any, ...], responses: bytes | None, state: bytes) -> FileFacts:
    facts = FileFacts(*columns)
    facts.responses, facts.state = responses, state
    return facts


def _decode_details(encoded: bytes) -> tuple[Any, ...]:
    from claude_session_player.linking.subagents import AgentCall

    said, session_id, cwds, branches, version, entrypoints, titles, *rest = json.loads(encoded)
    malformed, calls, inline, is_session, meta = rest
    return (
        ConversationFacts(*said),
        session_id,
        tuple(cwds),
        tuple(branches),
        version,
        tuple(entrypoints),
        titles,
        malformed,
        tuple(AgentCall(id, kind, about, task, tuple(map(tuple, named))) for id, kind, about, task, named in calls),
        tuple(InlineSubagent(id, tuple(lines), ConversationFacts(*said), call) for id, lines, said, call in inline),
        is_session,
        meta,
    )


# --- records: the part that depends on a file alone; see `SessionRecord` ----------------------------


def file_record(file: SessionFile, facts: FileFacts) -> dict[str, Any]:
    """The record of a file, without what depends on other files, or on the moment."""
    from claude_session_player.linking.titles import session_title

    conversation = facts.conversation
    record = {
        "platform": PLATFORM,
        "id": display_path(file.id),
        "kind": str(file.kind),
        "path": display_path(file.name),
        "project": real_path(file.project or "", facts.cwds),
        "cwd": facts.cwds[0] if facts.cwds else None,
        "version": facts.version,
        "entrypoint": facts.entrypoints[0] if facts.entrypoints else None,
        "git_branch": facts.branches[-1] if facts.branches else None,
        "workflow": display_path(file.workflow) if file.workflow else None,
        "size": file.stamp.size,
        "malformed": facts.malformed,
        **conversation_record(conversation),
        "detail_hint": detail_command(file.id, is_archived=file.is_archived),
    }
    if not file.is_agent:
        record["title"] = session_title(facts.titles, None, conversation.topic, conversation.first_prompt)
    return record


def conversation_record(conversation: ConversationFacts) -> dict[str, Any]:
    """What was said in a conversation, and when."""
    return {
        "created_at": conversation.started,
        "provider": conversation.provider,
        "model": conversation.models[-1] if conversation.models else None,
        "models": list(conversation.models[::-1]),
        "first_user_message": conversation.first_prompt,
        "last_user_message": conversation.last_prompt or conversation.first_prompt,
        "usage": TokenTotals(*conversation.usage)._asdict(),
        "events": conversation.events,
        "event_count": conversation.events,
    }


def detail_command(id: str, *, is_archived: bool = False) -> str:
    """The command that shows more of a session."""
    import shlex

    name = display_path(id)
    word = name if _PLAIN.fullmatch(name) else shlex.quote(name)
    return f"{PROGRAM} get {'--archived ' if is_archived else ''}{word}"


# --- extraction, in this process or another ---------------------------------------------------------


class ExtractJob(NamedTuple):
    """A file to extract facts from."""

    file: SessionFile
    state: bytes | None = None
    """What an earlier extraction of the file left behind."""
    size: int = 0
    """How many bytes there are to read, as far as is known."""
    keeps_state: bool = True
    """Whether the extraction may be continued later."""
    end: bytes | None = None
    """The last bytes of the file, if they were read already."""


class Extraction(NamedTuple):
    """The facts of a file; `None` if it cannot be read."""

    path: str
    facts: FileFacts | None
    problems: tuple[ReadProblem, ...] = ()


# --- responses ------------------------------------------------------------------------------------

_MINUTE: Final = 16
_SMALL: Final = "I"
_LARGE: Final = "Q"
_LIMIT: Final = 1 << 32
_TOKENS: Final = 5

LINE_KEY: Final = "\0line "
"""The beginning of the key of a response without an id: its line follows. No id begins like this."""


SYNTHETIC_MODEL: Final = "<synthetic>"
"""The model of messages that Claude Code wrote itself: they are no responses."""
NO_TOKENS: Final[TokenCounts] = (0, 0, 0, 0, 0)
_MAX_TOKENS: Final = 1 << 53


def line_key(event: Event) -> str:
    """What identifies a line: in copies of a file as well, if it has a uuid."""
    return f"\0uuid {event.uuid}" if event.uuid else f"{LINE_KEY}{event.line}"


def response_key(message_id: str | None, request: str | None, place: str = "") -> str:
    """What identifies a response: the ids of message and request, or else its place."""
    return f"{message_id or ''} {request or ''}" if message_id or request else place


def token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names. A missing sum of cache writes is computed from its parts."""
    written, parts = usage.cache_creation_input_tokens, usage.cache_creation
    one_hour = parts.one_hour or 0 if parts is not None else 0
    if written is None and parts is not None:
        written = one_hour + (parts.five_minutes or 0)
    read = usage.cache_read_input_tokens
    return usage.input_tokens or 0, usage.output_tokens or 0, written or 0, read or 0, one_hour


def usage_line_counts(event: UsageLine) -> TokenCounts:
    """The tokens of a line that has nothing else."""
    written, read = event.cache_creation_tokens or 0, event.cache_read_tokens or 0
    return event.input_tokens or 0, event.output_tokens or 0, written, read, 0


def sound_token_counts(usage: Usage) -> TokenCounts:
    """The tokens that a line names, of which absurd ones count as none."""
    return sound_tokens(token_counts(usage))


def sound_tokens(tokens: TokenCounts) -> TokenCounts:
    """The same numbers; absurd ones count as none."""
    is_sound = max(tokens) <= _MAX_TOKENS and min(tokens) >= 0
    return tokens if is_sound else largest_tokens(NO_TOKENS, tokens)


def largest_tokens(before: TokenCounts, tokens: TokenCounts) -> TokenCounts:
    """The largest of each number; absurd ones count as none."""
    sound = (number if 0 <= number <= _MAX_TOKENS else 0 for number in tokens)
    a, b, c, d, e = map(max, before, sound)
    return a, b, c, d, e


class Responses(NamedTuple):
    """The responses of a file, each once, as columns with one entry for each response.

    The columns of 33,000 responses in 900 files are decoded in 14 ms, rows of JSON in 30 ms; and statistics add them up
    without an object for each response. `rows` is the plain form, which a property test compares with its source.
    """

    models: Sequence[str | None] = ()
    agents: Sequence[str | None] = (None,)
    """The sub-agents inside the file; `None` stands for the file's own conversation."""
    keys: Sequence[str] = ()
    """What identifies a response in all files."""
    times: Sequence[str] = ()
    """To the minute; those in an unusual notation are complete, and unknown ones are empty."""
    model: Sequence[int] = ()
    agent: Sequence[int] = ()
    """Positions in `models` and `agents`."""
    input: Sequence[int] = ()
    output: Sequence[int] = ()
    cache_written: Sequence[int] = ()
    cache_read: Sequence[int] = ()
    one_hour: Sequence[int] = ()
    """Those of the cache writes that are kept for an hour."""

    def rows(self) -> list[tuple[str, Response, str | None]]:
        """The key of each response, the response itself, and the sub-agent inside the file that gave it."""
        tokens = zip(self.input, self.output, self.cache_written, self.cache_read, self.one_hour, strict=True)
        columns = zip(self.keys, tokens, self.model, self.times, self.agent, strict=True)
        return [
            (key, (counts, self.models[model], time), self.agents[agent]) for key, counts, model, time, agent in columns
        ]


def encode_responses(path: str, responses: Mapping[str, Response], speakers: Mapping[str, str]) -> bytes:
    """Responses as bytes; `speakers` names the sub-agents inside the file that gave them, by the response's key.

    A response without any id is identified by its line in the file at `path`.
    """
    import struct

    if not responses:
        return b""
    tokens, names, times = zip(*responses.values(), strict=True)
    models = {name: number for number, name in enumerate(dict.fromkeys(names))}
    agents = {name: number for number, name in enumerate(dict.fromkeys((None, *speakers.values())))}
    keys = _lines([f"{path} {key}" if key.startswith(LINE_KEY) else key for key in responses])
    minutes = _lines([time[:_MINUTE] if time and time[-1] == "Z" else time or "" for time in times])
    numbers = list(chain.from_iterable(zip(*tokens, strict=True)))
    if len(models) > 1:
        numbers += (models[name] for name in names)
    if len(agents) > 1:
        numbers += (agents[speakers.get(key)] for key in responses)
    size = _SMALL if max(numbers) < _LIMIT else _LARGE
    head = json.dumps([len(responses), list(models), list(agents), len(keys), len(minutes), size]).encode()
    return b"\n".join((head, keys, minutes, struct.pack(f"={len(numbers)}{size}", *numbers)))


def decode_responses(data: bytes) -> Responses:
    """The responses that `encode_responses` encoded."""
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
