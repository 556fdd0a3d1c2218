"""Files of a session: which ones it read, wrote and edited, and their content at any line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.files.activity import (
        TouchCounter as TouchCounter,
        TouchCounts as TouchCounts,
        TouchedFile as TouchedFile,
        absolute_path as absolute_path,
        file_key as file_key,
        find_touched_file as find_touched_file,
        is_absolute as is_absolute,
        touched_files as touched_files,
    )
    from claude_session_player.files.history import RecordedTouch as RecordedTouch, file_history as file_history
    from claude_session_player.files.rebuild import (
        ContentNote as ContentNote,
        GapReason as GapReason,
        RebuiltFile as RebuiltFile,
        rebuild_file as rebuild_file,
    )
    from claude_session_player.files.snapshots import LineRange as LineRange, PartialText as PartialText

_HOMES = {
    "ContentNote": "rebuild",
    "GapReason": "rebuild",
    "LineRange": "snapshots",
    "PartialText": "snapshots",
    "RebuiltFile": "rebuild",
    "RecordedTouch": "history",
    "TouchCounter": "activity",
    "TouchCounts": "activity",
    "TouchedFile": "activity",
    "absolute_path": "activity",
    "file_history": "history",
    "file_key": "activity",
    "find_touched_file": "activity",
    "is_absolute": "activity",
    "rebuild_file": "rebuild",
    "touched_files": "activity",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
