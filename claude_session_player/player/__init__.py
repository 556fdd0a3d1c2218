"""Plays sessions: frames with their times, a player with a given clock, following, and search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.player.chapters import Chapter as Chapter, list_chapters as list_chapters
    from claude_session_player.player.costs import CostCounter as CostCounter, CostCurve as CostCurve
    from claude_session_player.player.follow import (
        FileChange as FileChange,
        FollowedGroup as FollowedGroup,
        FollowedText as FollowedText,
    )
    from claude_session_player.player.frame_index import (
        Frame as Frame,
        FrameIndex as FrameIndex,
        FrameMark as FrameMark,
    )
    from claude_session_player.player.frame_links import AgentSpan as AgentSpan
    from claude_session_player.player.frame_names import FrameName as FrameName, describe_frame as describe_frame
    from claude_session_player.player.lanes import LaneSpan as LaneSpan, lane_spans as lane_spans
    from claude_session_player.player.playback import LiveState as LiveState, Playback as Playback
    from claude_session_player.player.player import Player as Player
    from claude_session_player.player.positions import (
        LeftPosition as LeftPosition,
        PositionStore as PositionStore,
    )
    from claude_session_player.player.progress import (
        Lasted as Lasted,
        LineFacts as LineFacts,
        ProgressLog as ProgressLog,
    )
    from claude_session_player.player.recording import (
        Recording as Recording,
        SubagentRecordings as SubagentRecordings,
        recording_of_file as recording_of_file,
        recording_of_lines as recording_of_lines,
        recording_of_session as recording_of_session,
    )
    from claude_session_player.player.search import (
        ElementDetails as ElementDetails,
        FrameSearch as FrameSearch,
        call_details as call_details,
        element_details as element_details,
    )
    from claude_session_player.player.stream import (
        TextPiece as TextPiece,
        Timing as Timing,
        fit_timing as fit_timing,
        stream_frames as stream_frames,
        text_frames as text_frames,
    )
    from claude_session_player.player.timeline import (
        DEFAULT_IDLE as DEFAULT_IDLE,
        POSITION_HELP as POSITION_HELP,
        POSITION_HINT as POSITION_HINT,
        SPEEDS as SPEEDS,
        CutPause as CutPause,
        Destination as Destination,
        Pace as Pace,
        column_of as column_of,
        frame_in_column as frame_in_column,
        histogram as histogram,
        line_position as line_position,
        parse_position as parse_position,
    )

_HOMES = {
    "AgentSpan": "frame_links",
    "SubagentRecordings": "recording",
    "POSITION_HINT": "timeline",
    "CutPause": "timeline",
    "Destination": "timeline",
    "Chapter": "chapters",
    "CostCounter": "costs",
    "CostCurve": "costs",
    "ElementDetails": "search",
    "FileChange": "follow",
    "FollowedGroup": "follow",
    "FollowedText": "follow",
    "Frame": "frame_index",
    "FrameIndex": "frame_index",
    "FrameMark": "frame_index",
    "FrameName": "frame_names",
    "FrameSearch": "search",
    "POSITION_HELP": "timeline",
    "DEFAULT_IDLE": "timeline",
    "LaneSpan": "lanes",
    "Lasted": "progress",
    "LeftPosition": "positions",
    "LineFacts": "progress",
    "LiveState": "playback",
    "Pace": "timeline",
    "Playback": "playback",
    "Player": "player",
    "PositionStore": "positions",
    "ProgressLog": "progress",
    "Recording": "recording",
    "SPEEDS": "timeline",
    "TextPiece": "stream",
    "Timing": "stream",
    "call_details": "search",
    "column_of": "timeline",
    "describe_frame": "frame_names",
    "element_details": "search",
    "fit_timing": "stream",
    "frame_in_column": "timeline",
    "histogram": "timeline",
    "lane_spans": "lanes",
    "line_position": "timeline",
    "list_chapters": "chapters",
    "parse_position": "timeline",
    "recording_of_file": "recording",
    "recording_of_lines": "recording",
    "recording_of_session": "recording",
    "stream_frames": "stream",
    "text_frames": "stream",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
