"""Times for people are local in every command, and `--utc` switches what is shown and how typed times are read."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from claude_session_player.cli.app import COMMANDS, app
from claude_session_player.player.timeline import TimePosition, parse_position
from tests.builder import SessionBuilder, text
from tests.program import csp
from tests.stores import ONE, StoreBuilder
from tests.test_cli_stats import usage
from tests.zones import system_zone

TIMELESS = {"repair", "resume", "restore", "settings", "account", "completion", "help"}
"""The commands that neither show nor read times."""
NIGHT = "2026-01-17T20:31:00.000Z"
LATER = "2026-01-18T03:00:00.000Z"
ZONES = {
    "UTC": ("2026-01-17 20:31:00", "2026-01-18 03:00:00"),
    "Asia/Kathmandu": ("2026-01-18 02:16:00", "2026-01-18 08:45:00"),
    "America/New_York": ("2026-01-17 15:31:00", "2026-01-17 22:00:00"),
}
in_each_zone = pytest.mark.parametrize(("zone", "first", "last"), [(zone, *times) for zone, times in ZONES.items()])


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    builder = StoreBuilder(tmp_path / "store")
    session = SessionBuilder(session_id=ONE).prompt("Boil water", timestamp=NIGHT)
    session.response(text("Soon"), request="a", timestamp="2026-01-17T21:31:00+01:00", usage=usage(1))
    session.response(text("Hot"), request="b", timestamp=LATER, usage=usage(20))
    session.write(builder.home() / f"{ONE}.jsonl")
    return builder


def out(builder: StoreBuilder, *arguments: str, zone: str) -> str:
    done = csp(*arguments, "--root", builder.root, TZ=zone)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@in_each_zone
def test_times_are_those_of_the_zone(builder: StoreBuilder, zone: str, first: str, last: str) -> None:
    transcript = out(builder, "show", ONE, "--no-summary", zone=zone)
    assert transcript.startswith(f"All times are in {zone}.\n\n**User** ({first})\nBoil water\n")
    assert f"**Assistant** ({first})\nSoon" in transcript
    assert f"**Assistant** ({last})\nHot" in transcript
    assert transcript.count(zone) == 1
    facts = out(builder, "get", ONE, "--no-events", zone=zone)
    assert f"from         {first}\nto           {last}\n" in facts
    assert last[:10] in out(builder, "list", zone=zone)
    assert f"line 1  {first[5:16]}" in out(builder, "tree", ONE, zone=zone)
    assert f"  {first[11:]}  user" in out(builder, "get", ONE, zone=zone)


@pytest.mark.parametrize("zone", ZONES)
def test_utc_is_the_same_in_all_zones(builder: StoreBuilder, zone: str) -> None:
    for command in ("show", "get", "tree", "replay", "summary"):
        arguments = (command, ONE, "--utc")
        assert out(builder, *arguments, zone=zone) == out(builder, *arguments, zone="UTC")
    assert out(builder, "list", "--utc", zone=zone) == out(builder, "list", zone="UTC")
    assert out(builder, "stats", "--by", "day", "--utc", zone=zone) == out(builder, "stats", "--by", "day", zone="UTC")


@in_each_zone
def test_a_time_that_is_typed_is_read_in_the_zone_that_is_shown(
    builder: StoreBuilder, zone: str, first: str, last: str
) -> None:
    for typed, more in ((last, ()), (LATER[:19], ("--utc",)), (LATER, ())):
        assert "Boil" not in out(builder, "show", ONE, "--no-summary", "--from", typed, *more, zone=zone)
        assert "Hot" in out(builder, "show", ONE, "--no-summary", "--from", typed, *more, zone=zone)
        assert "Hot" in out(builder, "replay", ONE, "--at", typed, *more, zone=zone)
        assert out(builder, "list", "--json", "--from", typed, *more, zone=zone) != "[]\n"
    for typed, more in ((first, ()), (NIGHT[:19], ("--utc",))):
        assert "Hot" not in out(builder, "show", ONE, "--to", typed, *more, zone=zone)
        assert "Soon" in out(builder, "show", ONE, "--to", typed, *more, zone=zone)
        assert out(builder, "replay", ONE, "--at", typed, *more, zone=zone) == "❯ Boil water\n\n● Soon\n"


@in_each_zone
def test_the_player_goes_to_a_moment_of_the_zone(zone: str, first: str, last: str) -> None:
    with system_zone(zone):
        assert parse_position(first) == parse_position(NIGHT) == TimePosition(1768681860.0)


@pytest.mark.parametrize("zone", ZONES)
def test_json_has_the_times_of_the_file(builder: StoreBuilder, zone: str) -> None:
    elements = json.loads(out(builder, "replay", ONE, "--format", "json", zone=zone))
    assert elements[1]["timestamp"] == "2026-01-17T21:31:00+01:00"
    assert [element["time"] for element in elements[:2]] == ["2026-01-17 20:31:00"] * 2
    entries = json.loads(out(builder, "show", ONE, "--format", "json", zone=zone))
    assert [entry["timestamp"] for entry in entries] == [NIGHT, "2026-01-17T21:31:00+01:00", LATER]
    assert json.loads(out(builder, "list", "--json", zone=zone))[0]["updated_at"] == LATER


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - TIMELESS))
def test_every_command_that_shows_or_reads_times_has_utc(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    words = {"archive": ("add", "list"), "index": ("status",)}.get(name, ())
    commands = [command.commands[word] for word in words] if isinstance(command, click.Group) else [command]
    assert all(any("--utc" in param.opts for param in one.params) for one in commands)


def test_a_day_without_a_time_is_that_day_in_every_zone(builder: StoreBuilder) -> None:
    todo = {"id": "1", "text": "Descale", "status": "pending", "created": "2026-01-17"}
    (builder.home() / "todo.jsonl").write_text(json.dumps({"type": "todo", **todo}) + "\n")
    assert "2026-01-17" in out(builder, "todos", zone="America/New_York")


def test_pages_name_the_zone_once(builder: StoreBuilder) -> None:
    pages = [out(builder, "show", ONE, "--page", str(page), "--page-size", "1", zone="UTC") for page in (1, 2, 3)]
    assert ["All times" in page for page in pages] == [True, False, False]
