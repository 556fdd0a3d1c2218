"""Times at the edge of the calendar: a file may hold any of them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.player import Player
from claude_session_player.player.progress import Lasted
from claude_session_player.tui.widgets.status import status_text
from claude_session_player.util.times import to_epoch


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"]
)
def test_a_time_that_leads_out_of_the_calendar_is_none(time: str) -> None:
    assert to_epoch(time) is None


@pytest.mark.parametrize(
    ("time", "seconds"), [("0001-01-01T00:00:00Z", -62_135_596_800.0), ("9999-12-31T23:59:59Z", 253_402_300_799.0)]
)
def test_the_first_and_the_last_second_of_the_calendar_are_times(time: str, seconds: float) -> None:
    assert to_epoch(time) == seconds


_ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_EDGES = st.one_of(st.datetimes(max_value=datetime(1, 1, 3)), st.datetimes(min_value=datetime(9999, 12, 29)))


@given(_EDGES, _ZONES)
def test_every_time_that_is_one_can_be_shown(moment: datetime, zone: timezone) -> None:
    time = to_epoch(moment.replace(tzinfo=zone).isoformat())
    status_text(Player(lambda: 0.0), Frame(1, time, 1, FrameMark.NONE), 1, Lasted())
