"""What an edit makes of a text of which only some lines are known.

Nothing is guessed: where the place of an edit is not known, every line that it may have changed or moved is unknown
from then on. An edit that Claude Code carried out replaced words that occur once, or all that are the same.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.files.snapshots import NOTHING_KNOWN, PartialText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.format.results import Hunk, Replacement

_TABS: Final = re.compile(r"^\t+")
_MAYBE_TABS: Final = "  "
_NO_BREAK: Final = "\\"
"""How the remark begins that the last line has no line break."""
_QUOTES: Final = str.maketrans("‘’“”", "''\"\"")


class EditResult(NamedTuple):
    """The text behind an edit, and what was found out."""

    after: PartialText
    contradicted: bool = False
    """The text was not what it was known to be."""
    unplaced: bool = False
    """It is not known where the edit took place."""


def apply_edit(before: PartialText, replacements: Sequence[Replacement], hunks: Sequence[Hunk]) -> EditResult:
    """The text after an edit that was carried out; hunks say where it took place."""
    if replacements and not replacements[0].old:  # so a file is made, or an empty one filled
        before, replacements, hunks = PartialText.whole(replacements[0].new), replacements[1:], ()
        if not replacements:
            return EditResult(before)
    places = [_Place.of(hunk) for hunk in hunks]
    if not _are_sound(places):
        places = []
    if before.complete:
        known = before.text
        for eats_break in (True, False):
            text = _replaced(known, replacements, eats_break)
            after = None if text is None else PartialText.whole(text)
            if after is not None and _agrees(after, before, places):
                return EditResult(after)
    if places and not _hides_from_hunks(replacements):
        return _by_places(before, replacements, places)
    if not replacements:
        return EditResult(NOTHING_KNOWN, unplaced=True)
    contradicted = unplaced = False
    for replacement in replacements:
        result = _by_words(before, replacement)
        before = result.after
        contradicted, unplaced = contradicted or result.contradicted, unplaced or result.unplaced
    return EditResult(before, contradicted, unplaced)


# --- by words -------------------------------------------------------------------------------------


def _replaced(text: str, replacements: Sequence[Replacement], eats_break: bool) -> str | None:
    """The text after some replacements; `None` where one of them cannot be what took place."""
    for old, new, everywhere in ((r.old, r.new, r.everywhere) for r in replacements):
        wanted = f"{old}\n" if eats_break and _eats_break(old, new) and f"{old}\n" in text else old
        count = text.count(old) if old else 0
        if not count or (count > 1 and not everywhere):
            return None
        text = text.replace(wanted, new)
    return text if replacements else None


def _eats_break(old: str, new: str) -> bool:
    """True where the line break behind the words goes with them: whole lines are taken out like that."""
    return not new and not old.endswith("\n")


def _by_words(before: PartialText, replacement: Replacement) -> EditResult:
    """One replacement, of which only the words are known."""
    if before.complete:
        text = _replaced(before.text, [replacement], True)
        return EditResult(NOTHING_KNOWN, contradicted=True) if text is None else EditResult(PartialText.whole(text))
    old, new = replacement.old, replacement.new
    if replacement.everywhere:
        if "\n" not in old + new and new:
            certain = {number: line for number, line in before.lines.items() if old in line or not _looks(old, line)}
            return EditResult(
                PartialText({number: line.replace(old, new) for number, line in certain.items()}, before.total)
            )
        return EditResult(before.before(_first_in_doubt(before, old)), unplaced=True)
    found = [(start, "\n".join(run)) for start, run in before.runs() if old in "\n".join(run)]
    if len(found) > 1 or (found and found[0][1].count(old) > 1):
        return EditResult(NOTHING_KNOWN, contradicted=True)
    if not found:
        return EditResult(before.before(_first_in_doubt(before, old)), unplaced=True)
    (start, text), *_ = found
    if (
        _eats_break(old, new) and text.endswith(old) and start + text.count("\n") != before.total
    ):  # what is behind it moves up to it
        return EditResult(before.before(start + text[: text.rfind(old)].count("\n")))
    after = _replaced(text, [replacement], True) or ""
    return EditResult(before.spliced(start, text.count("\n") + 1, after.split("\n")))


def _looks(old: str, line: str) -> bool:
    """True where Claude Code takes words for the same: it is lax about quotation marks."""
    return old.translate(_QUOTES) in line.translate(_QUOTES)


def _first_in_doubt(before: PartialText, old: str) -> int:
    """The first line that words may begin in, which are somewhere in what is not known, or only look different."""
    first_gap = before.unknown()[0].first
    doubt = first_gap - old.count("\n")
    run = "\n".join(before.lines[number] for number in range(1, first_gap))
    at = run.translate(_QUOTES).find(old.translate(_QUOTES))
    return doubt if at < 0 else min(doubt, 1 + run.count("\n", 0, at))


# --- by places ------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """A hunk, taken apart: the lines before and after, each with a mark where it is another one."""

    old_start: int
    new_start: int
    old: list[str]
    steps: list[tuple[str, str]]
    """In the order of the hunk: a mark and a line."""
    old_ends: bool
    new_ends: bool
    """The last line has no line break behind it."""

    @classmethod
    def of(cls, hunk: Hunk) -> _Place:
        """The place of a hunk."""
        steps = [(line[:1] or " ", line[1:]) for line in hunk.lines if line[:1] != _NO_BREAK]
        ended = [before[:1] or " " for before, line in pairwise(hunk.lines) if line[:1] == _NO_BREAK]
        old = [line for mark, line in steps if mark != "+"]
        return cls(hunk.old_start, hunk.new_start, old, steps, _in(ended, " -"), _in(ended, " +"))

    @property
    def start(self) -> int:
        """The first line of the old text that belongs to it."""
        return max(self.old_start, 1)

    @property
    def new(self) -> list[str]:
        """The lines of the new text."""
        return [line for mark, line in self.steps if mark != "-"]

    @property
    def more(self) -> int:
        """How many lines more there are afterwards."""
        return len(self.new) - len(self.old) + self.old_ends - self.new_ends


def _in(marks: list[str], kinds: str) -> bool:
    return any(mark in kinds for mark in marks)


def _are_sound(places: Sequence[_Place]) -> bool:
    """True where the hunks follow each other, and the numbers of their lines fit."""
    if any(mark not in " +-" for place in places for mark, _ in place.steps):
        return False
    if any(place.old_start < 0 or place.new_start < 0 for place in places):
        return False
    moved, at = 0, 1
    for place in places:
        if place.start < at or (place.old and place.new and place.new_start != place.old_start + moved):
            return False
        moved += place.more
        at = place.start + len(place.old)
    return True


def _bare(line: str) -> str:
    """A line as hunks show it."""
    return _TABS.sub(lambda tabs: _MAYBE_TABS * len(tabs[0]), line)


def _alike(lines: Sequence[str], others: Sequence[str]) -> bool:
    return len(lines) == len(others) and all(map(str.__eq__, map(_bare, lines), map(_bare, others)))


def _hides_from_hunks(replacements: Sequence[Replacement]) -> bool:
    """True where an edit may turn tabs into spaces, or back, which no hunk shows; also where nobody knows its words."""
    for replacement in replacements:
        old, new = ({*words.split("\n")} for words in (replacement.old, replacement.new))
        looks = {*map(_bare, old)} & {*map(_bare, new)}
        if len(looks) != len([line for line in old | new if _bare(line) in looks]):
            return True
    return not replacements


def _agrees(after: PartialText, before: PartialText, places: Sequence[_Place]) -> bool:
    """True where a text is what the hunks made of the one before."""
    if not places:
        return True
    if after.total != (before.total or 0) + sum(place.more for place in places):
        return False
    return all(
        _bare(after.lines.get(number, "")) == _bare(line)
        for place in places
        for number, line in enumerate(place.new, place.new_start)
    )


def _by_places(before: PartialText, replacements: Sequence[Replacement], places: Sequence[_Place]) -> EditResult:
    """The text after an edit whose places are known."""
    contradicted = any(
        _bare(before.lines.get(number, line)) != _bare(line) or (before.total is not None and number > before.total)
        for place in places
        for number, line in enumerate(place.old, place.start)
    )
    after = NOTHING_KNOWN if contradicted else before
    for place in reversed(places):
        known = [after.lines.get(place.start + number) for number in range(len(place.old))]
        after = after.spliced(place.start, len(place.old), _lines_after(place, known, replacements))
    last = places[-1]
    end = last.start + sum(len(place.new) - len(place.old) for place in places) + len(last.old)
    return EditResult(_ended(after, last, end), contradicted)


def _ended(after: PartialText, last: _Place, end: int) -> PartialText:
    """The text with its end, where the last hunk tells of it; `end` is the line behind that hunk."""
    if last.new_ends:
        return PartialText({number: line for number, line in after.lines.items() if number < end}, end - 1)
    if last.old_ends:
        return PartialText(after.lines | {end: ""}, end)
    return after


def _lines_after(place: _Place, known: list[str | None], replacements: Sequence[Replacement]) -> Sequence[str | None]:
    """The lines at a place after the edit: by words where the old ones are known, else as far as the hunk tells."""
    if None not in known and replacements:
        for eats_break in (True, False):
            text = _replaced("\n".join(map(str, known)), replacements, eats_break)
            if text is not None and _alike(text.split("\n"), place.new):
                return text.split("\n")
    told = _told(place, replacements)
    old = iter(known)
    lines: list[str | None] = []
    for mark, _ in place.steps:
        was = next(old) if mark != "+" else None
        if mark != "-":
            exact = told[len(lines)]
            lines.append(was if was is not None else exact)
    return lines


def _told(place: _Place, replacements: Sequence[Replacement]) -> list[str | None]:
    """The lines of a hunk that are certain: those without spaces that may be tabs, and those that the edit put in."""
    new = place.new
    told = [None if line.startswith(_MAYBE_TABS) else line for line in new]
    if len(replacements) != 1 or replacements[0].everywhere:
        return told
    marks = [mark for mark, _ in place.steps if mark != "-"]
    changed = [number for number, mark in enumerate(marks) if mark == "+"]
    put = replacements[0].new.split("\n")
    first, last = (changed[-1] - len(put) + 1, changed[0]) if changed else (0, -1)
    starts = [at for at in range(max(first, 0), last + 1) if _fits(new[at : at + len(put)], put)]
    if len(starts) == 1:
        for number, line in enumerate(put, starts[0]):
            if new[number] == _bare(line):
                told[number] = line
    return told


def _fits(lines: list[str], put: list[str]) -> bool:
    """True where lines are what words became: the first may have something before it, the last behind it."""
    if len(lines) != len(put):
        return False
    if len(put) == 1:
        return put[0] in lines[0] or _bare(put[0]) in lines[0]
    first, last = lines[0].endswith((put[0], _bare(put[0]))), lines[-1].startswith(_bare(put[-1]))
    return first and last and _alike(lines[1:-1], put[1:-1])
