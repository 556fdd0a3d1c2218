"""Every word and every phrase of real sessions is found, at its line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_session_player.search import StoreSearch
from claude_session_player.search.fields import FIELDS
from claude_session_player.search.texts import EventText
from tests import corpus
from tests.searches import ALL, WORD, open_search, places, texts_of

WORDS = 2_000
PHRASES = 500

pytestmark = pytest.mark.skipif(not corpus.session_files(), reason=f"no real sessions in {corpus.ROOT}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All session files of the corpus as one store, each in a project directory of its own."""
    root = tmp_path_factory.mktemp("store")
    for number, path in enumerate(corpus.session_files()):
        if path.suffix == ".jsonl":
            folder = root / "projects" / f"-p-{number}"
            folder.mkdir(parents=True)
            (folder / path.name).symlink_to(path)
    return root


@pytest.fixture(scope="module")
def search(store: Path, tmp_path_factory: pytest.TempPathFactory) -> StoreSearch:
    return open_search(store, tmp_path_factory.mktemp("cache"))


def _texts(search: StoreSearch) -> Iterator[tuple[str, int, EventText]]:
    for name in search.sessions:
        for line, text in texts_of(Path(name)):
            yield name, line, text


def _is_found(search: StoreSearch, query: str, name: str, line: int, text: EventText) -> bool:
    """True if a hit is at the line, or at that of a copy of the same event."""
    hits = search.search([f"{query} in:{text.field}"], ALL)
    if any((name, line) == place[:2] for place in places(hits)):
        return True
    return any(match.copy_key == text.copy_key for group in hits for match in group.matches)


def test_words_of_all_fields_are_found_at_their_lines(search: StoreSearch) -> None:
    chance = random.Random(17)
    by_field: dict[str, list[tuple[str, int, EventText, str]]] = {field: [] for field in FIELDS}
    for name, line, text in _texts(search):
        words = WORD.findall(text.text)
        for word in chance.sample(words, min(len(words), 3)):
            by_field[text.field].append((name, line, text, word))
    drawn = [one for field in FIELDS for one in chance.sample(by_field[field], min(len(by_field[field]), WORDS // 8))]
    everything = [one for field in FIELDS for one in by_field[field]]
    drawn += chance.sample(everything, WORDS - len(drawn))
    lost = [
        (word, text.field, name, line)
        for name, line, text, word in drawn
        if not _is_found(search, f'"{word}"', name, line, text)
    ]
    assert len(drawn) == WORDS
    assert lost == []


def test_phrases_of_all_fields_are_found_at_their_lines(search: StoreSearch) -> None:
    chance = random.Random(18)
    phrases: list[tuple[str, int, EventText, str]] = []
    for name, line, text in _texts(search):
        part = chance.choice(text.parts)
        words = list(WORD.finditer(part))
        if len(words) > 3:
            first = chance.randrange(len(words) - 3)
            last = first + chance.randint(1, 3)
            phrase = part[words[first].start() : words[last].end()]
            if '"' not in phrase and "\\" not in phrase and len(phrase) < 200:
                phrases.append((name, line, text, phrase))
    drawn = chance.sample(phrases, PHRASES)
    lost = [
        (phrase, text.field, name, line)
        for name, line, text, phrase in drawn
        if not _is_found(search, f'"{phrase}"', name, line, text)
    ]
    assert lost == []
