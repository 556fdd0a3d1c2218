"""What a search found, without its screen: sessions, the hit of each that is shown, and the texts about them.

Nothing here imports the search, whose library may be missing: whoever starts a search does.
"""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.util.dirs import SHORT_PROGRAM
from claude_session_player.util.humanize import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from claude_session_player.search import SearchReport, SessionHits
    from claude_session_player.store import Session

_LEAST_PREFIX: Final = 2
"""The letters from which on an unfinished word stands for all words that begin so."""
_PREFIX_FIELDS: Final = ("tool:", "path:", "cmd:")
"""The fields whose values may be unfinished, too."""
_OR: Final = "OR"
_MOST_WORDS: Final = 12
"""How many different matching words are highlighted in a session."""


def typed_query(text: str) -> str:
    """What is searched for while a query is typed: its last word may be unfinished, so that any ending will do.

    >>> [typed_query(text) for text in ("boil ket", "k", "kettle ", "tea OR", "tool:Ba", "in:prompt", "main()")]
    ['boil ket*', 'k', 'kettle', 'tea OR', 'tool:Ba*', 'in:prompt', 'main()']
    >>> typed_query('"hot wat'), typed_query('"hot water" ke')
    ('"hot wat', '"hot water" ke*')
    """
    word = text.rpartition(" ")[2]
    is_open = text.count('"') % 2 == 1 or not word[-1:].isalnum() or word == _OR
    value = next((word.removeprefix(field) for field in _PREFIX_FIELDS if word.startswith(field)), word)
    if is_open or ":" in value or '"' in value or len(value.lstrip("-(")) < _LEAST_PREFIX:
        return text.strip()
    return f"{text.strip()}*"


def short_reason(message: str) -> str:
    """What is wrong with a query, without the advice: the words are still being typed.

    >>> short_reason('the quote is not closed: add a " at the end of the phrase')
    'the quote is not closed'
    """
    return message.partition(": ")[0]


class SearchRequest(NamedTuple):
    """What is searched for, in which project, and in which order the sessions are wanted."""

    text: str
    project: str | None
    order: str

    @property
    def query(self) -> str:
        """The query, as far as it is typed."""
        return typed_query(self.text)


