"""Which `user` records are a person's prompts, and which prompts are only in the queue.

Versions 2.1.39 to 2.1.91 wrote what was typed while the model worked only as `queue-operation` records; later versions
also write an attachment. A queued prompt counts at the line where it was taken from the queue, unless a user line or an
attachment with the same text comes between its `enqueue` and the next response.
"""

from __future__ import annotations

import re
from heapq import heappop
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from claude_session_player.format.blocks import Content, ToolResult
from claude_session_player.format.coerce import coerce_content
from claude_session_player.format.content import join_texts
from claude_session_player.format.events import (
    QUEUED,
    Assistant,
    Attachment,
    AttachmentData,
    Event,
    QueueOperation,
    User,
)
from claude_session_player.format.lenient_json import load_raw
from claude_session_player.format.prompts import (
    INTRODUCTION,
    ClassifiedPrompt,
    classify_prompt,
    parse_peer_messages,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

_NOT_PEOPLE: Final = frozenset(("task-notification", "peer", "system", "agent", "hook"))
"""The values of `origin.kind` in `user` records that no person wrote."""
_AGENTS: Final = frozenset(("peer", "agent"))
"""Those of them that other agents wrote."""
_PEERS: Final = ("<teammate-message", "<agent-message", "<cross-session-message", INTRODUCTION)
ANOTHER_AGENT: Final = "another agent"
"""The sender of a message of another agent that names none."""
CLAUDE_CODE: Final = "Claude Code"
"""The sender of what no person and no other agent sent."""
_REFUSAL: Final = re.compile(r"Unknown (?:skill|slash command|command): \S+(?: Did you mean .*)?")
"""The reply of Claude Code to an unknown command, as a `user` record."""
_NOTICES: Final = ('{"task_id":',)
"""How some versions queue the notification of a background task."""
_BEGINNING: Final = 200


def human_prompt(event: Event) -> str | None:
    """What a person typed, by the rules of the screen; `None` for any other record.

    >>> human_prompt(User(content="Good morning"))
    'Good morning'
    >>> human_prompt(User(content="Base directory for this skill: …", is_meta=True)) is None
    True
    """
    classified = classify_human_prompt(event)
    return classified.prompt if classified is not None else None


def classify_human_prompt(event: Event) -> ClassifiedPrompt | None:
    """What a person typed, and whether it is a command; `None` if `human_prompt` returns `None`."""
    if isinstance(event, User):
        return None if is_injected(event) else _classified(event.message_content)
    if isinstance(event, Attachment) and (attached := event.attachment) is not None:
        return _classified(attached.prompt) if attached.type == QUEUED and not attached.is_meta else None
    return None


def prompt_text(content: Content) -> str | None:
    """The content of a `user` record as a person's prompt; `None` if no person wrote it.

    >>> prompt_text("<command-name>/model</command-name>"), prompt_text("Unknown skill: deploy")
    ('/model', None)
    """
    classified = _classified(content)
    return classified.prompt if classified is not None else None


def asks_model(event: Event) -> bool:
    """True for a prompt that the model responds to; a command may be for Claude Code or the shell only.

    >>> asks_model(User(content="Good morning")), asks_model(User(content="<command-name>/compact</command-name>"))
    (True, False)
    """
    classified = classify_human_prompt(event)
    return classified is not None and not classified.is_command


def _classified(content: Content) -> ClassifiedPrompt | None:
    """The content of a `user` record, classified; `None` if it is not a person's prompt."""
    if isinstance(content, list):
        blocks = [block for block in content if type(block) is not ToolResult]
        content = join_texts(blocks) if blocks else None
    if not content or not is_from_person(content):
        return None
    classified = classify_prompt(content)
    return classified if classified.prompt and not classified.prompt.isspace() else None


def is_from_person(text: str) -> bool:
    """False for the text of a `user` record that another agent or Claude Code wrote."""
    is_refusal = len(text) < _BEGINNING and _REFUSAL.fullmatch(text.strip()) is not None
    return not is_refusal and not _opens_as_peer(text)


def _opens_as_peer(text: str) -> bool:
    return text[:_BEGINNING].lstrip().startswith(_PEERS)


def sender_of(event: Event, text: str) -> str | None:
    """Who sent what the screen shows as a prompt; `None` for a person.

    >>> sender_of(User(), "Good morning"), sender_of(User(), '<agent-message from="ada">Done.</agent-message>')
    (None, 'ada')
    """
    user = event if isinstance(event, User) else None
    if is_from_person(text) and not (user is not None and is_injected(user)):
        return None
    messages = parse_peer_messages(text).messages
    if messages:
        return ", ".join(dict.fromkeys(message.sender or ANOTHER_AGENT for message in messages))
    origin = user.origin if user is not None else None
    return ANOTHER_AGENT if _opens_as_peer(text) or (origin is not None and origin.kind in _AGENTS) else CLAUDE_CODE


def is_injected(event: User) -> bool:
    """True for a `user` record with a flag that says that no person wrote it."""
    return bool(
        event.is_meta
        or event.is_compact_summary
        or event.is_visible_in_transcript_only
        or event.source_call
        or event.prompt_source == "system"
        or (event.origin is not None and event.origin.kind in _NOT_PEOPLE)
    )


# --- commands that are recorded twice -----------------------------------------------------------


class _RecordedCommand(NamedTuple):
    """A command to Claude Code, and the id of its prompt."""

    prompt_id: str
    text: str


class TypedCommands(Struct):
    """The commands that were typed so far, and that no later record says were run.

    Claude Code 2.1.232 records `/compact` as it was typed, and again in tags when it was run. Both records have the
    same `promptId`. A command that has tags only may share the id of the prompt before it, so that two of those are
    no copies.

    >>> commands = TypedCommands()
    >>> typed, run = User(content="/compact"), User(content="<command-name>/compact</command-name>")
    >>> typed.prompt_id = run.prompt_id = "p1"
    >>> [commands.is_run(event) for event in (run, typed, run, run)]
    [False, False, True, False]
    """

    waiting: set[_RecordedCommand] = set()

    def is_run(self, event: Event) -> bool:
        """Note a record; true if an earlier one holds the same command as it was typed."""
        if type(event) is not User or not event.prompt_id:
            return False
        content = event.message_content
        if not isinstance(content, str) or not content.startswith(("/", "<command-")):
            return False
        classified = classify_human_prompt(event)
        if classified is None or classified.prompt is None:
            return False
        command = _RecordedCommand(event.prompt_id, classified.prompt.rstrip())
        if not classified.is_command:
            self.waiting.add(command)
            return False
        was_typed = command in self.waiting
        self.waiting.discard(command)
        return was_typed

    def copy(self) -> TypedCommands:
        """An independent copy."""
        return TypedCommands(self.waiting.copy())


# --- the queue ----------------------------------------------------------------------------------


class QueuedPrompt(Struct):
    """What was typed while the model worked, and the line at which the model received it."""

    text: str | None
    """`None` if no person typed it."""
    content: str = ""
    line: int = 0
    timestamp: str | None = None
    is_copy: bool = False
    """True if a user line or an attachment has the same text."""


class PromptQueue(Struct):
    """The prompt queue of a session, as its records change it, in the order of the file.

    Prompts have ascending numbers. Each list of numbers is a heap, in which removed numbers are skipped when they come
    up: an operation costs log n for n waiting prompts. `tests/reference_session.py` does the same with plain lists.
    """

    waiting: dict[int, QueuedPrompt] = {}
    taken: dict[int, QueuedPrompt] = {}
    """Those that the model received since its last response."""
    count: int = 0
    by_age: list[int] = []
    by_content: dict[str, list[int]] = {}
    waiting_by_text: dict[str, list[int]] = {}
    taken_by_text: dict[str, list[int]] = {}

    def operate(self, event: QueueOperation) -> QueuedPrompt | None:
        """Apply a record; returns the prompt that the model receives. Until `settle`, it may prove to be a copy."""
        match event.operation:
            case "enqueue":
                self._enqueue(_queued(event))
            case "remove":
                return self._take(event)
            case "dequeue":
                self._next(event)
            case "popAll":
                self._forget_waiting()
        return None

    def _enqueue(self, prompt: QueuedPrompt) -> None:
        self.count += 1
        self.waiting[self.count] = prompt
        self.by_age.append(self.count)
        self.by_content.setdefault(prompt.content, []).append(self.count)
        if prompt.text is not None:
            self.waiting_by_text.setdefault(prompt.text.strip(), []).append(self.count)

    def _take(self, event: QueueOperation) -> QueuedPrompt | None:
        prompt = self._next(event)
        if prompt is None or prompt.text is None or prompt.is_copy:
            return None
        prompt.line, prompt.timestamp = event.line, event.timestamp
        self.count += 1
        self.taken[self.count] = prompt
        self.taken_by_text.setdefault(prompt.text.strip(), []).append(self.count)
        return prompt

    def _next(self, event: QueueOperation) -> QueuedPrompt | None:
        """Remove a prompt from the queue: the one that the record names, else the oldest."""
        named = _queued(event).content
        number = _first(self.by_content.get(named), self.waiting) if named else None
        if number is None:
            number = _first(self.by_age, self.waiting)
        if number is None:
            return None
        prompt = self.waiting.pop(number)
        if not self.waiting:
            self._forget_waiting()
        return prompt

    def _forget_waiting(self) -> None:
        self.waiting.clear()
        self.by_age.clear()
        self.by_content.clear()
        self.waiting_by_text.clear()

    def note(self, prompt: str | None) -> QueuedPrompt | None:
        """Note the prompt of a user line or an attachment: a queued one with the same text is its copy.

        Returns that copy if the model has received it already.
        """
        if prompt is None:
            return None
        wanted = prompt.strip()
        if (number := _first(self.taken_by_text.get(wanted), self.taken)) is not None:
            self.taken[number].is_copy = True
            return self.taken[number]
        if (number := _first(self.waiting_by_text.get(wanted), self.waiting)) is not None:
            self.waiting[number].is_copy = True
        return None

    def settle(self) -> list[QueuedPrompt]:
        """At a response, or the end of the file: the prompts that the model received and that no other record holds."""
        if not self.taken:
            return []
        settled = [prompt for prompt in self.taken.values() if not prompt.is_copy]
        self.taken.clear()
        self.taken_by_text.clear()
        return settled


def _first(numbers: list[int] | None, known: Container[int]) -> int | None:
    """Remove and return the smallest number of a heap that is still known; `None` if there is none."""
    while numbers:
        if (number := heappop(numbers)) in known:
            return number
    return None


def _queued(event: QueueOperation) -> QueuedPrompt:
    content = coerce_content(load_raw(event.content))
    text = join_texts(content) if isinstance(content, list) else content or ""
    is_notice = text[:_BEGINNING].lstrip().startswith(_NOTICES)
    return QueuedPrompt(None if is_notice else prompt_text(text), text)


def with_queued_prompts(events: Iterable[Event], *, is_agent: bool = False) -> Iterator[Event]:
    """Events in which a prompt that is only in the queue becomes an attachment, as later versions write it.

    After such a prompt, events are held back up to the next response. Lines of sub-agents in the file do not matter,
    unless the file is a sub-agent's own.
    """
    queue = PromptQueue()
    held: list[Event] = []
    is_used = False
    for event in events:
        if type(event) is QueueOperation:
            taken, is_used = queue.operate(event), True
            if taken is None and not held:
                yield event
            else:
                held.append(event)
            continue
        if not is_used:
            yield event
            continue
        if (queue.waiting or held) and (is_agent or not (event.is_sidechain or event.agent_call)):
            if isinstance(event, User | Attachment):
                queue.note(human_prompt(event))
            elif held and isinstance(event, Assistant):
                yield from _settled(queue, held)
                held = []
        if held:
            held.append(event)
        else:
            yield event
    yield from _settled(queue, held)


def _settled(queue: PromptQueue, held: Iterable[Event]) -> Iterator[Event]:
    prompts = {prompt.line: prompt for prompt in queue.settle()}
    for event in held:
        prompt = prompts.get(event.line) if type(event) is QueueOperation else None
        yield event if prompt is None else to_attachment(prompt)


def to_attachment(prompt: QueuedPrompt) -> Attachment:
    """A queued prompt as the attachment that later versions write."""
    attached = AttachmentData(type=QUEUED, prompt=prompt.content)
    return Attachment(line=prompt.line, timestamp=prompt.timestamp, attachment=attached)
