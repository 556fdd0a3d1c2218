"""What a store holds beside sessions: todos, memories, settings, projects, workflow runs, and large tool outputs."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store.layout import (
    JSON_SUFFIX,
    PROJECTS_DIR,
    TOOL_RESULTS_DIR,
    WORKFLOW,
    WORKFLOW_PREFIX,
    WORKFLOWS_DIR,
    ReadProblem,
    SessionFile,
    SessionKind,
    file_stamp,
    project_dir_spellings,
)
from claude_session_player.util.fsutil import small_opener
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.store.session import Session


def read_documents(folder: str, problems: list[ReadProblem], suffix: str = ".json") -> Iterator[tuple[str, Any]]:
    """The path and the value of every JSON file of a directory, which may be missing."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(suffix) and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(ReadProblem(folder, error.strerror or str(error)))
        return
    for name in names:
        path = os.path.join(folder, name)
        if (value := read_document(path, problems)) is not None:
            yield path, value


def scalar_text(value: Any) -> str | None:
    """A value as text: numbers and flags are spelled out; `None` for anything larger.

    >>> scalar_text("a"), scalar_text(7), scalar_text([7]), scalar_text(None)
    ('a', '7', None, None)
    """
    if isinstance(value, str):
        return value
    return None if value is None or isinstance(value, dict | list) else str(value)


def read_document(path: str, problems: list[ReadProblem]) -> Any:
    """The value of a JSON file; `None`, and one more problem, if it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=small_opener) as file:
            return json.load(file)
    except OSError as error:
        problems.append(ReadProblem(path, error.strerror or str(error)))
    except (ValueError, RecursionError):
        problems.append(ReadProblem(path, "not JSON"))
    return None


_MEMORIES: Final = "memories"


class Memory(NamedTuple):
    """Something to remember."""

    id: str
    content: str
    created: str | None
    updated: str | None
    tags: list[str]
    projects: list[str]
    path: str


def memories_of(
    roots: Sequence[str], project: str | None, tag: str | None, problems: list[ReadProblem]
) -> list[Memory]:
    """The memories of some stores, the last changed first; only those of a project or with a tag, if given."""
    found = []
    for root in roots:
        for path, value in read_documents(os.path.join(root, _MEMORIES), problems):
            if isinstance(value, dict):
                found.append(_memory(path, value))
            else:
                problems.append(ReadProblem(path, "not a JSON object"))
    wanted = [memory for memory in found if _has(tag, memory.tags, whole=True) and _has(project, memory.projects)]
    return sorted(wanted, key=lambda memory: memory.updated or memory.created or "", reverse=True)


def _memory(path: str, value: dict[str, Any]) -> Memory:
    name = os.path.basename(path).removesuffix(".json")
    return Memory(
        id=scalar_text(value.get("id")) or display_path(name),
        content=scalar_text(value.get("content")) or "",
        created=scalar_text(value.get("created")),
        updated=scalar_text(value.get("updated")),
        tags=_texts(value.get("tags")),
        projects=_texts(value.get("projects")),
        path=display_path(path),
    )


def _has(word: str | None, texts: Sequence[str], whole: bool = False) -> bool:
    if word is None:
        return True
    wanted = word.casefold()
    return any(wanted == text.casefold() if whole else wanted in text.casefold() for text in texts)


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


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
    """The real path of the project; the name of its directory if its sessions name no path, or several."""
    session_id: str | None
    agent_id: str | None
    path: str


def todos_of(
    roots: Sequence[str], sessions: Sequence[Session], project: str | None, problems: list[ReadProblem]
) -> list[Todo]:
    """The todos of some stores; only those of a project, if a part of its path or its directory's name is given."""
    paths: dict[str, set[str]] = {}
    for one in sessions:
        if one.project and not one.is_subagent:
            paths.setdefault(one.file.home, set()).add(one.project)
    owners = {session.id: session for session in sessions}
    found: list[tuple[Todo, str]] = []
    for root in roots:
        for home in _project_folders(os.path.join(root, PROJECTS_DIR)):
            known = paths.get(home, set())
            real = next(iter(known)) if len(known) == 1 else os.path.basename(home)
            found += [(todo, os.path.basename(home)) for todo in _listed(os.path.join(home, _NAME), real, problems)]
        for path, value in read_documents(os.path.join(root, _TODOS), problems):
            session = owners.get(_session_id(path))
            directory = session.file.project or "" if session else ""
            real_path = session.project if session else None
            found += [(todo, directory) for todo in _of_session(path, value, real_path, problems)]
    return [todo for todo, directory in found if _is_wanted(project, todo, directory)]


