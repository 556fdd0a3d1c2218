"""The identity of people and machines in a session: learned from all of its texts, then masked in each."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ahocorasick_rs import AhoCorasick

from claude_session_player.redact import accounts, git_people, home_paths, machines, told_facts
from claude_session_player.redact.common_names import is_generic_user
from claude_session_player.redact.known_names import Fact, KnownName, known_names
from claude_session_player.redact.rule import Find, Kind, Rule
from claude_session_player.redact.sightings import (
    HOME,
    HOST,
    IDENTITY_RULES,
    OWNER,
    USER,
    Sighting,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.redact.sightings import Detector

__all__ = ["IDENTITY_RULES", "Identity"]

_TABLE: Final[tuple[tuple[tuple[str, ...], Detector], ...]] = (
    (home_paths.PATH_ANCHORS, home_paths.home_in_path),
    (home_paths.ENCODED_ANCHORS, home_paths.encoded_home),
    (git_people.EMAIL_ANCHORS, git_people.emails),
    (git_people.GIT_NAME_ANCHORS, git_people.git_names),
    (git_people.REMOTE_ANCHORS, git_people.remotes),
    (machines.LOGIN_ANCHORS, machines.logins),
    (machines.HOST_SUFFIX_ANCHORS, machines.local_hosts),
    (machines.HOST_SETTING_ANCHORS, machines.host_settings),
    (machines.SYSTEM_ANCHORS, machines.system_lines),
    (machines.USER_SETTING_ANCHORS, machines.user_settings),
    (machines.LISTING_ANCHORS, machines.listings),
    (machines.IP_ANCHORS, machines.addresses),
    (machines.IP6_ANCHORS, machines.addresses6),
    (machines.MAC_ANCHORS, machines.mac_addresses),
    (accounts.KEY_ANCHORS, accounts.assigned_ids),
    (accounts.ID_ANCHORS, accounts.known_ids),
)
"""What to look for around which anchors, in lower case."""

_RANKS: Final = {rule.name: rank for rank, rule in enumerate(IDENTITY_RULES)}
_SHORT: Final = 256
_MOST_SHORT_TEXTS: Final = 50_000
_LONGEST_ANSWER: Final = 4000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@cache
def _detectors() -> dict[str, tuple[Detector, ...]]:
    found: defaultdict[str, tuple[Detector, ...]] = defaultdict(tuple)
    for anchors, detector in _TABLE:
        for anchor in anchors:
            found[anchor] += (detector,)
    return dict(found)


class _Matcher:
    """One pass over a text finds all anchors, and all names that are known."""

    def __init__(self, names: Iterable[KnownName] = ()) -> None:
        self.names: defaultdict[str, list[KnownName]] = defaultdict(list)
        for name in names:
            self.names[name.folded].append(name)
        self.words = tuple(dict.fromkeys((*_detectors(), *self.names)))
        self._automaton = AhoCorasick(self.words)

    def hits(self, text: str) -> list[tuple[int, int, int]]:
        """Which words stand where, overlapping ones, too."""
        folded = _folded(text)
        try:
            return self._automaton.find_matches_as_indexes(folded, overlapping=True)
        except UnicodeEncodeError:
            return self._automaton.find_matches_as_indexes(_SURROGATE.sub("?", folded), overlapping=True)

    def sightings(self, text: str, hits: list[tuple[int, int, int]]) -> Iterator[Sighting]:
        """What a text itself shows to be part of an identity."""
        detectors = _detectors()
        for word, start, end in hits:
            for detector in detectors.get(self.words[word], ()):
                yield from detector(text, start, end)

    def known(self, text: str, hits: list[tuple[int, int, int]]) -> Iterator[Find]:
        """The names that are known."""
        if self.names:
            for word, start, end in hits:
                for name in self.names.get(self.words[word], ()):
                    if found := name.find(text, start, end):
                        yield found


@cache
def _anchors() -> _Matcher:
    return _Matcher()


def _folded(text: str) -> str:
    """The text in lower case, with every letter at its place."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(lower if len(lower := char.lower()) == 1 else char for char in text)


