"""The player: which frame is shown now, and when the next one is due. Its clock is given to it.

It knows the time of frames and nothing of screens; whoever shows it asks for its `position`.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from claude_session_player.player.follow import FileChange, FollowedFile
from claude_session_player.player.frame_index import READ_SIZE, Frame, FrameIndex, FrameMark
from claude_session_player.player.timeline import (
    DEFAULT_IDLE,
    SPEEDS,
    Destination,
    ElapsedPosition,
    FractionPosition,
    LinePosition,
    Pace,
    TimePosition,
    cap_delays,
    chapter_after,
    chapter_before,
    frame_at,
    frame_delays,
    pace_delays,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from claude_session_player.live import SessionStatus
    from claude_session_player.models import ScreenElement, View
    from claude_session_player.player.recording import Recording
    from claude_session_player.player.stream import Timing

_MAX_LATENESS: Final = 1.0
"""Seconds that the player tries to make up for; a computer that slept longer goes on where it was."""


class Player:
    """A state machine: keys change it, and so does time, when it is asked to look at the clock."""

    def __init__(self, clock: Callable[[], float], *, idle: float | None = DEFAULT_IDLE) -> None:
        self.position = -1
        """The frame that is shown; -1 where there is none."""
        self.is_playing = False
        self.is_live = False
        """True where it goes to each new frame as soon as there is one."""
        self.is_growing = False
        """True where more frames may come, so that the last one is not the end."""
        self.has_times = False
        """True where any frame says when it was."""
        self.speed = 1.0
        self.pace = Pace.CAPPED
        self.chapters: list[int] = []
        """The frames in which somebody asks for something."""
        self._clock = clock
        self._idle = idle
        self._frames: Sequence[Frame] = ()
        self.count = 0
        """How many frames there are."""
        self._delays: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._starts: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._latest: float | None = None
        """The last time that a frame has."""
        self._shown_at = 0.0
        """When the frame that is shown appeared, by the clock."""

    # --- the film -------------------------------------------------------------------------------------

    def load(self, frames: Sequence[Frame]) -> None:
        """Take in frames that are new. Those that are known already come first; they are not looked at again."""
        known, self.count = self.count, len(frames)
        self._frames = frames
        if self.count == known:
            return
        new = frames[known:]
        self.has_times = self.has_times or any(frame.time is not None for frame in new)
        self.chapters += [number for number, frame in enumerate(new, known) if frame.marks & FrameMark.PROMPT]
        own = list(frame_delays((self._latest, *(frame.time for frame in new))))[1:]
        self._latest = next((frame.time for frame in reversed(new) if frame.time is not None), self._latest)
        sizes = [frame.size for frame in frames[max(known - 1, 0) :]]
        lengths = list(pace_delays(sizes))[1 if known else 0 :]
        for pace, waits in (
            (Pace.CAPPED, cap_delays(own, self._idle)),
            (Pace.REAL, own),
            (Pace.PACED, lengths),
        ):
            self._extend(pace, waits)
        if self.position < 0 or self.is_live:
            self._show(self.count - 1 if self.is_live else 0)

    def restart(self) -> None:
        """Forget all frames, because others will come; speed and pace stay as they are."""
        self.position, self.count, self.has_times = -1, 0, False
        self._frames, self._latest, self.chapters = (), None, []
        for pace in Pace:
            del self._delays[pace][:], self._starts[pace][:]

    def _extend(self, pace: Pace, waits: Iterable[float]) -> None:
        starts = self._starts[pace]
        new = array("d", waits)
        self._delays[pace] += new
        starts.extend(list(accumulate(new, initial=starts[-1] if starts else 0.0))[1:])

    @property
    def starts(self) -> Sequence[float]:
        """When each frame appears, at normal speed."""
        return self._starts[self.pace]

    @property
    def elapsed(self) -> float:
        """How far into the film the frame is that is shown, at normal speed."""
        return self.starts[self.position] if self.position >= 0 else 0.0

    @property
    def total(self) -> float:
        """How long the film is, at normal speed."""
        return self.starts[-1] if self.starts else 0.0

    @property
    def is_at_end(self) -> bool:
        """True where no frame is left."""
        return self.position >= self.count - 1

    # --- time -----------------------------------------------------------------------------------------

    def seconds_to_next(self) -> float | None:
        """In how many seconds the next frame is to be shown; `None` where nothing moves."""
        if not self.is_playing or self.is_at_end:
            return None
        return max(self._shown_at + self._delay(self.position + 1) - self._clock(), 0.0)

    def tick(self) -> bool:
        """Look at the clock, and go to the frame that is due; true where it is another one than before."""
        if not self.is_playing:
            return False
        now, before = self._clock(), self.position
        if not self.is_at_end:
            self._shown_at = max(self._shown_at, now - self._delay(before + 1) - _MAX_LATENESS)
        while not self.is_at_end and (moment := self._shown_at + self._delay(self.position + 1)) <= now:
            self.position += 1
            self._shown_at = moment
        if self.is_at_end and not self.is_growing:
            self.is_playing = False
        return self.position != before

    def _delay(self, frame: int) -> float:
        return self._delays[self.pace][frame] / self.speed

    # --- what people do -------------------------------------------------------------------------------

    def play(self) -> None:
        """Go on; from the beginning, where the film is over."""
        if self.is_at_end and not self.is_growing:
            self._show(0)
        self.is_playing = self.is_growing or self.count > 1
        self.is_live = False
        self._shown_at = self._clock()

    def pause(self) -> None:
        """Stay at this frame."""
        self.is_playing = self.is_live = False

    def toggle(self) -> None:
        """Pause, or go on."""
        if self.is_playing or self.is_live:
            self.pause()
        else:
            self.play()

    def step(self, frames: int) -> None:
        """Pause, and go some frames forwards or backwards."""
        self.pause()
        self._show(self.position + frames)

    def chapter(self, direction: int) -> bool:
        """Go to the next prompt, or to the one before; false where there is none. A player that plays goes on."""
        find = chapter_after if direction > 0 else chapter_before
        found = find(self.chapters, self.position)
        if found is not None:
            self.seek(found)
        return found is not None

    def seek(self, frame: int) -> None:
        """Go to a frame, or to the first or last one where there is none of this number."""
        self.is_live = False
        self._show(frame)

    def seek_elapsed(self, seconds: float) -> None:
        """Go to what is shown so many seconds into the film, at normal speed."""
        self.seek(frame_at(self.starts, seconds))

    def seek_fraction(self, fraction: float) -> None:
        """Go to a part of the film's time, between 0 and 1; of its frames, where none of them takes any."""
        if self.total > 0:
            self.seek_elapsed(fraction * self.total)
        else:
            self.seek(round(fraction * (self.count - 1)))

    def seek_time(self, moment: float) -> None:
        """Go to the last frame before one that is later than a moment, in seconds since 1970."""
        later = (n for n, frame in enumerate(self._frames) if frame.time is not None and frame.time > moment)
        self.seek(next(later, self.count) - 1)

    def end(self) -> None:
        """Go to the last frame; and to each new one, where more may come."""
        self._show(self.count - 1)
        self.is_playing, self.is_live = False, self.is_growing

    def set_speed(self, speed: float) -> None:
        """Play so many times as fast."""
        self._change_delays(self.pace if self.pace is Pace.PACED else Pace.CAPPED, speed)

    def change_speed(self, steps: int) -> None:
        """Play faster, or slower, by some steps of the speeds that there are."""
        nearest = min(range(len(SPEEDS)), key=lambda number: abs(SPEEDS[number] - self.speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])

    def set_pace(self, pace: Pace) -> None:
        """Let something else decide how long a frame is waited for; real time is at normal speed."""
        self._change_delays(pace, 1.0 if pace is Pace.REAL else self.speed)

    def _change_delays(self, pace: Pace, speed: float) -> None:
        """Wait differently from now on; the part of a wait that is over stays over."""
        self.tick()
        now, part = self._clock(), 0.0
        is_waiting = self.is_playing and not self.is_at_end
        if is_waiting and (wait := self._delay(self.position + 1)) > 0:
            part = min((now - self._shown_at) / wait, 1.0)
        self.pace, self.speed = pace, speed
        self._shown_at = now - part * self._delay(self.position + 1) if is_waiting else now

    def _show(self, frame: int) -> None:
        self.position = min(max(frame, 0), self.count - 1)
        self._shown_at = self._clock()


