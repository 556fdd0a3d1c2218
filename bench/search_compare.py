"""Compares the generated store with real sessions: `python -m bench.search_compare`."""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import math
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.search_store import write_search_store
from claude_session_player.parser import gc_paused
from tests import corpus

_GROUPS: Final = {
    "images": r"source\.data$|base64$",
    "signatures": r"\.signature$",
    "tool results": r"^user\.message\.content\.content",
    "toolUseResult: files": r"^user\.toolUseResult\.(originalFile|file\.content|content)",
    "toolUseResult: other": r"^user\.toolUseResult",
    "attachments": r"^attachment\.attachment",
    "progress": r"^progress\.data",
    "tool inputs": r"^assistant\.message\.content\.input",
    "response text": r"^assistant\.message\.content(\.text)?$",
    "thinking": r"\.thinking$",
    "prompts": r"^user\.message\.content(\.text)?$",
}
"""Names of groups of values, by the paths of their keys."""
_SEARCHABLE: Final = ("tool results", "tool inputs", "response text", "thinking", "prompts")
_WORD: Final = re.compile(r"\w+")
_PIECE: Final = 60_000


def _decode(line: bytes) -> Any:
    """A line as JSON; `None` if it is malformed."""
    try:
        return json.loads(line)
    except ValueError:
        return None


@functools.cache
def _group(path: str) -> str:
    return next((name for name, pattern in _GROUPS.items() if re.search(pattern, path)), "envelope, usage, other")


def _values(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """All values that hold no others, with the keys that lead to them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _values(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, path)
    else:
        yield path, value


class Measures(NamedTuple):
    """The rows of the comparison."""

    rows: dict[str, float]
    growth: dict[float, float]
    """The number of distinct words in so many MB of searchable text."""


def measure(files: Iterable[Path]) -> Measures:
    """Measure session files; of equal ones only the first."""
    contents = {hashlib.md5(data).digest(): data for data in (path.read_bytes() for path in files)}
    sizes, words = Counter[str](), Counter[str]()
    lengths: list[int] = []
    seconds = 0.0
    pieces: list[list[tuple[int, set[str]]]] = []
    for data in contents.values():
        lines = data.splitlines()
        start = time.perf_counter()
        for line in lines:
            _decode(line)
        seconds += time.perf_counter() - start
        pieces.append([(0, set())])
        for line in lines:
            lengths.append(len(line))
            text = _add_sizes(_decode(line), sizes)
            found = _WORD.findall(text.lower())
            words.update(found)
            if pieces[-1][-1][0] > _PIECE:
                pieces[-1].append((0, set()))
            size, known = pieces[-1][-1]
            pieces[-1][-1] = size + len(text.encode(errors="replace")), known.union(found)
    total, ranks = sum(lengths), [count for _, count in words.most_common()]
    sizes["keys and punctuation"] = total - sizes.total()
    lengths.sort()
    rows = {
        "MB": total / 1_000_000,
        **{f"% {group}": 100 * size / total for group, size in sizes.most_common()},
        "% searchable text": 100 * sum(sizes[group] for group in _SEARCHABLE) / total,
        "% of that: tool results": 100 * sizes["tool results"] / sum(sizes[group] for group in _SEARCHABLE),
        **{f"% of words: the {top} most frequent": 100 * sum(ranks[:top]) / sum(ranks) for top in (10, 100, 1000)},
        "% of distinct words: found once": 100 * ranks.count(1) / len(ranks),
        **{f"bytes of a line, {share:.0%}": lengths[int(share * len(lengths))] for share in (0.5, 0.9, 0.99)},
        "lines per file": len(lengths) / len(contents),
        "json.loads MB/s": total / 1_000_000 / seconds,
    }
    return Measures(rows, _word_growth(pieces))


def _add_sizes(record: Any, sizes: Counter[str]) -> str:
    """Add the sizes of the values of a record to those of their groups; returns its searchable text."""
    texts = []
    for path, value in _values(record, str(record.get("type")) if isinstance(record, dict) else ""):
        group = _group(path)
        is_text = isinstance(value, str)
        sizes[group] += len(json.dumps(value, ensure_ascii=False).encode(errors="replace")) - 2 * is_text
        if is_text and group in _SEARCHABLE:
            texts.append(value)
    return "\n".join(texts)


def _word_growth(files: list[list[tuple[int, set[str]]]]) -> dict[float, float]:
    """The number of distinct words by MB of text: the mean over some orders of the files."""
    found: dict[float, list[int]] = {}
    for seed in range(8):
        random.Random(seed).shuffle(files)
        words, total, milestone = set[str](), 0.0, 0.5
        for size, piece in (piece for file in files for piece in file):
            words |= piece
            total += size / 1_000_000
            while total >= milestone:
                found.setdefault(milestone, []).append(len(words))
                milestone *= 2
        found.setdefault(round(total, 1), []).append(len(words))
    return {milestone: sum(counts) / len(counts) for milestone, counts in found.items()}


def compare(megabytes: float, files: int) -> None:
    """Print the measures of the corpus beside those of a generated store."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        root = write_search_store(Path(folder), megabytes, files)
        print(f"generated in {time.perf_counter() - start:.1f} s")
        with gc_paused():  # or a larger heap makes json.loads slower
            ours, theirs = measure(sorted(root.rglob("*.jsonl"))), measure(corpus.session_files())
    print(f"{'':44}{'corpus':>10}{'generated':>12}")
    for name in theirs.rows:
        print(f"{name:44}{theirs.rows[name]:10,.1f}{ours.rows.get(name, 0.0):12,.1f}")
    exponent = math.log(theirs.growth[8] / theirs.growth[1], 8)
    for text, count in sorted(ours.growth.items()):
        expected = theirs.growth.get(text) or theirs.growth[8] * (text / 8) ** exponent
        sign = " " if text in theirs.growth else "~"
        print(f"{f'distinct words in {text:g} MB of text':44}{sign}{expected:9,.0f}{count:12,.0f}")
    print(f"~ by Heaps' law, with the exponent {exponent:.2f} of the corpus")


def main() -> None:
    """Compare a generated store to the corpus."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--megabytes", type=float, default=43, help="size of the generated store (43, as the corpus)")
    parser.add_argument("--files", type=int, default=255, help="number of its files (255, as the corpus)")
    arguments = parser.parse_args()
    if corpus.session_files():
        compare(arguments.megabytes, arguments.files)
    else:
        print(f"skipped: there is no corpus at {corpus.ROOT}")


if __name__ == "__main__":
    main()
