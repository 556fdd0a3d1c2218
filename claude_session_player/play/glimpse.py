"""One session as a glance shows it: what it does, what it is called, what was said last. Only its ends are read."""

from __future__ import annotations

from typing import Final

from claude_session_player.events import Assistant, Event, Text, Title
from claude_session_player.linking.prompts import human_prompt
from claude_session_player.parser import decode_lines
from claude_session_player.play.activity import Activity, Status
from claude_session_player.play.tail import Tail
from claude_session_player.store.documents import document, text
from claude_session_player.store.layout import META, SUFFIX, Found
from claude_session_player.store.paths import real_path
from claude_session_player.text import as_title, clean
from claude_session_player.titles import TITLE_KEYS

_RANKS: Final = {tag: rank for rank, tag in enumerate(TITLE_KEYS)}
_PROMPT: Final = len(_RANKS)
"""The rank of a prompt as a title: any other is better."""
_MOST_CWDS: Final = 8


class Glimpse:
    """A session or sub-agent, as far as the beginning and the end of its file tell. What is appended is read once."""

    def __init__(self, found: Found) -> None:
        self.found = found
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
        self._title: str | None = None
        self._rank = _PROMPT + 1

    def catch_up(self) -> bool:
        """Take in what was appended; false where there is nothing. Raises `OSError`."""
        if self.found.is_agent and self._agent is None:
            self._describe()
        lines = self.tail.lines()
        if self.tail.is_new:
            self._begin()
        events = decode_lines(lines, 0, 0)
        self._activity.take(events)
        for event in events:
            self._note(event)
        return bool(lines)

    @property
    def title(self) -> str:
        """The best name that there is; empty where there is none."""
        return self.description or self._title or ""

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
        if isinstance(event, Title):
            self._name(event.title, _RANKS[event.kind])
        elif (prompt := human_prompt(event)) is not None:
            self.words = as_title(prompt)
            if self._rank > _PROMPT and not prompt.startswith("/"):
                self._name(prompt, _PROMPT)
        elif isinstance(event, Assistant):
            said = event.said
            texts = [said] if isinstance(said, str) else [block.text for block in said or () if type(block) is Text]
            self.words = next((as_title(clean(one)) for one in reversed(texts) if one), self.words)

    def _name(self, name: str | None, rank: int) -> None:
        """A better name, or a later one that is as good."""
        if name and rank <= self._rank:
            self._title, self._rank = as_title(name), rank
