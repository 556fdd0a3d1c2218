"""Stores of sessions on disk: the only room that reads them. Nothing here writes below a store."""

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
        workflow_files as workflow_files,
    )
    from claude_session_player.store.facts import (
        LINE_KEY as LINE_KEY,
        SYNTHETIC_MODEL as SYNTHETIC_MODEL,
        Extraction as Extraction,
        ExtractJob as ExtractJob,
        Responses as Responses,
        TokenCounts as TokenCounts,
        largest_tokens as largest_tokens,
        sound_token_counts as sound_token_counts,
        sound_tokens as sound_tokens,
    )
    from claude_session_player.store.filters import (
        SORT_KEYS as SORT_KEYS,
        Filter as Filter,
        parse_date_span as parse_date_span,
    )
    from claude_session_player.store.in_use import (
        InUse as InUse,
        InUseMethods as InUseMethods,
        UseEvidence as UseEvidence,
        UseKind as UseKind,
    )
    from claude_session_player.store.index import (
        DEFAULT_CACHE as DEFAULT_CACHE,
        KnownFiles as KnownFiles,
        Progress as Progress,
        StoreIndex as StoreIndex,
    )
    from claude_session_player.store.layout import (
        AGENT_PREFIX as AGENT_PREFIX,
        FILE_HISTORY_DIR as FILE_HISTORY_DIR,
        HISTORIES_DIR as HISTORIES_DIR,
        KIND_OF_DIR as KIND_OF_DIR,
        MAX_DEPTH as MAX_DEPTH,
        META_SUFFIX as META_SUFFIX,
        PROJECTS_DIR as PROJECTS_DIR,
        REMOVED_PREFIX as REMOVED_PREFIX,
        REMOVING_PREFIX as REMOVING_PREFIX,
        SESSION_SUFFIX as SESSION_SUFFIX,
        TOO_DEEP_REASON as TOO_DEEP_REASON,
        TOOL_RESULTS_DIR as TOOL_RESULTS_DIR,
        TRANSCRIPTS_DIR as TRANSCRIPTS_DIR,
        WORKFLOW as WORKFLOW,
        FileStamp as FileStamp,
        ReadProblem as ReadProblem,
        SessionFile as SessionFile,
        SessionKind as SessionKind,
        StoreWalk as StoreWalk,
        encode_project_path as encode_project_path,
        is_session_id as is_session_id,
        is_session_name as is_session_name,
        match_spelling as match_spelling,
        normalize_project_path as normalize_project_path,
        real_path as real_path,
        session_file_at as session_file_at,
        session_files_among as session_files_among,
    )
    from claude_session_player.store.refs import (
        LATEST as LATEST,
        MAX_BREADCRUMB_SIZE as MAX_BREADCRUMB_SIZE,
        MIN_PREFIX_LENGTH as MIN_PREFIX_LENGTH,
        Breadcrumb as Breadcrumb,
        LatestChoice as LatestChoice,
        latest_choice as latest_choice,
        latest_meant as latest_meant,
        looks_like_path as looks_like_path,
        not_a_session_reason as not_a_session_reason,
        sessions_here as sessions_here,
    )
    from claude_session_player.store.responses import NamedTokens as NamedTokens, named_tokens as named_tokens
    from claude_session_player.store.session import (
        Session as Session,
        load_responses as load_responses,
        require_unused as require_unused,
    )
    from claude_session_player.store.store import (
        ROOTS_VARIABLE as ROOTS_VARIABLE,
        Store as Store,
        config_dir_to_name as config_dir_to_name,
        default_roots as default_roots,
        enclosing_store as enclosing_store,
        find_stores as find_stores,
        resume_command as resume_command,
    )
    from claude_session_player.store.watch import (
        POLLING_NOTICE as POLLING_NOTICE,
        FileChanges as FileChanges,
        WatchedDir as WatchedDir,
        dirs_to_watch as dirs_to_watch,
        watch_changes as watch_changes,
        watched_files as watched_files,
    )

_HOMES = {
    # stores and their sessions
    "ROOTS_VARIABLE": "store",
    "Store": "store",
    "default_roots": "store",
    "enclosing_store": "store",
    "find_stores": "store",
    "Session": "session",
    "load_responses": "session",
    "require_unused": "session",
    "config_dir_to_name": "store",
    "resume_command": "store",
    # which sessions, in which order
    "SORT_KEYS": "filters",
    "Filter": "filters",
    "parse_date_span": "filters",
    # what is known of files, and its index
    "sound_token_counts": "facts",
    "Extraction": "facts",
    "ExtractJob": "facts",
    "Responses": "facts",
    "TokenCounts": "facts",
    "LINE_KEY": "facts",
    "DEFAULT_CACHE": "index",
    "KnownFiles": "index",
    "Progress": "index",
    "StoreIndex": "index",
    # where files are in a store, and what their names mean
    "AGENT_PREFIX": "layout",
    "KIND_OF_DIR": "layout",
    "MAX_DEPTH": "layout",
    "encode_project_path": "layout",
    "TRANSCRIPTS_DIR": "layout",
    "HISTORIES_DIR": "layout",
    "FILE_HISTORY_DIR": "layout",
    "META_SUFFIX": "layout",
    "PROJECTS_DIR": "layout",
    "REMOVED_PREFIX": "layout",
    "REMOVING_PREFIX": "layout",
    "SESSION_SUFFIX": "layout",
    "TOO_DEEP_REASON": "layout",
    "TOOL_RESULTS_DIR": "layout",
    "WORKFLOW": "layout",
    "FileStamp": "layout",
    "ReadProblem": "layout",
    "SessionFile": "layout",
    "SessionKind": "layout",
    "StoreWalk": "layout",
    "is_session_id": "layout",
    "is_session_name": "layout",
    "match_spelling": "layout",
    "normalize_project_path": "layout",
    "real_path": "layout",
    "session_file_at": "layout",
    "session_files_among": "layout",
    # how people name a session
    "LATEST": "refs",
    "MAX_BREADCRUMB_SIZE": "refs",
    "MIN_PREFIX_LENGTH": "refs",
    "Breadcrumb": "refs",
    "LatestChoice": "refs",
    "latest_choice": "refs",
    "latest_meant": "refs",
    "looks_like_path": "refs",
    "not_a_session_reason": "refs",
    "sessions_here": "refs",
    # whether a session is in use
    "InUse": "in_use",
    "InUseMethods": "in_use",
    "UseEvidence": "in_use",
    "UseKind": "in_use",
    # the tokens that lines name
    "NamedTokens": "responses",
    "SYNTHETIC_MODEL": "facts",
    "largest_tokens": "facts",
    "named_tokens": "responses",
    "sound_tokens": "facts",
    # which files change
    "POLLING_NOTICE": "watch",
    "FileChanges": "watch",
    "WatchedDir": "watch",
    "dirs_to_watch": "watch",
    "watch_changes": "watch",
    "watched_files": "watch",
    # what a store holds beside sessions
    "Memory": "extras",
    "Project": "extras",
    "Settings": "extras",
    "Todo": "extras",
    "output_resolver": "extras",
    "persisted_name": "extras",
    "read_document": "extras",
    "scalar_text": "extras",
    "workflow_files": "extras",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
