"""`locks`: which sessions are in use, and how that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import json_option, open_store, store_options, utc_option
from claude_session_player.cli._output import encode_json, print_text, say
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.errors import SessionInUse
from claude_session_player.util.humanize import ago
from claude_session_player.util.text import display_path, printable
from claude_session_player.util.times import file_time

if TYPE_CHECKING:
    from claude_session_player.store import InUseMethods, Session, UseEvidence

    Signs = list[tuple[Session, list[UseEvidence]]]


@click.command()
@click.argument("ref", required=False, shell_complete=complete_ref)
@json_option
@utc_option
@store_options
def command(ref: str | None, as_json: bool, **where: Any) -> int:
    """Tell which sessions are in use, and how that is known; with REF, whether this one is.

    A session is in use when somebody holds an exclusive lock on its file or on one of its sub-agents, has one of them
    open for writing, or wrote to one in the last minute; a modification time in the future counts as use, too. Who only
    reads is named, but is no use. Locks are probed without waiting and without a change to the file; who has a file
    open is known where the system has a /proc. What cannot be known here is said; a session that is open in Claude
    Code, but idle, leaves no sign. With REF the exit code is 9 where the session is in use.

    REF is a path, an id or at least 4 characters of its beginning, latest, a title in quotes, or a breadcrumb.
    """
    with open_store(**where, required=ref is None or needs_store(ref)) as store:
        sessions = store.sessions() if ref is None else [find_session(store, ref)]
        look = store.look_for_use()
        known = [file.id for file in store.files()]
    signs = [(session, look.evidence(session.paths)) for session in sessions]
    noticed = [(session, found) for session, found in signs if found]
    used = [session for session, found in noticed if _is_used(found)]
    if as_json:
        print_text(encode_json(_record(signs if ref else noticed, look.methods)))
        return _exit_code(ref, used)
    if noticed:
        _print_table(noticed, known)
    if not used:
        say(
            "no session is in use"
            if ref is None
            else printable(f"session {display_path(sessions[0].id)} is not in use")
        )
    for note in _unknown(look.methods):
        say(f"note: {note}")
    return _exit_code(ref, used)


def _is_used(signs: list[UseEvidence]) -> bool:
    return any(sign.is_use for sign in signs)


def _exit_code(ref: str | None, used: list[Session]) -> int:
    """A script that asks for one session is told by the exit code; a list is only a list."""
    return SessionInUse.exit_code if ref and used else 0


def _print_table(noticed: Signs, known: list[str]) -> None:
    """A line for each session."""
    from claude_session_player.cli._tables import Column, print_table, short_ids
    from claude_session_player.util.times import local_now

    now = local_now()
    print_table(
        (
            Column("ID", short_ids([session.id for session, _ in noticed], known), 9, style="cyan"),
            Column("TITLE", [session.title or "(no title)" for session, _ in noticed], 7, 20),
            Column("HOW", [_how(session, signs) for session, signs in noticed], 8, 20, style="yellow"),
            Column("WRITTEN", [ago(file_time(max(sign.written_ns for sign in signs)), now) for _, signs in noticed], 6),
        )
    )


def _how(session: Session, signs: list[UseEvidence]) -> str:
    """Every sign once, and which of them are of sub-agents alone."""
    own = dict.fromkeys(sign.words for sign in signs if sign.path == session.path)
    others = dict.fromkeys(sign.words for sign in signs if sign.words not in own)
    return ", ".join([*own, *(f"a sub-agent {words}" for words in others)])


def _unknown(ways: InUseMethods) -> list[str]:
    """What cannot be known on this system."""
    notes = (
        (not ways.locks, "this system has no locks that could be probed: a lock is not noticed"),
        (ways.locks and not ways.holders, "this system does not tell who holds a lock"),
        (not ways.handles, "this system does not tell who has a file open: such sessions are not noticed"),
        (ways.hidden > 0, f"processes of others that could not be looked into: {ways.hidden}"),
    )
    return [note for holds, note in notes if holds]


def _record(signs: Signs, ways: InUseMethods) -> dict[str, Any]:
    return {
        "ways": {"lock": ways.locks, "lock_holder": ways.holders, "open": ways.handles, "written": True},
        "hidden_processes": ways.hidden,
        "sessions": [
            {
                "id": display_path(session.id),
                "title": session.title,
                "path": display_path(session.path),
                "in_use": _is_used(found),
                "evidence": [_evidence(sign) for sign in found],
            }
            for session, found in signs
        ],
    }


def _evidence(sign: UseEvidence) -> dict[str, Any]:
    return {
        "how": sign.how,
        "path": display_path(sign.path),
        "pid": sign.process.pid if sign.process else None,
        "process": sign.process.name if sign.process else None,
        "written_at": file_time(sign.written_ns),
    }
