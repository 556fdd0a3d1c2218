"""What people typed, across sessions: every prompt once, however many sessions hold a copy of it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.errors import SessionError
from claude_session_player.format.events import Attachment, User
from claude_session_player.format.prompts import is_headless_prompt
from claude_session_player.linking.copies import drop_copies
from claude_session_player.linking.prompts import classify_human_prompt, with_queued_prompts
from claude_session_player.store import ReadProblem
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.store import Session


class TypedPrompt(NamedTuple):
    """A prompt, and the line at which the model received it."""

    session: Session
    line: int
    time: str | None
    text: str
    uuid: str | None = None
    is_command: bool = False
    """True for a command to Claude Code or to the shell, which the model may never have seen."""
    is_queued: bool = False
    """True if it was typed while the model worked."""
    is_headless: bool = False
    """True if a program sent it: `claude -p`, an SDK, a workflow of GitHub."""


def session_prompts(session: Session) -> Iterator[TypedPrompt]:
    """The prompts of a session, in the order of its file; none of a sub-agent, to which no person types.

    Raises `OSError` or `CannotRead`.
    """
    if session.is_subagent or session.conversation.first_prompt is None:
        return
    is_headless = False
    for event in drop_copies(with_queued_prompts(session.events())):
        if event.is_sidechain or event.agent_call:
            continue
        classified = classify_human_prompt(event)
        if classified is None or classified.prompt is None:
            continue
        if isinstance(event, User):
            is_headless = is_headless_prompt(event)
        time, is_queued = normalize_time(event.timestamp), isinstance(event, Attachment)
        about = (classified.is_command, is_queued, is_headless)
        yield TypedPrompt(session, event.line, time, classified.prompt, event.uuid, *about)


def all_prompts(
    sessions: Iterable[Session],
    note: Callable[[ReadProblem], object],
    *,
    newest_first: bool = True,
    by_time: bool = True,
    read: Callable[[Session], Iterable[TypedPrompt]] = session_prompts,
) -> Iterator[TypedPrompt]:
    """The prompts of sessions by time; of copies in several sessions, the one in the session that was last active.

    A session is read when it could hold the next prompt. What cannot be read is noted. Of one session, the order of its
    file may be wanted instead (`by_time`): times in a file may go back.
    """
    merge = _PromptMerge(newest_first=newest_first, by_time=by_time)
    ranked = sorted(((session.updated_at, session) for session in sessions), key=lambda pair: pair[0], reverse=True)
    edges = [
        (time if newest_first else session.created_at or time, rank) for rank, (time, session) in enumerate(ranked)
    ]
    edges.sort(key=lambda edge: edge[0], reverse=newest_first)
    for edge, rank in edges:
        yield from merge.take(edge)
        updated, session = ranked[rank]
        prompts: list[TypedPrompt] = []
        try:
            prompts.extend(read(session))
        except (OSError, SessionError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            note(ReadProblem(session.file.name, getattr(cause, "strerror", None) or str(error)))
        merge.add(prompts, rank, updated)
    yield from merge.take(None)


class _WaitingPrompt(NamedTuple):
    """A prompt among those that wait for their turn; these are sorted by the first three fields."""

    time: str
    """Its own; where it has none, that of the prompt before it, or else after it."""
    recency: int
    """The greater, the later the session was active."""
    position: int
    prompt: TypedPrompt


class _PromptMerge:
    """Brings the prompts of sessions into one order while the sessions are read, and leaves out copies."""

    def __init__(self, *, newest_first: bool, by_time: bool) -> None:
        self._newest_first = newest_first
        self._by_time = by_time
        self._waiting: list[_WaitingPrompt] = []
        self._holders: dict[tuple[str, ...], int] = {}
        """By what copies share: the rank of the session whose copy counts."""
        self._listed: set[tuple[str, ...]] = set()

    def add(self, prompts: Sequence[TypedPrompt], rank: int, otherwise: str) -> None:
        """Add the prompts of a session; `otherwise` is the time of all of them if none has one."""
        time = next((prompt.time for prompt in prompts if prompt.time and self._by_time), otherwise)
        for position, prompt in enumerate(prompts):
            time = prompt.time if prompt.time and self._by_time else time
            self._waiting.append(_WaitingPrompt(time, -rank, position, prompt))
            for key in _keys(prompt):
                if key not in self._listed:
                    self._holders[key] = min(rank, self._holders.get(key, rank))
        self._waiting.sort(key=lambda waiting: waiting[:3])

    def take(self, edge: str | None) -> Iterator[TypedPrompt]:
        """Those whose turn has come, where no session to come has a prompt beyond this time."""
        if self._newest_first:
            start = 0 if edge is None else bisect_left(self._waiting, edge, key=lambda waiting: waiting.time)
            ready = self._waiting[start:][::-1]
            del self._waiting[start:]
        else:
            end = bisect_left(self._waiting, edge, key=lambda waiting: waiting.time) if edge else len(self._waiting)
            ready = self._waiting[:end]
            del self._waiting[:end]
        for waiting in ready:
            keys = list(_keys(waiting.prompt))
            if all(self._holders[key] == -waiting.recency for key in keys):
                self._listed.update(keys)
                yield waiting.prompt


def _keys(prompt: TypedPrompt) -> Iterator[tuple[str, ...]]:
    """What a prompt shares with its copies in other sessions: its uuid, or its time and its text."""
    if prompt.uuid:
        yield (prompt.uuid,)
    if prompt.time:
        yield prompt.time, prompt.text