def _is_wanted(project: str | None, todo: Todo, directory: str) -> bool:
    if project is None:
        return True
    wanted = project.casefold()
    return (
        wanted in (todo.project or "").casefold()
        or directory in project_dir_spellings(project)
        or wanted in directory.casefold()
    )


def _project_folders(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if os.path.isfile(os.path.join(folder, name, _NAME)):
            yield os.path.join(folder, name)


def _listed(path: str, project: str, problems: list[ReadProblem]) -> Iterator[Todo]:
    """The todos of a `todo.jsonl`, a project's list; any other line is a problem."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=small_opener) as file:
            lines = file.read().split("\n")
    except OSError as error:
        problems.append(ReadProblem(path, error.strerror or str(error)))
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
            problems.append(ReadProblem(path, f"line {number} is not a todo"))


def _of_session(path: str, value: Any, project: str | None, problems: list[ReadProblem]) -> Iterator[Todo]:
    items: Iterable[Any] = value.get("todos", ()) if isinstance(value, dict) else value
    if not isinstance(items, list | tuple):
        problems.append(ReadProblem(path, "not a list of todos"))
        return
    yield from (_todo(item, path, project, _session_id(path)) for item in items if isinstance(item, dict))


def _todo(value: dict[str, Any], path: str, project: str | None, session: str | None) -> Todo:
    done = value.get("completed")
    status = scalar_text(value.get("status")) or (COMPLETED if done is True else PENDING)
    stem = os.path.basename(path).removesuffix(".json")
    agent = stem.partition(_AGENT)[2] if session else ""
    return Todo(
        id=scalar_text(value.get("id")),
        text=scalar_text(value.get("text"))
        or scalar_text(value.get("content"))
        or scalar_text(value.get("subject"))
        or "",
        status=status,
        created=scalar_text(value.get("created")),
        project=project,
        session_id=session,
        agent_id=agent if agent and agent != session else None,
        path=display_path(path),
    )


def _session_id(path: str) -> str:
    return os.path.basename(path).removesuffix(".json").partition(_AGENT)[0]


MASK: Final = "********"
_NAMES: Final = ("settings.json", "settings.local.json")
_DEEPEST: Final = 100
_WORDS: Final = r"token|secret|passw|passphrase|pwd|credential|cookie|bearer|signature|api[_-]?key|access[_-]?key|jwt"
_SECRET_KEY: Final = re.compile(
    rf"(?i:{_WORDS}|header|dsn|private[_-]?key|auth(?!or)|(?:^|_)pass$|_pat$)|(?<![a-z])[kK]eys?$|[a-z]Keys?$|_KEYS?$"
)
_NOT_SECRET: Final = re.compile(r"(?im)helper\n?\Z|^(?>.*?max).*?token|tokens?_(?:limit|count)")
_SECRET_NUMBER: Final = re.compile(r"(?i)secret|passw|pwd|passphrase|(?:^|_)pass$|(?:^|_)pin$")
_SECRET_FLAG: Final = re.compile(rf"(?i)(?=--?[\w-]*?(?:{_WORDS}|auth))-[\w-]*+|-u|--user")
# Patterns search a name for a word once, from its beginning, and never backtrack into it: else a long name would be
# searched again from each of its letters.
_VALUE: Final = r"""(?:"[^"]*"|'[^']*'|[^\s"'&]+)"""
_SECRETS: Final = (
    re.compile(r"\b(?:sk|pk|rk)-[\w-]{8,}"),  # API keys
    re.compile(r"\b(?:gh[a-z]|github_pat|glpat|xox[a-z]|npm|pypi|hf|AIza|ya29|dop_v1|shp\w\w)[_-]?[\w.-]{16,}"),
    re.compile(r"\bA[KS]IA[A-Z0-9]{12,}\b"),
    re.compile(r"(?<![\w-])(?>(?P<kept>[\w-]*?)(?=\beyJ[\w-]{8}))eyJ[\w-]*+\.[\w-]+(?:\.[\w-]*)?"),  # JSON web tokens
    re.compile(r"""(?i)(?<=bearer )[^\s"']+|(?<=basic )[A-Za-z0-9+/=]{8,}"""),
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),  # user and password in an address
    re.compile(rf"(?<=-u )[^\s:]+:{_VALUE}"),
    re.compile(rf"(?i)(?:(?<=\s)|^)(?=--?[\w-]*?(?:{_WORDS}))-[\w-]*+[ =]{_VALUE}"),
    re.compile(rf"(?i)(?<![\w-])(?=[\w-]*?(?:{_WORDS}))[\w-]++\s*+[=:]\s*+{_VALUE}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", re.DOTALL),
    re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}={0,2}"),  # long random words
)


