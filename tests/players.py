"""The player's window for tests: a session with something of everything, keys, and a clock that the test turns."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from claude_session_player.models import View
from claude_session_player.parser import is_subagent_file
from claude_session_player.player.recording import FileSource, Recording, recording_of_lines
from claude_session_player.tui.player import PlayerApp, PlayerScreen
from tests.builder import SessionBuilder, call, text, thought
from tests.screens import SMALL, run, text_of, until as until_true

ANSWER = """I will let the **clock** be passed in:

```python
def steep(minutes, sleep=time.sleep):
    sleep(minutes * 60)
```

- `steep` converts minutes to seconds
- the test brings a clock of its own
"""
PATCH = {
    "structuredPatch": [
        {
            "oldStart": 4,
            "oldLines": 3,
            "newStart": 4,
            "newLines": 3,
            "lines": [
                " import time",
                "-def steep(minutes):",
                "-    time.sleep(minutes)",
                "+def steep(minutes, sleep):",
            ],
        }
    ]
}


class Clock:
    """A clock that stands still until somebody turns it."""

    now = 0.0

    def __call__(self) -> float:
        """What the clock shows."""
        return self.now


def of_file(path: str) -> Recording:
    """A file by itself, of which no store knows."""
    return Recording(os.path.basename(path), path, partial(FileSource, path), is_subagent_file(path), path)


def teapot() -> SessionBuilder:
    """A session with something of everything that the player can show."""
    return (
        SessionBuilder()
        .prompt("The bell of my tea timer rings too early.")
        .response(thought("It must be the unit."), text(ANSWER), call("Edit", "e", file_path="/home/ada/timer.py"))
        .result("e", "The file has been updated.", toolUseResult=PATCH)
        .response(call("Bash", "b", command="pytest", description="Run the tests"))
        .result("b", "\n".join(f"test {number} of the kettle passed" for number in range(9)))
        .response(call("Task", "t", description="Find the temperature", prompt="How hot?"))
        .result("t", "Between 70 and 80 degrees.")
        .response(call("Read", "r", file_path="/home/ada/cup.py"))
        .result("r", "no such file", error=True)
        .prompt("Thank you.")
        .response(text("You are welcome."))
    )


def scholar() -> Recording:
    lines = SessionBuilder(sidechain=True).prompt("How hot?").response(text("Between 70 and 80 degrees.")).lines
    return recording_of_lines(lines, "Find the temperature")


def recording(session: SessionBuilder | None = None) -> Recording:
    made = recording_of_lines((session or teapot()).lines, "A tea timer")
    return replace(made, location="/home/ada/teapot", find_subagents=lambda: {"t": [scholar()]})


def player(what: Recording | None = None, **options: Any) -> tuple[PlayerApp, Clock]:
    """A player of the specification's screen, unless another view is given."""
    clock = Clock()
    options.setdefault("view", View().with_queue())
    return PlayerApp(lambda: PlayerScreen(what or recording(), clock=clock, **options)), clock


def screen_of(app: PlayerApp) -> PlayerScreen:
    screen = app.screen
    assert isinstance(screen, PlayerScreen)
    return screen


Script = Callable[[Pilot[Any], PlayerScreen], Awaitable[None]]


def notice(app: App[Any]) -> str:
    """The notification that is shown; empty if there is none."""
    return "".join(notification.message for notification in app._notifications)


def shown_on(app: App[Any]) -> str:
    """The text on the screen, and the notification."""
    return f"{text_of(app)}\n{notice(app)}"


def played(script: Script, what: Recording | None = None, size: tuple[int, int] = SMALL, **options: Any) -> str:
    """What is on the screen when a script is over, with the notification below it."""
    app, _ = player(what, **options)
    shown = []

    async def whole(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        await script(pilot, screen_of(app))
        await pilot.pause()
        shown.append(shown_on(app))

    run(app, whole, size)
    return shown[0]


def keys(*names: str) -> Script:
    async def press(pilot: Pilot[Any], screen: PlayerScreen) -> None:
        for name in names:
            await pilot.press(name)
            await pilot.pause()

    return press


async def to_agent(pilot: Pilot[Any], clock: Clock) -> None:
    """Step into the sub-agent of the teapot, and go to its end."""
    caller = pilot.app.screen
    await pilot.press("end", "s")
    await until_true(pilot, lambda: pilot.app.screen is not caller and pilot.app.screen.is_mounted)
    await pilot.press("end")
    await pilot.pause()


async def until(pilot: Pilot[Any], words: str) -> None:
    """Wait for words on the screen, or in a notification."""
    await until_true(pilot, lambda: words in shown_on(pilot.app))


def followed(
    path: Path, script: Callable[[Pilot[Any]], Awaitable[None]], size: tuple[int, int] = SMALL, **options: Any
) -> None:
    """Follow the session in a file, and do with the player what the script does."""
    app, _ = player(of_file(str(path)), is_followed=True, **options)
    run(app, script, size)
