"""How Claude Code was started, and whether a person sat at it.

Nothing but this module knows the names: a list of sessions asks it for entry points, and a list of prompts for prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from claude_session_player.format.events import User

_HEADLESS: Final = ("sdk", "mcp", "claude-code-github-action")
"""How the names of entry points begin that no person sits at."""
_SDK: Final = "sdk"
"""The source of prompts that a program sends."""


def is_headless_entrypoint(name: str | None) -> bool:
    """True for an entry point that no person sits at: `claude -p`, an SDK, an MCP client, a workflow of GitHub.

    >>> is_headless_entrypoint("sdk-cli"), is_headless_entrypoint("mcp"), is_headless_entrypoint("cli")
    (True, True, False)
    """
    return name is not None and name.startswith(_HEADLESS)


def is_headless_prompt(event: User) -> bool:
    """True if a program sent a prompt, by where it came from or by how Claude Code was started.

    Each prompt is judged by itself, because people go on in a terminal with what a program began.
    """
    return event.prompt_source == _SDK or is_headless_entrypoint(event.entrypoint)
