"""Highlights: only prompts, responses, edits and errors, so that a session of hours is a matter of minutes.

Each highlight stays for the time that it takes to read it, whatever the session's own times were. If all of them would
take longer than `LONGEST`, they are sped up evenly until they do not.
"""

from __future__ import annotations

from itertools import compress, count
from operator import is_not
from typing import TYPE_CHECKING, Final

from claude_session_player.models import AssistantText, Note, ScreenElement, SystemOutput, ToolCall, UserMessage
from claude_session_player.player.frame_index import Frame, FrameMark, changed_file
from claude_session_player.player.timeline import pace_delays

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST: Final = 180.0
"""Seconds that all highlights of a session take at most, at normal speed."""
_HIGHLIGHTS: Final = FrameMark.PROMPT | FrameMark.RESPONSE | FrameMark.EDIT | FrameMark.ERROR


def is_highlight(element: ScreenElement) -> bool:
    """True for an element that highlights show.

    >>> is_highlight(UserMessage()), is_highlight(ToolCall("Bash")), is_highlight(ToolCall("Bash", is_error=True))
    (True, False, True)
    """
    match element:
        case UserMessage() | AssistantText():
            return True
        case ToolCall():
            return element.is_error or changed_file(element) is not None
        case SystemOutput() | Note():
            return element.is_error
    return False


class HighlightFilter:
    """The highlights among the elements of one screen after the other; only elements that are new are examined."""

    def __init__(self) -> None:
        self._elements: list[ScreenElement] = []
        self._shown: list[bool] = []

    def of(self, elements: list[ScreenElement]) -> list[ScreenElement]:
        """The highlights among these elements; those that it has seen are replaced where they change, never changed."""
        shown = self._shown
        for number in compress(count(), map(is_not, elements, self._elements)):
            shown[number] = is_highlight(elements[number])
        del shown[len(elements) :]
        shown += map(is_highlight, elements[len(shown) :])
        self._elements = elements.copy()
        return list(compress(elements, shown))


def has_highlight(frame: Frame) -> bool:
    """True for a frame that adds a highlight to the screen."""
    return bool(frame.marks & _HIGHLIGHTS)


def highlight_delays(frames: Iterable[Frame], before: Frame | None = None) -> Iterator[float]:
    """The delay before each frame: the time to read the highlight before it, and none after any other frame.

    So the player stays at each highlight, and the next one follows as soon as its time is over. `before` is the frame
    before the first one.

    >>> silence, words = Frame(1, None, 800, FrameMark.NONE), Frame(2, None, 80, FrameMark.RESPONSE)
    >>> list(highlight_delays([silence, words, silence, silence, words]))
    [0.0, 0.0, 1.3, 0.0, 0.0]
    """
    for frame in frames:
        yield _reading_time(before) if before is not None and has_highlight(before) else 0.0
        before = frame


def _reading_time(frame: Frame) -> float:
    _, delay = pace_delays((frame.size, 0))
    return delay
