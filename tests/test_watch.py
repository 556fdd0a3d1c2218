"""Changes of session files are told at once, with the notifications of the system."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from claude_session_player.store import watch
from claude_session_player.store.layout import session_file_at
from claude_session_player.store.watch import FileChanges, WatchedDir, dirs_to_watch, watch_changes
from tests.builder import SessionBuilder
from tests.program import PATIENCE
from tests.stores import ONE, StoreBuilder


class Watching:
    """What is noticed, one after the other."""

    def __init__(self, stream: AsyncGenerator[FileChanges, None]) -> None:
        self._stream = stream

    async def next(self) -> FileChanges:
        """Wait for what is noticed next."""
        return await asyncio.wait_for(anext(self._stream), PATIENCE)

    async def until(self, *paths: Path) -> None:
        """Wait until all of these files were noticed."""
        missing = {str(path) for path in paths}
        while missing:
            missing -= (await self.next()).files


def watching(script: Callable[[Watching], Awaitable[None]], *folders: WatchedDir) -> None:
    async def body() -> None:
        async with aclosing(watch_changes(folders)) as stream:
            await script(Watching(stream))

    asyncio.run(body())


def append(path: Path, data: bytes = b"{}\n") -> None:
    with path.open("ab") as file:
        file.write(data)


def test_files_that_are_there_are_told_first_and_then_what_is_appended(tmp_path: Path) -> None:
    session = StoreBuilder(tmp_path / "store").session()

    async def script(watch: Watching) -> None:
        assert await watch.next() == FileChanges(frozenset((str(session),)))
        append(session)
        assert await watch.next() == FileChanges(frozenset((str(session),)))

    watching(script, WatchedDir(str(session.parent)))


def test_sub_agents_are_noticed_whose_directory_was_not_there(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    session = store.session()

    async def script(watch: Watching) -> None:
        await watch.until(session)
        agent = store.agent(place="subagents")
        await watch.until(agent)
        append(agent)
        await watch.until(agent)
        await watch.until(store.agent("deep0001", place="subagents/workflows/wf_1"))

    watching(script, *dirs_to_watch(session_file_at(str(session))))


def test_a_description_is_told_as_its_sub_agent(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    agent = store.agent(place="subagents")

    async def script(watch: Watching) -> None:
        await watch.until(agent)
        store.meta(agent, agentType="Explore")
        await watch.until(agent)

    watching(script, WatchedDir(str(store.home() / ONE), is_deep=True))


def test_a_file_that_is_removed_is_told_and_so_is_one_that_replaces_it(tmp_path: Path) -> None:
    session = StoreBuilder(tmp_path / "store").session()

    async def script(watch: Watching) -> None:
        await watch.until(session)
        session.unlink()
        await watch.until(session)
        other = SessionBuilder().prompt("Another").write(tmp_path / "other.jsonl")
        os.replace(other, session)
        await watch.until(session)

    watching(script, WatchedDir(str(session.parent)))


@pytest.mark.parametrize("is_deep", [True, False])
def test_a_directory_may_vanish_and_come_back(tmp_path: Path, is_deep: bool) -> None:
    store = StoreBuilder(tmp_path / "store")
    session = store.session()

    async def script(watch: Watching) -> None:
        await watch.until(session)
        shutil.rmtree(store.root)
        await watch.until(session)
        again = StoreBuilder(tmp_path / "store").session()
        assert again == session
        await watch.until(session)
        append(session)
        await watch.until(session)

    watching(script, WatchedDir(str(session.parent), is_deep=is_deep))


def test_a_directory_that_is_moved_away_is_told_by_its_files(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    agent = store.agent(place="subagents")

    async def script(watch: Watching) -> None:
        await watch.until(agent)
        (store.home() / ONE).rename(tmp_path / "elsewhere")
        await watch.until(agent)

    watching(script, WatchedDir(str(store.root / "projects"), is_deep=True))


def test_what_is_no_session_is_not_told(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "store")
    session = store.session()

    async def script(watch: Watching) -> None:
        await watch.until(session)
        for name in ("todo.jsonl", "._hidden.jsonl", "notes.txt"):
            (store.home() / name).write_text("{}")
        append(session)
        assert (await watch.next()).files == {str(session)}

    watching(script, WatchedDir(str(store.home())))


def test_a_link_is_told_by_the_name_that_it_was_given(tmp_path: Path) -> None:
    session = StoreBuilder(tmp_path / "store").session()
    (tmp_path / "link").symlink_to(session.parent)
    linked = tmp_path / "link" / session.name

    async def script(watch: Watching) -> None:
        await watch.until(linked)
        append(session)
        await watch.until(linked)

    watching(script, WatchedDir(str(tmp_path / "link")))


def test_where_the_system_refuses_notifications_it_is_looked_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StoreBuilder(tmp_path / "store")
    session = store.session()

    async def refused(folder: WatchedDir) -> AsyncGenerator[frozenset[str], None]:
        if folder.path:
            raise OSError("OS file watch limit reached")
        yield frozenset()

    monkeypatch.setattr(watch, "_notifications", refused)
    monkeypatch.setattr(watch, "_POLL_SECONDS", 0.01)

    async def script(watch: Watching) -> None:
        assert await watch.next() == FileChanges(frozenset((str(session),)), is_polled=True)
        for _ in range(3):
            append(session)
            assert await watch.next() == FileChanges(frozenset((str(session),)), is_polled=True)
        await watch.until(store.agent(place="subagents"))
        shutil.rmtree(store.root)
        await watch.until(session)
        await watch.until(StoreBuilder(tmp_path / "store").session())

    watching(script, WatchedDir(str(session.parent), is_deep=True))
