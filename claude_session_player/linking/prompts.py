"""Which records in a user's place are a person's prompts, and which prompts stand only in the queue.

Versions 2.1.39 to 2.1.91 wrote what was typed while the model worked only as `queue-operation` records; later ones
write an attachment beside them. A queued prompt counts where it was taken up, unless a user line or an attachment
says the same between its `enqueue` and the next response.
"""

from __future__ import annotations

import re
from heapq import heappop
from typing import TYPE_CHECKING, Final

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
from claude_session_player.format.prompts import ClassifiedPrompt, classify_prompt

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

_NOT_PEOPLE: Final = frozenset(("task-notification", "peer", "system", "agent", "hook"))
"""Who stands in a user's place without being one, as `origin.kind` names them."""
_PEERS: Final = (
    "<teammate-message",
    "<agent-message",
    "<cross-session-message",
    "Another Claude session sent a message",
)
_REFUSAL: Final = re.compile(r"Unknown (?:skill|slash command|command): \S+(?: Did you mean .*)?")
"""What Claude Code answers in a user's place to a command that does not exist."""
_NOTICES: Final = ('{"task_id":',)
"""How a notification of a background task is queued by some versions."""
_BEGINNING: Final = 200


def human_prompt(event: Event) -> str | None:
    """What a person typed here, by the rules of the screen; `None` if it was somebody or something else.

    >>> human_prompt(User(content="Good morning"))
    'Good morning'
    >>> human_prompt(User(content="Base directory for this skill: …", is_meta=True)) is None
    True
    """
    said = classify_human_prompt(event)
    return said.prompt if said is not None else None


def classify_human_prompt(event: Event) -> ClassifiedPrompt | None:
    """What a person typed here, and whether it is a command; `None` if `human_prompt` has nothing, too."""
    if isinstance(event, User):
        return None if is_injected(event) else _classified(event.message_content)
    if isinstance(event, Attachment) and (attached := event.attachment) is not None:
        return _classified(attached.prompt) if attached.type == QUEUED and not attached.is_meta else None
    return None


def prompt_text(content: Content) -> str | None:
    """A content in a user's place as a person's prompt; `None` if it is none.

    >>> prompt_text("<command-name>/model</command-name>"), prompt_text("Unknown skill: deploy")
    ('/model', None)
    """
    said = _classified(content)
    return said.prompt if said is not None else None


def asks_model(event: Event) -> bool:
    """True for a prompt that the model is to answer; a command may be for Claude Code or the shell alone.

    >>> asks_model(User(content="Good morning")), asks_model(User(content="<command-name>/compact</command-name>"))
    (True, False)
    """
    said = classify_human_prompt(event)
    return said is not None and not said.is_command


def _classified(content: Content) -> ClassifiedPrompt | None:
    """What a content in a user's place comes to; `None` if it is no person's prompt."""
    if isinstance(content, list):
        blocks = [block for block in content if type(block) is not ToolResult]
        content = join_texts(blocks) if blocks else None
    if not content or not is_from_person(content):
        return None
    said = classify_prompt(content)
    return said if said.prompt and not said.prompt.isspace() else None


def is_from_person(text: str) -> bool:
    """False for a text in a user's place that another agent wrote, or Claude Code itself."""
    beginning = text[:_BEGINNING].lstrip()
    return not beginning.startswith(_PEERS) and not (
        beginning.startswith("Unknown ") and len(text) < _BEGINNING and _REFUSAL.fullmatch(text.strip())
    )


def is_injected(event: User) -> bool:
    """True for a line in a user's place that says of itself that no person wrote it."""
    return bool(
        event.is_meta
        or event.is_compact_summary
        or event.is_visible_in_transcript_only
        or event.source_call
        or event.prompt_source == "system"
        or (event.origin is not None and event.origin.kind in _NOT_PEOPLE)
    )


# --- the queue ----------------------------------------------------------------------------------


class QueuedPrompt(Struct):
    """What was typed while the model worked, and where the model was given it."""

    text: str | None
    """`None` for what no person typed."""
    content: str = ""
    line: int = 0
    timestamp: str | None = None
    is_copy: bool = False
    """True if a user line or an attachment says the same."""


class PromptQueue(Struct):
    """Follows the queue of a session through its records, in the order of the file.

    Prompts are known by numbers, which ascend. Each list of numbers is a heap, in which those that are gone are stepped
    over when somebody comes to them: a step costs log n, however many prompts wait.
    """

    waiting: dict[int, QueuedPrompt] = {}
    taken: dict[int, QueuedPrompt] = {}
    """Those that the model was given since its last response."""
    count: int = 0
    by_age: list[int] = []
    by_content: dict[str, list[int]] = {}
    waiting_by_words: dict[str, list[int]] = {}
    taken_by_words: dict[str, list[int]] = {}

    def operate(self, event: QueueOperation) -> QueuedPrompt | None:
        """A record of the queue; returns the prompt that was taken up here. Until `settle`, it may turn out a copy."""
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
            self.waiting_by_words.setdefault(prompt.text.strip(), []).append(self.count)

    def _take(self, event: QueueOperation) -> QueuedPrompt | None:
        prompt = self._next(event)
        if prompt is None or prompt.text is None or prompt.is_copy:
            return None
        prompt.line, prompt.timestamp = event.line, event.timestamp
        self.count += 1
        self.taken[self.count] = prompt
        self.taken_by_words.setdefault(prompt.text.strip(), []).append(self.count)
        return prompt

    def _next(self, event: QueueOperation) -> QueuedPrompt | None:
        """The prompt that leaves the queue: the one that the record names, else the oldest."""
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
        self.waiting_by_words.clear()

    def note(self, prompt: str | None) -> QueuedPrompt | None:
        """A user line, or an attachment, that holds a prompt: a queued one with the same words is its copy.

        Returns the copy where it was taken up already.
        """
        if prompt is None:
            return None
        wanted = prompt.strip()
        if (number := _first(self.taken_by_words.get(wanted), self.taken)) is not None:
            self.taken[number].is_copy = True
            return self.taken[number]
        if (number := _first(self.waiting_by_words.get(wanted), self.waiting)) is not None:
            self.waiting[number].is_copy = True
        return None

    def settle(self) -> list[QueuedPrompt]:
        """The model answers, or the file ends: the prompts that were taken up and stand nowhere else."""
        if not self.taken:
            return []
        settled = [prompt for prompt in self.taken.values() if not prompt.is_copy]
        self.taken.clear()
        self.taken_by_words.clear()
        return settled


def _first(numbers: list[int] | None, known: Container[int]) -> int | None:
    """Take the smallest number that is known out of a heap; `None` if there is none."""
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
    """Events in which a prompt that stands only in the queue is an attachment, as later versions write it.

    Behind a prompt that was taken up, events are held back up to the next response. What sub-agents say inside the
    file has nothing to do with it, unless the file is a sub-agent's own.
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
