"""`resume`: continue a session in Claude Code, from the directory of its project."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

import click

from claude_session_player.cli._options import examples, store_options
from claude_session_player.cli._output import print_text, say
from claude_session_player.cli._refs import find_session, needs_store, ref_argument
from claude_session_player.errors import CannotResume, NoSuchSession, SessionError, SessionInUse
from claude_session_player.store import (
    PROJECTS_DIR,
    ROOTS_VARIABLE,
    InUse,
    SessionKind,
    config_dir_to_name,
    is_session_id,
    resume_command,
)
from claude_session_player.util.dirs import PROGRAM
from claude_session_player.util.terminal import is_terminal
from claude_session_player.util.text import display_path, printable, truncate

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.store import Session

_CLAUDE: Final = "claude"
_LOCAL_CLAUDE: Final = "~/.claude/local/claude"
"""Where an older installer puts it: people have an alias for it, which only their shell knows."""
_INSTALL: Final = "npm install -g @anthropic-ai/claude-code"
_OTHER_KINDS: Final = {
    SessionKind.TRANSCRIPT: "an exported transcript",
    SessionKind.PRE_COMPACT: "a copy from before a compaction",
}
_SHORT_ID: Final = 8
_TITLE_LENGTH: Final = 60


class ClaudeCall(NamedTuple):
    """How Claude Code is started."""

    program: str
    """The absolute path: the directory of the project must not decide what runs."""
    session_id: str
    directory: str
    config_dir: str | None
    """The store of the session, if Claude Code would look into another one."""

    @property
    def words(self) -> list[str]:
        """The command and its arguments."""
        return [_CLAUDE, "--resume", self.session_id]

    @property
    def environment(self) -> dict[str, str]:
        """The environment as a shell would leave it after changing into the directory."""
        config = {ROOTS_VARIABLE: self.config_dir} if self.config_dir else {}
        return {**os.environ, "PWD": self.directory, **config}


@click.command(
    epilog=examples(
        ("resume", "the last active session of this project"),
        ("resume 1f2e", "a session of any project"),
        ("resume 1f2e --print", "only print the command"),
    )
)
@ref_argument
@click.option("--print", "is_printed", is_flag=True, help="Print the command instead of running it.")
@click.option("--force", is_flag=True, help="Resume the session even if it is in use.")
@store_options
def command(ref: str, is_printed: bool, force: bool, stores: StoreOptions) -> int:
    """Continue a session in Claude Code.

    REF is a file, an id, latest (the default) or a title: see 'help refs'. This changes into the directory of the
    session's project, because Claude Code finds a session only from there, and becomes 'claude --resume ID'. If the
    session is in use, it asks first.

    Exit codes: that of claude; 9 the session is in use, 11 it cannot be resumed, or Claude Code is not installed.
    """
    session = _find(ref, stores)
    _require_resumable(session)
    if is_printed:
        print_text(_printed_command(session))
        return 0
    call = ClaudeCall(_program(), session.id, _directory(session), config_dir_to_name(session))
    if not is_terminal(sys.stdin, sys.stdout):
        raise click.UsageError("resume needs a terminal: add --print to print the command")
    if not force:
        _ask_if_in_use(session)
    title = truncate(session.title or "(no title)", _TITLE_LENGTH)
    say(printable(f"resuming {_short_id(session)} {title!r} in {display_path(call.directory)}"))
    return _run(call)


def _find(ref: str, stores: StoreOptions) -> Session:
    """The session; if it is archived, the error says so."""
    try:
        with stores.open(required=needs_store(ref)) as store:
            return find_session(store, ref)
    except NoSuchSession:
        if (id := _archived_id(ref)) is None:
            raise
        message = f"session {id} is archived: restore it first with '{PROGRAM} restore {id}'"
        raise NoSuchSession(message) from None


def _archived_id(ref: str) -> str | None:
    """The id of the session that a reference names in the archive, if it does."""
    from claude_session_player.archive import find_archived, open_archive_dir

    try:
        return display_path(find_archived(open_archive_dir(None), ref).manifest.id)
    except (SessionError, OSError):
        return None


def _require_resumable(session: Session) -> None:
    """Raise `CannotResume` for what Claude Code would not find, or not take for a session."""
    id = display_path(session.id)
    if session.is_subagent:
        parent = display_path(session.parent_id or "")
        its = f"resume its session with '{PROGRAM} resume {parent}'" if parent else "its session is not known"
        raise CannotResume(f"{id} is a sub-agent, and only a session can be resumed: {its}")
    if session.file.kind != SessionKind.SESSION:
        raise CannotResume(f"{id} is {_OTHER_KINDS[SessionKind(session.file.kind)]}, which Claude Code cannot resume")
    if os.path.basename(os.path.dirname(session.file.home)) != PROJECTS_DIR:
        raise CannotResume(f"{display_path(session.path)} is not in a store, and Claude Code finds sessions only there")
    if not is_session_id(session.id):  # it could also be an option of claude
        raise CannotResume(f"{id} is not a session id, and Claude Code finds sessions only by their ids")


def _printed_command(session: Session) -> str:
    printed = resume_command(session)
    if not printed.isprintable():  # quoting does not stop a terminal from obeying them
        raise CannotResume(f"the directory name of session {session.id} contains control characters: not printed")
    return printed


def _program() -> str:
    """The path of Claude Code, looked up before the directory changes. Raises `CannotResume`."""
    found = shutil.which(_CLAUDE) or shutil.which(os.path.expanduser(_LOCAL_CLAUDE))
    if found is None:
        more = "or add --print to print the command"
        raise CannotResume(f"claude is not on PATH: install Claude Code ({_INSTALL}), {more}")
    return os.path.abspath(found)


def _directory(session: Session) -> str:
    """The directory of the project. Raises `CannotResume` if it is not known, or gone."""
    if not session.project:
        printed = "add --print, and run the command in the directory of its project"
        raise CannotResume(f"session {session.id} names no working directory: {printed}")
    if not os.path.isdir(session.project):
        gone = f"the project directory {display_path(session.project)} is gone"
        raise CannotResume(f"{gone}: create it again, or add --print to print the command")
    return session.project


def _ask_if_in_use(session: Session) -> None:
    """Let a person decide whether a session is resumed twice. Raises `SessionInUse`."""
    evidence = InUse().uses(session.paths)
    if not evidence:
        return
    how = ", ".join(dict.fromkeys(one.words for one in evidence))
    state = printable(f"Session {_short_id(session)} is in use ({how})")
    if is_terminal(sys.stderr):
        print(f"{state}. Resume it anyway? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().casefold() in ("y", "yes"):
            return
    raise SessionInUse(f"{state}: not resumed; --force resumes it anyway")


def _short_id(session: Session) -> str:
    return session.id[:_SHORT_ID]


# --- running ------------------------------------------------------------------------------------------


def _run(call: ClaudeCall) -> int:
    """Become Claude Code; on Windows, which has no such thing, wait for it. Raises `CannotResume`."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        if sys.platform == "win32":
            return _wait_for(call)
        _become(call)
    except OSError as error:
        where = display_path(error.filename) if isinstance(error.filename, str) else _CLAUDE
        raise CannotResume(f"{where}: {error.strerror or error}") from error


def _become(call: ClaudeCall) -> NoReturn:
    os.chdir(call.directory)
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and what runs next would inherit that
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    os.execve(call.program, call.words, call.environment)


def _wait_for(call: ClaudeCall) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for Claude Code
    words = [call.program, *call.words[1:]]
    return subprocess.run(words, cwd=call.directory, env=call.environment, check=False).returncode
