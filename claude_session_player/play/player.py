"""The player: which frame is shown now, and when the next one is due. Its clock is given to it.

It knows the time of frames and nothing of screens; whoever shows it asks for its `position`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final

from claude_session_player.play.film import Frame, Mark
from claude_session_player.play.timeline import (
    IDLE,
    SPEEDS,
    Pace,
    capped,
    chapter_after,
    chapter_before,
    delays,
    frame_at,
    paced,
)

_LATE: Final = 1.0
"""Seconds that the player tries to make up for; a computer that slept longer goes on where it was."""


class Player:
    """A state machine: keys change it, and so does time, when it is asked to look at the clock."""

    def __init__(self, clock: Callable[[], float], *, idle: float | None = IDLE) -> None:
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
        self._waits: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._starts: dict[Pace, array[float]] = {pace: array("d") for pace in Pace}
        self._latest: float | None = None
        """The last time that a frame has."""
        self._since = 0.0
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
        self.chapters += [number for number, frame in enumerate(new, known) if frame.marks & Mark.PROMPT]
        own = list(delays((self._latest, *(frame.time for frame in new))))[1:]
        self._latest = next((frame.time for frame in reversed(new) if frame.time is not None), self._latest)
        sizes = [frame.size for frame in frames[max(known - 1, 0) :]]
        lengths = list(paced(sizes))[1 if known else 0 :]
        for pace, waits in (
            (Pace.CAPPED, capped(own, self._idle)),
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
            del self._waits[pace][:], self._starts[pace][:]

    def _extend(self, pace: Pace, waits: Iterable[float]) -> None:
        starts = self._starts[pace]
        new = array("d", waits)
        self._waits[pace] += new
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

    def due(self) -> float | None:
        """In how many seconds the next frame is to be shown; `None` where nothing moves."""
        if not self.is_playing or self.is_at_end:
            return None
        return max(self._since + self._wait(self.position + 1) - self._clock(), 0.0)

    def tick(self) -> bool:
        """Look at the clock, and go to the frame that is due; true where it is another one than before."""
        if not self.is_playing:
            return False
        now, before = self._clock(), self.position
        if not self.is_at_end:
            self._since = max(self._since, now - self._wait(before + 1) - _LATE)
        while not self.is_at_end and (moment := self._since + self._wait(self.position + 1)) <= now:
            self.position += 1
            self._since = moment
        if self.is_at_end and not self.is_growing:
            self.is_playing = False
        return self.position != before

    def _wait(self, frame: int) -> float:
        return self._waits[self.pace][frame] / self.speed

    # --- what people do -------------------------------------------------------------------------------

    def play(self) -> None:
        """Go on; from the beginning, where the film is over."""
        if self.is_at_end and not self.is_growing:
            self._show(0)
        self.is_playing = self.is_growing or self.count > 1
        self.is_live = False
        self._since = self._clock()

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
        self._wait_by(self.pace if self.pace is Pace.PACED else Pace.CAPPED, speed)

    def change_speed(self, steps: int) -> None:
        """Play faster, or slower, by some steps of the speeds that there are."""
        nearest = min(range(len(SPEEDS)), key=lambda number: abs(SPEEDS[number] - self.speed))
        self.set_speed(SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)])

    def set_pace(self, pace: Pace) -> None:
        """Let something else decide how long a frame is waited for; real time is at normal speed."""
        self._wait_by(pace, 1.0 if pace is Pace.REAL else self.speed)

    def _wait_by(self, pace: Pace, speed: float) -> None:
        """Wait differently from now on; the part of a wait that is over stays over."""
        self.tick()
        now, part = self._clock(), 0.0
        is_waiting = self.is_playing and not self.is_at_end
        if is_waiting and (wait := self._wait(self.position + 1)) > 0:
            part = min((now - self._since) / wait, 1.0)
        self.pace, self.speed = pace, speed
        self._since = now - part * self._wait(self.position + 1) if is_waiting else now

    def _show(self, frame: int) -> None:
        self.position = min(max(frame, 0), self.count - 1)
        self._since = self._clock()
