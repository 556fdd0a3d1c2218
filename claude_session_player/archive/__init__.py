"""Archives sessions, restores them, and removes them from a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claude_session_player.util.lazy import lazy_attributes

if TYPE_CHECKING:
    from claude_session_player.archive.add import (
        ArchiveOutcome as ArchiveOutcome,
        archive_sessions as archive_sessions,
        plan_archive as plan_archive,
    )
    from claude_session_player.archive.archive_dir import (
        ArchiveDir as ArchiveDir,
        ArchivedSession as ArchivedSession,
        find_archived as find_archived,
        open_archive_dir as open_archive_dir,
        other_versions as other_versions,
    )
    from claude_session_player.archive.archived_store import ArchivedStore as ArchivedStore
    from claude_session_player.archive.clean import (
        CleanOutcome as CleanOutcome,
        CleanPlan as CleanPlan,
        CleanReason as CleanReason,
        CleanRules as CleanRules,
        SkippedSession as SkippedSession,
        clean_sessions as clean_sessions,
        finish_removals as finish_removals,
        main_file_path as main_file_path,
        plan_clean as plan_clean,
        recover_removals as recover_removals,
        skip_session as skip_session,
    )
    from claude_session_player.archive.manifest import (
        ARCHIVE_SUFFIX as ARCHIVE_SUFFIX,
        archive_version as archive_version,
    )
    from claude_session_player.archive.pack import check_archive as check_archive
    from claude_session_player.archive.removal import (
        FinishedRemoval as FinishedRemoval,
        PendingRemoval as PendingRemoval,
        pending_removals as pending_removals,
    )
    from claude_session_player.archive.restore import (
        RestoreOutcome as RestoreOutcome,
        RestoreStep as RestoreStep,
        cleanup_period as cleanup_period,
        is_due_for_cleanup as is_due_for_cleanup,
        plan_restore as plan_restore,
        plan_restore_all as plan_restore_all,
        restore_sessions as restore_sessions,
    )
    from claude_session_player.archive.session_files import (
        ByteProgress as ByteProgress,
        CollectedFiles as CollectedFiles,
        SessionFiles as SessionFiles,
        collect_session_files as collect_session_files,
    )

_HOMES = {
    "ARCHIVE_SUFFIX": "manifest",
    "ArchiveDir": "archive_dir",
    "ArchiveOutcome": "add",
    "ArchivedSession": "archive_dir",
    "ArchivedStore": "archived_store",
    "CleanOutcome": "clean",
    "CleanPlan": "clean",
    "CleanReason": "clean",
    "CleanRules": "clean",
    "CollectedFiles": "session_files",
    "FinishedRemoval": "removal",
    "PendingRemoval": "removal",
    "ByteProgress": "session_files",
    "RestoreOutcome": "restore",
    "RestoreStep": "restore",
    "SessionFiles": "session_files",
    "SkippedSession": "clean",
    "archive_sessions": "add",
    "archive_version": "manifest",
    "check_archive": "pack",
    "clean_sessions": "clean",
    "cleanup_period": "restore",
    "collect_session_files": "session_files",
    "find_archived": "archive_dir",
    "finish_removals": "clean",
    "is_due_for_cleanup": "restore",
    "main_file_path": "clean",
    "open_archive_dir": "archive_dir",
    "other_versions": "archive_dir",
    "pending_removals": "removal",
    "plan_archive": "add",
    "plan_clean": "clean",
    "plan_restore": "restore",
    "plan_restore_all": "restore",
    "recover_removals": "clean",
    "restore_sessions": "restore",
    "skip_session": "clean",
}
"""The module of each public name, imported when the name is first used."""

if not TYPE_CHECKING:  # else any name would do
    __getattr__, __dir__ = lazy_attributes(__name__, _HOMES)
