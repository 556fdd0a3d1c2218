"""A player: it knows which frame is shown, and when the next one follows.

It gets its clock from outside, and knows the times of frames but nothing of screens.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from claude_session_player.player.frame_index import Frame, FrameMark
from claude_session_player.player.highlights import LONGEST, has_highlight, highlight_delays
from claude_session_player.player.timeline import (
    DEFAULT_IDLE,
    SPEEDS,
    CutPause,
    Pace,
    cap_delays,
    chapter_after,
    chapter_before,
    find_cuts,
    frame_at,
    frame_delays,
    pace_delays,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_MAX_LATENESS: Final = 1.0
"""Seconds that the player catches up on; after a longer sleep of the computer it continues where it was."""
_CUT_NOTICE: Final = 3.0
"""Seconds for which the player says that it left out a pause."""


class Player:
    """A state machine that is changed by keys, and by time whenever `tick` is called."""

    def __init__(self, clock: Callable[[], float], *, idle: float | None = DEFAULT_IDLE) -> None:
        self.position = -1
        """The number of the frame that is shown; -1 if there is none."""
        self.is_playing = False
        self.is_live = False
        """True while it goes to each new frame immediately."""
        self.is_growing = False
        """True while more frames may follow, so that the last one is not the end."""
        self.has_times = False
        """True if any frame has a time."""
        self.speed = 1.0
        self.pace = Pace.CAPPED
        self.highlights: list[int] = []
        """The frames with a highlight."""
        self._marked: dict[FrameMark, list[int]] = {mark: [] for mark in FrameMark}
        """The frames with each mark."""
        self._pace_before = Pace.CAPPED
        """The pace before highlights were switched on."""
        self._scaled: array[float] | None = None
        """When each frame is shown in highlights."""
        self._clock = clock
        self._idle = idle
        self._frames: Sequence[Frame] = ()
        self.count = 0
        """The number of frames."""
        self._delays: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._starts: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._cuts: dict[Pace, list[CutPause]] = {pace: [] for pace in Pace}
        self._crossed: tuple[float, CutPause] | None = None
        """The last cut that was played across, and when, by the clock."""
        self.first_time: float | None = None
        """The time of the first frame that has one."""
        self._latest: float | None = None
        """The latest time of any frame."""
        self._shown_at = 0.0
        """When the current frame was shown, by the clock."""

    # --- frames ---------------------------------------------------------------------------------------

    def load(self, frames: Sequence[Frame]) -> None:
        """Add new frames; `frames` begins with the known ones, which are not examined again."""
        known, self.count = self.count, len(frames)
        self._frames = frames
        if self.count == known:
            return
        new = frames[known:]
        self.has_times = self.has_times or any(frame.time is not None for frame in new)
        self._note_marks(new, known)
        if self.first_time is None:
            self.first_time = next((frame.time for frame in new if frame.time is not None), None)
        times = (self._latest, *(frame.time for frame in new))
        real = list(frame_delays(times))[1:]
        self._latest = max((time for time in times if time is not None), default=None)
        sizes = [frame.size for frame in frames[max(known - 1, 0) :]]
        paced = list(pace_delays(sizes))[1 if known else 0 :]
        for pace, delays in (
            (Pace.CAPPED, list(cap_delays(real, self._idle))),
            (Pace.REAL, real),
            (Pace.PACED, paced),
            (Pace.HIGHLIGHTS, list(highlight_delays(new, frames[known - 1] if known else None))),
        ):
            self._extend(pace, delays)
            if pace is not Pace.HIGHLIGHTS:  # most of the session takes no time then
                self._cuts[pace] += find_cuts(real, delays, known)
        if self.position < 0 or self.is_live:
            self._show(self.count - 1 if self.is_live else 0)

    def restart(self) -> None:
        """Drop all frames, because others will follow; speed and pace stay as they are."""
        self.position, self.count, self.has_times = -1, 0, False
        self._frames, self._latest, self.highlights = (), None, []
        self._marked = {mark: [] for mark in FrameMark}
        self.first_time = self._crossed = self._scaled = None
        for pace in Pace:
            del self._delays[pace][:], self._starts[pace][:], self._cuts[pace][:]

    def _note_marks(self, new: Sequence[Frame], known: int) -> None:
        for number, frame in enumerate(new, known):
            if frame.marks:
                for mark in frame.marks:
                    self._marked[mark].append(number)
                if has_highlight(frame):
                    self.highlights.append(number)

    def _extend(self, pace: Pace, delays: Iterable[float]) -> None:
        starts = self._starts[pace]
        new = array("d", delays)
        self._delays[pace] += new
        starts.extend(list(accumulate(new, initial=starts[-1] if starts else 0.0))[1:])

    @property
    def frames(self) -> Sequence[Frame]:
        """The frames that were loaded last."""
        return self._frames

    @property
    def starts(self) -> Sequence[float]:
        """When each frame is shown, at normal speed."""
        starts = self._starts[self.pace]
        scale = self._scale
        if scale == 1:
            return starts
        if self._scaled is None or len(self._scaled) != len(starts):
            self._scaled = array("d", (start * scale for start in starts))
        return self._scaled

    @property
    def _scale(self) -> float:
        """By which factor delays are shortened: highlights never take longer than a few minutes."""
        starts = self._starts[self.pace]
        if self.pace is not Pace.HIGHLIGHTS or not starts or starts[-1] <= LONGEST:
            return 1.0
        return LONGEST / starts[-1]

    @property
    def chapters(self) -> Sequence[int]:
        """The frames with a prompt."""
        return self._marked[FrameMark.PROMPT]

    @property
    def has_highlights_only(self) -> bool:
        """True while only highlights are played."""
        return self.pace is Pace.HIGHLIGHTS

    @property
    def elapsed(self) -> float:
        """The time from the beginning to the current frame, at normal speed."""
        return self.starts[self.position] if self.position >= 0 else 0.0

    @property
    def total(self) -> float:
        """The time from the beginning to the last frame, at normal speed."""
        return self.starts[-1] if self.starts else 0.0

    @property
    def latest_time(self) -> float | None:
        """The latest time of any frame."""
        return self._latest

    @property
    def cuts(self) -> Sequence[CutPause]:
        """The long pauses that are left out, in order."""
        return self._cuts[self.pace]

    @property
    def crossed_cut(self) -> CutPause | None:
        """The cut that was just played across; `None` after a few seconds."""
        if self._crossed is None or self._clock() - self._crossed[0] > _CUT_NOTICE:
            return None
        return self._crossed[1]

    def real_seconds(self, first: int, last: int) -> float:
        """The session's own time between two frames, with all pauses; what has passed does not pass again."""
        starts = self._starts[Pace.REAL]
        return starts[last] - starts[first]

    @property
    def is_at_end(self) -> bool:
        """True at the last frame."""
        return self.position >= self.count - 1

    # --- time -----------------------------------------------------------------------------------------

    def seconds_to_next(self) -> float | None:
        """The seconds until the next frame is to be shown; `None` while nothing is played."""
        if not self.is_playing or self.is_at_end:
            return None
        return max(self._shown_at + self._delay(self.position + 1) - self._clock(), 0.0)

    def tick(self) -> bool:
        """Go to the frame that the clock demands; true if it is not the one before."""
        if not self.is_playing:
            return False
        now, before = self._clock(), self.position
        if not self.is_at_end:
            self._shown_at = max(self._shown_at, now - self._delay(before + 1) - _MAX_LATENESS)
        while not self.is_at_end and (time := self._shown_at + self._delay(self.position + 1)) <= now:
            self.position += 1
            self._shown_at = time
        self._note_cuts(before)
        if self.is_at_end and not self.is_growing:
            self.is_playing = False
        return self.position != before

    def _note_cuts(self, before: int) -> None:
        """Note the last cut between an earlier frame and the current one."""
        cuts = self.cuts
        place = bisect_right(cuts, self.position, key=lambda cut: cut.frame)
        if place and cuts[place - 1].frame > before:
            self._crossed = self._shown_at, cuts[place - 1]

    def _delay(self, frame: int) -> float:
        return self._delays[self.pace][frame] * self._scale / self.speed

    # --- controls -------------------------------------------------------------------------------------

    def play(self) -> None:
        """Play from the current frame; at the end, from the beginning."""
        if self.is_at_end and not self.is_growing:
            self._show(0)
        self.is_playing = self.is_growing or self.count > 1
        self.is_live = False
        self._shown_at = self._clock()

    def pause(self) -> None:
        """Stop at the current frame."""
        self.is_playing = self.is_live = False

    def toggle(self) -> None:
        """Pause or continue."""
        if self.is_playing or self.is_live:
            self.pause()
        else:
            self.play()

    def step(self, frames: int) -> None:
        """Pause, and go some frames forward or back; in highlights, over all others."""
        self.pause()
        self._show(self._highlight_from(self.position, frames) if self.has_highlights_only else self.position + frames)

    def _highlight_from(self, frame: int, steps: int) -> int:
        """The highlight some steps from a frame; beyond the first or last one, that one or the frame itself."""
        known = self.highlights
        index = (bisect_right(known, frame) - 1 if steps > 0 else bisect_left(known, frame)) + steps
        if not known:
            return frame
        found = known[min(max(index, 0), len(known) - 1)]
        return found if (found - frame) * steps > 0 else frame

    def chapter(self, direction: int) -> bool:
        """Go to the next or previous prompt; false if there is none. Playing continues from there."""
        return self.go_to_mark(FrameMark.PROMPT, direction)

    def go_to_mark(self, mark: FrameMark, direction: int) -> bool:
        """Go to the next or previous frame with a mark; false if there is none. Playing continues from there.

        Highlights skip frames that add nothing to them.
        """
        find = chapter_after if direction > 0 else chapter_before
        frame = find(self._marked[mark], self.position)
        while frame is not None and self.has_highlights_only and not has_highlight(self._frames[frame]):
            frame = find(self._marked[mark], frame)
        if frame is not None:
            self.seek(frame)
        return frame is not None

    def seek(self, frame: int) -> None:
        """Go to a frame; to the first or last one if the number is out of range."""
        self.is_live = False
        self._show(frame)

    def seek_elapsed(self, seconds: float) -> None:
        """Go to the frame that is shown this many seconds after the beginning, at normal speed."""
        frame = frame_at(self.starts, seconds)
        if self.has_highlights_only and self.highlights:
            frame = self.highlights[max(bisect_right(self.highlights, frame) - 1, 0)]
        self.seek(frame)

    def seek_fraction(self, fraction: float) -> None:
        """Go to a fraction of the total time, between 0 and 1; of the number of frames, if the total is 0."""
        if self.total > 0:
            self.seek_elapsed(fraction * self.total)
        else:
            self.seek(round(fraction * (self.count - 1)))

    def seek_time(self, time: float) -> None:
        """Go to the frame before the first one that is later than a time, in seconds since 1970."""
        later = (n for n, frame in enumerate(self._frames) if frame.time is not None and frame.time > time)
        self.seek(next(later, self.count) - 1)

    def end(self) -> None:
        """Go to the last frame; while more may follow, also to each new one."""
        self._show(self.count - 1)
        self.is_playing, self.is_live = False, self.is_growing

    def set_speed(self, speed: float) -> None:
        """Play at this multiple of the normal speed."""
        self._change_delays(Pace.CAPPED if self.pace is Pace.REAL else self.pace, speed)

    def change_speed(self, steps: int) -> None:
        """Play faster or slower, by some steps in `SPEEDS`."""
        nearest = min(range(len(SPEEDS)), key=lambda number: abs(SPEEDS[number] - self.speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])

    def set_pace(self, pace: Pace) -> None:
        """Compute delays differently; real time implies normal speed."""
        self._change_delays(pace, 1.0 if pace is Pace.REAL else self.speed)

    def set_highlights(self, is_on: bool) -> None:
        """Play only highlights, or at the previous pace; the position stays the same."""
        if is_on and not self.has_highlights_only:
            self._pace_before = self.pace
            self.set_pace(Pace.HIGHLIGHTS)
        elif not is_on and self.has_highlights_only:
            self.set_pace(self._pace_before)

    def _change_delays(self, pace: Pace, speed: float) -> None:
        """Change all delays; the elapsed fraction of the current one stays the same."""
        self.tick()
        now, elapsed = self._clock(), 0.0
        is_waiting = self.is_playing and not self.is_at_end
        if is_waiting and (delay := self._delay(self.position + 1)) > 0:
            elapsed = min((now - self._shown_at) / delay, 1.0)
        self.pace, self.speed = pace, speed
        self._shown_at = now - elapsed * self._delay(self.position + 1) if is_waiting else now

    def _show(self, frame: int) -> None:
        self._crossed = None
        self.position = min(max(frame, 0), self.count - 1)
        self._shown_at = self._clock()
