"""Columns fit into any width, the least important one left out first; cells fill exactly the width of their column."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from claude_session_player.util.tables import GAP, TableColumn, cell_width, fit_cell, fit_columns

COLUMNS = (TableColumn("NAME", 6, 3, grows=True), TableColumn("SIZE", 4, 1, is_right=True), TableColumn("WHEN", 5, 2))

columns_of_any_kind = st.builds(
    TableColumn,
    st.text("AB", max_size=3),
    st.integers(0, 12),
    st.integers(0, 5),
    most=st.integers(0, 30),
    grows=st.booleans(),
    is_extra=st.booleans(),
)


def names_and_widths(columns: Sequence[TableColumn], width: int) -> dict[str, int]:
    return {one.column.name: one.width for one in fit_columns(columns, width)}


@pytest.mark.parametrize(
    ("width", "names"), [(30, "NAME SIZE WHEN"), (19, "NAME SIZE WHEN"), (18, "NAME WHEN"), (7, "NAME"), (1, "NAME")]
)
def test_columns_of_the_lowest_rank_are_left_out_first_and_the_rest_fills_the_width(width: int, names: str) -> None:
    fitted = fit_columns(COLUMNS, width)
    assert [one.column.name for one in fitted] == names.split()
    assert sum(one.width + GAP for one in fitted) - GAP == width


@pytest.mark.parametrize(("width", "names"), [(18, "NAME SIZE"), (17, "NAME"), (12, "NAME")])
def test_an_extra_column_waits_until_growing_columns_have_twice_their_width(width: int, names: str) -> None:
    assert list(names_and_widths((COLUMNS[0], COLUMNS[1]._replace(is_extra=True)), width)) == names.split()


def test_a_column_grows_no_further_than_its_widest_cell_and_the_smallest_wish_comes_first() -> None:
    columns = (TableColumn("TITLE", 20, 2, most=50), TableColumn("PROJECT", 12, 1, most=16))
    assert names_and_widths(columns, 34) == {"TITLE": 20, "PROJECT": 12}
    assert names_and_widths(columns, 40) == {"TITLE": 22, "PROJECT": 16}
    assert names_and_widths(columns, 99) == {"TITLE": 50, "PROJECT": 16}


def test_columns_that_grow_share_what_is_left() -> None:
    columns = (TableColumn("A", 2, 1, grows=True), TableColumn("B", 2, 2, grows=True))
    assert names_and_widths(columns, 9) == {"A": 4, "B": 3}


@given(st.lists(columns_of_any_kind, min_size=1, max_size=6), st.integers(0, 80))
def test_fitted_columns_never_exceed_the_width(columns: list[TableColumn], width: int) -> None:
    fitted = fit_columns(columns, width)
    assert fitted
    assert sum(one.width + GAP for one in fitted) - GAP <= width
    highest = max(column.rank for column in columns)
    assert any(one.column.rank == highest for one in fitted)
    assert [one.position for one in fitted] == sorted(one.position for one in fitted)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])), st.integers(0, 30), st.booleans())
def test_a_cell_fills_exactly_its_width(text: str, width: int, keeps_end: bool) -> None:
    assert cell_len(fit_cell(text, width, keeps_end=keeps_end)) == width


@given(st.text())
def test_widths_of_plain_text_are_those_of_rich(text: str) -> None:
    assert cell_width(text) == cell_len(text)
