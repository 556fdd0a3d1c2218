"""Nothing that was planted in a session is in any output of any command, wherever and however it was planted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from claude_session_player.redact import Redactor, read_known
from claude_session_player.redact.redactor import Redactor as RedactorClass
from claude_session_player.redact.rules import SECRET_RULES
from tests.hostile.effort import pick
from tests.program import csp
from tests.redact.garden import Garden, planted_sessions
from tests.redact.outputs import Output, copy, outputs, shared_copies
from tests.redact.places import IMAGE, PLACES
from tests.redact.planted import DISGUISES, Leak, LeakSearch

SESSIONS: Final = 16
EACH: Final = 4
"""Plants of each place in a session."""
TOLD: Final = pick(3, SESSIONS)
"""The first sessions, about which all commands are asked: together they have every rule, place and disguise."""
ONLY_COPIED: Final = {
    *("cut line", "damaged line", "description of a sub-agent", "document", "file history", "hook progress", "image"),
    *("journal", "last prompt", "tag", "working directory"),
}
"""Places of which no command prints what stands there; it is in copies of the files."""
BACKUP: Final = "backup of a file"
"""Is not copied: it lies elsewhere in the store. Commands print it."""
PROJECT: Final = "project"
"""`secrets` tells people at this machine where their sessions are."""
CUT: Final = {where.name for where in PLACES if where.splits}
"""Places that cut what stands there: of a password, no part is seen."""


@pytest.fixture(scope="module")
def gardens(tmp_path_factory: pytest.TempPathFactory) -> list[Garden]:
    return list(planted_sessions(tmp_path_factory.mktemp("gardens"), SESSIONS, EACH))


def written(garden: Garden, work: Path, options: Sequence[str], lines: int | None = None) -> Iterator[Output]:
    yield from copy(garden.root, work, [option for option in options if option != "--redact"])
    yield from outputs(garden.root, work, options, garden.files, lines or garden.lines)


def all_leaks(garden: Garden, written: Iterable[Output]) -> list[Leak]:
    search = LeakSearch(garden.plants)
    leaks = [leak for output in written for leak in search.leaks(output.name, output.text)]
    return [leak for leak in leaks if not (leak.plant.place == PROJECT and leak.output.startswith("secrets "))]


def redaction(garden: Garden) -> list[str]:
    return ["--redact", "--known", str(garden.known)]


def redactor_of(garden: Garden, *keep: str) -> Redactor:
    return Redactor(known=read_known(str(garden.known)), keep=keep)


@pytest.mark.parametrize("number", range(SESSIONS))
def test_no_copy_shows_what_was_planted(gardens: list[Garden], number: int, tmp_path: Path) -> None:
    garden = gardens[number]
    texts = list(copy(garden.root, tmp_path, redaction(garden)))
    leaks = all_leaks(garden, texts)
    assert not leaks, "\n".join(map(str, leaks[:20]))
    assert any("[image removed]" in output.text for output in texts)
    assert images_in(garden, texts) == []


def images_in(garden: Garden, texts: Sequence[Output]) -> list[str]:
    assert IMAGE in {plant.place for plant in garden.plants}
    return [output.name for output in texts if "iVBORw0KGgo" in output.text]


@pytest.mark.parametrize("number", range(TOLD))
def test_no_output_shows_what_was_planted(gardens: list[Garden], number: int, tmp_path: Path) -> None:
    garden = gardens[number]
    with shared_copies(tmp_path / "copies", redactor_of(garden)):
        texts = list(outputs(garden.root, tmp_path, redaction(garden), garden.files, garden.lines))
    leaks = all_leaks(garden, texts)
    assert not leaks, "\n".join(map(str, leaks[:20]))
    assert images_in(garden, texts) == []


def test_every_sample_of_every_rule_is_planted(gardens: list[Garden]) -> None:
    plants = [plant for garden in gardens for plant in garden.plants]
    assert len(plants) >= 5000
    told = [plant for garden in gardens[:TOLD] for plant in garden.plants]
    assert {rule.name for rule in SECRET_RULES if rule.samples} <= {plant.seed.name for plant in told}
    assert {(where.name) for where in PLACES} <= {plant.place for plant in told}
    assert {plant.disguise for plant in plants} == {plant.disguise for plant in told} >= set(DISGUISES)


def test_commands_that_make_copies_of_their_own_show_nothing(tmp_path: Path) -> None:
    (garden,) = planted_sessions(tmp_path, 1, 1)
    leaks = all_leaks(garden, written(garden, tmp_path, redaction(garden), lines=2))
    assert not leaks, "\n".join(map(str, leaks[:20]))


@pytest.mark.parametrize("words", [["replay", "-", "--full"], ["show", "-", "--full"], ["export", "-"]])
def test_a_session_on_standard_input_shows_nothing(gardens: list[Garden], words: list[str]) -> None:
    garden = gardens[0]
    (path,) = (garden.root / "projects").glob("*/*.jsonl")
    told = csp(*words, *redaction(garden), stdin=path.read_bytes())
    assert told.returncode == 0, told.stderr
    assert len(told.stdout) > 10_000
    texts = [Output("stdout", told.stdout.decode()), Output("stderr", told.stderr.decode())]
    leaks = all_leaks(garden, texts)
    assert not leaks, "\n".join(map(str, leaks[:20]))


# --- these tests can fail -------------------------------------------------------------------------------


def test_every_place_is_seen_where_nothing_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (garden,) = planted_sessions(tmp_path, 1, 1, ("plain",))
    places = {plant.place for plant in garden.plants}
    printed = list(outputs(garden.root, tmp_path, ["--no-redact"], garden.files, garden.lines))
    seen = {leak.plant.place for leak in all_leaks(garden, printed)}
    assert places - seen - CUT == ONLY_COPIED
    monkeypatch.setattr(RedactorClass, "_finds", lambda self, text, key: [])
    copied = list(copy(garden.root, tmp_path, ["--keep", "images", "--known", str(garden.known)]))
    assert places - {leak.plant.place for leak in all_leaks(garden, copied)} <= CUT | {BACKUP}


def test_a_redactor_that_finds_nothing_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (garden,) = planted_sessions(tmp_path, 1, 1)
    monkeypatch.setattr(RedactorClass, "_finds", lambda self, text, key: [])
    with shared_copies(tmp_path / "copies", redactor_of(garden, "images")):
        leaks = all_leaks(garden, outputs(garden.root, tmp_path, redaction(garden), garden.files, 2))
    assert len({id(leak.plant) for leak in leaks}) > len(garden.plants) * 0.7
    assert len({leak.output for leak in leaks}) > 30
