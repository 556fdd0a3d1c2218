"""What people typed, across sessions: every prompt once, however many sessions hold a copy of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from claude_session_player.errors import CannotRead
from claude_session_player.format.events import Attachment, User
from claude_session_player.format.prompts import is_headless_prompt
from claude_session_player.linking.copies import drop_copies
from claude_session_player.linking.prompts import classify_human_prompt, with_queued_prompts
from claude_session_player.store import ReadProblem
from claude_session_player.util.times import normalize_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
    sessions: Iterable[Session], note: Callable[[ReadProblem], object], *, newest_first: bool = True
) -> Iterator[TypedPrompt]:
    """The prompts of sessions, session by session; of copies in several sessions, the one that comes first.

    A session is read when the prompts of those before it were taken. A file that cannot be read is noted.
    """
    known: set[tuple[str, ...]] = set()
    for session in sessions:
        prompts: list[TypedPrompt] = []
        try:
            prompts.extend(session_prompts(session))
        except (OSError, CannotRead) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            note(ReadProblem(session.path, getattr(cause, "strerror", None) or str(error)))
        own = [prompt for prompt in prompts if known.isdisjoint(_keys(prompt))]
        known.update(key for prompt in prompts for key in _keys(prompt))
        yield from reversed(own) if newest_first else own


def _keys(prompt: TypedPrompt) -> Iterator[tuple[str, ...]]:
    """What a prompt shares with its copies in other sessions: its uuid, or its time and its text."""
    if prompt.uuid:
        yield (prompt.uuid,)
    if prompt.time:
        yield prompt.time, prompt.text
