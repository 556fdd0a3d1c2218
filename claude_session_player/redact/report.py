"""What was masked: how much of what kind, and where. It never holds what stood there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.redact.rule import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from claude_session_player.redact.rule import Rule

REPORT_VERSION: Final = 1
MOST_PLACES: Final = 1000
"""How many places of a mask are listed; the others are counted."""


class Place(NamedTuple):
    """Where a text is: in which session, in which line of its file, in which field of the record."""

    session: str = ""
    line: int | None = None
    field: str = ""
    file: str = ""
    """The file beside the session that holds it; empty for the session's own."""


class MaskedPlace(NamedTuple):
    """A place where a mask stands, and the masked text around it."""

    place: Place
    preview: str


@dataclass
class MaskedValue:
    """What is known of one value that was masked."""

    kind: Kind
    rule: str
    mask: str
    occurrences: int = 0
    places: list[MaskedPlace] = field(default_factory=list)


class RedactionReport:
    """Collects what is masked."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], MaskedValue] = {}
        self._images = 0

    def add(self, rule: Rule, mask: str, place: Place, preview: str, count: int = 1) -> None:
        """Count a mask, and note where it stands."""
        value = self._values.get((rule.name, mask))
        if value is None:
            value = self._values[rule.name, mask] = MaskedValue(rule.kind, rule.name, mask)
        value.occurrences += count
        if len(value.places) < MOST_PLACES:
            value.places.append(MaskedPlace(place, preview))

    def add_images(self, count: int, place: Place, mask: str) -> None:
        """Count images that were removed."""
        self._images += count
        key = ("image", mask)
        value = self._values.setdefault(key, MaskedValue(Kind.IMAGE, "image", mask))
        value.occurrences += count
        if len(value.places) < MOST_PLACES:
            value.places.append(MaskedPlace(place, mask))

    @property
    def values(self) -> list[MaskedValue]:
        """What was masked, secrets first."""
        order = list(Kind)
        return sorted(self._values.values(), key=lambda value: order.index(value.kind))

    def count(self, kind: Kind) -> int:
        """How much of a kind was masked: distinct values of secrets, occurrences of anything else."""
        found = [value for value in self._values.values() if value.kind is kind]
        return len({value.mask for value in found}) if kind.is_secret else sum(value.occurrences for value in found)

    @property
    def summary(self) -> str:
        """How much of what kind, for people; empty if nothing was masked.

        >>> RedactionReport().summary
        ''
        """
        return ", ".join(_counted(self._values.values()))

    @property
    def json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "version": REPORT_VERSION,
            "counts": [
                {"kind": kind.word, "values": values, "occurrences": occurrences}
                for kind, values, occurrences in _totals(self._values.values())
            ],
            "masked": [
                {
                    "mask": value.mask,
                    "kind": value.kind.word,
                    "rule": value.rule,
                    "occurrences": value.occurrences,
                    "places": [{**_place_record(one.place), "preview": one.preview} for one in value.places],
                }
                for value in self.values
            ],
        }


def _place_record(place: Place) -> dict[str, Any]:
    record = {"session": place.session, "line": place.line, "field": place.field}
    return record | {"file": place.file} if place.file else record


def _totals(values: Iterable[MaskedValue]) -> Iterator[tuple[Kind, int, int]]:
    values = list(values)
    for kind in Kind:
        if found := [value for value in values if value.kind is kind]:
            yield kind, len({value.mask for value in found}), sum(value.occurrences for value in found)


def _counted(values: Iterable[MaskedValue]) -> Iterator[str]:
    for kind, distinct, occurrences in _totals(values):
        if kind.is_secret:
            yield f"{distinct:,} {kind.singular if distinct == 1 else kind.plural}"
        elif kind is Kind.IMAGE:
            yield f"{occurrences:,} {kind.singular if occurrences == 1 else kind.plural}"
        else:
            yield f"{occurrences:,} × {kind.singular}"
