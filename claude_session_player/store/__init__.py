"""The stores of sessions on disk: the only room that looks into them. Nothing here writes below one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.store.extras import (
        Memory as Memory,
        Project as Project,
        Settings as Settings,
        Todo as Todo,
        output_resolver as output_resolver,
        persisted_name as persisted_name,
        read_document as read_document,
        scalar_text as scalar_text,
    )
    from claude_session_player.store.facts import IndexedFile as IndexedFile, Responses as Responses
    from claude_session_player.store.filters import SORTS as SORTS, Filter as Filter, parse_date_span as parse_date_span
    from claude_session_player.store.in_use import (
        LOCKED as LOCKED,
        WRITING as WRITING,
        InUse as InUse,
        InUseMethods as InUseMethods,
        UseEvidence as UseEvidence,
    )
    from claude_session_player.store.index import StoreIndex as StoreIndex, default_index_dir as default_index_dir
    from claude_session_player.store.layout import (
        AGENT as AGENT,
        DEEPEST as DEEPEST,
        GONE as GONE,
        HISTORY as HISTORY,
        KINDS as KINDS,
        META as META,
        MOVING as MOVING,
        SESSION as SESSION,
        SUBAGENT as SUBAGENT,
        SUFFIX as SUFFIX,
        TOO_DEEP as TOO_DEEP,
        TOOL_RESULTS as TOOL_RESULTS,
        TRANSCRIPT as TRANSCRIPT,
        FileStamp as FileStamp,
        ReadProblem as ReadProblem,
        SessionFile as SessionFile,
        StoreWalk as StoreWalk,
        is_session_id as is_session_id,
        is_session_name as is_session_name,
        session_file_at as session_file_at,
        session_files_among as session_files_among,
    )
    from claude_session_player.store.library import Library as Library, Progress as Progress
    from claude_session_player.store.refs import (
        BREADCRUMB_SIZE as BREADCRUMB_SIZE,
        LATEST as LATEST,
        SHORTEST as SHORTEST,
        follow_breadcrumb as follow_breadcrumb,
        locate_ref as locate_ref,
        looks_like_path as looks_like_path,
        not_a_session_reason as not_a_session_reason,
        parse_breadcrumb as parse_breadcrumb,
        read_breadcrumb as read_breadcrumb,
    )
    from claude_session_player.store.roots import (
        HISTORIES as HISTORIES,
        PROJECTS as PROJECTS,
        TRANSCRIPTS as TRANSCRIPTS,
        VARIABLE as VARIABLE,
        default_roots as default_roots,
        find_stores as find_stores,
        match_spelling as match_spelling,
        normalize_project_path as normalize_project_path,
        real_path as real_path,
    )
    from claude_session_player.store.session import (
        Session as Session,
        load_session_responses as load_session_responses,
        look_for_use as look_for_use,
        require_unused as require_unused,
    )
    from claude_session_player.store.store import DEFAULT_CACHE as DEFAULT_CACHE, Store as Store
    from claude_session_player.store.watch import (
        POLLED as POLLED,
        FileChanges as FileChanges,
        WatchedDir as WatchedDir,
        dirs_to_watch as dirs_to_watch,
        watch_changes as watch_changes,
        watched_files as watched_files,
    )
    from claude_session_player.store.workers import (
        DIGEST as DIGEST,
        ExtractJob as ExtractJob,
        ExtractResult as ExtractResult,
        WorkerTask as WorkerTask,
        run_jobs as run_jobs,
    )

_HOMES = {
    "AGENT": "layout",
    "BREADCRUMB_SIZE": "refs",
    "DEEPEST": "layout",
    "DEFAULT_CACHE": "store",
    "DIGEST": "workers",
    "ExtractJob": "workers",
    "ExtractResult": "workers",
    "FileChanges": "watch",
    "FileStamp": "layout",
    "Filter": "filters",
    "GONE": "layout",
    "HISTORIES": "roots",
    "HISTORY": "layout",
    "InUse": "in_use",
    "InUseMethods": "in_use",
    "IndexedFile": "facts",
    "KINDS": "layout",
    "LOCKED": "in_use",
    "LATEST": "refs",
    "Library": "library",
    "META": "layout",
    "MOVING": "layout",
    "Memory": "extras",
    "POLLED": "watch",
    "PROJECTS": "roots",
    "Progress": "library",
    "Project": "extras",
    "ReadProblem": "layout",
    "Responses": "facts",
    "SESSION": "layout",
    "SHORTEST": "refs",
    "SORTS": "filters",
    "SUBAGENT": "layout",
    "SUFFIX": "layout",
    "Session": "session",
    "SessionFile": "layout",
    "Settings": "extras",
    "Store": "store",
    "StoreIndex": "index",
    "StoreWalk": "layout",
    "TOOL_RESULTS": "layout",
    "TOO_DEEP": "layout",
    "TRANSCRIPT": "layout",
    "TRANSCRIPTS": "roots",
    "Todo": "extras",
    "UseEvidence": "in_use",
    "VARIABLE": "roots",
    "WRITING": "in_use",
    "WatchedDir": "watch",
    "WorkerTask": "workers",
    "default_index_dir": "index",
    "default_roots": "roots",
    "dirs_to_watch": "watch",
    "find_stores": "roots",
    "follow_breadcrumb": "refs",
    "is_session_id": "layout",
    "is_session_name": "layout",
    "load_session_responses": "session",
    "locate_ref": "refs",
    "look_for_use": "session",
    "looks_like_path": "refs",
    "match_spelling": "roots",
    "normalize_project_path": "roots",
    "not_a_session_reason": "refs",
    "output_resolver": "extras",
    "parse_breadcrumb": "refs",
    "parse_date_span": "filters",
    "persisted_name": "extras",
    "read_breadcrumb": "refs",
    "read_document": "extras",
    "real_path": "roots",
    "require_unused": "session",
    "run_jobs": "workers",
    "scalar_text": "extras",
    "session_file_at": "layout",
    "session_files_among": "layout",
    "watch_changes": "watch",
    "watched_files": "watch",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
