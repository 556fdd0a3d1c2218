"""Turns tool calls into parts for a transcript: each function takes the input and the reply of a tool.

Inputs come as the model wrote them: any field may be missing, or of any type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, pairwise
from typing import Any, Final

from msgspec import Raw, Struct

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import DECODE_ERRORS, NOTHING
from claude_session_player.format.content import (
    SHELL,
    CallParts,
    Checklist,
    ChecklistItem,
    Code,
    Data,
    Diff,
    Part,
    Prose,
)
from claude_session_player.format.results import (
    Hunk,
    decode_file_result,
    decode_patch_result,
    decode_question_answers,
    decode_text,
)
from claude_session_player.util.humanize import plural

CONTEXT: Final = 3
"""The number of unchanged lines around a change."""
MOST_STEPS: Final = 40_000_000
"""If difflib may need more steps than this, about half a second, all lines are shown as removed and added."""
_STEPS_PER_LINE: Final = 7
"""The measured cost of a line, in pairs of equal lines."""

SAME: Final = " "
REMOVED: Final = "-"
ADDED: Final = "+"

DiffRun = tuple[str, Sequence[str]]
"""The sign of consecutive lines of one kind, and those lines."""


def text_diff(old: str, new: str) -> str:
    """The changed lines, with some context; empty if nothing changed.

    A line break at the end of both texts is not a line of its own.

    >>> print(text_diff("a\\nb\\nc\\nd\\ne", "a\\nB\\nc\\nD\\ne"))
     a
    -b
    +B
     c
    -d
    +D
     e
    """
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    if before[-1:] == after[-1:] == [""]:
        before.pop()
        after.pop()
    if before == after:
        return ""
    return "\n".join(_with_context(diff_runs(before, after)))


def diff_runs(before: Sequence[str], after: Sequence[str]) -> list[DiffRun]:
    """All lines of both texts in order, in runs of the same kind; no run is empty."""
    if set(before).isdisjoint(after):  # nothing to compare, which is frequent
        found: Iterable[DiffRun] = ((REMOVED, before), (ADDED, after))
    else:
        head = _common_lines(before, after)
        tail = _common_lines(reversed(before[head:]), reversed(after[head:]))
        middle = _changed(before[head : len(before) - tail], after[head : len(after) - tail])
        found = ((SAME, before[:head]), *middle, (SAME, before[len(before) - tail :]))
    return [run for run in found if run[1]]


def _changed(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffRun]:
    """The same for two texts without a common beginning or end."""
    if not _is_worth_comparing(before, after):
        yield REMOVED, before
        yield ADDED, after
        return
    from difflib import SequenceMatcher

    for kind, old_start, old_end, new_start, new_end in SequenceMatcher(None, before, after, False).get_opcodes():
        if kind == "equal":
            yield SAME, before[old_start:old_end]
        else:
            yield REMOVED, before[old_start:old_end]
            yield ADDED, after[new_start:new_end]


def _is_worth_comparing(before: Sequence[str], after: Sequence[str]) -> bool:
    """True if there are common lines, and difflib finds them soon: each match may take all lines and pairs."""
    if set(before).isdisjoint(after):
        return False
    counts = Counter(after)
    pairs = sum([counts[line] for line in before])
    matches = min(len(before), len(after), pairs)
    return matches * (_STEPS_PER_LINE * len(before) + pairs) <= MOST_STEPS


def _with_context(parts: Sequence[DiffRun]) -> Iterator[str]:
    """The runs as text; of unchanged lines only those next to a change."""
    for number, (sign, lines) in enumerate(parts):
        if sign != SAME:
            yield _signed(sign, lines)
            continue
        first, last = number == 0, number == len(parts) - 1
        above, below = 0 if first else CONTEXT, 0 if last else CONTEXT
        hidden = len(lines) - above - below
        if hidden <= (0 if first or last else 1):
            yield _signed(sign, lines)
        elif first or last:
            yield _signed(sign, lines[:above] or lines[len(lines) - below :])
        else:
            yield _signed(sign, lines[:above])
            yield f"@@ {hidden} unchanged lines @@"
            yield _signed(sign, lines[len(lines) - below :])


def _signed(sign: str, lines: Sequence[str]) -> str:
    return sign + f"\n{sign}".join(lines)


def _common_lines(some: Iterable[str], others: Iterable[str]) -> int:
    """The number of common lines at the beginning of two texts."""
    count = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        count += 1
    return count


def common_starts(lines: Sequence[str]) -> list[tuple[int, int, int]]:
    """Which lines of a diff replace each other, and how many of their characters are the same before the first change.

    The removed lines of a run and the added ones right behind them replace each other in order.

    >>> common_starts(["-good morning", "-tea", "+good night", " milk"])
    [(0, 2, 5)]
    """
    runs = []
    for sign, group in groupby(range(len(lines)), key=lambda number: lines[number][:1]):
        runs.append((sign, list(group)))
    return [
        (old, new, _common_length(lines[old][1:], lines[new][1:]))
        for (before, removed), (after, added) in pairwise(runs)
        if (before, after) == (REMOVED, ADDED)
        for old, new in zip(removed, added, strict=False)
    ]


def _common_length(one: str, other: str) -> int:
    """How many characters at the start of two texts are the same, found by halves: a line can have megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class ToolReply(Struct, frozen=True, gc=False):
    """What a tool returned: its text, and the structured result beside it."""

    text: str = ""
    is_error: bool = False
    structured: Raw = NOTHING


