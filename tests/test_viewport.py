"""Which rows are in sight."""

from __future__ import annotations

from hypothesis import given, strategies as st

from claude_session_player.tui.widgets.screen_pane import RowPlace, Viewport


def viewport(heights: list[int], height: int) -> Viewport:
    made = Viewport(heights.__getitem__)
    made.count, made.height = len(heights), height
    return made


def test_at_first_the_end_is_in_sight() -> None:
    assert viewport([2, 3, 1], 3).rows() == [(1, 1), (1, 2), (2, 0)]


def test_where_there_is_less_than_fits_all_is_in_sight() -> None:
    assert viewport([1, 1], 5).rows() == [(0, 0), (1, 0)]
    assert viewport([], 5).rows() == []


def test_scrolling_up_leaves_the_end_and_scrolling_down_comes_back_to_it() -> None:
    view = viewport([1] * 10, 3)
    view.scroll(-2)
    assert (view.rows()[0], view.is_at_end) == ((5, 0), False)
    view.scroll(+99)
    assert (view.rows()[0], view.is_at_end) == ((7, 0), True)


def test_scrolling_up_where_nothing_is_above_stays_at_the_end() -> None:
    view = viewport([1, 1], 3)
    view.scroll(-1)
    assert view.is_at_end


def test_the_last_row_in_sight_is_the_end() -> None:
    view = viewport([1] * 10, 3)
    view.scroll(-2)
    view.scroll(+2)
    assert (view.rows()[0], view.is_at_end) == ((7, 0), True)


def test_who_has_scrolled_away_stays_where_they_are_when_more_comes() -> None:
    heights = [1] * 10
    view = viewport(heights, 3)
    view.scroll(-2)
    before = view.rows()
    heights += [1] * 5
    view.count = 15
    assert view.rows() == before


def test_where_elements_vanish_the_end_is_in_sight() -> None:
    heights = [1] * 10
    view = viewport(heights, 3)
    view.scroll(-1)
    view.count = 2
    assert view.rows() == [(0, 0), (1, 0)]


def test_an_element_that_is_larger_than_the_window_is_shown_from_its_beginning() -> None:
    view = viewport([1, 20, 1], 5)
    view.reveal(1)
    assert view.rows()[0] == (1, 0)


def test_only_elements_near_the_window_are_measured() -> None:
    measured: set[int] = set()

    def height_of(element: int) -> int:
        measured.add(element)
        return 1

    view = Viewport(height_of)
    view.count, view.height = 50_000, 20
    view.rows()
    view.scroll(-5)
    view.rows()
    assert len(measured) <= 30


@given(st.lists(st.integers(1, 7), max_size=12), st.integers(0, 9), st.lists(st.integers(-12, 12)), st.data())
def test_whatever_is_scrolled_the_rows_in_sight_follow_each_other(
    heights: list[int], height: int, scrolls: list[int], data: st.DataObject
) -> None:
    view = viewport(heights, height)
    everything = [RowPlace(element, row) for element, rows in enumerate(heights) for row in range(rows)]
    for scroll in scrolls:
        view.scroll(scroll)
        element = data.draw(st.integers(-1, len(heights) - 1))
        if element >= 0:
            view.reveal(element)
            assert element in [place.element for place in view.rows()] or not height
        rows = view.rows()
        first = everything.index(rows[0]) if rows else 0
        assert rows == everything[first : first + height]
        assert len(rows) == min(height, len(everything))
