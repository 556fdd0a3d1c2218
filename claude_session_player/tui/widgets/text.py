"""A line in which something is said for a while."""

from __future__ import annotations

from typing import ClassVar, Final

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static

from claude_session_player.util.text import printable


class TextLine(Widget):
    """One line of text; what does not fit is cut off, and marked."""

    DEFAULT_CSS = "TextLine { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = Text()

    def show(self, text: Text) -> None:
        """Show this text."""
        self._text = text
        self.refresh()

    def render(self) -> Text:
        """The text."""
        return self._text


class TextPopup(ModalScreen[None]):
    """A text that can be scrolled; it may come later than its window."""

    DEFAULT_CSS = """
    TextPopup { align: center middle; background: transparent; }
    TextPopup > #box {
        width: 84; max-width: 100%; height: auto; max-height: 100%;
        border: round ansi_cyan; background: ansi_default; padding: 0 1; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,enter,space", "dismiss", "back"),
        Binding("q", "app.quit", "quit"),
    ]

    def __init__(self, title: str, text: str | Text) -> None:
        super().__init__()
        self._heading = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A box with a title."""
        with VerticalScroll(id="box") as box:
            box.border_title, box.border_subtitle = self._heading, "Esc back · q quit"
            yield Static(self._text, id="text", markup=False)

    def tell(self, text: RenderableType) -> None:
        """Show another text."""
        self.query_one("#text", Static).update(text)


class Question(Input):
    """Asks for one line; tells what was answered, or that nothing was."""

    DEFAULT_CSS = "Question { height: 1; border: none; padding: 0; background: ansi_default; }"
    BINDINGS = [Binding("escape", "give_up", show=False)]  # noqa: RUF012 - Textual wants a list

    class Answered(Message):
        """What somebody typed; nothing, where they gave up."""

        def __init__(self, about: str, text: str) -> None:
            super().__init__()
            self.about = about
            self.text = text

    def __init__(self, about: str, hint: str, text: str = "") -> None:
        super().__init__(text, placeholder=hint, compact=True)
        self._about = about

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The answer is given."""
        event.stop()
        self.post_message(self.Answered(self._about, event.value))

    def action_give_up(self) -> None:
        """There is no answer."""
        self.post_message(self.Answered(self._about, ""))


SECONDS: Final = 4.0


class SaidLine(TextLine):
    """Stands over what is in its place while there is something to say; nothing moves aside for it."""

    DEFAULT_CSS = """
    SaidLine { overlay: screen; display: none; }
    SaidLine.-whole { height: auto; text-wrap: wrap; text-overflow: fold; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.words = ""
        """What is said now."""
        self._silence: Timer | None = None

    def say(self, words: str, *, is_whole: bool = False) -> None:
        """Say something, and no more after some seconds. With `is_whole`, in as many lines as it needs."""
        self.be_silent()
        self.words = printable(words)
        self.show(Text(self.words, "yellow"))
        self.set_class(is_whole, "-whole")
        self.display = True
        self._silence = self.set_timer(SECONDS * (2 if is_whole else 1), self.be_silent)

    def be_silent(self) -> None:
        """Show again what is in this place otherwise."""
        self.words = ""
        self.display = False
        if self._silence is not None:
            self._silence.stop()
            self._silence = None
