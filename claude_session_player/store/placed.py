"""What session files are by their paths alone: the same as a walk would find, of files that need not be on disk."""

import os
from collections.abc import Iterator, Mapping

from claude_session_player.store.layout import (
    AGENT,
    KINDS,
    META,
    SESSION,
    SUBAGENT,
    SUBAGENTS,
    SUFFIX,
    Found,
    Place,
    SideFile,
    Stamp,
    is_session_name,
)
from claude_session_player.store.locate import PROJECTS


def found_below(root: str, stamps: Mapping[str, Stamp]) -> Iterator[Found]:
    """The session files among some files, by their paths below a store, with "/"."""
    for path, stamp in stamps.items():
        *folders, name = path.split("/")
        if not is_session_name(name) or any(part.startswith(".") for part in (*folders, name)):
            continue
        if (placed := _placed(root, folders, name)) is None:
            continue
        kind, place = placed
        stem = name.removesuffix(SUFFIX)
        about = path.removesuffix(SUFFIX) + META
        is_described = about in stamps and kind in (SESSION, SUBAGENT)
        meta = SideFile(os.path.join(root, *about.split("/")), stamps[about]) if is_described else None
        id = stem.removeprefix(AGENT) if kind == SUBAGENT else stem
        yield Found(os.path.join(root, *folders, name), id, kind, stamp, 0, *place, meta)


def _placed(root: str, folders: list[str], name: str) -> tuple[str, Place] | None:
    """What a session file is by the directories above it; none where no session lies."""
    if len(folders) == 1 and folders[0] in KINDS:
        return KINDS[folders[0]], Place(os.path.join(root, *folders))
    if len(folders) < 2 or folders[0] != PROJECTS:
        return None
    place = Place(os.path.join(root, *folders[:2]))
    if len(folders) == 2:
        return SUBAGENT if name.startswith(AGENT) else SESSION, place
    if len(folders) == 3 or folders[3] != SUBAGENTS:
        return None
    place = place._replace(parent=folders[2])
    for folder in folders[4:]:
        place = place.within(folder)
    return SUBAGENT, place
