"""Playback: a player, and the frame index that it plays."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from claude_session_player.player.follow import FileChange, FollowedFile
from claude_session_player.player.frame_index import READ_SIZE, Frame, FrameIndex
from claude_session_player.player.highlights import HighlightFilter
from claude_session_player.player.timeline import (
    Destination,
    ElapsedPosition,
    FractionPosition,
    LinePosition,
    Overshoot,
    Pace,
    TimePosition,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from claude_session_player.live import SessionStatus
    from claude_session_player.models import ScreenElement, View
    from claude_session_player.player.progress import Lasted
    from claude_session_player.player.recording import Recording
    from claude_session_player.player.stream import Timing

from claude_session_player.player.player import Player


class LiveState(StrEnum):
    """Whether a followed file is being written to."""

    LIVE = "live"
    IDLE = "idle"
    DELETED = "deleted"


class Playback:
    """A frame index and its player. The owner calls `read_more` to build the index while it is played.

    A followed recording begins at its end, and continues for as long as its file grows.
    """

    def __init__(
        self,
        recording: Recording,
        view: View,
        clock: Callable[[], float],
        timing: Timing,
        *,
        is_followed: bool = False,
    ) -> None:
        """Raises `CannotRead`."""
        self.recording = recording
        self.player = Player(clock, idle=timing.idle)
        self.player.speed, self.player.pace = timing.speed, timing.pace
        self.player.is_growing = True
        self.is_complete = False
        """True once all frames are loaded."""
        view = replace(view.of_subagent() if recording.is_subagent else view, thinking=True)
        path = recording.path if is_followed else None
        self._followed = None if path is None else FollowedFile(path, view)
        self._frame_index = (
            FrameIndex(recording.open_source(), view) if self._followed is None else self._followed.frame_index
        )
        self._destination: Destination | None = None
        self._overshoot: Overshoot | None = None
        """The last destination, if it is beyond the end, until its owner takes it."""
        self._highlights = HighlightFilter()
        self._timing = timing
        self._has_checked_times = False
        """True once it is known whether the session has timestamps."""
        if self._followed is not None:
            self.player.end()

    @property
    def frame_index(self) -> FrameIndex:
        """The frame index; a new one after the followed file was truncated or replaced."""
        return self._frame_index if self._followed is None else self._followed.frame_index

    @property
    def is_followed(self) -> bool:
        """True if the file may grow at any time."""
        return self._followed is not None

    def live_state(self, status: SessionStatus | None) -> LiveState | None:
        """Whether the followed file is being written to, by the status of its session; `None` if it is not followed."""
        if self._followed is None:
            return None
        if self._followed.is_deleted:
            return LiveState.DELETED
        return LiveState.LIVE if status is not None and status.is_live else LiveState.IDLE

    @property
    def frame(self) -> Frame | None:
        """The current frame."""
        return self.frame_index.frames[self.player.position] if self.player.position >= 0 else None

    @property
    def line(self) -> int:
        """The line of the current frame; 0 before there is one."""
        return self.frame.line if self.frame else 0

    @property
    def last_line(self) -> int:
        """The line before the next frame: what the lines in between say and cost belongs to this frame."""
        index = self.frame_index
        return index.line_count if self.player.is_at_end else index.frames[self.player.position + 1].line - 1

    @property
    def lasted(self) -> Lasted:
        """How long the session had lasted at the current frame, and how long it lasts in all."""
        return self.frame_index.progress.times.at(self.last_line)

    def elements(self) -> list[ScreenElement]:
        """The elements on the screen now; in highlights, only those. They must not be changed.

        They are valid until the next call.
        """
        elements = self.frame_index.screen(self.player.position).elements
        return self._highlights.of(elements) if self.player.has_highlights_only else elements

    def read_more(self) -> FileChange:
        """Load some more frames; after `GREW` there may be more. Raises `CannotRead`."""
        if self._followed is not None:
            change = self._followed.catch_up(READ_SIZE)
            if change.needs_new_index:
                self.player.restart()
        else:
            change = FileChange.GREW if self.frame_index.read_more() else FileChange.NOTHING
        self._load_frames()
        return change

    def finish(self) -> None:
        """Load the rest; unless the file is followed, no more frames can come."""
        if self._followed is None:
            self.frame_index.finish()
            self.player.is_growing = self.player.is_live = False
        self.is_complete = True
        self._load_frames()
        self.player.tick()  # it stops at the end, if no more frames can come

    def go_to(self, destination: Destination) -> None:
        """Go to a position, as soon as its frame is loaded; to the last frame if it is beyond the end."""
        self._destination, self._overshoot = destination, None
        self._arrive()

    def take_overshoot(self) -> Overshoot | None:
        """The last destination if it turned out to be beyond the end, once."""
        overshoot, self._overshoot = self._overshoot, None
        return overshoot

    @property
    def has_arrived(self) -> bool:
        """False while frames are awaited on the way to a destination."""
        return self._destination is None

    def has_line(self, number: int) -> bool:
        """True if all frames up to a line are loaded; the next line may still change what belongs to it."""
        return self.is_complete or self.frame_index.line_count > number

    def forget_destination(self) -> None:
        """Drop a destination that is not loaded yet, because the person went elsewhere."""
        self._destination = None

    def set_view(self, view: View) -> None:
        """Rebuild the frame index for another view, and stay at the same line. Whose lines are shown stays the same.

        A destination that is not loaded yet is kept: until then, the current line is not where the person wants to be.
        """
        here = None if self.player.is_live else LinePosition(self.line)
        view = replace(view, sidechains=self.frame_index.view.sidechains, thinking=True)
        if self._followed is not None:
            self._followed.rebuild_index(view)
        else:
            self._frame_index = FrameIndex(self._frame_index.source, view)
        self.player.restart()
        self.player.is_growing, self.is_complete = True, False
        self._destination = self._destination or here

    def close(self) -> None:
        """Close the file."""
        if self._followed is not None:
            self._followed.close()
        else:
            self._frame_index.source.close()

    def _load_frames(self) -> None:
        self.player.load(self.frame_index.frames)
        if self.player.count and not self._has_checked_times:
            self._has_checked_times = True
            if not self.player.has_times and self.player.pace is Pace.CAPPED and self._timing.idle != 0:
                self.player.set_pace(Pace.PACED)  # without timestamps, everything would appear at once
        self._arrive()

    def _arrive(self) -> None:
        """Go to the destination, as far as its frames are loaded."""
        if self._destination is None or not self.player.count:
            return
        self._seek(self._destination)
        if self.is_complete:
            self._overshoot = self._find_overshoot(self._destination)
        if self.is_complete or (
            isinstance(self._destination, LinePosition) and self.has_line(self._destination.number)
        ):
            self._destination = None

    def _find_overshoot(self, destination: Destination) -> Overshoot | None:
        """The end of all frames, if a destination is beyond it; a session without times has no end in time."""
        player = self.player
        end: Destination | None = None
        match destination:
            case LinePosition(number) if number > self.frame_index.line_count:
                end = LinePosition(self.frame_index.line_count)
            case ElapsedPosition(seconds) if seconds > player.total:
                end = ElapsedPosition(player.total)
            case TimePosition(seconds) if player.latest_time is not None and seconds > player.latest_time:
                end = TimePosition(player.latest_time)
        return None if end is None else Overshoot(destination, end)

    def _seek(self, destination: Destination) -> None:
        match destination:
            case LinePosition(number):
                self.player.seek(self.frame_index.frame_at_line(number))
            case FractionPosition(fraction):
                self.player.seek_fraction(fraction)
            case ElapsedPosition(seconds):
                self.player.seek_elapsed(seconds)
            case TimePosition(seconds):
                self.player.seek_time(seconds)
