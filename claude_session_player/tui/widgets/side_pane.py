"""The pane beside the session in a wide terminal. It shows one of several widgets, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Vertical

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

SIDE_WIDTH: Final = 160
"""A terminal has to be this wide for a pane beside the session."""
_DEFAULT_COLOUR: Final = "ansi_bright_black"


class SidePane(Vertical):
    """A box with one of some widgets, each under its title."""

    DEFAULT_CSS = """
    SidePane {
        width: 1fr; height: 1fr; padding: 0 1; margin-left: 1;
        border: round ansi_bright_black; border-title-color: $foreground; border-subtitle-color: ansi_bright_black;
    }
    """

    def __init__(self, *views: tuple[str, Widget], hint: str = "") -> None:
        """Titles and widgets; the first one is shown. The hint is below them, on the border."""
        super().__init__()
        self._views = views
        self._number: int | None = 0
        """Which widget is shown; `None` if the viewer hid the pane."""
        self._look = "", ""
        """The title on the border, and its colour."""
        self.border_subtitle = hint

    def compose(self) -> ComposeResult:
        """All widgets; all but one are hidden."""
        for _, widget in self._views:
            yield widget

    def on_mount(self) -> None:
        """Show the first widget."""
        self._settle()

    @property
    def shown(self) -> Widget | None:
        """The widget that is shown; none if the viewer hid the pane, or the terminal is not wide enough."""
        return None if self._number is None or not self.display else self._views[self._number][1]

    def fit(self, width: int) -> None:
        """Have a place only in a terminal that is wide enough."""
        self.display = width >= SIDE_WIDTH and self._number is not None

    def show_next(self) -> None:
        """Show the next widget; after the last one nothing, and then the first one again."""
        number = -1 if self._number is None else self._number
        self._number = number + 1 if number + 1 < len(self._views) else None
        self._settle()
        self.fit(self.app.size.width)

    def entitle(self, title: str, colour: str = _DEFAULT_COLOUR) -> None:
        """Say on the border what is shown, in the colour of whoever speaks."""
        if self._look != (title, colour):  # a new border lays out the screen
            self._look = title, colour
            self.border_title = title
            self.styles.border = ("round", colour)

    def _settle(self) -> None:
        for number, (title, widget) in enumerate(self._views):
            widget.display = number == self._number
            if widget.display:
                self.entitle(title)
