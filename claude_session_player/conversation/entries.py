"""What a conversation is made of: one entry for each thing that somebody said or did."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from claude_session_player import tools
from claude_session_player.content import agent_answer, result_parts
from claude_session_player.events import NOTHING, ToolResult
from claude_session_player.parts import Picture, Sketch
from claude_session_player.tools.looks import Reply

if TYPE_CHECKING:
    from claude_session_player.conversation.cast import Actor


class Kind(Enum):
    """Who or what an entry comes from."""

    __hash__ = object.__hash__  # kinds are looked up for every entry, and that of Enum is slow

    PROMPT = "prompt"
    """A person."""
    TASK = "task"
    """Whoever called a sub-agent."""
    MESSAGE = "message"
    """Another agent, or something else that stands in a user's place."""
    OUTPUT = "output"
    """A command that a person ran, or a notice."""
    INJECTED = "injected"
    """The harness, in a user's place."""
    ANSWER = "answer"
    THOUGHT = "thought"
    CALL = "call"
    RESULT = "result"
    """A result whose call is not near."""
    BLOCK = "block"
    """A part of a message that nobody knows."""
    ERROR = "error"
    SUMMARY = "summary"
    COMPACTION = "compaction"
    FORK = "fork"
    """The conversation went back, and took another way."""
    RETURN = "return"
    """It goes on where it was before a fork."""
    NOTE = "note"
    """A remark of the harness. `body` is the type of its record, where the remark is one line."""
    RECORD = "record"
    """A record that nobody has words for; `body` is its type."""
    AGENT = "agent"
    """The beginning of a sub-agent that does not follow its call."""
    SECTION = "section"


class Entry(Struct):
    """One thing that was said or done. `aside` is true for what only a full telling has."""

    kind: Kind
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None
    text: str = ""
    pictures: tuple[Picture, ...] = ()
    body: Any = None
    aside: bool = False


class Result(Struct):
    """What a tool gave back, and where that stands."""

    block: ToolResult
    structured: Raw = NOTHING
    line: int = 0
    timestamp: str | None = None
    uuid: str | None = None

    @property
    def is_error(self) -> bool:
        """True where the tool says that it failed."""
        return self.block.is_error is True


class Call(Entry):
    """A call of a tool, with its result once there is one, and the sub-agents that it started.

    As an entry of kind RESULT it is a result that comes late, or alone: then `line` is the result's.
    """

    name: str = ""
    id: str | None = None
    input: Any = None
    result: Result | None = None
    actors: tuple[Actor, ...] = ()
    subject: str | None = None
    """Of a task that is named only by its number: what it is."""
    place: int = 0
    """Its number among the entries."""

    @property
    def is_agent(self) -> bool:
        """True where a sub-agent was called, be its conversation at hand or not."""
        return bool(self.actors) or self.name in tools.AGENTS

    @property
    def is_error(self) -> bool:
        """True where the tool failed."""
        return self.result is not None and self.result.block.is_error is True

    def reply(self) -> Reply | None:
        """What came back, as text."""
        result = self.result
        if result is None:
            return None
        text, self.pictures = result_parts(result.block)
        if self.name in tools.AGENTS:
            text = agent_answer(result.structured) or text
        return Reply(text, result.block.is_error is True, result.structured)

    def sketch(self, reply: Reply | None) -> Sketch:
        """How the call is told."""
        given = {"subject": self.subject, **self.input} if self.subject else self.input
        return tools.told(self.name, given, reply)
