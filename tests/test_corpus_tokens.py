"""Token counts of real sessions equal those of a naive reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player import Filter, Session, Store
from claude_session_player.stats.prices import Prices
from claude_session_player.stats.tokens import (
    GROUP_KEYS,
    TokenCount,
    count_tokens,
    group_usage,
    session_usage,
    sum_usage,
)
from tests import corpus
from tests.reference_tokens import reference_count

ROOT = corpus.STORE
pytestmark = pytest.mark.skipif(not corpus.session_files(), reason=f"there are no real sessions at {corpus.ROOT}")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(ROOT, cache=str(tmp_path_factory.mktemp("cache")))


def total(session: Session) -> TokenCount:
    return TokenCount(*map(sum, zip(TokenCount(), *(row.tokens for row in session_usage(session)), strict=True)))


@pytest.mark.parametrize("path", corpus.session_files(), ids=lambda path: path.name)
def test_every_real_file_has_the_tokens_of_a_reference_count(path: Path) -> None:
    session = Store.open(required=False, cache=None).at(path)
    assert total(session) == reference_count(Path(part.path) for part in session.parts)


def test_every_real_session_of_a_store_has_the_tokens_of_a_reference_count(store: Store) -> None:
    sessions = store.sessions()
    assert sessions
    for session in sessions:
        assert total(session) == reference_count(Path(part.path) for part in session.parts)


def test_a_whole_real_store_has_the_tokens_of_a_reference_count(store: Store) -> None:
    files = [Path(file.path) for file in store.files()]
    shares = count_tokens(store.sessions(Filter(include_orphans=True)))
    assert sum_usage(shares).tokens == reference_count(files)


def test_copies_among_all_real_files_count_once() -> None:
    outside = Store.open(required=False, cache=None)
    sessions = [outside.at(path) for path in corpus.session_files()]
    together = sum_usage(count_tokens(sessions)).tokens
    assert together == reference_count({Path(part.path) for session in sessions for part in session.parts})
    assert together.total < sum(total(session).total for session in sessions)


def test_however_real_tokens_are_grouped_they_come_to_the_same(store: Store) -> None:
    shares = count_tokens(store.sessions(Filter(include_orphans=True)), Prices.load())
    whole = sum_usage(shares)
    assert whole.cost
    for by in GROUP_KEYS:
        groups = group_usage(shares, by)
        assert sum(group.responses for group in groups) == whole.responses
        assert sum(group.cost or 0 for group in groups) == whole.cost
        assert TokenCount(*map(sum, zip(*(group.tokens for group in groups), strict=True))) == whole.tokens
