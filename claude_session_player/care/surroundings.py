"""Whether a session file is where it belongs, and whether what belongs to it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from claude_session_player.care import findings as kinds
from claude_session_player.care.findings import Finding
from claude_session_player.care.inspection import Inspection
from claude_session_player.humanize import many, size
from claude_session_player.store.layout import SESSION, TOOL_RESULTS, Found, is_session_id
from claude_session_player.store.locate import PROJECTS
from claude_session_player.store.paths import spelled_like
from claude_session_player.text import cut

LARGE: Final = 10 << 20
"""A session of more bytes is better not continued."""
OLD_SECONDS: Final = 24 * 60 * 60

_BILLION: Final = 1_000_000_000


def look_around(found: Found, inspection: Inspection, now: float) -> Iterator[Finding]:
    """Whatever is wrong around a file that was inspected, at a moment in seconds."""
    path = found.path
    if found.kind == SESSION:
        yield from _place(found, inspection)
        if found.stamp.size > LARGE:
            yield Finding(kinds.TOO_LARGE, path, detail=size(found.stamp.size))
        age = now - found.stamp.mtime_ns / _BILLION
        if age > OLD_SECONDS:
            yield Finding(kinds.OLD, path, detail=f"{many(int(age // OLD_SECONDS), 'day')} ago")
    if inspection.is_empty:
        yield Finding(kinds.EMPTY, path)
    folder = os.path.join(found.home, found.parent or _session_id(found, inspection), TOOL_RESULTS)
    for name, place in inspection.outputs:
        if not os.path.isfile(os.path.join(folder, name)):
            yield Finding(kinds.NO_OUTPUT, path, *place, os.path.join(TOOL_RESULTS, name))


def _place(found: Found, inspection: Inspection) -> Iterator[Finding]:
    """What the names of a session file and of its project directory say; elsewhere they say nothing."""
    if os.path.basename(os.path.dirname(found.home)) != PROJECTS:
        return
    if not is_session_id(found.id):
        yield Finding(kinds.BAD_ID, found.path, detail=cut(found.id, 60))
    cwds = inspection.cwds
    if cwds and spelled_like(found.project or "", (cwd.name for cwd in cwds)) is None:
        yield Finding(kinds.WRONG_PROJECT, found.path, *cwds[0].place, f"it worked in {cwds[0].name}")


def _session_id(found: Found, inspection: Inspection) -> str:
    return (inspection.session_id or found.id) if found.is_agent else found.id
