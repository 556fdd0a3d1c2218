"""How Claude Code is told to continue a session: where, and in which store it looks."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from claude_session_player.store.layout import PROJECTS_DIR
from claude_session_player.store.store import DEFAULT_ROOT, ROOTS_VARIABLE

if TYPE_CHECKING:
    from claude_session_player.store.session import Session


def resume_command(session: Session) -> str:
    """The command that resumes a session, or the session of a sub-agent, from any directory.

    Claude Code finds a session only from the directory of its project, and only in its own store.
    """
    config_dir = config_dir_to_name(session)
    store = f"{ROOTS_VARIABLE}={shlex.quote(config_dir)} " if config_dir else ""
    resume = f"{store}claude --resume {shlex.quote(session.parent_id or session.id)}"
    folder = session.head.project or session.project
    if not folder:
        return resume
    return f"cd {'-- ' if folder.startswith('-') else ''}{shlex.quote(folder)} && {resume}"


def config_dir_to_name(session: Session) -> str | None:
    """The store of a session, if Claude Code has to be told, because it would look into another one.

    `None` also for what is in no store, and for what is archived: nothing that Claude Code is told finds that.
    """
    file = session.head.file
    above, name = os.path.split(os.path.dirname(os.path.abspath(file.home)))
    if name != PROJECTS_DIR or file.label:
        return None
    looked_into = os.environ.get(ROOTS_VARIABLE) or os.path.expanduser(DEFAULT_ROOT)
    return None if os.path.realpath(above) == os.path.realpath(looked_into) else above
