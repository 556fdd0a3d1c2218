"""`stats` for people and for scripts."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.builder import START, SessionBuilder, call, text
from tests.program import PROGRAM, csp, on_terminal
from tests.stores import ENGINE, ONE, THREE, TWO, StoreBuilder
from tests.test_cli_store import check

MILLION = 1_000_000
PRICES = {"claude-opus": {"input": 5, "output": 25, "cache_write_5m": 6, "cache_write_1h": 10, "cache_read": 0.5}}


def usage(output: int, written: int = 0, hour: int = 0) -> dict[str, Any]:
    parts = {"ephemeral_1h_input_tokens": hour}
    return {"output_tokens": output, "cache_creation_input_tokens": written, "cache_creation": parts}


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """Two projects, a sub-agent, and a model whose price nobody knows."""
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Start the engine")
    task = call("Task", "t", prompt="Look", subagent_type="Explore")
    session.response(task, request="a", usage=usage(MILLION, 2 * MILLION, MILLION))
    session.response(text("Runs"), request="b", model="tea-1", usage=usage(7)).write(builder.home() / f"{ONE}.jsonl")
    agent = SessionBuilder(session_id=ONE, sidechain=True).prompt("Look")
    agent.response(text("Nothing"), request="c", usage=usage(2 * MILLION)).write(builder.home() / "agent-a1.jsonl")
    other = SessionBuilder(session_id=TWO, cwd="/home/ada/tea", start=START + timedelta(days=1)).prompt("Boil water")
    other.response(text("Hot"), request="d", usage=usage(3 * MILLION)).write(
        builder.home("/home/ada/tea") / f"{TWO}.jsonl"
    )
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    return builder


def arguments(builder: StoreBuilder, *more: str | Path) -> list[str | Path]:
    return ["stats", "--root", builder.root, "--prices", builder.root.parent / "prices.json", *more]


def stats(builder: StoreBuilder, *more: str | Path) -> Any:
    done = csp(*arguments(builder, "--json", *more), TZ="UTC")
    assert (done.stderr, done.returncode) == (b"", 0)
    told = json.loads(done.stdout)
    check(told, "stats")
    return told


def outputs(rows: list[dict[str, Any]], name: str) -> dict[str | None, int]:
    return {row[name]: row["tokens"]["output"] for row in rows}


def test_json_tells_everything_in_one_object(builder: StoreBuilder) -> None:
    told = stats(builder)
    tokens = {
        "input": 0,
        "output": 6 * MILLION + 7,
        "cache_write_5m": MILLION,
        "cache_write_1h": MILLION,
        "cache_read": 0,
    }
    assert told["totals"] == {
        "sessions": 2,
        "responses": 4,
        "tokens": {**tokens, "total": 8 * MILLION + 7},
        "cost_usd": 166,
        "unpriced_tokens": 7,
    }
    opus = "claude-opus-4-5-20251101"
    assert outputs(told["by_model"], "model") == {opus: 6 * MILLION, "tea-1": 7}
    assert outputs(told["by_project"], "project") == {ENGINE: 3 * MILLION + 7, "/home/ada/tea": 3 * MILLION}
    assert outputs(told["by_day"], "day") == {"2026-01-17": 3 * MILLION + 7, "2026-01-18": 3 * MILLION}
    assert outputs(told["by_session"], "session") == {ONE: 3 * MILLION + 7, TWO: 3 * MILLION}
    assert outputs(told["by_agent"], "agent") == {"main": 4 * MILLION + 7, "Explore": 2 * MILLION}
    assert outputs(told["unknown_models"], "model") == {"tea-1": 7}
    assert told["by_session"][0]["title"] == "Start the engine"
    assert told["prices"]["own_file"] == str(builder.root.parent / "prices.json")
    assert told["prices"]["own_models"] == [opus]
    assert told["by_model"][1]["cost_usd"] is None


def test_a_contract_that_is_broken_would_be_noticed(builder: StoreBuilder) -> None:
    told = stats(builder)
    for key in ("totals", "by_day", "prices", "unknown_models"):
        with pytest.raises(Exception, match=key):
            check({name: value for name, value in told.items() if name != key}, "stats")
    told["by_session"][0]["tokens"].pop("cache_write_1h")
    with pytest.raises(Exception, match="cache_write_1h"):
        check(told, "stats")


def test_references_and_filters_choose_sessions_with_their_subagents(builder: StoreBuilder) -> None:
    assert outputs(stats(builder, ONE)["by_agent"], "agent") == {"Explore": 2 * MILLION, "main": MILLION + 7}
    assert stats(builder, "a1")["totals"]["tokens"]["total"] == 2 * MILLION
    assert stats(builder, ONE, "a1", TWO)["totals"] == stats(builder)["totals"]
    assert stats(builder, "--project", "tea")["totals"]["tokens"]["total"] == 3 * MILLION
    assert stats(builder, ONE, TWO, "--project", "tea")["totals"]["tokens"]["total"] == 3 * MILLION
    assert stats(builder, "--from", "2026-01-18")["totals"]["sessions"] == 1
    assert stats(builder, "--limit", "1")["totals"]["sessions"] == 1


def test_subagents_without_a_session_count_too(builder: StoreBuilder) -> None:
    lost = SessionBuilder(session_id=THREE, sidechain=True).prompt("Dig")
    lost.response(text("x"), request="e", usage=usage(5)).write(builder.home() / THREE / "subagents" / "agent-b1.jsonl")
    assert outputs(stats(builder)["by_session"], "session")[THREE] == 5
    assert THREE not in outputs(stats(builder, "--project", "tea")["by_session"], "session")


def test_a_path_needs_no_store(builder: StoreBuilder, tmp_path: Path) -> None:
    path = builder.home("/home/ada/tea") / f"{TWO}.jsonl"
    done = csp("stats", path, "--json", environment={"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "no")})
    assert json.loads(done.stdout)["totals"]["tokens"]["output"] == 3 * MILLION


@pytest.mark.parametrize("by", ["model", "project", "day", "session", "agent"])
def test_csv_has_the_rows_of_one_grouping_with_exact_numbers(builder: StoreBuilder, by: str) -> None:
    done = csp(*arguments(builder, "--csv", "--by", by), TZ="UTC")
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    told = stats(builder)[f"by_{by}"]
    assert [row[by] for row in rows] == [record[by] for record in told]
    assert [int(row["total"]) for row in rows] == [record["tokens"]["total"] for record in told]
    costs = [float(Decimal(row["cost_usd"])) if row["cost_usd"] else None for row in rows]
    assert costs == [record["cost_usd"] for record in told]


def test_csv_is_of_models_unless_another_grouping_is_named(builder: StoreBuilder) -> None:
    done = csp(*arguments(builder, "--csv"))
    assert done.stdout.decode() == (
        "model,responses,input,output,cache_write_5m,cache_write_1h,cache_read,total,cost_usd,unpriced\n"
        "claude-opus-4-5-20251101,3,0,6000000,1000000,1000000,0,8000000,166,0\n"
        "tea-1,1,0,7,0,0,0,7,,7\n"
    )


def test_people_see_totals_the_prices_and_tables_with_bars_in_80_columns(builder: StoreBuilder) -> None:
    shown = on_terminal(*arguments(builder), NO_COLOR="1", TZ="UTC")
    lines = shown.splitlines()
    assert lines[0] == "2 sessions, 4 responses, 8.0 M tokens, ≥$166.00"
    assert lines[1] == "input 0, output 6.0 M; cache writes 1.0 M (5 m), 1.0 M (1 h); cache reads 0"
    assert lines[2] == "no price known for 7 tokens, which are not in the cost: tea-1"
    assert lines[3].startswith("prices: ")
    assert "prices.json; else genai-prices " in lines[3]
    assert [line.split()[0] for line in lines if "COST" in line] == ["MODEL", "DAY", "PROJECT"]
    assert "████████" in shown
    assert all(len(line) <= 80 for line in lines[:3] + lines[4:])


def test_a_table_is_cut_and_says_so(builder: StoreBuilder) -> None:
    shown = csp(*arguments(builder, "--by", "day", "--top", "1"), TZ="UTC").stdout.decode()
    assert "2026-01-18" in shown
    assert "2026-01-17" not in shown
    assert "\n\nThe last 1 of 2 days:\nDAY " in shown
    assert csp(*arguments(builder, "--by", "model", "--top", "1")).stdout.decode().endswith(" more\n")
    assert "The last" not in csp(*arguments(builder, "--by", "day"), TZ="UTC").stdout.decode()
    assert len(stats(builder, "--top", "1")["by_model"]) == 1


def test_sessions_are_shown_with_their_titles(builder: StoreBuilder) -> None:
    shown = csp(*arguments(builder, "--by", "session")).stdout.decode()
    assert "Boil water" in shown
    assert ONE[:13] in shown


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_nothing_found_is_said_and_is_no_failure(builder: StoreBuilder, form: list[str]) -> None:
    done = csp(*arguments(builder, "--project", "nowhere", *form))
    assert done.returncode == 0
    assert done.stderr == b"No sessions match these filters.\n"
    if form == ["--json"]:
        told = json.loads(done.stdout)
        check(told, "stats")
        assert told["totals"]["cost_usd"] == 0


def test_sessions_without_any_response_come_to_nothing(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    SessionBuilder(session_id=THREE).prompt("Anybody?").write(builder.home() / f"{THREE}.jsonl")
    done = csp("stats", "--root", builder.root)
    assert done.stdout.decode().splitlines()[0] == "0 sessions, 0 responses, 0 tokens, $0.00"
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (["--by", "moon"], 2, "'moon' is not one of"),
        (["--csv", "--by", "day", "--by", "model"], 2, "use --by only once"),
        (["--top", "0"], 2, "--top"),
        (["--prices", "nowhere.json"], 2, "nowhere.json: No such file"),
        (["--prices", "."], 2, ".: Is a directory"),
        (["ffffffff"], 7, "ffffffff"),
        (["--from", "someday"], 2, "someday"),
    ],
)
def test_a_mistake_is_told_in_a_line(builder: StoreBuilder, more: list[str], code: int, words: str) -> None:
    done = csp("stats", "--root", builder.root, *more)
    assert done.returncode == code
    assert words in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_without_a_cache_nothing_is_kept(builder: StoreBuilder, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = csp("stats", "--root", builder.root, "--no-cache", XDG_CACHE_HOME=str(cache))
    assert not cache.exists()
    kept = csp("stats", "--root", builder.root, XDG_CACHE_HOME=str(cache))
    warm = csp("stats", "--root", builder.root, XDG_CACHE_HOME=str(cache))
    assert first.stdout == kept.stdout == warm.stdout
    assert [path.suffix for path in cache.rglob("index*")] == [".sqlite"]


def test_a_reader_that_has_seen_enough_ends_it(builder: StoreBuilder) -> None:
    command = [*PROGRAM, *map(str, arguments(builder, "--csv"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


# --- windows ----------------------------------------------------------------------------------------


@pytest.fixture
def month(tmp_path: Path) -> StoreBuilder:
    """A session that goes on for weeks, one that copies it, and one with a sub-agent that works later."""
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Go")
    for number in range(40):
        moment = START + timedelta(days=number - 20, hours=number, minutes=7 * number)
        session.response(text("x"), request=f"r{number}", timestamp=moment.isoformat(), usage=usage(1 << number))
    session.write(builder.home() / f"{ONE}.jsonl")
    session.write(builder.home() / f"{TWO}.jsonl")
    other = SessionBuilder(session_id=THREE).prompt("Look")
    other.response(text("x"), request="p", usage=usage(1 << 40)).write(builder.home() / f"{THREE}.jsonl")
    agent = SessionBuilder(session_id=THREE, sidechain=True, start=START + timedelta(days=3)).prompt("Look")
    agent.response(text("x"), request="q", usage=usage(1 << 41)).write(builder.home() / "agent-a1.jsonl")
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    return builder


def spent(builder: StoreBuilder, *more: str, zone: str = "UTC") -> int:
    done = csp(*arguments(builder, "--json", *more), TZ=zone)
    assert done.returncode == 0
    count: int = json.loads(done.stdout)["totals"]["tokens"]["output"]
    return count


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/New_York"])
def test_the_days_of_a_month_add_up_to_the_month(month: StoreBuilder, zone: str) -> None:
    done = json.loads(csp(*arguments(month, "--json", "--from", "2026-01", "--to", "2026-01"), TZ=zone).stdout)
    total = done["totals"]["tokens"]["output"]
    assert total == next(
        row["tokens"]["output"] for row in stats_in(month, zone)["by_month"] if row["month"] == "2026-01"
    )
    days = {row["day"]: row["tokens"]["output"] for row in done["by_day"]}
    assert sum(days.values()) == total
    assert {day[:7] for day in days} == {"2026-01"}
    for day in ("2026-01-10", "2026-01-17", "2026-01-20"):
        assert spent(month, "--from", day, "--to", day, zone=zone) == days[day]


def stats_in(builder: StoreBuilder, zone: str) -> Any:
    return json.loads(csp(*arguments(builder, "--json"), TZ=zone).stdout)


def test_adjacent_windows_have_each_response_once_whatever_their_seconds(month: StoreBuilder) -> None:
    middle = (START + timedelta(seconds=1)).isoformat()
    assert spent(month, "--to", middle) + spent(month, "--from", middle) == spent(month)


def test_a_response_counts_as_given_at_the_beginning_of_its_minute(tmp_path: Path) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Go")
    session.response(text("x"), request="a", timestamp="2026-01-17T20:31:59.000Z", usage=usage(1))
    session.response(text("x"), request="b", timestamp="2026-01-17T21:31:59.000+01:00", usage=usage(20))
    session.response(text("x"), request="c", timestamp="soon", usage=usage(300))
    session.write(builder.home() / f"{ONE}.jsonl")
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    assert spent(builder, "--from", "2026-01-17T20:31:00") == 21
    assert spent(builder, "--from", "2026-01-17T20:31:30") == 0
    assert spent(builder, "--to", "2026-01-17T20:31:30") == 21
    assert spent(builder) == 321


def test_utc_makes_days_of_utc(month: StoreBuilder) -> None:
    there = arguments(month, "--json", "--from", "2026-01-05", "--to", "2026-01-05", "--utc")
    assert csp(*there, TZ="America/New_York").stdout == csp(*there, TZ="UTC").stdout
    assert csp(*there, TZ="America/New_York").stdout != csp(*there[:-1], TZ="America/New_York").stdout


def test_weeks_are_those_of_iso_and_months_those_of_the_calendar(month: StoreBuilder) -> None:
    told = stats(month)
    weeks = [row["week"] for row in told["by_week"]]
    assert weeks[:3] == ["2025-W52", "2026-W01", "2026-W02"]
    assert [row["month"] for row in told["by_month"]] == ["2025-12", "2026-01", "2026-02"]
    for by in ("by_day", "by_week", "by_month"):
        assert sum(row["tokens"]["output"] for row in told[by]) == told["totals"]["tokens"]["output"]
    shown = csp(*arguments(month, "--by", "week", "--by", "month"), TZ="UTC").stdout.decode()
    assert "\nWEEK " in shown
    assert "\nMONTH " in shown


@pytest.mark.parametrize("words", ["month", "this month", "week", "year", "today", "yesterday", "last month"])
def test_periods_are_dates(month: StoreBuilder, words: str) -> None:
    assert spent(month, "--from", words, "--to", words) <= spent(month)
    assert csp("list", "--from", words, "--root", month.root).returncode == 0


def test_a_window_without_responses_is_told(month: StoreBuilder) -> None:
    done = csp(*arguments(month, "--from", "2024-01", "--to", "2024-02"))
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"No responses between these times.\n", 0)


@pytest.mark.parametrize(
    ("model", "used", "cost"),
    [("tea-1", usage(7), None), ("tea-1", usage(0), 0), ("claude-opus-4-5", usage(MILLION), 25), (None, None, 0)],
)
def test_summary_and_stats_tell_the_same_cost(tmp_path: Path, model: str | None, used: Any, cost: int | None) -> None:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Go")
    if model:
        session.response(text("x"), request="a", model=model, usage=used)
    session.write(builder.home() / f"{ONE}.jsonl")
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    where = ("--root", builder.root, "--prices", tmp_path / "prices.json", "--json")
    assert json.loads(csp("summary", ONE, *where).stdout)["cost"] == cost
    assert json.loads(csp("stats", *where).stdout)["totals"]["cost_usd"] == cost
    assert json.loads(csp("stats", ONE, *where).stdout)["totals"]["cost_usd"] == cost
