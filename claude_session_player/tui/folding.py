"""The rows of the list of sessions: sessions, and groups of sessions that look alike, folded into one row each.

A script that calls `claude -p` a hundred times would hide everything else in the list. What is folded is still
filtered, searched and counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.linking.titles import TITLE_PRECEDENCE
from claude_session_player.util.text import ELLIPSIS, to_title

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from claude_session_player.store import Session

_GIVEN_TITLE: Final = TITLE_PRECEDENCE[0]
"""The record with which a person names a session."""
_LEAST: Final = 2
"""The number of sessions from which on they are folded."""
_LEAST_SHARED: Final = 20
"""Prompts whose first words alone are the same are shown from their beginning."""


class FoldKey(NamedTuple):
    """What sessions that are folded have in common: the project and, unless only that they are headless, the prompt."""

    project: str
    is_headless: bool
    prompt: str = ""
    topic: str = ""


class SessionRow(NamedTuple):
    """A session in the list."""

    session: Session
    project: str
    """The project of the session, or of a sub-agent's session."""
    haystack: str
    """The text that is filtered, in lower case."""
    fold_key: FoldKey | None = None
    """Sessions with the same one are folded; those without one never are."""
    in_use: bool = False
    state: str = ""
    """What a session in use does, in one word."""
    label: str = ""
    """What tells it from the others of its group, while that is open."""

    @property
    def key(self) -> str:
        """Identifies the session in the list."""
        return self.session.file.name

    @property
    def members(self) -> tuple[SessionRow, ...]:
        """The sessions that the row stands for: this one."""
        return (self,)


class SessionGroup(NamedTuple):
    """Sessions that look alike, in one row of the list; while it is open, they follow it in rows of their own."""

    common: FoldKey
    members: tuple[SessionRow, ...]
    """In the order of the list; at least two."""
    is_open: bool = False

    @property
    def key(self) -> str:
        """Identifies the group in the list. No file has such a name."""
        return "\0".join(("", self.common.project, str(self.common.is_headless), *self.common[2:]))

    @property
    def title(self) -> str:
        """How many sessions there are, and what they have in common."""
        count, prompt = len(self.members), self.common.topic or self.common.prompt
        return f"{count} × {to_title(prompt)}" if prompt else f"{count} headless runs"

    @property
    def latest(self) -> SessionRow:
        """The session that was active last."""
        return max(self.members, key=lambda row: row.session.updated_at)

    @property
    def session(self) -> Session:
        """What keys work with: the session that was active last."""
        return self.latest.session

    @property
    def project(self) -> str:
        """The project of all of them."""
        return self.common.project

    @property
    def in_use(self) -> bool:
        """True if any of them is in use."""
        return any(row.in_use for row in self.members)

    @property
    def state(self) -> str:
        """What the latest one in use does."""
        return next((row.state for row in (self.latest, *self.members) if row.state), "")


ListRow = SessionRow | SessionGroup
"""A row of the list."""


def fold_key(session: Session, project: str) -> FoldKey | None:
    """What a session may have in common with others; `None` for one that is never folded.

    Those are sub-agents, sessions that a person named, and those without a prompt. The prompts of headless runs are
    alike if they begin alike: scripts fill in the rest.
    """
    conversation = session.conversation
    if session.is_subagent or _GIVEN_TITLE in session.facts.titles:
        return None
    if session.is_headless:
        return FoldKey(project, True, topic=conversation.topic or to_title(conversation.first_prompt or ""))
    if not conversation.first_prompt:
        return None
    return FoldKey(project, False, conversation.first_prompt, conversation.topic or "")


def fold_rows(rows: Iterable[SessionRow]) -> list[ListRow]:
    """Rows with those that look alike folded; each session is in exactly one row or group.

    Sessions with the same prompt are folded first, then the remaining headless ones of a project. A group stands where
    its first session was.
    """
    rows = list(rows)
    by_prompt = _groups(rows, [row.fold_key for row in rows])
    left = [row.fold_key._replace(topic="") if row.fold_key and row.fold_key.is_headless else None for row in rows]
    keys = [key if key in by_prompt else other for key, other in zip((row.fold_key for row in rows), left, strict=True)]
    groups = _groups(rows, keys)
    folded: list[ListRow] = []
    for row, key in zip(rows, keys, strict=True):
        if key is None or key not in groups:
            folded.append(row)
        elif groups[key][0] is row:
            folded.append(SessionGroup(key, tuple(groups[key])))
    return folded


def _groups(rows: Sequence[SessionRow], keys: Sequence[FoldKey | None]) -> dict[FoldKey, list[SessionRow]]:
    """The rows with the same key, where there are several."""
    groups: dict[FoldKey, list[SessionRow]] = defaultdict(list)
    for row, key in zip(rows, keys, strict=True):
        if key is not None:
            groups[key].append(row)
    return {key: members for key, members in groups.items() if len(members) >= _LEAST}


def open_groups(rows: Iterable[ListRow], opened: Collection[str]) -> list[ListRow]:
    """The rows of the list, with the sessions of each group whose key is among those that are open below it."""
    shown: list[ListRow] = []
    for row in rows:
        if isinstance(row, SessionGroup) and row.key in opened:
            shown += (row._replace(is_open=True), *_labelled(row.members))
        else:
            shown.append(row)
    return shown


def _labelled(rows: Sequence[SessionRow]) -> list[SessionRow]:
    """The rows of a group, each with its title, or with what its prompt says after the beginning that all share."""
    prompts = [row.session.conversation.first_prompt or "" for row in rows]
    least, most = min(prompts), max(prompts)  # what these two share, all share
    end = next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
    shared = max(least.rfind(" ", 0, end), least.rfind("\n", 0, end)) + 1
    if len(set(prompts)) == 1 or shared < _LEAST_SHARED:
        return [row._replace(label=row.session.title or "(no title)") for row in rows]
    return [
        row._replace(label=f"{ELLIPSIS} {to_title(prompt[shared:])}") for row, prompt in zip(rows, prompts, strict=True)
    ]


def group_of(rows: Sequence[ListRow], position: int) -> SessionGroup | None:
    """The group at a position, or the open one that the session there belongs to."""
    row = rows[position] if rows else None
    if row is None or isinstance(row, SessionGroup):
        return row
    above = next((one for one in rows[position::-1] if isinstance(one, SessionGroup)), None)
    return above if above is not None and above.is_open and row.label else None
