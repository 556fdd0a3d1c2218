"""Todo lists: `todo.jsonl` in a project's directory, and `todos/*.json`, one for each session or sub-agent."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.store.layout import SESSION, TOOL_RESULTS, ReadProblem, SessionFile
from claude_session_player.store.roots import PROJECTS, project_dir_spellings
from claude_session_player.util.fsutil import small_opener
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from claude_session_player.store.session import Session


def read_documents(folder: str, troubles: list[ReadProblem], suffix: str = ".json") -> Iterator[tuple[str, Any]]:
    """The path and the value of every JSON file of a directory; there may be no such directory."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(suffix) and not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        troubles.append(ReadProblem(folder, error.strerror or str(error)))
        return
    for name in names:
        path = os.path.join(folder, name)
        if (value := read_document(path, troubles)) is not None:
            yield path, value


def scalar_text(value: Any) -> str | None:
    """A value as text: numbers and flags are spelled out, anything larger is none.

    >>> scalar_text("a"), scalar_text(7), scalar_text([7]), scalar_text(None)
    ('a', '7', None, None)
    """
    if isinstance(value, str):
        return value
    return None if value is None or isinstance(value, dict | list) else str(value)


def read_document(path: str, troubles: list[ReadProblem]) -> Any:
    """The value of a JSON file; `None` where it cannot be read, and then there is a trouble more."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=small_opener) as file:
            return json.load(file)
    except OSError as error:
        troubles.append(ReadProblem(path, error.strerror or str(error)))
    except (ValueError, RecursionError):
        troubles.append(ReadProblem(path, "not JSON"))
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
    roots: Sequence[str], project: str | None, tag: str | None, troubles: list[ReadProblem]
) -> list[Memory]:
    """The memories of some stores, the last changed first; those of a project, or with a tag, where one is given."""
    found = []
    for root in roots:
        for path, value in read_documents(os.path.join(root, _MEMORIES), troubles):
            if isinstance(value, dict):
                found.append(_memory(path, value))
            else:
                troubles.append(ReadProblem(path, "not a JSON object"))
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
    """The real path of the project; where its sessions tell none, or several, the name of its directory."""
    session_id: str | None
    agent_id: str | None
    path: str


def todos_of(
    roots: Sequence[str], sessions: Sequence[Session], project: str | None, troubles: list[ReadProblem]
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
        for path, value in read_documents(os.path.join(root, _TODOS), troubles):
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


def _listed(path: str, project: str, troubles: list[ReadProblem]) -> Iterator[Todo]:
    """The todos of a `todo.jsonl`; a line that is none is a trouble."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace", opener=small_opener) as file:
            lines = file.read().split("\n")
    except OSError as error:
        troubles.append(ReadProblem(path, error.strerror or str(error)))
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
            troubles.append(ReadProblem(path, f"line {number} is no todo"))


def _of_session(path: str, value: Any, project: str | None, troubles: list[ReadProblem]) -> Iterator[Todo]:
    items: Iterable[Any] = value.get("todos", ()) if isinstance(value, dict) else value
    if not isinstance(items, list | tuple):
        troubles.append(ReadProblem(path, "not a list of todos"))
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
# Patterns look for a word inside of a name once, where the name begins, and never give back what they took of it: else
# a long name is searched again from each of its letters.
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


def settings_of(roots: Sequence[str], troubles: list[ReadProblem]) -> list[Settings]:
    """The settings files of some stores, with secrets masked."""
    paths = [os.path.join(root, name) for root in roots for name in _NAMES]
    read = ((path, read_document(path, troubles)) for path in paths if os.path.lexists(path))
    return [Settings(display_path(path), mask_secrets(value)) for path, value in read if value is not None]


