"""The pictures that screens are compared with notice what a person would see, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from tests import screens
from tests.screens import picture_of, run, text_of, until


class Line(Widget):
    """A row of pieces, each with its style."""

    DEFAULT_CSS = "Line { height: 1; background: ansi_default; }"

    def __init__(self, pieces: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self._pieces = [Segment(text, Style.parse(style)) for text, style in pieces]

    def render_line(self, y: int) -> Strip:
        """The row."""
        return Strip(self._pieces)


def drawn(*pieces: tuple[str, str]) -> str:
    """The picture of a screen with one row."""
    app: App[None] = App(ansi_color=True)
    app.compose = lambda: [Line(pieces)]  # type: ignore[method-assign]
    pictures = []

    async def script(pilot: Pilot[Any]) -> None:
        pictures.append(picture_of(app))

    run(app, script, (12, 1))
    return pictures[0]


def test_text_styles_and_their_meaning_stand_below_each_other() -> None:
    rule = "─" * 12
    picture = drawn(("Hi", "bold red"), (" 茶", "on blue"), (" .", ""))
    assert picture.split("\n") == ["Hi 茶 .", rule, "aabbb", rule, "a  bold red", "b  on blue", ""]


@pytest.mark.parametrize(
    "other", [("Ho", "red"), ("Hi", "blue"), ("Hi", "bold red"), ("Hi", "red on white"), ("Hi", "#ff0000")]
)
def test_another_text_colour_or_attribute_is_another_picture(other: tuple[str, str]) -> None:
    assert drawn(other) != drawn(("Hi", "red"))


def test_the_same_in_other_pieces_is_the_same_picture() -> None:
    assert drawn(("a", "red"), ("b c", "red")) == drawn(("ab", "red"), (" ", "bold blue"), ("c", "red"))


def test_an_underlined_blank_is_seen() -> None:
    assert drawn(("a b", "underline")) != drawn(("a", "underline"), (" ", ""), ("b", "underline"))


def test_a_picture_that_differs_is_told_row_by_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(screens, "SCREENS", tmp_path)
    app: App[None] = App(ansi_color=True)
    app.compose = lambda: [Line([("new", "bold")])]  # type: ignore[method-assign]
    (tmp_path / "it-12x1.txt").write_text("old\n")

    async def script(pilot: Pilot[Any]) -> None:
        with pytest.raises(AssertionError, match=r"NEW_SCREENS=1.*\n(.*\n)*-old\n\+new"):
            screens.check_picture(app, "it")

    run(app, script, (12, 1))


def test_waiting_for_something_that_never_comes_shows_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "PATIENCE", 0.05)
    app: App[None] = App(ansi_color=True)
    app.compose = lambda: [Line([("what is there", "")])]  # type: ignore[method-assign]

    async def script(pilot: Pilot[Any]) -> None:
        with pytest.raises(AssertionError, match="what is th"):
            await until(pilot, lambda: False)
        assert app.size == Size(12, 1)
        assert text_of(app) == "what is ther"

    run(app, script, (12, 1))
