"""The projects of a store: real paths, not the names of directories."""

from collections.abc import Iterable
from typing import NamedTuple

from claude_session_player.store.layout import SESSION
from claude_session_player.store.session import Session
from claude_session_player.text import display_path


class Project(NamedTuple):
    """A real path in which sessions took place, and the directory of the store that holds them."""

    path: str | None
    """`None` where no file of the directory tells."""
    directory: str
    sessions: int
    subagents: int
    size: int
    """Of all its files, those of sub-agents included."""
    updated_at: str


def projects_of(sessions: Iterable[Session]) -> list[Project]:
    """The projects, the last active first.

    Two real paths that share a directory are two projects. A session that does not tell its path belongs to the only
    project of its directory, where there is only one; a sub-agent belongs to the project of its session.
    """
    known: dict[str, dict[str | None, list[Session]]] = {}
    sessions = [session for session in sessions if session.found.project]
    homes = {(s.found.home, s.id): s.project for s in sessions if s.found.kind == SESSION and s.project}
    for session in sessions:
        path = homes.get((session.found.home, session.parent_id or ""), session.project)
        known.setdefault(session.found.home, {}).setdefault(path, []).append(session)
    projects = []
    for home, by_path in known.items():
        if len(by_path) == 2 and None in by_path:
            untold = by_path.pop(None)
            next(iter(by_path.values())).extend(untold)
        projects += [_project(path, home, members) for path, members in by_path.items()]
    return sorted(projects, key=lambda project: (project.updated_at, project.directory), reverse=True)


def _project(path: str | None, home: str, members: list[Session]) -> Project:
    main = [session for session in members if not session.is_subagent]
    return Project(
        path=path,
        directory=display_path(home),
        sessions=len(main),
        subagents=len(members) - len(main),
        size=sum(session.found.stamp.size for session in members),
        updated_at=max(session.updated_at for session in members),
    )
