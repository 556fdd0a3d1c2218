"""Full-screen programs, run without a terminal: keys go in, a picture of the screen comes out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

SCREENS = Path(__file__).parent / "fixtures" / "screens"
SMALL, LARGE = (80, 24), (120, 40)

IS_LOWEST = "LOWEST" in os.environ
"""On the lowest versions of what the program needs, screens are drawn, but not to the letter as by the newest."""

Script = Callable[[Pilot[Any]], Awaitable[None]]


def run(app: App[Any], script: Script, size: tuple[int, int] = SMALL) -> None:
    """Run a program on a screen of this size, and do with it what the script does."""

    async def body() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(body())


def text_of(app: App[Any]) -> str:
    """What is on the screen, as plain text."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips[:height]).rstrip() if width else ""


def check_picture(app: App[Any], name: str) -> None:
    """Compare the screen with the picture of this name; with `NEW_SCREENS=1`, make it anew."""
    path = SCREENS / f"{name}-{app.size.width}x{app.size.height}.svg"
    drawn = app.export_screenshot(title=name, simplify=True)
    if IS_LOWEST:
        return
    if os.environ.get("NEW_SCREENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawn)
    assert path.read_text() == drawn, f"{path.name}: NEW_SCREENS=1 makes it anew; then look at it"
