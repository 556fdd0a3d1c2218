"""Paths are shortened in the middle, so that their last part can be read."""

from __future__ import annotations

from hypothesis import given, strategies as st

from claude_session_player.util.short_paths import short_path
from claude_session_player.util.tables import cell_width

HOME = "/home/ada"
NAMES = st.text("abc. é茶-", min_size=1, max_size=9)
PATHS = st.builds(
    lambda start, names, separator: start + separator.join(names),
    st.sampled_from(["/", "", "~/", f"{HOME}/", "C:\\"]),
    st.lists(NAMES, min_size=1, max_size=7),
    st.sampled_from("/\\"),
)


@given(PATHS, st.integers(0, 60))
def test_a_short_path_is_never_wider_than_there_is_room(path: str, width: int) -> None:
    assert cell_width(short_path(path, width, HOME)) <= width


@given(PATHS, st.integers(0, 60))
def test_a_short_path_ends_with_the_last_part_if_that_fits(path: str, width: int) -> None:
    last = path.replace("\\", "/").rpartition("/")[2]
    if cell_width(last) <= width:
        assert short_path(path, width, HOME).endswith(last)


@given(PATHS)
def test_a_path_that_fits_is_unchanged_but_for_the_home_directory(path: str) -> None:
    shown = short_path(path, 200, HOME)
    assert shown == (path.replace(HOME, "~", 1) if path.startswith(HOME) else path)


@given(PATHS, st.integers(1, 60))
def test_a_path_that_is_shortened_says_so(path: str, width: int) -> None:
    whole, shown = short_path(path, 200, HOME), short_path(path, width, HOME)
    last = path.replace("\\", "/").rpartition("/")[2]
    assert shown in (whole, last) or "…" in shown


def test_the_first_parts_are_kept_before_those_in_the_middle() -> None:
    assert short_path("/srv/data/projects/tea/2026/kettle", 22, HOME) == "/srv/…/2026/kettle"
    assert short_path("C:\\Users\\ada\\work\\kettle", 18, HOME) == "C:\\Users\\…\\kettle"
    assert short_path("/", 9, HOME) == "/"
