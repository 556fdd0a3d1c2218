"""Sessions full of plants: each seed in another place and another disguise."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.redact.outputs import known_file
from tests.redact.places import IMAGE, PLACES, WORDS, PlantedSession, Where, image_data
from tests.redact.planted import (
    DISGUISES,
    WORD,
    Plant,
    Seed,
    disguised,
    identity_seeds,
    in_base64,
    known_seeds,
    secret_seeds,
)

_BASE64: Final = "base64"
_OFTEN: Final = 10
"""How often names and known values occur in a round of samples."""


class Garden(NamedTuple):
    """A store with one session, and what was planted in it."""

    root: Path
    known: Path
    """The file of known values."""
    plants: list[Plant]
    files: list[str]
    """Paths of files that tools used."""
    lines: int


def seeds(start: int) -> Iterator[Seed]:
    """Seeds without end, all of them different."""
    round = start
    while True:
        found = list(secret_seeds(round))
        for part in range(_OFTEN):
            found += [*identity_seeds(round * _OFTEN + part), *known_seeds(round * _OFTEN + part)]
        random.Random(round).shuffle(found)
        yield from found
        round += 1


def planted_sessions(
    root: Path, sessions: int, each: int, disguises: Sequence[str] = tuple(DISGUISES)
) -> Iterator[Garden]:
    """Stores with a session each, in which every place has several plants."""
    supply, waiting = seeds(0), deque[Seed]()
    for number in range(sessions):
        yield _planted(root / f"s{number}", _Supply(supply, waiting, disguises), each, number)


class _Supply(NamedTuple):
    """What is planted next."""

    fresh: Iterator[Seed]
    waiting: deque[Seed]
    """What did not fit where it was to be planted."""
    disguises: Sequence[str]

    def fitting(self, where: Where) -> Seed:
        """The next seed that can stand in a place."""
        if self.waiting and _fits(self.waiting[0], where):
            return self.waiting.popleft()
        while not _fits(seed := next(self.fresh), where):
            self.waiting.append(seed)
        return seed


def _planted(folder: Path, supply: _Supply, each: int, number: int) -> Garden:
    source = random.Random(number)
    person = next(identity_seeds(1_000_000 + number))
    home = person.text.split()[1].removesuffix("/notes.md")
    plot = PlantedSession(folder / "store", home)
    plants = [Plant(person, home, "project", "plain", "")]
    for at in range(each):
        for order, where in enumerate(source.sample(PLACES, len(PLACES))):
            near = f"{WORD} p{number:02}n{at:02}n{order:02}"
            plant = _plant(supply, where, near, source)
            where.put(plot, plant.text, near)
            plants.append(plant)
    plot.write()
    values = [plant.seed.text for plant in plants if plant.seed.name == "known value"]
    return Garden(plot.store.root, known_file(folder / "known.json", values), plants, plot.files, len(plot.main.lines))


def _fits(seed: Seed, where: Where) -> bool:
    """A name is not known by its halves, nor is an encoded directory: the names in it may be anything.

    A line of `.pgpass` ends with its password, which the name of a file does not.
    """
    if where.name == "name of an output" and ":5432:" in seed.text:
        return False
    is_cut = where.splits or where.name == WORDS
    return (seed.is_one_line or not where.one_line) and not (
        is_cut and seed.name in ("project directory", "git author")
    )


def _plant(supply: _Supply, where: Where, near: str, source: random.Random) -> Plant:
    seed = supply.fitting(where)
    disguise = "plain" if where.splits else source.choice(supply.disguises)
    if seed.name == "known value" and not where.splits and len(supply.disguises) > 1 and source.random() < 0.4:
        return Plant(seed, in_base64(seed, near), where.name, _BASE64, near)
    if disguise == "numbers" and "kind: Secret" in seed.text:
        disguise = "plain"  # its value is several lines, which are not the same with numbers
    text = disguised(seed, disguise, near, one_line=where.one_line)
    if where.name == IMAGE:
        seed = seed._replace(parts=(image_data(text)[200:],), is_whole=False)
    return Plant(seed, text, where.name, disguise, near)
