"""What is at a place of the timeline, as one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from claude_session_player.errors import SessionError
from claude_session_player.player import FrameMark, FrameName, describe_frame
from claude_session_player.tui.widgets.status import moment_text
from claude_session_player.tui.widgets.timeline import SYMBOLS, TimelinePlace
from claude_session_player.util.humanize import clock_time, minutes_duration, short_duration
from claude_session_player.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.player import FrameIndex, LaneSpan, Player

_GAP: Final = "  "
_LEAST_NAME: Final = 24
"""Columns that the name of a place gets, before anything else does."""


class _Part(NamedTuple):
    text: str
    style: str = ""


def place_words(player: Player, frame_index: FrameIndex, place: TimelinePlace) -> Callable[[int], Text]:
    """Gives the words for what is at a place in any width. Reads the lines of one frame at most."""
    if place.agents:
        frame, names = place.agents[0].start, [_agent_name(player, place.agents)]
    else:
        frame, names = place.frame, _frame_names(frame_index, place)
    facts = [
        _Part(moment_text(player, frame_index.frames[frame].time), "dim"),
        _Part(clock_time(player.starts[frame] / player.speed), "dim"),
        _Part(f"line {frame_index.frames[frame].line}", "dim"),
    ]
    known = [fact for fact in facts if fact.text]
    return lambda width: _fitted(known, names, width)


def _agent_name(player: Player, agents: tuple[LaneSpan, ...]) -> Text:
    symbol, style = SYMBOLS[FrameMark.AGENT]
    if len(agents) > 1:
        return Text.assemble((symbol, style), f" {len(agents)} more: ", printable(", ".join(a.name for a in agents)))
    agent = agents[0]
    end = "" if agent.has_ended else ", no end recorded"
    duration = short_duration(player.real_seconds(agent.start, agent.end))
    return Text.assemble((symbol, style), f" {printable(agent.name)}", (f"{_GAP}{duration}{end}", "dim"))


def _frame_names(frame_index: FrameIndex, place: TimelinePlace) -> list[Text]:
    try:
        name = describe_frame(frame_index, place.frame)
    except SessionError:  # the file cannot be read any more
        name = FrameName(FrameMark.NONE, "")
    names = []
    if place.cut is not None:
        gaps = f" in {place.cut.gaps} gaps" if place.cut.gaps > 1 else ""
        names.append(Text(f"⋯ {minutes_duration(place.cut.seconds)} cut{gaps}", "yellow"))
    symbol, style = SYMBOLS.get(name.mark, ("·", "dim"))
    if name.words:
        names.append(Text.assemble((symbol, style), f" {printable(name.words)}"))
    if place.more:
        names.append(Text(f"+{place.more} more", "dim"))
    return names


def _fitted(facts: list[_Part], names: list[Text], width: int) -> Text:
    """The facts in front of the names; if space is short, the last facts are dropped, then the longest name is cut."""
    kept = list(facts)
    needed = min(sum(name.cell_len + len(_GAP) for name in names), _LEAST_NAME)
    while len(kept) > 1 and _width(kept) + needed > width:
        kept.pop()
    left = width - _width(kept) - sum(len(_GAP) for _ in names)
    longest = max(names, key=lambda name: name.cell_len, default=Text())
    excess = sum(name.cell_len for name in names) - left
    shown = [name.copy() for name in names]
    for name, copy in zip(names, shown, strict=True):
        if name is longest and excess > 0:
            copy.truncate(max(name.cell_len - excess, 1), overflow="ellipsis")
    text = Text(_GAP).join([*(Text(part.text, part.style) for part in kept), *shown])
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _width(parts: list[_Part]) -> int:
    return sum(cell_len(part.text) for part in parts) + len(_GAP) * max(len(parts) - 1, 0)