class Settings(NamedTuple):
    """One settings file."""

    path: str
    settings: Any


def settings_of(roots: Sequence[str], problems: list[ReadProblem]) -> list[Settings]:
    """The settings files of some stores, with secrets masked."""
    paths = [os.path.join(root, name) for root in roots for name in _NAMES]
    read = ((path, read_document(path, problems)) for path in paths if os.path.lexists(path))
    return [Settings(display_path(path), mask_secrets(value)) for path, value in read if value is not None]


def mask_secrets(value: Any, key: str = "", depth: int = 0) -> Any:
    """A copy without secrets: values of keys that name one, and whatever looks like one anywhere.

    >>> mask_secrets({"env": {"API_KEY": "hunter2"}, "max_tokens": 4096, "hook": "curl -H 'Authorization: Bearer abc'"})
    {'env': {'API_KEY': '********'}, 'max_tokens': 4096, 'hook': "curl -H 'Authorization: Bearer ********'"}
    """
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {name: mask_secrets(item, _secret_key(name) or key, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        pairs = zip(["", *value], value, strict=False)
        return [mask_secrets(item, key or _secret_flag(before), depth + 1) for before, item in pairs]
    if isinstance(value, str):
        return MASK if key and value and not _is_plain_number(key, value) else _without_secrets(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return MASK if is_number and _SECRET_NUMBER.search(key) else value


def _secret_key(name: str) -> str:
    """The key if it names a secret, else nothing."""
    return name if _SECRET_KEY.search(name) and not _NOT_SECRET.search(name) else ""


def _secret_flag(argument: Any) -> str:
    """An argument of a command if the next one is a secret, else nothing."""
    return argument if isinstance(argument, str) and _SECRET_FLAG.fullmatch(argument) else ""


def _is_plain_number(key: str, value: str) -> bool:
    """True for a number of tokens, and not for a password of digits."""
    return value.isdigit() and len(value) < 8 and not _SECRET_NUMBER.search(key)


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(_masked_match, text)
    return text


def _masked_match(match: re.Match[str]) -> str:
    """The mask in place of a secret, after the part of the match that is kept."""
    return (match["kept"] if "kept" in match.re.groupindex else "") + MASK


class Project(NamedTuple):
    """A real path in which sessions took place, and the directory of the store that holds them."""

    path: str | None
    """`None` if no file of the directory names it."""
    directory: str
    sessions: int
    subagents: int
    size: int
    """Of all its files, including those of sub-agents."""
    updated_at: str


def projects_of(sessions: Iterable[Session]) -> list[Project]:
    """The projects, the last active first.

    Two real paths that share a directory are two projects. A session that names no path belongs to the only project of
    its directory, if there is only one; a sub-agent belongs to the project of its session.
    """
    known: dict[str, dict[str | None, list[Session]]] = {}
    sessions = [session for session in sessions if session.file.project]
    homes = {(s.file.home, s.id): s.project for s in sessions if s.file.kind == SessionKind.SESSION and s.project}
    for session in sessions:
        path = homes.get((session.file.home, session.parent_id or ""), session.project)
        known.setdefault(session.file.home, {}).setdefault(path, []).append(session)
    projects = []
    for home, by_path in known.items():
        if len(by_path) == 2 and None in by_path:
            unnamed = by_path.pop(None)
            next(iter(by_path.values())).extend(unnamed)
        projects += [_project(path, home, some) for path, some in by_path.items()]
    return sorted(projects, key=lambda project: (project.updated_at, project.directory), reverse=True)


def _project(path: str | None, home: str, sessions: list[Session]) -> Project:
    main = [session for session in sessions if not session.is_subagent]
    return Project(
        path=path,
        directory=display_path(home),
        sessions=len(main),
        subagents=len(sessions) - len(main),
        size=sum(session.file.stamp.size for session in sessions),
        updated_at=max(session.updated_at for session in sessions),
    )


_OPEN, _CLOSE, _SAVED_TO = "<persisted-output>", "</persisted-output>", "saved to: "


class OutputReference(NamedTuple):
    """A part of a text that stands for an output in a file: its position, and the name of that file."""

    start: int
    end: int
    name: str


def workflow_files(session: SessionFile) -> list[SessionFile]:
    """The files about the workflow runs of a session, as session files, so that changes to them are noticed alike."""
    if session.kind != SessionKind.SESSION or session.label:
        return []
    try:
        with os.scandir(os.path.join(session.own_dir, WORKFLOWS_DIR)) as entries:
            runs = [e for e in entries if e.name.startswith(WORKFLOW_PREFIX) and e.name.endswith(JSON_SUFFIX)]
            stats = [(entry, entry.stat()) for entry in runs if entry.is_file()]
    except OSError:  # almost always: there is no such directory
        return []
    return [
        SessionFile(entry.path, entry.name.removesuffix(JSON_SUFFIX), WORKFLOW, file_stamp(status), home=session.home)
        for entry, status in stats
    ]


def output_resolver(files: Sequence[SessionFile], *, is_once: bool = False) -> Callable[[str], str]:
    """A function that replaces references in texts of sessions by the outputs they refer to.

    With `is_once`, for the texts of one transcript, only the first reference to an output is replaced, because many
    results may refer to one output.
    """
    known = set[str]()
    return lambda text: resolve_output(text, files, known if is_once else None)


def resolve_output(text: str, files: Sequence[SessionFile], known: set[str] | None = None) -> str:
    """A result with the whole output that it refers to; unchanged, with a note, if that is gone.

    Only the name counts: the store may have been moved, and nothing outside the sessions' directories is read. Outputs
    that are `known` already are not inserted again.
    """
    if _OPEN not in text:
        return text
    parts, at = list[str](), 0
    known = set() if known is None else known
    for reference in find_references(text):
        if reference.name not in known:  # an output is inserted once, however often a text refers to it
            known.add(reference.name)
            parts += (text[at : reference.start], _whole(text[reference.start : reference.end], reference.name, files))
            at = reference.end
    return "".join(parts) + text[at:]


def find_references(text: str) -> Iterator[OutputReference]:
    """The references in a text, in order; one that is not closed extends to the end."""
    end = 0
    while (start := text.find(_OPEN, end)) >= 0:
        place = text.find(_SAVED_TO, start + len(_OPEN))
        while place >= 0 and text.startswith("\n", place + len(_SAVED_TO)):
            place = text.find(_SAVED_TO, place + len(_SAVED_TO))
        line_end = text.find("\n", place) if place >= 0 else -1
        if line_end < 0:  # what is missing here is missing after every further tag as well
            return
        rest = text[place + len(_SAVED_TO) : line_end]
        path = rest.rstrip() or rest[:1]
        close = text.find(_CLOSE, line_end)
        end = close + len(_CLOSE) if close >= 0 else len(text)
        yield OutputReference(start, end, path.replace("\\", "/").rpartition("/")[2])


def persisted_name(text: str) -> str | None:
    """The name of the file with the whole output, if a result is nothing but a reference to it.

    >>> persisted_name("<persisted-output>\\nFull output saved to: /home/ada/tool-results/b1.txt\\n\\nPreview:")
    'b1.txt'
    """
    if not text.startswith(_OPEN):
        return None
    reference = next(find_references(text), None)
    return reference.name if reference is not None else None


def _whole(text: str, name: str, files: Sequence[SessionFile]) -> str:
    """The output that a reference stands for."""
    reason = ""
    for owner in files:
        folder = os.path.join(owner.home, owner.parent or owner.id, TOOL_RESULTS_DIR)
        path = os.path.join(folder, name)
        inside = os.path.join(os.path.realpath(os.path.dirname(folder)), TOOL_RESULTS_DIR, name)
        try:
            if os.path.realpath(path) != inside:
                raise OSError(0, "a link")
            with open(path, encoding="utf-8", errors="replace", opener=small_opener) as file:
                return file.read().rstrip()
        except (OSError, ValueError) as error:
            reason = f"{display_path(owner.name_of(path))}: {getattr(error, 'strerror', None) or error}"
    return f"{text}\n(the whole output is missing: {reason})"
