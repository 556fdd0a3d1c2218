"""Notices: one line about a record of Claude Code that is no message, and which records have one.

A state is mentioned when it changes, and a link once, so the words depend on the notices before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claude_session_player.format import lenient_json
from claude_session_player.format.blocks import raw_as_text
from claude_session_player.format.events import AttachmentData, Event, PermissionMode, PullRequest, System
from claude_session_player.format.results import diagnosed_files, hook_commands, hook_reason
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import one_line, strip_escapes, trim_breaks

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Raw

_FIRST_MODE: Final = "default"
"""The permission mode at the beginning of a session, unless a record says otherwise."""
_MOST_FILES: Final = 3


class Notices:
    """The words of the notices of one conversation. A state is mentioned when it changes, and a link once."""

    def __init__(self) -> None:
        self._permission_mode = _FIRST_MODE
        self._is_planning = False
        self._links: set[str] = set()
        self._reasons: set[str] = set()
        """Why hooks failed since the last summary of hooks, which repeats it."""

    # --- hooks --------------------------------------------------------------------------------------

    def blocking_hook(self, attached: AttachmentData) -> str:
        """A hook that blocked the model."""
        return self._hook(attached, "blocked", hook_reason(attached.blocking_error))

    def failing_hook(self, attached: AttachmentData) -> str:
        """A hook that failed without blocking anything."""
        code = f" (exit code {attached.exit_code})" if attached.exit_code else ""
        return self._hook(attached, f"failed{code}", hook_reason(attached.stderr) or hook_reason(attached.content))

    def passing_hook(self, attached: AttachmentData) -> str:
        """What a hook said that let everything go on; empty if it said nothing."""
        words = _words(hook_reason(attached.content))
        return f"{attached.hook_name or 'A'} hook: {words}" if words else ""

    def stopping_hook(self, attached: AttachmentData) -> str:
        """A hook that ended the turn."""
        return self._hook(attached, "stopped the turn", hook_reason(attached.message))

    def _hook(self, attached: AttachmentData, outcome: str, reason: str) -> str:
        self._reasons.add(_words(reason))
        return _sentence(f"{attached.hook_name or 'A'} hook {outcome}", reason)

    def stop_hooks(self, event: System) -> str:
        """What hooks said when the model stopped."""
        known, self._reasons = self._reasons, set()
        reasons = _stop_reasons(event)
        if reasons or event.prevented_continuation:
            new = [reason for reason in reasons if _words(reason) not in known]
            outcome = "Stop hook stopped the turn" if event.prevented_continuation else "Stop hook failed"
            return _sentence(outcome, "; ".join(new)) if new or not known else ""
        if context := hook_reason(event.hook_context):
            return _sentence("Stop hook", context)
        commands = hook_commands(event.hooks)
        return _sentence("Stop hook ran", ", ".join(commands)) if event.has_output and commands else ""

    # --- state --------------------------------------------------------------------------------------

    def permission_mode(self, mode: str | None) -> str:
        """What tools are allowed to do, if that changes."""
        if not mode or mode == self._permission_mode:
            return ""
        self._permission_mode = mode
        return f"Permission mode: {mode}"

    def plan_mode_on(self, attached: AttachmentData) -> str:
        """The model is to plan; it is reminded of that repeatedly."""
        is_new, self._is_planning = not self._is_planning, True
        return "Plan mode on" if is_new else ""

    def plan_mode_off(self, attached: AttachmentData) -> str:
        """The model may make changes again."""
        self._is_planning = False
        return "Plan mode off"

    # --- files and links ----------------------------------------------------------------------------

    def attached_path(self, attached: AttachmentData) -> str:
        """A file or a directory that a person named with `@`."""
        return _sentence(f"Attached {attached.type}", _path(attached))

    def edited_file(self, attached: AttachmentData) -> str:
        """A file that was changed outside the session."""
        return _sentence("File changed outside the session", _path(attached))

    def diagnostics(self, attached: AttachmentData) -> str:
        """The diagnostics of a language server."""
        files = diagnosed_files(attached.files)
        total = sum(count for _, count in files)
        named = [f"{path} ({count})" for path, count in files[:_MOST_FILES]]
        named += [f"{len(files) - _MOST_FILES} more files"] if len(files) > _MOST_FILES else []
        return _sentence(plural(total, "diagnostic"), ", ".join(named)) if total else ""

    def pull_request(self, event: PullRequest) -> str:
        """A pull request; every push repeats it."""
        if not event.url or event.url in self._links:
            return ""
        self._links.add(event.url)
        number = f" #{event.number}" if event.number is not None else ""
        place = f" in {event.repository}" if event.repository else ""
        return _sentence(f"Pull request{number}{place}", event.url)


def _stop_reasons(event: System) -> list[str]:
    errors = lenient_json.load_raw(event.hook_errors)
    reasons = [hook_reason(lenient_json.dump(error)) for error in errors] if isinstance(errors, list) else []
    if event.prevented_continuation and event.stop_reason:
        reasons.append(event.stop_reason)
    return list(dict.fromkeys(reasons))


def _path(attached: AttachmentData) -> str:
    return attached.display_path or attached.filename or attached.path or ""


def _words(text: str) -> str:
    return one_line(strip_escapes(text)).strip()


def _sentence(subject: str, about: str) -> str:
    words = _words(about)
    return f"{subject}: {words}" if words else subject


def _always(record: Any) -> bool:
    return True


def _in_full_only(record: Any) -> bool:
    return False


def _with_words(event: System) -> bool:
    """True if hooks said something, rather than merely ran."""
    return bool(event.prevented_continuation or hook_reason(event.hook_context) or _stop_reasons(event))


class NoticeRule(NamedTuple):
    """How a record is shown as a notice."""

    words: Callable[[Notices, Any], str]
    """One line; empty if there is nothing new."""
    is_shown: Callable[[Any], bool] = _in_full_only
    """True for a record that is shown by default, false if only the full transcript shows it."""
    is_error: bool = False
    """True if it says that something failed or was blocked."""


ATTACHMENTS: Final[dict[str | None, NoticeRule]] = {
    "hook_blocking_error": NoticeRule(Notices.blocking_hook, _always, is_error=True),
    "hook_non_blocking_error": NoticeRule(Notices.failing_hook, _always, is_error=True),
    "hook_error_during_execution": NoticeRule(Notices.failing_hook, _always, is_error=True),
    "hook_stopped_continuation": NoticeRule(Notices.stopping_hook, _always, is_error=True),
    "plan_mode": NoticeRule(Notices.plan_mode_on),
    "plan_mode_reentry": NoticeRule(Notices.plan_mode_on),
    "plan_mode_exit": NoticeRule(Notices.plan_mode_off),
    "file": NoticeRule(Notices.attached_path),
    "directory": NoticeRule(Notices.attached_path),
    "edited_text_file": NoticeRule(Notices.edited_file),
    "diagnostics": NoticeRule(Notices.diagnostics),
}
"""By the type of the attachment."""

PASSING_HOOKS: Final[dict[str | None, NoticeRule]] = {
    "hook_success": NoticeRule(Notices.passing_hook, _always),
}
"""Attachments that only views with notices show: they say that nothing went wrong."""

SUBTYPES: Final[dict[str | None, NoticeRule]] = {
    "stop_hook_summary": NoticeRule(Notices.stop_hooks, _with_words),
}
"""By the subtype of a system record."""

RECORDS: Final[dict[type[Event], NoticeRule]] = {
    PullRequest: NoticeRule(Notices.pull_request, _always),
    PermissionMode: NoticeRule(lambda notices, event: notices.permission_mode(event.mode)),
}
"""By the type of any other record."""


def failure_reason(content: Raw, cause: Raw) -> str:
    """Why a request failed, in the words of the API if possible."""
    text = raw_as_text(content)
    error = lenient_json.load_raw(cause)
    if not text and isinstance(error, dict):
        inner = error.get("error")
        found = next((v for v in (error.get("formatted"), error.get("message")) if isinstance(v, str) and v), None)
        text = found or lenient_json.compact(inner if isinstance(inner, dict) else error)
    return trim_breaks(strip_escapes(text)) or "a request failed"
