"""What is done in one step for each part does what a plain way does that takes n²."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, strategies as some

from claude_session_player.format.events import QueueOperation
from claude_session_player.format.line_reader import LineRangeReader
from claude_session_player.linking.prompts import PromptQueue
from claude_session_player.models import OpenCalls
from claude_session_player.store import extras
from claude_session_player.store.extras import find_references

_PERSISTED = re.compile(r"<persisted-output>.*?saved to: ([^\n]+?)\s*\n.*?(?:</persisted-output>|\Z)", re.DOTALL)
_W = extras._WORDS
_PLAIN_SECRETS = {
    3: re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),
    7: re.compile(rf"(?i)(?:(?<=\s)|^)--?[\w-]*(?:{_W})[\w-]*[ =]{extras._VALUE}"),
    8: re.compile(rf"(?i)[\w-]*(?:{_W})[\w-]*\s*[=:]\s*{extras._VALUE}"),
}
_PLAIN_FLAG = re.compile(rf"(?i)--?[\w-]*(?:{_W}|auth)[\w-]*|-u|--user")
_PLAIN_NOT_SECRET = re.compile(r"(?i)helper$|max.*tokens?|tokens?_(?:limit|count)")

_pieces = ["<persisted-output>", "</persisted-output>", "saved to: ", "\n", " ", "/x/b1.txt", "\\", "a"]
_words = ["token", "API_KEY", "-", "--", "_", "a", "eyJ", "abcdefgh", ".", " ", "=", ":", '"', "'", "&", "\n", "max"]


def _joined(pieces: list[str]) -> some.SearchStrategy[str]:
    return some.lists(some.sampled_from(pieces), max_size=14).map("".join)


@given(_joined(_pieces))
def test_references_are_those_that_a_plain_pattern_finds(text: str) -> None:
    plain = [(m.start(), m.end(), m[1].replace("\\", "/").rpartition("/")[2]) for m in _PERSISTED.finditer(text)]
    assert [tuple(one) for one in find_references(text)] == plain


@given(_joined(_words))
def test_secrets_are_masked_as_plain_patterns_mask_them(text: str) -> None:
    for number, plain in _PLAIN_SECRETS.items():
        masked = extras._SECRETS[number].sub(extras._masked_match, text)
        assert masked == plain.sub(extras.MASK, text), plain.pattern


@given(_joined([*_words, "auth", "u", "user", "helper", "_limit", "s"]))
def test_names_are_judged_as_plain_patterns_judge_them(text: str) -> None:
    assert bool(extras._SECRET_FLAG.fullmatch(text)) == bool(_PLAIN_FLAG.fullmatch(text))
    assert bool(extras._NOT_SECRET.search(text)) == bool(_PLAIN_NOT_SECRET.search(text))


@given(some.lists(some.tuples(some.sampled_from(["add", "pop", "any", "discard"]), some.sampled_from("ab"))))
def test_open_calls_are_taken_as_from_one_list(steps: list[tuple[str, str]]) -> None:
    calls, plain = OpenCalls[int](), list[tuple[int, str]]()
    for number, (step, name) in enumerate(steps):
        if step == "add":
            calls.add(number, name, number)
            plain.append((number, name))
        elif step == "discard":
            calls.discard(number - 2)
            plain = [one for one in plain if one[0] != number - 2]
        else:
            fitting = [one for one in plain if step == "any" or one[1] == name]
            plain = [one for one in plain if one not in fitting[:1]]
            expected = fitting[0][0] if fitting else None
            assert calls.pop_oldest(None if step == "any" else name) == expected
    assert sorted(calls) == [number for number, _ in plain]


class _PlainQueue:
    """The queue as two lists that are searched."""

    def __init__(self) -> None:
        self.waiting: list[list[object]] = []
        self.taken: list[list[object]] = []

    def operate(self, operation: str, words: str) -> str | None:
        if operation == "enqueue":
            self.waiting.append([words, False])
        elif operation == "popAll":
            self.waiting = []
        elif self.waiting:
            place = next((n for n, one in enumerate(self.waiting) if words and one[0] == words), 0)
            prompt = self.waiting.pop(place)
            if operation == "remove" and not prompt[1]:
                self.taken.append(prompt)
                return str(prompt[0])
        return None

    def note(self, words: str) -> bool:
        for prompt in (*self.taken, *self.waiting):
            if not prompt[1] and prompt[0] == words:
                prompt[1] = True
                return any(prompt is one for one in self.taken)
        return False

    def settle(self) -> list[object]:
        settled, self.taken = [one[0] for one in self.taken if not one[1]], []
        return settled


_STEPS = ["enqueue", "enqueue", "remove", "dequeue", "popAll", "note", "settle"]


@given(some.lists(some.tuples(some.sampled_from(_STEPS), some.sampled_from(["", "a", "b"])), max_size=30))
def test_a_queue_is_followed_as_by_two_lists(steps: list[tuple[str, str]]) -> None:
    queue, plain = PromptQueue(), _PlainQueue()
    for step, words in steps:
        if step == "note":
            assert (queue.note(words or "c") is not None) == plain.note(words or "c")
        elif step == "settle":
            assert [prompt.text for prompt in queue.settle()] == plain.settle()
        else:
            words = words or ("c" if step == "enqueue" else "")
            taken = queue.operate(QueueOperation(operation=step, content=f'"{words}"'.encode()))  # type: ignore[arg-type]
            assert (taken.text if taken else None) == plain.operate(step, words)


@given(
    some.lists(some.sampled_from([b"a", b"bb", b""]), max_size=8),
    some.lists(some.tuples(some.integers(1, 9), some.integers(0, 3)), max_size=4),
)
def test_stretches_are_the_lines_of_the_file(lines: list[bytes], asked: list[tuple[int, int]]) -> None:
    stretches = [(first, first + more) for first, more in asked]
    wanted = {number for first, last in stretches for number in range(first, last + 1)}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        path.write_bytes(b"\n".join(lines))
        with path.open("rb") as file:
            plain = [(number, line) for number, line in enumerate(file, 1) if number in wanted]
        reader = LineRangeReader(str(path), stretches)
        assert list(reader.lines(stretches)) == plain
        path.write_bytes(b"first\n" + path.read_bytes())  # another file by now
        with path.open("rb") as file:
            assert list(reader.lines(stretches)) == [one for one in enumerate(file, 1) if one[0] in wanted]