PartsBuilder = Callable[[dict[str, Any], ToolReply | None], CallParts]

_BRIEF: Final = 5
_EXTENT: Final = (("from line", "offset"), ("at most", "limit"))
DONE: Final = frozenset(("completed", "done"))
"""The states of a task that is done."""


# --- anything -----------------------------------------------------------------------------------


def generic_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """Any tool: JSON in, text or JSON out."""
    return CallParts("", "", (Data(given),) if given else (), *_output(reply))


_Output = tuple[str, tuple[Part, ...]]
"""A result in a few words, and as parts."""


def _output(reply: ToolReply | None, lines: int | None = None) -> _Output:
    """The text of a result; errors are shown in full."""
    if reply is None:
        return "", ()
    text = reply.text
    if not text:
        return "no output", ()
    language = "json" if text[0] in "{[" and lenient_json.is_value(text) else ""
    return "", (Code(text, language, None if reply.is_error else lines),)


def _quiet(reply: ToolReply | None) -> _Output:
    """A result that only says that all went well: hidden, unless it is an error."""
    return _output(reply, 0) if reply is not None and reply.text else ("", ())


def _text(given: dict[str, Any], *names: str) -> str:
    """The text of the first of some fields that is not empty."""
    for name in names:
        if value := given.get(name):
            return value if isinstance(value, str) else lenient_json.compact(value)
    return ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# --- files and commands -------------------------------------------------------------------------


def shell_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A command and its output."""
    words = _text(given, "description")
    if given.get("run_in_background"):
        words = f"{words} (in the background)".strip()
    return CallParts(words, "", (Code(_text(given, "command"), SHELL),), *_output(reply))


def read_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """The file that was read, and how many lines; the lines themselves only on demand."""
    words = ", ".join([f"{word} {given[name]}" for word, name in _EXTENT if isinstance(given.get(name), int)])
    path = _text(given, "file_path", "path", "notebook_path")
    if reply is None or reply.is_error or not reply.text:
        return CallParts(words, path, (), *_output(reply))
    count = reply.text.count("\n") + 1
    return CallParts(words, path, outcome=plural(count, "line"), returned=(Code(reply.text, "", 0),))


def write_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A file that was written: its changes if they are known, else all of it."""
    content = _text(given, "content", "contents")
    diff = _patch(reply)
    if not diff and (original := _original(reply)):
        diff = text_diff(original, content)
        if not diff:
            return CallParts("no changes", _text(given, "file_path", "path"), (), *_quiet(reply))
    start = None if diff else 1
    diff = diff or "+" + content.removesuffix("\n").replace("\n", "\n+")
    return CallParts("", _text(given, "file_path", "path"), (Diff(diff, start),), *_quiet(reply))


def edit_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """What an edit changed."""
    edits = _dicts(given.get("edits")) or [given]
    diff = _patch(reply) or "\n".join(text_diff(_text(e, "old_string"), _text(e, "new_string")) for e in edits)
    words = "all occurrences" if given.get("replace_all") is True else ""
    return CallParts(words, _text(given, "file_path", "path"), (Diff(diff),), *_quiet(reply))


def notebook_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A cell of a notebook that was changed."""
    source = (Code(_text(given, "new_source")),)
    return CallParts(_text(given, "edit_mode"), _text(given, "notebook_path"), source, *_quiet(reply))


def search_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A search: its pattern and its place."""
    place = _text(given, "path")
    name = _text(given, "pattern") or place
    return CallParts(f"in {place}" if place and place != name else "", name, (), *_output(reply, _BRIEF))


