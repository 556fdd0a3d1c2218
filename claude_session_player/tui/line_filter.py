"""The boundary to the terminal of everything that a window draws."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from claude_session_player.text import harmless


class HarmlessFilter(LineFilter):
    """Lets nothing through that a terminal would obey, whichever widget drew it. No row changes its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments are as they were, unless they hold something of that kind, or a link."""
        return [segment if segment.control or _is_harmless(segment) else _as_text(segment) for segment in segments]


def _is_harmless(segment: Segment) -> bool:
    return segment.text.isprintable() and not (segment.style and segment.style.link)


def _as_text(segment: Segment) -> Segment:
    text, style, _ = segment
    if harmless(text) != text:
        text = "".join(sign if harmless(sign) == sign else "�" * cell_len(sign) for sign in text)
    return Segment(text, style.update_link(None) if style and style.link else style)


HARMLESS: Final = HarmlessFilter()
