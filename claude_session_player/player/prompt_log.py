"""The prompts of a session, collected while its frame index is built: what people typed, each once.

Whether a prompt is a copy of an earlier one shows when the response after it is known, so that copies are dropped then.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from claude_session_player.format.events import QUEUED, Assistant, Attachment, AttachmentData, Event, QueueOperation
from claude_session_player.linking.copies import CopyDetector
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.util.text import one_line

_MAX_PROMPT: Final = 300
"""Characters of a prompt that are kept."""
_BATCH: Final = 200
"""Events that wait at most until copies among them are dropped."""


class PromptLine(NamedTuple):
    """A prompt, and the line that shows it."""

    line: int
    text: str
    """Its beginning, on one line."""


class PromptLog:
    """The prompts in the order of the file, filled with what the screen shows as one, and with the responses."""

    def __init__(self) -> None:
        self._prompts: list[PromptLine] = []
        self._copies = CopyDetector()
        self._waiting: list[Event] = []
        """Prompts and responses in which copies are looked for as soon as somebody asks, or there are many."""

    @property
    def prompts(self) -> list[PromptLine]:
        """What people have typed so far."""
        self._drop_copies()
        repeats = {event.line for event in self._copies.find_repeats(self._waiting)}
        return [prompt for prompt in self._prompts if prompt.line not in repeats]

    def add_response(self, event: Assistant) -> None:
        """Note a response: it shows whether the prompts before it are copies."""
        self._waiting.append(event)
        if len(self._waiting) >= _BATCH:
            self._drop_copies()

    def add(self, event: Event, text: str, *, replaces: bool = False) -> None:
        """Take what the screen shows as a prompt, if a person typed it.

        With `replaces`, it was shown from the queue before, and now has a record of its own.
        """
        if replaces:
            self._drop_queued(text)
        if isinstance(event, QueueOperation):  # the queue holds nothing else that is shown
            attached = AttachmentData(type=QUEUED, prompt=text)
            event = Attachment(line=event.line, timestamp=event.timestamp, attachment=attached)
        elif human_prompt(event) is None:
            return
        self._prompts.append(PromptLine(event.line, _beginning(text)))
        self._waiting.append(event)

    def _drop_queued(self, text: str) -> None:
        """Drop the last prompt with this text."""
        words = _beginning(text)
        for position in range(len(self._prompts) - 1, -1, -1):
            if self._prompts[position].text == words:
                line = self._prompts.pop(position).line
                self._waiting = [event for event in self._waiting if event.line != line or type(event) is Assistant]
                return

    def _drop_copies(self) -> None:
        """Drop the prompts that are copies; the response that decides may be missing for the last ones."""
        end = len(self._waiting)
        while end and type(self._waiting[end - 1]) is not Assistant:
            end -= 1
        decided, self._waiting = self._waiting[:end], self._waiting[end:]
        marked = self._copies.mark(decided)
        lines = {event.line for event, is_copy in marked if is_copy and type(event) is not Assistant}
        if lines:
            self._prompts = [prompt for prompt in self._prompts if prompt.line not in lines]


def _beginning(text: str) -> str:
    return one_line(text[:_MAX_PROMPT]).strip()