def web_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A page that was fetched, or a search."""
    return CallParts(_text(given, "prompt"), _text(given, "url", "query"), (), *_output(reply, _BRIEF))


def _patch(reply: ToolReply | None) -> str:
    """The diff that Claude Code recorded."""
    if reply is None or reply.is_error or not reply.structured:
        return ""
    try:
        hunks = decode_patch_result(reply.structured).structured_patch
    except DECODE_ERRORS:
        return ""
    return "\n".join(chain.from_iterable((_hunk_head(hunk), *hunk.lines) for hunk in hunks))


def _original(reply: ToolReply | None) -> str:
    """The content of a file before it was written, as Claude Code recorded it."""
    if reply is None or reply.is_error or not reply.structured:
        return ""
    try:
        return decode_text(decode_file_result(reply.structured).original_file) or ""
    except DECODE_ERRORS:
        return ""


def _hunk_head(hunk: Hunk) -> str:
    added, removed = (sum(line.startswith(sign) for line in hunk.lines) for sign in "+-")
    both = len(hunk.lines) - added - removed
    return f"@@ -{hunk.old_start},{both + removed} +{hunk.new_start},{both + added} @@"


# --- lists --------------------------------------------------------------------------------------


def todo_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """The task list."""
    listed = given.get("todos") if isinstance(given.get("todos"), list) else []
    entries = [todo if isinstance(todo, dict) else {"text": todo} for todo in listed or ()]
    items = tuple(_item(_text(todo, "content", "text"), todo) for todo in entries)
    return CallParts("", "", (Checklist(items),) if items else (Data(given),), *_quiet(reply))


def task_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """One task of the list: a new one, or one that changed."""
    number = f"#{given['taskId']} " if "taskId" in given else ""
    item = _item(f"{number}{_text(given, 'subject', 'activeForm')}".strip(), given)
    rest = {key: value for key, value in given.items() if key not in _TASK_FIELDS}
    details: tuple[Part, ...] = (Data(rest),) if rest else ()
    description = (Prose(_text(given, "description")),) if given.get("description") else ()
    return CallParts("", "", (Checklist((item,)), *description, *details), *_quiet(reply))


_TASK_FIELDS: Final = frozenset(("taskId", "subject", "activeForm", "description", "status"))


def _item(text: str, entry: dict[str, Any]) -> ChecklistItem:
    status = _text(entry, "status")
    is_done = status in DONE
    words = status.replace("_", " ")
    return ChecklistItem(f"{text} ({words})" if words and not is_done and words != "pending" else text, is_done)


def question_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """The questions for a person, with the chosen answers."""
    asked = _dicts(given.get("questions"))
    if not asked:
        return generic_parts(given, reply)
    answers = _answers(reply)
    parts = tuple(chain.from_iterable(_question(entry, answers) for entry in asked))
    return CallParts("", "", parts, *(_quiet(reply) if answers else _output(reply, _BRIEF)))


def _answers(reply: ToolReply | None) -> dict[str, Any]:
    try:
        return decode_question_answers(reply.structured).answers if reply is not None else {}
    except DECODE_ERRORS:
        return {}


def _question(entry: dict[str, Any], answers: dict[str, Any]) -> Iterator[Part]:
    question = _text(entry, "question")
    answer = answers.get(question)
    chosen = [str(word) for word in answer] if isinstance(answer, list) else [str(answer)] if answer else []
    options = [(_text(option, "label"), _text(option, "description")) for option in _dicts(entry.get("options"))]
    labels = [label for label, _ in options]
    if len(chosen) == 1 and chosen[0] not in labels:  # several choices come as one text
        parts = chosen[0].split(", ")
        chosen = parts if all(part in labels for part in parts) else chosen
    items = [ChecklistItem(f"{label}: {about}" if about else label, label in chosen) for label, about in options]
    items += [ChecklistItem(word, True) for word in chosen if word not in labels]
    yield Prose(question)
    yield Checklist(tuple(items))


# --- plans, skills, other agents ----------------------------------------------------------------


def plan_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A plan, and whether it was approved."""
    parts = (Prose(_text(given, "plan")),) if given.get("plan") else ()
    if reply is not None and not reply.is_error and reply.text.startswith("User has approved"):
        return CallParts(given=parts, outcome="approved", returned=(Code(reply.text, "", 0),))
    return CallParts("", "", parts, *_output(reply, _BRIEF))


def skill_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A skill or a command that was called by name."""
    return CallParts(_text(given, "args"), _text(given, "skill", "command"), (), *_output(reply, _BRIEF))


def agent_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A sub-agent: its type, description, task and response."""
    words = ": ".join(filter(None, (_text(given, "subagent_type"), _text(given, "description"))))
    task = (Prose(_text(given, "prompt")),) if given.get("prompt") else ()
    if reply is None or reply.is_error or not reply.text:
        return CallParts(words, "", task, *_output(reply))
    return CallParts(words, given=task, returned=(Prose(reply.text),))


def workflow_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A workflow: its script."""
    script = (Code(_text(given, "script"), "javascript"),) if given.get("script") else (Data(given),)
    return CallParts(_text(given, "name", "description"), "", script, *_output(reply, _BRIEF))


def message_parts(given: dict[str, Any], reply: ToolReply | None) -> CallParts:
    """A message to another agent."""
    receiver = _text(given, "to", "recipient")
    words = ": ".join(filter(None, (f"to {receiver}" if receiver else "", _text(given, "summary"))))
    return CallParts(words, "", (Prose(_text(given, "message", "content")),), *_quiet(reply))
