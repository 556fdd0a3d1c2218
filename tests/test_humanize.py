"""Times, sizes and counts as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from claude_session_player.store.filters import parse_date_span
from claude_session_player.util.humanize import (
    UNKNOWN_TIME,
    ago,
    day_of,
    local_time,
    parse_size,
    plural,
    size,
    transcript_time,
)
from claude_session_player.util.times import (
    LOCAL,
    display_zone,
    format_time,
    local_now,
    parse_typed_time,
    using_zone,
    zone_name,
)
from tests.zones import system_zone

ZONES = ("UTC", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Chatham")
CHANGES = (
    datetime(2025, 3, 9, 7, tzinfo=UTC),  # New York: summer time begins
    datetime(2025, 11, 2, 6, tzinfo=UTC),  # and ends
    datetime(2025, 4, 5, 15, tzinfo=UTC),  # Lord Howe, by half an hour
    datetime(2025, 10, 4, 15, 30, tzinfo=UTC),
    datetime(2025, 4, 5, 14, tzinfo=UTC),  # Chatham
    datetime(1986, 1, 1, tzinfo=UTC),  # Kathmandu moved from +05:30 to +05:45
)
NEAR_CHANGES = st.builds(
    lambda change, seconds: change + timedelta(seconds=seconds), st.sampled_from(CHANGES), st.integers(-9000, 9000)
)
ANY = st.datetimes(datetime(1975, 1, 1), datetime(2037, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
MOMENTS = st.one_of(NEAR_CHANGES, ANY)


def plainly(moment: datetime, zone: str) -> str:
    return moment.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")


@given(st.sampled_from(ZONES), st.lists(MOMENTS, min_size=1, max_size=20))
def test_a_transcript_shows_the_times_that_plain_conversion_gives(zone: str, moments: list[datetime]) -> None:
    with system_zone(zone):
        assert [transcript_time(format_time(moment)) for moment in moments] == [
            plainly(moment, zone) for moment in moments
        ]


@given(st.sampled_from(ZONES), MOMENTS, st.integers(-1439, 1439))
def test_one_instant_is_shown_alike_however_it_is_written(zone: str, moment: datetime, minutes: int) -> None:
    other = moment.astimezone(timezone(timedelta(minutes=minutes))).isoformat()
    with system_zone(zone):
        assert transcript_time(other) == transcript_time(format_time(moment)) == local_time(other, local_now())


@given(st.sampled_from(ZONES), MOMENTS)
def test_the_day_of_a_minute_is_that_of_plain_conversion(zone: str, moment: datetime) -> None:
    with system_zone(zone):
        assert day_of(format_time(moment)[:16]) == plainly(moment, zone)[:10]


@given(st.sampled_from(ZONES), MOMENTS)
def test_the_zone_of_the_system_has_the_offsets_of_the_database_of_zones(zone: str, moment: datetime) -> None:
    with system_zone(zone):
        local, expected = moment.astimezone(LOCAL), moment.astimezone(ZoneInfo(zone))
        assert (local.replace(tzinfo=None), local.utcoffset()) == (expected.replace(tzinfo=None), expected.utcoffset())
        assert local.astimezone(UTC) == moment


@given(st.sampled_from(ZONES), MOMENTS)
def test_a_time_that_is_typed_as_it_is_shown_is_the_same_instant(zone: str, moment: datetime) -> None:
    with system_zone(zone):
        shown = transcript_time(format_time(moment))
        assert transcript_time(parse_typed_time(shown).isoformat()) == shown
    with using_zone(UTC):
        assert parse_typed_time(transcript_time(format_time(moment))) == moment.replace(microsecond=0)


@pytest.mark.parametrize(
    "time", [None, "", "soon", "2026-13-01T00:00:00.000Z", "2026-01-17T20:31:61.000Z", "2026-01-17T25:00:00.000Z"]
)
def test_what_is_no_time_is_unknown(time: str | None) -> None:
    assert transcript_time(time) == UNKNOWN_TIME


@pytest.mark.parametrize("name", ["America/New_York", "Asia/Kathmandu"])
def test_times_at_the_edge_of_the_calendar_are_shown_or_unknown(name: str) -> None:
    with system_zone(name):
        for time in ("0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"):
            assert len(transcript_time(time)) in (len(UNKNOWN_TIME), 19)


def test_a_summer_time_is_shown_with_the_offset_of_summer_in_winter() -> None:
    with system_zone("America/New_York"):
        winter = datetime(2026, 1, 17, 12, tzinfo=LOCAL)
        assert local_time("2025-07-01T12:00:00Z", winter) == "2025-07-01 08:00:00"
        assert ago("2025-07-01T03:00:00Z", winter) == "2025-06-30"


def test_how_long_ago_is_told_in_hours_that_passed_also_over_a_change_of_the_clock() -> None:
    with system_zone("America/New_York"):
        now = datetime(2025, 11, 2, 6, 30, tzinfo=UTC).astimezone(LOCAL)
        assert ago("2025-11-02T04:30:00Z", now) == "2 h ago"
        assert parse_date_span("12h", now).start.astimezone(UTC) == datetime(2025, 11, 1, 18, 30, tzinfo=UTC)
        day = parse_date_span("today", now)
        assert day.end.astimezone(UTC) - day.start.astimezone(UTC) == timedelta(hours=25)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("UTC", "UTC"),
        ("", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Asia/Kathmandu", "Asia/Kathmandu"),
        (":America/New_York", "America/New_York"),
        ("TEA-3", "UTC+03:00"),
        ("Nowhere/Else", "UTC"),
        ("UTC+25", "UTC"),
    ],
)
def test_a_zone_is_named_as_people_know_it(name: str, told: str) -> None:
    with system_zone(name):
        assert zone_name() == told


def test_utc_is_chosen_for_a_while() -> None:
    with system_zone("Asia/Kathmandu"):
        with using_zone(UTC):
            assert (display_zone(), zone_name(), transcript_time("2026-01-17T20:00:00.000Z")) == (
                UTC,
                "UTC",
                "2026-01-17 20:00:00",
            )
        assert transcript_time("2026-01-17T20:00:00.000Z") == "2026-01-18 01:45:00"


# --- sizes and counts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (1023, "1023 B"),
        (1024, "1 KB"),
        (1000 * 1000, "977 KB"),
        (10 << 20, "10 MB"),
        ((10 << 20) + 60_000, "10.1 MB"),
        (1 << 30, "1 GB"),
        (5 << 50, "5120 TB"),
    ],
)
def test_sizes_are_powers_of_1024(count: int, shown: str) -> None:
    assert size(count) == shown


@given(st.integers(0, 1 << 45))
def test_a_size_that_is_typed_as_it_is_shown_is_nearly_that_size(count: int) -> None:
    assert abs(parse_size(size(count)) - count) <= 0.051 * max(count, 1)


def test_counts_have_their_plural() -> None:
    assert [plural(count, "file") for count in (0, 1, 2, 1234)] == ["0 files", "1 file", "2 files", "1,234 files"]
