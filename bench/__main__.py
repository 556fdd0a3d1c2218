"""`make bench`: write sessions, and print ratios to references measured in the same run."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

from bench.key_to_paint import measure_key_to_paint
from bench.measure import Row, best_process_times, best_times, peak_memory, process, until_shown
from bench.player_keys import measure_player_keys
from bench.search_store import sample_queries, write_search_store
from bench.secrets import measure_secrets
from bench.sessions import write_long_line, write_session, write_store
from claude_session_player import ScreenState, Session, Store, View, read_events, render, replay, summarize
from claude_session_player.export.transcript import TranscriptStyle, entry_blocks, join_blocks
from claude_session_player.format.events import decode
from claude_session_player.formatter import MarkdownWindow
from claude_session_player.parser import gc_paused
from claude_session_player.player.frame_index import FrameIndex
from claude_session_player.player.recording import FileSource
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.subagents import SubagentFinder
from claude_session_player.transcript.walk import TranscriptWalk
from tests import corpus
from tests.searches import bytes_read, open_search

PROGRAM = str(Path(sys.executable).with_name("claude-session-player"))
ROUNDS = 9
MEGABYTE = 1_000_000
_LAST_WORDS = "all keys"
"""What stands at the end of the player's first frame."""

_T = TypeVar("_T")


