"""`locks`: list the sessions that are in use, with the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from claude_session_player.cli._options import examples, json_option, store_options, utc_option
from claude_session_player.cli._output import note, print_object, say
from claude_session_player.cli._refs import complete_ref, find_session, needs_store
from claude_session_player.errors import SessionInUse
from claude_session_player.util.text import display_path, printable
from claude_session_player.util.times import file_time

if TYPE_CHECKING:
    from claude_session_player.cli._options import StoreOptions
    from claude_session_player.store import InUseMethods, Session, UseEvidence

    Evidence = list[tuple[Session, list[UseEvidence]]]


@click.command(epilog=examples(("locks", "all sessions in use"), ("locks 1f2e || echo in use", "a test for scripts")))
@click.argument("ref", required=False, shell_complete=complete_ref)
@json_option
@utc_option
@store_options
def command(ref: str | None, as_json: bool, stores: StoreOptions) -> int:
    """List sessions in use, or test one of them.

    A session is in use if a process holds an exclusive lock on its file or on that of a sub-agent, has one of them open
    for writing, or wrote to one in the last minute; a modification time in the future counts, too. Readers are listed,
    but do not count. Locks are probed without waiting and without changing the file. Open files are known where the
    system has /proc. A session that is open in Claude Code, but idle, leaves no trace.

    With REF (see 'help refs') the exit code is 9 if that session is in use, else 0.
    """
    with stores.open(required=ref is None or needs_store(ref)) as store:
        sessions = store.sessions() if ref is None else [find_session(store, ref)]
        look = store.look_for_use()
        known = [file.id for file in store.files()]
    everything = [(session, look.evidence(session.paths)) for session in sessions]
    noticed = [(session, signs) for session, signs in everything if signs]
    used = [session for session, signs in noticed if _is_used(signs)]
    exit_code = SessionInUse.exit_code if ref and used else 0
    if as_json:
        print_object(_record(everything if ref else noticed, look.methods))
        return exit_code
    if noticed:
        _print_table(noticed, known)
    if not used:
        one = printable(f"Session {display_path(sessions[0].id)} is not in use.") if ref else ""
        say(one or "No session is in use.")
    for message in _limits(look.methods):
        note(message)
    return exit_code


def _is_used(signs: list[UseEvidence]) -> bool:
    return any(sign.is_use for sign in signs)


def _print_table(noticed: Evidence, known: list[str]) -> None:
    """A line for each session."""
    from claude_session_player.cli._tables import Column, print_table, short_ids
    from claude_session_player.util.humanize import ago
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


def _limits(ways: InUseMethods) -> list[str]:
    """What cannot be known on this system."""
    notes = (
        (not ways.locks, "this system has no locks that can be probed: a lock is not noticed"),
        (ways.locks and not ways.holders, "this system does not show who holds a lock"),
        (not ways.handles, "this system does not show who has a file open: such sessions are not noticed"),
        (ways.hidden > 0, f"processes of other users that could not be inspected: {ways.hidden}"),
    )
    return [message for applies, message in notes if applies]


def _record(evidence: Evidence, ways: InUseMethods) -> dict[str, Any]:
    return {
        "ways": {"lock": ways.locks, "lock_holder": ways.holders, "open": ways.handles, "written": True},
        "hidden_processes": ways.hidden,
        "sessions": [
            {
                "id": display_path(session.id),
                "title": session.title,
                "path": display_path(session.path),
                "in_use": _is_used(signs),
                "evidence": [_sign_record(sign) for sign in signs],
            }
            for session, signs in evidence
        ],
    }


def _sign_record(sign: UseEvidence) -> dict[str, Any]:
    return {
        "how": sign.how,
        "path": display_path(sign.path),
        "pid": sign.process.pid if sign.process else None,
        "process": sign.process.name if sign.process else None,
        "written_at": file_time(sign.written_ns),
    }
