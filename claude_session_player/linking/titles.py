"""What a session is called: the best title that it was given, else its first meaningful prompt."""

from collections.abc import Mapping
from typing import Final, Protocol

from claude_session_player.util.text import to_title, truncate

TITLE_PRECEDENCE: Final = ("custom-title", "ai-title", "agent-name", "summary")
"""The record types that name a session, the one that wins first."""
PROMPT_LENGTH: Final = 2000
"""The number of characters of a prompt that are kept."""


def session_title(given: Mapping[str, str], described: str | None, topic: str | None, prompt: str | None) -> str | None:
    """The title of a session or sub-agent.

    `given` holds the last title of each record type, `described` what a sub-agent is for, `topic` the first prompt
    that is more than a bare command, and `prompt` the very first prompt.

    >>> session_title({"summary": "Tea", "ai-title": "Kettle"}, None, "The kettle does not whistle", "/clear")
    'Kettle'
    >>> session_title({}, None, None, "/clear")
    '/clear'
    """
    named = next((given[kind] for kind in TITLE_PRECEDENCE if kind in given), None)
    return named or described or topic or prompt


def is_bare_command(prompt: str) -> bool:
    """True for `/clear` and `!ls`, which say nothing about a session; `/review the parser` does."""
    return prompt.startswith("!") or (prompt.startswith("/") and len(prompt.split(None, 1)) == 1)


class PromptHolder(Protocol):
    """The prompts of one conversation that are kept, each with its line."""

    first_prompt: str | None
    last_prompt: str | None
    topic: str | None
    """The first prompt that is more than a bare command, as a title."""
    first_line: int
    last_line: int
    topic_line: int


def note_prompt(kept: PromptHolder, prompt: str, line: int) -> None:
    """Note what a person typed on a line. Prompts may come in any order: their lines decide."""
    prompt = truncate(prompt, PROMPT_LENGTH)
    if kept.last_prompt is None or line >= kept.last_line:
        kept.last_prompt, kept.last_line = prompt, line
    if kept.first_prompt is None or line < kept.first_line:
        kept.first_prompt, kept.first_line = prompt, line
    if (kept.topic is None or line < kept.topic_line) and not is_bare_command(prompt):
        kept.topic, kept.topic_line = to_title(prompt), line


def note_title(given: dict[str, str], kind: str, title: str | None) -> None:
    """Note a title of the session; the last of each record type counts."""
    if title and (name := to_title(title)):
        given[kind] = name
