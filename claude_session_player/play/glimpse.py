"""One session as a glance shows it: what it does, what it is called, what was said last. Only its ends are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from claude_session_player.errors import SessionError
from claude_session_player.events import Assistant, Event, QueueOperation, Text, Title
from claude_session_player.linking.prompts import PromptQueue, human_prompt
from claude_session_player.linking.titles import note_prompt, note_title, session_title
from claude_session_player.parser import decode_lines
from claude_session_player.play.activity import Activity, Status
from claude_session_player.play.tail import Tail
from claude_session_player.store.documents import document, text
from claude_session_player.store.layout import META, SUFFIX, Found
from claude_session_player.store.paths import real_path
from claude_session_player.store.session import Session
from claude_session_player.text import as_title, clean

LookUp = Callable[[Found], Session]
"""Gives what a store knows of a file; raises `SessionError`."""
_MOST_CWDS: Final = 8


class Glimpse:
    """A session or sub-agent, as far as the beginning and the end of its file tell. What is appended is read once."""

    def __init__(self, found: Found, look_up: LookUp | None = None) -> None:
        """What the ends of the file do not tell of its title is looked up, once."""
        self.found = found
        self._look_up = look_up
        self.tail = Tail(found.path)
        self.session_id = found.parent if found.is_agent else found.id
        """The session that it is, or that a sub-agent belongs to; `None` where that is not known."""
        self._begin()
        self._agent: str | None = None
        self._description: str | None = None

    def _begin(self) -> None:
        self.words = ""
        """What was said last, on one line."""
        self._activity = Activity(is_subagent=self.found.is_agent)
        self._cwds: tuple[str, ...] = ()
        self._given: dict[str, str] = {}
        self._queue = PromptQueue()
        self.first_prompt: str | None = None
        self.last_prompt: str | None = None
        self.topic: str | None = None
        self.first_line = self.last_line = self.topic_line = self._lines = 0

    def catch_up(self) -> bool:
        """Take in what was appended; false where there is nothing. Raises `OSError`."""
        if self.found.is_agent and self._agent is None:
            self._describe()
        lines = self.tail.lines()
        if self.tail.is_new:
            self._begin()
            if self.tail.has_gap or (self.found.is_agent and not self._description):
                self._recall()
        events = decode_lines(lines, self._lines, 0)
        self._lines += len(lines)
        self._activity.take(events)
        for event in events:
            self._note(event)
        return bool(lines)

    @property
    def title(self) -> str:
        """The best name that there is; empty where there is none."""
        return session_title(self._given, self._description, self.topic, self.first_prompt) or ""

    @property
    def description(self) -> str:
        """What a sub-agent is for, where that is described in fewer words than its prompt."""
        return self._description or ""

    @property
    def agent(self) -> str:
        """What kind of sub-agent it is, where that is described."""
        return self._agent or ""

    @property
    def project(self) -> str | None:
        """The real path of the project, where it is known."""
        return real_path(self.found.project or "", self._cwds)

    @property
    def written(self) -> float | None:
        """When the file was last written to, in seconds since 1970; `None` where it is gone."""
        return self.tail.written

    def status(self, now: float, written: float | None = None) -> Status:
        """What goes on at a moment; `written` is when anything that belongs to it was last written to."""
        times = [time for time in (self.written, written) if time is not None]
        return self._activity.status(now, max(times, default=None))

    def _describe(self) -> None:
        """Take in the description beside a sub-agent; it may be written later than the first lines."""
        told = document(self.found.path.removesuffix(SUFFIX) + META, [])
        if isinstance(told, dict):
            self._agent = text(told.get("agentType")) or ""
            self._description = as_title(text(told.get("description")) or "") or None

    def _note(self, event: Event) -> None:
        if event.cwd and event.cwd not in self._cwds and len(self._cwds) < _MOST_CWDS:
            self._cwds = (*self._cwds, event.cwd)
        if self.session_id is None:
            self.session_id = event.session_id
        if isinstance(event, QueueOperation):
            self._take_up(event)
            return
        is_own = self.found.is_agent or not (event.is_sidechain or event.agent_call)
        if isinstance(event, Title):
            note_title(self._given, event.kind, event.title)
        elif is_own and (prompt := human_prompt(event)) is not None:
            self.words = as_title(prompt)
            note_prompt(self, prompt, event.line)
        elif isinstance(event, Assistant):
            self._queue.settle()
            said = event.said
            texts = [said] if isinstance(said, str) else [block.text for block in said or () if type(block) is Text]
            self.words = next((as_title(clean(one)) for one in reversed(texts) if one), self.words)

    def _take_up(self, event: QueueOperation) -> None:
        """A prompt that the model was given from the queue; where a line of its own follows, it says the same."""
        taken = self._queue.operate(event)
        if taken is not None and taken.text is not None:
            self.words = as_title(taken.text)
            note_prompt(self, taken.text, taken.line)

    def _recall(self) -> None:
        """Take over what a store knows of the whole file, and of the call that a sub-agent comes from."""
        if self._look_up is None:
            return
        try:
            session = self._look_up(self.found)
        except SessionError:
            return
        speech = session.speech
        self._given = dict(session.facts.titles)
        self.first_prompt, self.topic = speech.first_prompt, speech.topic
        self.last_prompt = speech.last_prompt or speech.first_prompt
        if self.found.is_agent:
            self._agent = self._agent or session.agent or ""
            self._description = self._description or session.description