class HitText(NamedTuple):
    """What is shown of a hit: who said it, and a part of the text with the places of the words in it."""

    source: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words that match, in lower case, each once."""
        return tuple(dict.fromkeys(self.text[start:end].lower() for start, end in self.spans))


class HitPlace(NamedTuple):
    """Where a hit is."""

    session: Session
    """The session or sub-agent whose file holds it."""
    line: int
    """0 if it is in a file beside that of the session."""
    number: int
    """Its number among the hits of the row, from 1."""
    total: int
    """How many hits the row has."""


HitKey = tuple[int, int]
"""Identifies a hit: the position of its row, and its number there, from 0."""


def play_command(place: HitPlace, roots: Sequence[str]) -> str:
    """The command that plays a session of some stores from a hit on."""
    start = ["--from", str(place.line)] if place.line else []
    stores = [word for root in roots for word in ("--root", root)]
    return shlex.join((SHORT_PROGRAM, "play", place.session.id, *start, *stores))


class HitList:
    """The sessions that a query found, the best first, and for each of them one hit that is shown.

    Only `load` takes time; it may run in any thread.
    """

    def __init__(
        self,
        request: SearchRequest,
        groups: Sequence[SessionHits],
        sessions: Mapping[str, Session],
        report: SearchReport,
    ) -> None:
        """`sessions` are those of the store, by the names of their files."""
        self.request = request
        self.report = report
        self._groups = groups
        self._positions = {group.session.file.name: position for position, group in enumerate(groups)}
        self._sessions = sessions
        self._shown: dict[int, int] = {}
        """The numbers of the shown hits, by position, where it is not the first."""
        self._texts: dict[HitKey, HitText] = {}
        self._last_texts: dict[int, HitText] = {}
        """The texts that were shown last, by position."""

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def heads(self) -> list[Session]:
        """The sessions that have hits, in themselves or in their sub-agents."""
        return [group.session for group in self._groups]

    def count_in(self, name: str) -> int:
        """How many hits a session has, by the name of its file."""
        position = self._positions.get(name)
        return 0 if position is None else self._groups[position].count

    def place(self, position: int) -> HitPlace:
        """Where the shown hit of a session is."""
        number = self._shown.get(position, 0)
        group = self._groups[position]
        match = group.matches[number]
        session = self._sessions[match.name]
        line = match.line if match.name == session.file.name else 0
        return HitPlace(session, line, number + 1, group.count)

    def loader(self, position: int) -> Callable[[], HitText]:
        """Loads the text of the hit of a session that is shown now."""
        key = position, self._shown.get(position, 0)
        text = self._texts.get(key)
        return partial(self._load, *key) if text is None else lambda: text

    def lines(self, position: int) -> tuple[int, ...]:
        """The lines of all hits that are in the same file as the shown one."""
        name = self.place(position).session.file.name
        return tuple(sorted({match.line for match in self._groups[position].matches if match.name == name}))

    def step(self, position: int, direction: int) -> int | None:
        """Show the next hit of a session, or the previous one; returns the position of the row that has it.

        The hits of the next session follow those of one, and the last ones of the session before precede them. `None`
        if there are no more.
        """
        number = self._shown.get(position, 0) + direction
        if not 0 <= number < self._groups[position].count:
            position += direction
            if not 0 <= position < len(self._groups):
                return None
            number = 0 if direction > 0 else self._groups[position].count - 1
        self._shown[position] = number
        return position

    def take_places(self, other: HitList) -> None:
        """Show the same hits as the list of an earlier search for the same, where there still are as many."""
        for position, number in other._shown.items():
            new = self._positions.get(other._groups[position].session.file.name)
            if new is not None and number < self._groups[new].count:
                self._shown[new] = number

    # --- texts ----------------------------------------------------------------------------------

    def text(self, position: int) -> HitText | None:
        """The text of the shown hit of a session. Until it is loaded, that of the hit before it, if there is one."""
        text = self._texts.get((position, self._shown.get(position, 0)))
        if text is not None:
            self._last_texts[position] = text
        return self._last_texts.get(position)

    def words(self, position: int) -> tuple[str, ...]:
        """Words to highlight in a session: those that match in its loaded texts, and then those of others."""
        texts = sorted(self._texts.items(), key=lambda item: item[0][0] != position)
        return tuple(dict.fromkeys(word for _, text in texts for word in text.words))[:_MOST_WORDS]

    def missing(self, positions: Iterable[int]) -> list[HitKey]:
        """The shown hits of some rows whose texts are not loaded yet."""
        keys = ((position, self._shown.get(position, 0)) for position in positions if position < len(self))
        return [key for key in keys if key not in self._texts]

    def load(self, keys: Iterable[HitKey]) -> dict[HitKey, HitText]:
        """Load the texts of hits."""
        return {key: self._load(*key) for key in keys}

    def keep(self, texts: Mapping[HitKey, HitText]) -> None:
        """Keep texts that were loaded."""
        self._texts.update(texts)

    def _load(self, position: int, number: int) -> HitText:
        match = self._groups[position].matches[number]
        try:
            found = match.load()
        except (OSError, ValueError):  # the index was deleted meanwhile
            found = None
        if found is None:
            return HitText(match.field, "")
        mark = "↳ " if self._sessions[match.name].is_subagent else ""
        return HitText(f"{mark}{found.tool or found.field}", *found.snippet)

    # --- what is said about it ------------------------------------------------------------------

    def status(self, position: int) -> str:
        """Which hit is shown, and how many sessions have any."""
        if not self._groups:
            return "no hits"
        place = self.place(position)
        sessions = f"{len(self)}+ sessions" if self.report.is_limited else plural(len(self), "session")
        return f"hit {place.number} of {place.total} · {sessions}"