IS_LIVE, IS_IDLE, IS_DELETED = "live", "idle", "deleted"


class Playback:
    """Film and player together. The film is developed by whoever owns this, while it is played already.

    A recording that is followed begins at its end, and goes on for as long as its file grows.
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
        """True where the film is complete."""
        view = replace(view.of_subagent() if recording.is_subagent else view, thinking=True)
        path = recording.path if is_followed else None
        self._followed = None if path is None else FollowedFile(path, view)
        self._frame_index = (
            FrameIndex(recording.open_source(), view) if self._followed is None else self._followed.frame_index
        )
        self._destination: Destination | None = None
        self._timing = timing
        self._has_checked_times = False
        """True where it is known whether the session has times."""
        if self._followed is not None:
            self.player.end()

    @property
    def frame_index(self) -> FrameIndex:
        """The film; another one, when the file that is followed is replaced by another."""
        return self._frame_index if self._followed is None else self._followed.frame_index

    @property
    def is_followed(self) -> bool:
        """True where the file may grow at any time."""
        return self._followed is not None

    def live_state(self, status: SessionStatus | None) -> str:
        """Whether the file that is followed is there and written to, by what its session does; else nothing."""
        if self._followed is None:
            return ""
        if self._followed.is_deleted:
            return IS_DELETED
        return IS_LIVE if status is not None and status.is_live else IS_IDLE

    @property
    def frame(self) -> Frame | None:
        """The frame that is shown."""
        return self.frame_index.frames[self.player.position] if self.player.position >= 0 else None

    def elements(self) -> list[ScreenElement]:
        """What is on the screen now: to be looked at until this is asked for again, and not to be changed."""
        return self.frame_index.screen(self.player.position).elements

    def read_more(self) -> FileChange:
        """Take in a portion of the film: as long as it grew, there may be more. Raises `CannotRead`."""
        if self._followed is not None:
            change = self._followed.catch_up(READ_SIZE)
            if change.needs_new_index:
                self.player.restart()
        else:
            change = FileChange.GREW if self.frame_index.read_more() else FileChange.NOTHING
        self._load_frames()
        return change

    def finish(self) -> None:
        """What is there is all, unless the file is followed."""
        if self._followed is None:
            self.frame_index.finish()
            self.player.is_growing = self.player.is_live = False
        self.is_complete = True
        self._load_frames()
        self.player.tick()  # at the end of a film that cannot grow, it stops

    def go_to(self, where: Destination) -> None:
        """Go to a place; where the film is not developed so far, as soon as it is."""
        self._destination = where
        self._arrive()

    def forget_destination(self) -> None:
        """Somebody went elsewhere: there is no place any more that they wait for."""
        self._destination = None

    def set_history(self, is_kept: bool) -> None:
        """Develop the film anew, with or without what was before compactions; the place in it stays the same."""
        line, is_live = self.frame.line if self.frame else 0, self.player.is_live
        view = replace(self.frame_index.view, history=is_kept)
        if self._followed is not None:
            self._followed.rebuild_index(view)
        else:
            self._frame_index = FrameIndex(self._frame_index.source, view)
        self.player.restart()
        self.player.is_growing, self.is_complete = True, False
        self._destination = None if is_live else LinePosition(line)

    def close(self) -> None:
        """Let go of the file."""
        if self._followed is not None:
            self._followed.close()
        else:
            self._frame_index.source.close()

    def _load_frames(self) -> None:
        self.player.load(self.frame_index.frames)
        if self.player.count and not self._has_checked_times:
            self._has_checked_times = True
            if not self.player.has_times and self.player.pace is Pace.CAPPED and self._timing.idle != 0:
                self.player.set_pace(Pace.PACED)  # without times, everything would appear at once
        self._arrive()

    def _arrive(self) -> None:
        """Go where somebody wants to be, as far as that is possible."""
        if self._destination is None or not self.player.count:
            return
        self._seek(self._destination)
        if self.is_complete or (
            isinstance(self._destination, LinePosition) and self.frame_index.line_count > self._destination.number
        ):
            self._destination = None

    def _seek(self, where: Destination) -> None:
        match where:
            case LinePosition(number):
                self.player.seek(self.frame_index.frame_at_line(number))
            case FractionPosition(fraction):
                self.player.seek_fraction(fraction)
            case ElapsedPosition(seconds):
                self.player.seek_elapsed(seconds)
            case TimePosition(seconds):
                self.player.seek_time(seconds)