class Identity:
    """What a session says about people and machines, learned from all of its texts before any is masked."""

    def __init__(
        self,
        keep: frozenset[Kind] = frozenset(),
        *,
        home: str | None = None,
        user: str | None = None,
        host: str | None = None,
    ) -> None:
        """Home directory, user and host of the person at this machine are known from the start."""
        self._keep = keep
        self._facts: set[Fact] = set()
        self._homes: set[str] = set()
        self.home_directories: set[str] = set()
        """Home directories as texts spell them."""
        self.changes = 0
        """How often anything new was learned."""
        self._matcher: _Matcher | None = None
        self._learned: set[str] = set()
        self._found: dict[str, list[Find]] = {}
        self._asked: dict[str, tuple[Rule | None, ...]] = {}
        self._answers: dict[str, str] = {}
        self._begin(home, user, host)

    def _begin(self, home: str | None, user: str | None, host: str | None) -> None:
        name = re.split(r"[\\/]", home.rstrip("\\/"))[-1] if home else ""
        if home and name and not is_generic_user(name) and len(home) > len(name) + 1:
            self._homes.add(home.rstrip("\\/"))
            self.home_directories.add(home.rstrip("\\/"))
            self._facts.add(Fact(USER, name))
        if user and not is_generic_user(user):
            self._facts.add(Fact(USER, user))
        if host and machines.is_private_host(host):
            self._facts.add(Fact(HOST, host))

    @property
    def keywords(self) -> tuple[str, ...]:
        """In lower case: every text in which anything is found or learned contains one of them.

        They grow with what is learned.
        """
        return self._known_matcher().words

    @property
    def anchors(self) -> tuple[str, ...]:
        """Those of the keywords that are known before anything is learned."""
        return _anchors().words

    @property
    def learned_words(self) -> tuple[str, ...]:
        """Those of the keywords that were learned."""
        return tuple(self._known_matcher().names)

    def learn(self, text: str) -> None:
        """Remember the names that a text shows."""
        if text in self._learned:
            return
        if len(text) <= _SHORT:
            if len(self._learned) >= _MOST_SHORT_TEXTS:
                self._learned.clear()
            self._learned.add(text)
        matcher = _anchors()
        if hits := matcher.hits(text):
            sightings = list(matcher.sightings(text, hits))
            self.home_directories.update(text[one.start : one.end] for one in sightings if one.rule is HOME)
            self._learn(sightings)

    def learn_field(self, key: str, value: str) -> None:
        """Remember the names that a text shows, and what the text is by its key."""
        self.learn(value)
        if told_facts.is_telling(key):
            self._learn(told_facts.field_sightings(key, value))

    def learn_record(self, record: dict[str, Any]) -> None:
        """Remember what only the shape of a record tells: what links and bridges hold, and answers to `hostname`."""
        self._learn(told_facts.record_sightings(record))
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                self._learn_block(block)

    def _learn_block(self, block: dict[str, Any]) -> None:
        if block.get("type") == "tool_use" and isinstance(given := block.get("input"), dict):
            command, call = given.get("command"), block.get("id")
            if isinstance(command, str) and isinstance(call, str) and (asked := told_facts.questions(command)):
                self._asked[call] = asked
                self._answer(call)
        elif block.get("type") == "tool_result" and isinstance(call := block.get("tool_use_id"), str):
            output = _text_of(block.get("content"))
            if output and len(output) <= _LONGEST_ANSWER:
                self._answers[call] = output
                self._answer(call)

    def _answer(self, call: str) -> None:
        if call in self._asked and call in self._answers:
            for rule, value in told_facts.answers(self._asked[call], self._answers[call]):
                self._add(Fact(rule, value))

    def _learn(self, sightings: Iterable[Sighting]) -> None:
        for sighting in sightings:
            if sighting.is_learned:
                self._add(Fact(USER if sighting.rule is HOME else sighting.rule, sighting.value))

    def _add(self, fact: Fact) -> None:
        if fact not in self._facts:
            self._facts.add(fact)
            self.changes += 1
            self._matcher = None
            self._found.clear()

    def _known_matcher(self) -> _Matcher:
        if self._matcher is None:
            self._matcher = _Matcher(known_names(sorted(self._facts, key=_fact_order), sorted(self._homes)))
        return self._matcher

    def finds(self, text: str) -> list[Find]:
        """What is to be masked in a text, in order, without overlaps."""
        if (found := self._found.get(text)) is not None:
            return found
        matcher = self._known_matcher()
        hits = matcher.hits(text)
        found = (
            self._without_overlaps([*_as_finds(matcher.sightings(text, hits)), *matcher.known(text, hits)])
            if hits
            else []
        )
        if len(text) <= _SHORT:
            if len(self._found) >= _MOST_SHORT_TEXTS:
                self._found.clear()
            self._found[text] = found
        return found

    def finds_field(self, key: str, value: str) -> list[Find]:
        """What is to be masked in the value of a key."""
        found = self.finds(value)
        if not told_facts.is_telling(key):
            return found
        return self._without_overlaps([*_as_finds(told_facts.field_sightings(key, value)), *found])

    def _without_overlaps(self, found: list[Find]) -> list[Find]:
        """The longest finds that begin first; what overlaps with one becomes part of it."""
        merged: list[Find] = []
        for find in sorted(found, key=_find_order):
            if find.rule.kind in self._keep:
                continue
            if not merged or find.start >= merged[-1].end:
                merged.append(find)
            elif find.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=find.end)
        return merged


def _fact_order(fact: Fact) -> tuple[int, str]:
    return _RANKS[fact.rule.name], fact.value


def _find_order(find: Find) -> tuple[int, int, int, str]:
    return find.start, -find.end, _RANKS[find.rule.name], find.value


def _as_finds(sightings: Iterable[Sighting]) -> Iterator[Find]:
    for start, end, rule, value, _ in sightings:
        yield Find(start, end, rule, _name(rule, value))


def _name(rule: Rule, value: str) -> str:
    """The name that decides about the number in the mask: in lower case, and without what is not masked."""
    if rule is OWNER:
        return value.partition("/")[0]
    return value.partition(".")[0].lower() if rule is HOST else value.lower()


def _text_of(content: object) -> str:
    """The text of a tool result."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))
