"""What running sessions have cost so far, and which of them have begun to wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player.errors import BadPrices
from claude_session_player.live import RunningCosts, RunningSessions, WaitingSessions, cost_words
from claude_session_player.live.status import Phase, SessionStatus
from claude_session_player.stats import Prices, summarize
from claude_session_player.store import SessionFile, StoreIndex
from claude_session_player.tui.jobs import StoreOpener
from claude_session_player.util.terminal import RESTORE_TITLE, SAVE_TITLE, TerminalTitle
from tests.builder import SessionBuilder, call, text
from tests.running_sessions import NOW, Sessions, session, write
from tests.stores import AGENT, ONE, TWO


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "store")


def opener(sessions: Sessions, cache: Path | None = None) -> StoreOpener:
    return StoreOpener((str(sessions.store.root),), str(cache) if cache else None)


def grown(running: RunningSessions, *paths: Path) -> list[SessionFile]:
    running.update(map(str, paths), NOW)
    return running.take_grown()


def test_the_cost_is_that_of_the_summary_with_subagents(sessions: Sessions, tmp_path: Path) -> None:
    sessions.fill()
    agent = sessions.store.home() / ONE / "subagents" / f"agent-{AGENT}.jsonl"
    opened = opener(sessions, tmp_path / "cache")
    running, costs = RunningSessions(opened.roots), RunningCosts(opened.session)
    (file,) = grown(running, sessions.path, agent)
    assert file.path == str(sessions.path)
    first = costs.count(file)
    write(agent, session(ONE, 0, sidechain=True).response(text("Steam everywhere."), request="req_9000"))
    assert grown(running, agent) == [file]
    later = costs.count(file)
    assert first is not None
    assert later is not None
    assert (first.cost or 0) < (later.cost or 0)
    assert later.cost == summarize(opened.session(file), Prices.load()).cost
    assert cost_words(later).startswith("$0.")


def test_with_an_index_only_what_was_appended_is_read(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    job = StoreIndex._job

    def spy(index: StoreIndex, *arguments: object) -> object:
        made = job(index, *arguments)  # type: ignore[arg-type]
        sizes.append(made.size)
        return made

    monkeypatch.setattr(StoreIndex, "_job", spy)
    costs = RunningCosts(opener(sessions, tmp_path / "cache").session)
    running = RunningSessions((str(sessions.store.root),))
    (file,) = grown(running, sessions.path)
    costs.count(file)
    before = sessions.path.stat().st_size
    write(sessions.path, sessions.main.result("t").response(text("Done.")))
    costs.count(file)
    assert sizes == [before, sessions.path.stat().st_size - before]


def test_a_session_is_counted_again_only_when_it_has_grown_and_not_at_once(sessions: Sessions) -> None:
    clock = Clock()
    costs, running = RunningCosts(opener(sessions).session, clock), RunningSessions((str(sessions.store.root),))
    due = costs.due(grown(running, sessions.path))
    assert [file.path for file in due] == [str(sessions.path)]
    write(sessions.path, sessions.main.result("t"))
    assert costs.due(grown(running, sessions.path)) == []  # it is being counted
    costs.count(due[0])
    assert costs.due(()) == []
    clock.now += 1
    assert costs.due(()) == due
    costs.count(due[0])
    clock.now += 1
    assert costs.due(()) == []


def test_a_session_that_is_gone_has_no_cost(sessions: Sessions) -> None:
    running = RunningSessions((str(sessions.store.root),))
    (file,) = grown(running, sessions.path)
    sessions.path.unlink()
    assert RunningCosts(opener(sessions).session).count(file) is None


def test_invalid_prices_are_reported_once(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Prices:
        raise BadPrices("prices.json is not valid JSON")

    monkeypatch.setattr(Prices, "load", load)
    costs, running = RunningCosts(opener(sessions).session), RunningSessions((str(sessions.store.root),))
    (file,) = grown(running, sessions.path)
    with pytest.raises(BadPrices):
        costs.count(file)
    assert costs.count(file) is None


def test_the_cost_of_a_session_without_priced_models_is_unknown(sessions: Sessions) -> None:
    sessions.path.unlink()
    unpriced = session(TWO, 1).prompt("Brew").block(text("Tea."), request="r", model="tea-1")
    path = write(sessions.file(TWO), unpriced)
    (file,) = grown(RunningSessions((str(sessions.store.root),)), path)
    assert cost_words(RunningCosts(opener(sessions).session).count(file)) == "?"


# --- which sessions wait ------------------------------------------------------------------------------


class Board:
    """Some sessions whose states change."""

    def __init__(self, sessions: Sessions, *projects: str) -> None:
        self.running = RunningSessions((str(sessions.store.root),))
        self.waiting = WaitingSessions()
        self._builders: dict[str, tuple[Path, SessionBuilder]] = {}
        for number, name in enumerate(projects):
            cwd, id = f"/home/ada/{name}", f"{number}{ONE[1:]}"
            self._builders[name] = sessions.file(id, cwd), session(id, 3, cwd)

    def write(self, name: str, *, waits: bool) -> bool:
        """Let a session work or wait; true if that is news."""
        path, builder = self._builders[name]
        builder.prompt("Boil")
        if waits:
            builder.response(text("It boils.")).system("turn_duration", durationMs=5)
        write(path, builder)
        return self.look(path)

    def look(self, *paths: Path) -> bool:
        """Read these files; true if one has begun to wait."""
        self.running.update(map(str, paths), NOW)
        return self.waiting.update(self.running.rows(NOW))


def test_only_a_session_that_begins_to_wait_is_news(sessions: Sessions) -> None:
    board = Board(sessions, "kettle", "engine")
    assert not board.write("kettle", waits=True)
    assert board.waiting.title == ""
    assert not board.write("kettle", waits=False)
    assert board.write("kettle", waits=True)
    assert not board.look()
    assert board.waiting.title == "❯ kettle waits for you"
    board.write("engine", waits=False)
    assert board.write("engine", waits=True)
    assert board.waiting.title == "❯ 2 sessions wait for you"
    assert not board.write("engine", waits=False)
    assert board.waiting.title == "❯ kettle waits for you"
    board.write("kettle", waits=False)
    assert board.waiting.title == ""


def test_a_question_to_the_person_is_news(sessions: Sessions) -> None:
    board = Board(sessions)
    board.look(sessions.path)
    question = call("AskUserQuestion", "q", questions=[{"question": "Green or black?"}])
    write(sessions.path, sessions.main.result("t").response(question))
    assert board.look(sessions.path)


def test_a_title_has_only_printable_characters(sessions: Sessions) -> None:
    board = Board(sessions)
    board.look(sessions.path)
    (row,) = board.running.rows(NOW)
    board.running._sessions[str(sessions.path)]._cwds = ("/home/ada/evil\x1b]2;x\x07",)
    assert board.waiting.update([row._replace(status=SessionStatus(Phase.WAITING, ""))])
    assert board.waiting.title.isprintable()


def test_the_title_of_the_terminal_is_saved_and_restored() -> None:
    written: list[str] = []
    title = TerminalTitle(written.append)
    title.set("")
    title.restore()
    assert written == []
    for words in ("one", "one", "two\x1b", "", "three"):
        title.set(words)
    title.restore()
    assert written == [
        f"{SAVE_TITLE}\x1b]2;one\a",
        "\x1b]2;two�\a",
        RESTORE_TITLE,
        f"{SAVE_TITLE}\x1b]2;three\a",
        RESTORE_TITLE,
    ]