def mask_secrets(value: Any, key: str = "", depth: int = 0) -> Any:
    """A copy without secrets: what stands under a key that names one, and what looks like one anywhere.

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
    """The key, where it names a secret."""
    return name if _SECRET_KEY.search(name) and not _NOT_SECRET.search(name) else ""


def _secret_flag(argument: Any) -> str:
    """An argument of a command, where the next one is a secret."""
    return argument if isinstance(argument, str) and _SECRET_FLAG.fullmatch(argument) else ""


def _is_plain_number(key: str, value: str) -> bool:
    """True for a number of tokens, and not for a password of digits."""
    return value.isdigit() and len(value) < 8 and not _SECRET_NUMBER.search(key)


def _without_secrets(text: str) -> str:
    for secret in _SECRETS:
        text = secret.sub(_masked_match, text)
    return text


def _masked_match(match: re.Match[str]) -> str:
    """The mask in place of a secret, behind the part of its name that is kept."""
    return (match["kept"] if "kept" in match.re.groupindex else "") + MASK


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


_OPEN, _CLOSE, _SAVED_TO = "<persisted-output>", "</persisted-output>", "saved to: "


class OutputReference(NamedTuple):
    """A part of a text that stands for an output in a file: where it is, and the name of that file."""

    start: int
    end: int
    name: str


def output_resolver(files: Sequence[SessionFile], *, is_once: bool = False) -> Callable[[str], str]:
    """Gives texts of sessions with all outputs in full that they refer to.

    With `is_once`, for texts that are told in one transcript: only the first that refers to an output has it in full,
    because n results may refer to one output.
    """
    known = set[str]()
    return lambda text: resolve_output(text, files, known if is_once else None)


def resolve_output(text: str, files: Sequence[SessionFile], known: set[str] | None = None) -> str:
    """A result with the whole output that it refers to; as it is, with a remark, where that is gone.

    Only the name counts: the store may have moved, and nothing outside of the sessions' directories is read. What is
    `known` already is not put in again.
    """
    if _OPEN not in text:
        return text
    parts, at = list[str](), 0
    known = set() if known is None else known
    for reference in find_references(text):
        if reference.name not in known:  # an output is told once, however often a text refers to it
            known.add(reference.name)
            parts += (text[at : reference.start], _whole(text[reference.start : reference.end], reference.name, files))
            at = reference.end
    return "".join(parts) + text[at:]


def find_references(text: str) -> Iterator[OutputReference]:
    """The references in a text, one behind the other; what is never closed goes on to the end."""
    end = 0
    while (start := text.find(_OPEN, end)) >= 0:
        place = text.find(_SAVED_TO, start + len(_OPEN))
        while place >= 0 and text.startswith("\n", place + len(_SAVED_TO)):
            place = text.find(_SAVED_TO, place + len(_SAVED_TO))
        line_end = text.find("\n", place) if place >= 0 else -1
        if line_end < 0:  # what is missing here is missing behind every further tag, too
            return
        told = text[place + len(_SAVED_TO) : line_end]
        path = told.rstrip() or told[:1]
        close = text.find(_CLOSE, line_end)
        end = close + len(_CLOSE) if close >= 0 else len(text)
        yield OutputReference(start, end, path.replace("\\", "/").rpartition("/")[2])


def persisted_name(text: str) -> str | None:
    """The name of the file with the whole output, where a result is nothing but a reference to it.

    >>> persisted_name("<persisted-output>\\nFull output saved to: /home/ada/tool-results/b1.txt\\n\\nPreview:")
    'b1.txt'
    """
    if not text.startswith(_OPEN):
        return None
    found = next(find_references(text), None)
    return found.name if found is not None else None


def _whole(text: str, name: str, files: Sequence[SessionFile]) -> str:
    """The output that a reference stands for."""
    reason = ""
    for found in files:
        folder = os.path.join(found.home, found.parent or found.id, TOOL_RESULTS)
        path = os.path.join(folder, name)
        try:
            if os.path.realpath(path) != os.path.join(os.path.realpath(os.path.dirname(folder)), TOOL_RESULTS, name):
                raise OSError(0, "a link")
            with open(path, encoding="utf-8", errors="replace", opener=small_opener) as file:
                return file.read().rstrip()
        except (OSError, ValueError) as error:
            reason = f"{display_path(found.called(path))}: {getattr(error, 'strerror', None) or error}"
    return f"{text}\n(the whole output is not there: {reason})"
