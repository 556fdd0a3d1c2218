"""Apply an edit to a text of which only some lines are known.

Nothing is guessed: if the place of an edit is unknown, every line that it may have changed or moved becomes unknown. An
edit that Claude Code carried out replaced a string that occurs once, or every occurrence of it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.files.snapshots import NOTHING_KNOWN, PartialText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_session_player.format.results import Hunk, Replacement

_LEADING_TABS: Final = re.compile(r"^\t+")
_TAB_AS_SPACES: Final = "  "
"""How hunks show a leading tab."""
_NO_LINE_BREAK: Final = "\\"
"""How the hunk line starts that says that the last line has no line break."""
_STRAIGHT_QUOTES: Final = str.maketrans("‘’“”", "''\"\"")


class EditResult(NamedTuple):
    """The text after an edit, and what the edit revealed."""

    after: PartialText
    contradicted: bool = False
    """The edit does not fit the known text, so that the file was changed in between."""
    unplaced: bool = False
    """The place of the edit is unknown."""


def apply_edit(before: PartialText, replacements: Sequence[Replacement], hunks: Sequence[Hunk]) -> EditResult:
    """The text after an edit that was carried out; hunks give its places."""
    if replacements and not replacements[0].old:  # creates a file, or fills an empty one
        before, replacements, hunks = PartialText.whole(replacements[0].new), replacements[1:], ()
        if not replacements:
            return EditResult(before)
    changes = [_Change.of(hunk) for hunk in hunks]
    if not _are_consistent(changes):
        changes = []
    if before.complete:
        known = before.text
        for drops_break in (True, False):
            text = _replace(known, replacements, drops_break)
            after = None if text is None else PartialText.whole(text)
            if after is not None and _agrees(after, before, changes):
                return EditResult(after)
    if changes and not _may_change_tabs(replacements):
        return _apply_changes(before, replacements, changes)
    if not replacements:
        return EditResult(NOTHING_KNOWN, unplaced=True)
    contradicted = unplaced = False
    for replacement in replacements:
        result = _apply_replacement(before, replacement)
        before = result.after
        contradicted, unplaced = contradicted or result.contradicted, unplaced or result.unplaced
    return EditResult(before, contradicted, unplaced)


# --- by the replaced strings -------------------------------------------------------------------------


def _replace(text: str, replacements: Sequence[Replacement], drops_break: bool) -> str | None:
    """The text after some replacements; `None` if one of them cannot have been carried out on it."""
    for old, new, everywhere in ((r.old, r.new, r.everywhere) for r in replacements):
        removed = f"{old}\n" if drops_break and _drops_break(old, new) and f"{old}\n" in text else old
        count = text.count(old) if old else 0
        if not count or (count > 1 and not everywhere):
            return None
        text = text.replace(removed, new)
    return text if replacements else None


def _drops_break(old: str, new: str) -> bool:
    """True if Claude Code removes the line break after the string, too: it does so when it removes whole lines."""
    return not new and not old.endswith("\n")


def _apply_replacement(before: PartialText, replacement: Replacement) -> EditResult:
    """Apply one replacement without a known place."""
    if before.complete:
        text = _replace(before.text, [replacement], True)
        return EditResult(NOTHING_KNOWN, contradicted=True) if text is None else EditResult(PartialText.whole(text))
    old, new = replacement.old, replacement.new
    if replacement.everywhere:
        if "\n" not in old + new and new:
            certain = {
                number: line for number, line in before.lines.items() if old in line or not _looks_like(old, line)
            }
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
    is_last_known = text.endswith(old) and start + text.count("\n") != before.total
    if _drops_break(old, new) and is_last_known:  # the unknown next line moves up to this one
        return EditResult(before.before(start + text[: text.rfind(old)].count("\n")))
    after = _replace(text, [replacement], True) or ""
    return EditResult(before.splice(start, text.count("\n") + 1, after.split("\n")))


def _looks_like(old: str, line: str) -> bool:
    """True if Claude Code finds a string in a line: it ignores the style of quotation marks."""
    return old.translate(_STRAIGHT_QUOTES) in line.translate(_STRAIGHT_QUOTES)


def _first_in_doubt(before: PartialText, old: str) -> int:
    """The first line in which a string may start that is in unknown lines, or has other quotation marks."""
    first_gap = before.unknown()[0].first
    doubt = first_gap - old.count("\n")
    run = "\n".join(before.lines[number] for number in range(1, first_gap))
    offset = run.translate(_STRAIGHT_QUOTES).find(old.translate(_STRAIGHT_QUOTES))
    return doubt if offset < 0 else min(doubt, 1 + run.count("\n", 0, offset))


# --- by hunks -------------------------------------------------------------------------------------


class _Change(NamedTuple):
    """A hunk with its lines parsed."""

    old_start: int
    new_start: int
    old: list[str]
    """The lines of the old text."""
    marked_lines: list[tuple[str, str]]
    """All lines in order, each with its mark: `-` removed, `+` added, or a space."""
    ends_old: bool
    """The last line is the end of the old text, without a line break."""
    ends_new: bool
    """Likewise of the new text."""

    @classmethod
    def of(cls, hunk: Hunk) -> _Change:
        """Parse a hunk."""
        marked_lines = [(line[:1] or " ", line[1:]) for line in hunk.lines if line[:1] != _NO_LINE_BREAK]
        ends = [before[:1] or " " for before, line in pairwise(hunk.lines) if line[:1] == _NO_LINE_BREAK]
        old = [line for mark, line in marked_lines if mark != "+"]
        ends_old, ends_new = (any(mark in marks for mark in ends) for marks in (" -", " +"))
        return cls(hunk.old_start, hunk.new_start, old, marked_lines, ends_old, ends_new)

    @property
    def start(self) -> int:
        """The first line of the old text that belongs to the hunk."""
        return max(self.old_start, 1)

    @property
    def new(self) -> list[str]:
        """The lines of the new text."""
        return [line for mark, line in self.marked_lines if mark != "-"]

    @property
    def growth(self) -> int:
        """By how many lines the text grows."""
        return len(self.new) - len(self.old) + self.ends_old - self.ends_new


def _are_consistent(changes: Sequence[_Change]) -> bool:
    """True if the hunks are in order and their line numbers fit together."""
    if any(mark not in " +-" for change in changes for mark, _ in change.marked_lines):
        return False
    if any(change.old_start < 0 or change.new_start < 0 for change in changes):
        return False
    shift, next_line = 0, 1
    for change in changes:
        if change.start < next_line or (change.old and change.new and change.new_start != change.old_start + shift):
            return False
        shift += change.growth
        next_line = change.start + len(change.old)
    return True


def _as_in_hunk(line: str) -> str:
    """A line as hunks show it, with spaces for leading tabs."""
    return _LEADING_TABS.sub(lambda tabs: _TAB_AS_SPACES * len(tabs[0]), line)


def _look_alike(lines: Sequence[str], others: Sequence[str]) -> bool:
    return len(lines) == len(others) and all(map(str.__eq__, map(_as_in_hunk, lines), map(_as_in_hunk, others)))


def _may_change_tabs(replacements: Sequence[Replacement]) -> bool:
    """True if an edit may turn tabs into spaces, or back, which hunks do not show; also if its strings are unknown."""
    for replacement in replacements:
        old, new = ({*string.split("\n")} for string in (replacement.old, replacement.new))
        common = {*map(_as_in_hunk, old)} & {*map(_as_in_hunk, new)}
        if len(common) != len([line for line in old | new if _as_in_hunk(line) in common]):
            return True
    return not replacements


def _agrees(after: PartialText, before: PartialText, changes: Sequence[_Change]) -> bool:
    """True if a text is the one before with the hunks applied."""
    if not changes:
        return True
    if after.total != (before.total or 0) + sum(change.growth for change in changes):
        return False
    return all(
        _as_in_hunk(after.lines.get(number, "")) == _as_in_hunk(line)
        for change in changes
        for number, line in enumerate(change.new, change.new_start)
    )


def _apply_changes(before: PartialText, replacements: Sequence[Replacement], changes: Sequence[_Change]) -> EditResult:
    """The text after an edit at known places."""
    contradicted = any(
        _as_in_hunk(before.lines.get(number, line)) != _as_in_hunk(line)
        or (before.total is not None and number > before.total)
        for change in changes
        for number, line in enumerate(change.old, change.start)
    )
    after = NOTHING_KNOWN if contradicted else before
    for change in reversed(changes):
        known = [after.lines.get(change.start + number) for number in range(len(change.old))]
        after = after.splice(change.start, len(change.old), _lines_after(change, known, replacements))
    last = changes[-1]
    end = last.start + sum(len(change.new) - len(change.old) for change in changes) + len(last.old)
    return EditResult(_with_end(after, last, end), contradicted)


def _with_end(after: PartialText, last: _Change, end: int) -> PartialText:
    """The text with its end, if the last hunk shows it; `end` is the line after that hunk."""
    if last.ends_new:
        return PartialText({number: line for number, line in after.lines.items() if number < end}, end - 1)
    if last.ends_old:
        return PartialText(after.lines | {end: ""}, end)
    return after


def _lines_after(change: _Change, known: list[str | None], replacements: Sequence[Replacement]) -> Sequence[str | None]:
    """The lines of a hunk after the edit: by its strings if all old lines are known, or else as the hunk shows them."""
    if None not in known and replacements:
        for drops_break in (True, False):
            text = _replace("\n".join(map(str, known)), replacements, drops_break)
            if text is not None and _look_alike(text.split("\n"), change.new):
                return text.split("\n")
    certain = _certain_lines(change, replacements)
    old = iter(known)
    lines: list[str | None] = []
    for mark, _ in change.marked_lines:
        before = next(old) if mark != "+" else None
        if mark != "-":
            lines.append(before if before is not None else certain[len(lines)])
    return lines


def _certain_lines(change: _Change, replacements: Sequence[Replacement]) -> list[str | None]:
    """The new lines of a hunk that are certain: no leading spaces that may be tabs, or inserted by the edit."""
    new = change.new
    certain = [None if line.startswith(_TAB_AS_SPACES) else line for line in new]
    if len(replacements) != 1 or replacements[0].everywhere:
        return certain
    marks = [mark for mark, _ in change.marked_lines if mark != "-"]
    added = [number for number, mark in enumerate(marks) if mark == "+"]
    inserted = replacements[0].new.split("\n")
    first, last = (added[-1] - len(inserted) + 1, added[0]) if added else (0, -1)
    starts = [start for start in range(max(first, 0), last + 1) if _fits(new[start : start + len(inserted)], inserted)]
    if len(starts) == 1:
        for number, line in enumerate(inserted, starts[0]):
            if new[number] == _as_in_hunk(line):
                certain[number] = line
    return certain


def _fits(lines: list[str], inserted: list[str]) -> bool:
    """True if lines show an inserted string: the first may have text before it, the last text after it."""
    if len(lines) != len(inserted):
        return False
    if len(inserted) == 1:
        return inserted[0] in lines[0] or _as_in_hunk(inserted[0]) in lines[0]
    first = lines[0].endswith((inserted[0], _as_in_hunk(inserted[0])))
    last = lines[-1].startswith(_as_in_hunk(inserted[-1]))
    return first and last and _look_alike(lines[1:-1], inserted[1:-1])