def main() -> None:
    """Run all benchmarks, or those named on the command line, and print a row for each target."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = (
            replay_session,
            replay_corpus,
            show,
            summary,
            start,
            play,
            seek,
            player_keys,
            list_and_get,
            stats,
            verify,
            redact,
            secrets,
            redraw,
            memory,
            long_line,
            search_index,
            search_growth,
            search_queries,
            search_exact,
            search_typing,
        )
        chosen = [job for job in jobs if job.__name__ in sys.argv[1:]] or jobs
        for job in chosen:
            for row in job(Path(folder)):
                print(row, flush=True)


def replay_session(folder: Path) -> Iterator[Row]:
    """Replay a session of 50 MB to markdown, compared to decoding its lines, in memory and read from the file."""
    path = write_session(folder / "50.jsonl", 50)
    lines = _lines(path)
    ours, loads, decoding, file_loads, file_decoding = best_times(
        ROUNDS,
        lambda: replay(path).to_markdown(),
        lambda: _each(lines, json.loads),
        lambda: _each(lines, decode),
        lambda: _each_line(path, json.loads),
        lambda: _each_line(path, decode),
    )
    job = "replay 50 MB to markdown"
    yield Row(job, "json.loads, lines in memory", loads / ours, 2.0, "×", details=_ms(ours, loads))
    yield Row(job, "json.loads, lines read", file_loads / ours, 2.0, "×", details=_ms(ours, file_loads))
    yield Row(job, "msgspec into events, lines in memory", decoding / ours, 0.5, "×", details=_ms(ours, decoding))
    yield Row(job, "msgspec into events, lines read", file_decoding / ours, 0.5, "×", details=_ms(ours, file_decoding))


def replay_corpus(folder: Path) -> Iterator[Row]:
    """Replay all real sessions, if there are any."""
    if not (files := corpus.session_files()):
        print(f"replay of real sessions: skipped, no sessions in {corpus.ROOT}")
        return
    lines = [line for path in files for line in _lines(path)]
    ours, loads, file_loads = best_times(
        ROUNDS,
        lambda: _each(files, lambda path: replay(path).to_markdown()),
        lambda: _each(lines, _loads_or_skip),
        lambda: _each(files, lambda path: _each_line(path, _loads_or_skip)),
    )
    job = f"replay {len(files)} real sessions to markdown"
    yield Row(job, "json.loads, lines in memory", loads / ours, 1.5, "×", details=_ms(ours, loads))
    yield Row(job, "json.loads, lines read", file_loads / ours, 1.5, "×", details=_ms(ours, file_loads))


def show(folder: Path) -> Iterator[Row]:
    """Write the transcript of a session of 50 MB, with and without sub-agents known only from progress lines."""
    path = write_session(folder / "show.jsonl", 50)
    lines = _lines(path)

    def transcript(subagents: SubagentFinder) -> str:
        with gc_paused():
            entries = TranscriptWalk(TranscriptBuilder(subagents)).entries(read_events(path))
            return "".join(join_blocks(entry_blocks(entries, TranscriptStyle())))

    alone, reported, loads, file_loads = best_times(
        ROUNDS,
        lambda: transcript(SubagentFinder(is_linked=True)),
        lambda: transcript(SubagentFinder()),
        lambda: _each(lines, json.loads),
        lambda: _each_line(path, json.loads),
    )
    yield Row("show of 50 MB", "json.loads, lines in memory", loads / alone, 1.0, "×", details=_ms(alone, loads))
    yield Row("show of 50 MB", "json.loads, lines read", file_loads / alone, 1.0, "×", details=_ms(alone, file_loads))
    job = "show of 50 MB, with reported sub-agents"
    yield Row(job, "json.loads, lines read", file_loads / reported, 1.0, "×", details=_ms(reported, file_loads))


def summary(folder: Path) -> Iterator[Row]:
    """Summarize a session of 50 MB, once indexed and once not."""
    path = write_session(folder / "sum.jsonl", 50)
    lines = _lines(path)

    def open_session() -> Session:
        return Store.open(folder, cache=None, required=False).at(path)

    session = open_session()
    known, new, loads, file_loads = best_times(
        ROUNDS,
        lambda: summarize(session),
        lambda: summarize(open_session()),
        lambda: _each(lines, json.loads),
        lambda: _each_line(path, json.loads),
    )
    job = "summary of 50 MB"
    yield Row(job, "json.loads, lines in memory", loads / known, 2.5, "×", details=_ms(known, loads))
    yield Row(job, "json.loads, lines read", file_loads / known, 2.5, "×", details=_ms(known, file_loads))
    new_job = f"{job}, not indexed"
    yield Row(new_job, "json.loads, lines in memory", loads / new, 2.5, "×", details=_ms(new, loads))
    yield Row(new_job, "json.loads, lines read", file_loads / new, 2.5, "×", details=_ms(new, file_loads))


def start(folder: Path) -> Iterator[Row]:
    """Run `--version`, including the start of the process."""
    ours, python = best_process_times(30, [PROGRAM, "--version"], [sys.executable, "-c", "pass"])
    yield Row("--version", "python -c pass", ours / python, 5, "×", False, _ms(ours, python))


def play(folder: Path) -> Iterator[Row]:
    """Play a session from a file and from a store, from the start of the process to the first frame."""
    store = write_store(folder / "played", 20, 40)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    session = next(store.rglob("*.jsonl"))
    file, found, python = best_times(
        15,
        until_shown([PROGRAM, "play", str(session)], _LAST_WORDS),
        until_shown([PROGRAM, "play", session.stem, "--root", str(store)], _LAST_WORDS),
        process([sys.executable, "-c", "pass"]),
    )
    yield Row("play FILE to its first frame", "python -c pass", file / python, 40, "×", False, _ms(file, python))
    yield Row("play ID to its first frame", "python -c pass", found / python, 40, "×", False, _ms(found, python))


def seek(folder: Path) -> Iterator[Row]:
    """Seek in a session of 50,000 lines: the slowest of 200 screens, each the best of three times."""
    path = write_session(folder / "seek.jsonl", 130)
    index = FrameIndex(FileSource(str(path)), View.rich())
    while index.line_count < 50_000 and index.read_more():
        pass
    places = random.Random(6).sample(range(len(index.frames)), 200)
    times: dict[int, float] = {}
    most = 0
    for place in places * 3:
        before, start = index.lines_decoded, time.perf_counter()
        index.screen(place)
        times[place] = min(time.perf_counter() - start, times.get(place, math.inf))
        most = max(most, index.lines_decoded - before)
    details = f"{most} lines decoded at most, {index.keyframe_count} keyframes"
    slowest = max(times.values()) * 1000
    yield Row(f"any screen of a session of {index.line_count} lines", "50 ms", slowest, 50, "ms", False, details)


def player_keys(folder: Path) -> Iterator[Row]:
    """Press keys in the player of a session of 30 MB, and measure from each key to the painted frame."""
    path = write_session(folder / "keys.jsonl", 30)
    rounds = [measure_player_keys(path) for _ in range(3)]
    times = sorted((min(seconds for _, seconds in same), same[0][0]) for same in zip(*rounds, strict=True))
    slowest, key = times[-1]
    details = f"{key}; median {times[len(times) // 2][0] * 1000:.0f} ms, {len(times)} keys, each the best of three"
    yield Row("key to paint in a session of 30 MB, slowest key", "30 ms", slowest * 1000, 30, "ms", False, details)


def list_and_get(folder: Path) -> Iterator[Row]:
    """List and get sessions of a store of 500 MB in 900 files, in processes."""
    root, files, lines = _large_store(folder)
    where = ["--root", str(root)]
    list_cold, list_first = [PROGRAM, "list", "--json", "--no-cache", *where], [PROGRAM, "list", "--json", *where]

    def run_first_time() -> None:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        process(list_first)()

    cold, first, loads = best_times(ROUNDS, process(list_cold), run_first_time, lambda: _each(lines, json.loads))
    size = sum(path.stat().st_size for path in files) / MEGABYTE
    job = f"list --json of {size:.0f} MB in {len(files)} files"
    yield Row(f"{job}, --no-cache", "json.loads, one core", loads / cold, 3, "×", details=_ms(cold, loads))
    yield Row(f"{job}, first time", "json.loads, one core", loads / first, 3, "×", details=_ms(first, loads))
    prefix = files[len(files) // 2].name[:8]
    warm, get, python = best_process_times(
        25,
        [PROGRAM, "list", "--json", *where],
        [PROGRAM, "get", "--no-events", "--json", prefix, *where],
        [sys.executable, "-c", "pass"],
    )
    yield Row("list --json, warm", "python -c pass", warm / python, 10, "×", False, _ms(warm, python))
    yield Row("get --no-events, warm", "python -c pass", get / python, 10, "×", False, _ms(get, python))


def stats(folder: Path) -> Iterator[Row]:
    """Count tokens and cost of a store of 500 MB, in processes."""
    root, files, lines = _large_store(folder)
    where = ["--root", str(root)]

    def run_first_time() -> None:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        process([PROGRAM, "stats", *where])()

    cold, first, loads = best_times(
        ROUNDS, process([PROGRAM, "stats", "--no-cache", *where]), run_first_time, lambda: _each(lines, json.loads)
    )
    size = sum(path.stat().st_size for path in files) / MEGABYTE
    job = f"stats of {size:.0f} MB in {len(files)} files"
    yield Row(f"{job}, --no-cache", "json.loads, one core", loads / cold, 2.5, "×", details=_ms(cold, loads))
    yield Row(f"{job}, first time", "json.loads, one core", loads / first, 2.5, "×", details=_ms(first, loads))
    table, record, python = best_process_times(
        25,
        [PROGRAM, "stats", *where],
        [PROGRAM, "stats", "--json", *where],
        [sys.executable, "-c", "pass"],
    )
    yield Row("stats, warm", "python -c pass", table / python, 20, "×", False, _ms(table, python))
    yield Row("stats --json, warm", "python -c pass", record / python, 20, "×", False, _ms(record, python))


def verify(folder: Path) -> Iterator[Row]:
    """Verify a store of 500 MB in a process, and compare its memory to that for 50 MB."""
    root, files, lines = _large_store(folder)
    small = write_store(folder / "small", 50, 90)
    check = [PROGRAM, "verify", "--all", "--severity", "error", "--no-cache", "--root"]
    ours, loads = best_times(ROUNDS, process([*check, str(root)]), lambda: _each(lines, json.loads))
    size = sum(path.stat().st_size for path in files) / MEGABYTE
    job = f"verify --all of {size:.0f} MB in {len(files)} files"
    yield Row(job, "json.loads, one core", loads / ours, 1.5, "×", details=_ms(ours, loads))
    low, high = (peak_memory(*check, str(place)) for place in (small, root))
    details = f"{high / MEGABYTE:.0f} MB, {low / MEGABYTE:.0f} MB"
    yield Row(f"{job}: memory above", "that for 50 MB", (high - low) / MEGABYTE, 20, "MB", False, details)
    one = [PROGRAM, "verify", "--severity", "error"]
    low, high = (peak_memory(*one, str(write_session(folder / "one.jsonl", size))) for size in (10, 300))
    details = f"{high / MEGABYTE:.0f} MB, {low / MEGABYTE:.0f} MB"
    yield Row("verify of one file of 300 MB: memory above", "10 MB", (high - low) / MEGABYTE, 60, "MB", False, details)


def redact(folder: Path) -> Iterator[Row]:
    """Show a session of 50 MB from a redacted copy, compared to showing it as it is; and copies of real sessions."""
    path = write_session(folder / "redact.jsonl", 50)
    plain, redacted = best_process_times(ROUNDS, [PROGRAM, "show", str(path)], [PROGRAM, "show", str(path), "--redact"])
    yield Row("show --redact of 50 MB", "show", plain / redacted, 0.6, "×", details=_ms(redacted, plain))
    low, high = (
        peak_memory(PROGRAM, "show", "--redact", str(write_session(folder / f"{size}.jsonl", size)))
        for size in (10, 100)
    )
    details = f"{high / MEGABYTE:.0f} MB, {low / MEGABYTE:.0f} MB"
    yield Row("show --redact of 100 MB: memory above", "10 MB", (high - low) / MEGABYTE, 60, "MB", False, details)


def secrets(folder: Path) -> Iterator[Row]:
    """Look for secrets in a store of 240 MB, and in real sessions."""
    yield from measure_secrets(folder, PROGRAM)


def redraw(folder: Path) -> Iterator[Row]:
    """Redraw the screen after each of 20,000 lines."""
    events = list(read_events(write_session(folder / "redraw.jsonl", 60)))[:20_000]
    final = ScreenState()
    for event in events:
        render(final, event)

    def follow() -> None:
        state = ScreenState()
        window = MarkdownWindow(state)
        for event in events:
            render(state, event)
            window.update()

    ours, once = best_times(ROUNDS, follow, final.to_markdown)
    job = f"screen after each of {len(events)} lines"
    yield Row(job, "one to_markdown at the end", ours / once, 10, "×", False, _ms(ours, once))


def memory(folder: Path) -> Iterator[Row]:
    """Measure the peak memory of a replay of 1 GB, mostly tool output, compared to that of 10 MB."""
    small = write_session(folder / "small.jsonl", 10, output=9.5)
    large = write_session(folder / "large.jsonl", 1000, output=9.5)
    low, high = peak_memory(PROGRAM, str(small)), peak_memory(PROGRAM, str(large))
    details = f"{high / MEGABYTE:.0f} MB, {low / MEGABYTE:.0f} MB"
    yield Row("peak memory for 1 GB, above", "that for 10 MB", (high - low) / MEGABYTE, 60, "MB", False, details)
    large.unlink()


def long_line(folder: Path) -> Iterator[Row]:
    """Measure the memory for a single line of 100 MB as a multiple of its size."""
    idle = peak_memory(PROGRAM, str(write_session(folder / "tiny.jsonl", 0.01)))
    for kind, character in (("output", "😀"), ("prompt", "-"), ("prompt", "→"), ("prompt", "😀")):
        path = write_long_line(folder / "long.jsonl", 100, kind, character)
        cost = peak_memory(PROGRAM, str(path)) - idle
        size = path.stat().st_size
        details = f"{cost / MEGABYTE:.0f} MB, {size / MEGABYTE:.0f} MB"
        yield Row(f"memory for a line of 100 MB ({kind}, {character})", "its size", cost / size, 4, "×", False, details)


def search_index(folder: Path) -> Iterator[Row]:
    """Index a realistic store of 500 MB from nothing, in a process."""
    root, size, lines = _search_store(folder)
    rebuild = [PROGRAM, "index", "rebuild", "--root", str(root)]
    ours, loads = best_times(3, process(rebuild), lambda: _each(lines, json.loads))
    job = f"first index of {size / MEGABYTE:.0f} MB"
    yield Row(job, "json.loads, one core", loads / ours, 0.8, "×", details=_ms(ours, loads))
    on_disk = sum(path.stat().st_size for path in (folder / "cache").rglob("search-*/**/*") if path.is_file())
    details = f"{on_disk / MEGABYTE:.0f} MB, {size / MEGABYTE:.0f} MB"
    yield Row("search index on disk", "the store", on_disk / size * 100, 45, "%", False, details)
    memory = peak_memory(*rebuild) / MEGABYTE
    yield Row(f"{job}: peak memory", "300 MB", memory, 300, "MB", False, "of the largest process")


def search_growth(folder: Path) -> Iterator[Row]:
    """Let one session grow by 1 MB, and count what the next search reads of session files."""
    root, _, _ = _search_store(folder)
    cache = folder / "cache" / "claude-session-player"
    open_search(root, cache)
    path = max(root.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    added = write_session(folder / "added.jsonl", 1).read_bytes()
    with path.open("ab") as file:
        file.write(added)
    with bytes_read() as read:
        open_search(root, cache).search(["render"])
    details = f"{sum(read):,} of {len(added):,} bytes"
    yield Row("find after a session grew by 1 MB: bytes read", "1 MB", sum(read) / len(added), 1.1, "×", False, details)


def search_queries(folder: Path) -> Iterator[Row]:
    """Search for a word in a process of its own, and for 1,000 different queries in one process."""
    root, _, _ = _search_store(folder)
    search = open_search(root, folder / "cache" / "claude-session-player")
    warm, python = best_process_times(
        25, [PROGRAM, "find", "render", "--root", str(root)], [sys.executable, "-c", "pass"]
    )
    yield Row("find word, warm", "python -c pass", warm / python, 15, "×", False, _ms(warm, python))
    times = []
    for query in sample_queries(7, 1000):
        start = time.perf_counter()
        for group in islice(search.search([query]), 10):
            group.best()
        times.append((time.perf_counter() - start) * 1000)
    times.sort()
    details = f"median {times[500]:.1f} ms, slowest {times[-1]:.0f} ms; with the hits of 10 sessions"
    yield Row("one of 1,000 queries, 95th percentile", "5 ms", times[950], 5, "ms", False, details)


def search_exact(folder: Path) -> Iterator[Row]:
    """Search for a text that is nowhere, without any index, in a process."""
    root, size, lines = _search_store(folder)
    command = [PROGRAM, "find", "--exact", "no such words anywhere", "--root", str(root)]
    ours, loads = best_times(ROUNDS, process(command), lambda: _each(lines, json.loads))
    job = f"find --exact in {size / MEGABYTE:.0f} MB"
    yield Row(job, "json.loads, one core", loads / ours, 5, "×", details=_ms(ours, loads))


def search_typing(folder: Path) -> Iterator[Row]:
    """Type words in the list of sessions, and measure from each key to the painted result."""
    root, _, _ = _search_store(folder)
    times = sorted(measure_key_to_paint(root, "render state buffer"))
    details = f"median {times[len(times) // 2] * 1000:.0f} ms, {len(times)} keys"
    yield Row("search as you type, slowest key", "60 ms", times[-1] * 1000, 60, "ms", False, details)


def _search_store(folder: Path) -> tuple[Path, int, list[bytes]]:
    """A store of 500 MB with the words and shares of real ones, its size and its lines."""
    root = folder / "search-store"
    if not root.exists():
        write_search_store(root, 500, 900)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    lines = [line for path in sorted(root.rglob("*.jsonl")) for line in _lines(path)]
    return root, sum(map(len, lines)), lines


def _large_store(folder: Path) -> tuple[Path, list[Path], list[bytes]]:
    """A store of 500 MB in 900 files, its files and all their lines; with a separate cache directory."""
    root = folder / "store"
    if not root.exists():
        write_store(root, 500, 900)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    files = sorted(root.rglob("*.jsonl"))
    return root, files, [line for path in files for line in _lines(path)]


def _lines(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        return file.readlines()


def _each(items: Iterable[_T], job: Callable[[_T], object]) -> None:
    for item in items:
        job(item)


def _each_line(path: Path, parse: Callable[[bytes], object]) -> None:
    with path.open("rb") as file:
        _each(file, parse)


def _loads_or_skip(line: bytes) -> None:
    with contextlib.suppress(ValueError):
        json.loads(line)


def _ms(ours: float, reference: float) -> str:
    return f"{ours * 1000:.0f} ms, {reference * 1000:.0f} ms"


if __name__ == "__main__":
    main()
