"""Todo lists: `todo.jsonl` in a project's directory, and `todos/*.json`, one for each session or sub-agent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from claude_session_player.regular_file import only_small
from claude_session_player.store.documents import documents, text
from claude_session_player.store.layout import Trouble
from claude_session_player.store.locate import PROJECTS
from claude_session_player.store.paths import spellings
from claude_session_player.store.session import Session
from claude_session_player.text import display_path

_NAME: Final = "todo.jsonl"
_TODOS: Final = "todos"
_AGENT: Final = "-agent-"
PENDING: Final = "pending"
COMPLETED: Final = "completed"


class Todo(NamedTuple):
    """Something to do."""

    id: str | None
    text: str
    status: str
    created: str | None
    project: str | None
    """The real path of the project; where its sessions tell none, or several, the name of its directory."""
    session_id: str | None
    agent_id: str | None
    path: str


def todos_of(
    roots: Sequence[str], sessions: Sequence[Session], project: str | None, troubles: list[Trouble]
) -> list[Todo]:
    """The todos of some stores; of one project, where a part of its path, or its directory's name, is given."""
    paths: dict[str, set[str]] = {}
    for one in sessions:
        if one.project and not one.is_subagent:
            paths.setdefault(one.found.home, set()).add(one.project)
    owners = {session.id: session for session in sessions}
    found: list[tuple[Todo, str]] = []
    for root in roots:
        for home in _project_folders(os.path.join(root, PROJECTS)):
            known = paths.get(home, set())
            real = next(iter(known)) if len(known) == 1 else os.path.basename(home)
            found += [(todo, os.path.basename(home)) for todo in _listed(os.path.join(home, _NAME), real, troubles)]
        for path, value in documents(os.path.join(root, _TODOS), troubles):
            session = owners.get(_session_id(path))
            directory = session.found.project or "" if session else ""
            real_path = session.project if session else None
            found += [(todo, directory) for todo in _of_session(path, value, real_path, troubles)]
    return [todo for todo, directory in found if _is_wanted(project, todo, directory)]


def _is_wanted(project: str | None, todo: Todo, directory: str) -> bool:
    if project is None:
        return True
    wanted = project.casefold()
    return (
        wanted in (todo.project or "").casefold() or directory in spellings(project) or wanted in directory.casefold()
    )


def _project_folders(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if os.path.isfile(os.path.join(folder, name, _NAME)):
            yield os.path.join(folder, name)


def _listed(path: str, project: str, troubles: list[Trouble]) -> Iterator[Todo]:
    """The todos of a `todo.jsonl`; a line that is none is a trouble."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=only_small) as file:
            lines = file.read().split("\n")
    except OSError as error:
        troubles.append(Trouble(path, error.strerror or str(error)))
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield _todo(value, path, project, None)
        else:
            troubles.append(Trouble(path, f"line {number} is no todo"))


def _of_session(path: str, value: Any, project: str | None, troubles: list[Trouble]) -> Iterator[Todo]:
    items: Iterable[Any] = value.get("todos", ()) if isinstance(value, dict) else value
    if not isinstance(items, list | tuple):
        troubles.append(Trouble(path, "not a list of todos"))
        return
    yield from (_todo(item, path, project, _session_id(path)) for item in items if isinstance(item, dict))


def _todo(value: dict[str, Any], path: str, project: str | None, session: str | None) -> Todo:
    done = value.get("completed")
    status = text(value.get("status")) or (COMPLETED if done is True else PENDING)
    stem = os.path.basename(path).removesuffix(".json")
    agent = stem.partition(_AGENT)[2] if session else ""
    return Todo(
        id=text(value.get("id")),
        text=text(value.get("text")) or text(value.get("content")) or text(value.get("subject")) or "",
        status=status,
        created=text(value.get("created")),
        project=project,
        session_id=session,
        agent_id=agent if agent and agent != session else None,
        path=display_path(path),
    )


def _session_id(path: str) -> str:
    return os.path.basename(path).removesuffix(".json").partition(_AGENT)[0]
