"""The redactor of this machine: who works at it is known from the start."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING

from claude_session_player.redact.redactor import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from claude_session_player.redact.known import KnownValue
    from claude_session_player.redact.own_rules import OwnRules


def redactor_here(
    *,
    keep: Iterable[str] = (),
    known: Sequence[KnownValue] = (),
    own: OwnRules | None = None,
    reports_places: bool = True,
) -> Redactor:
    """A redactor that masks the home directory, the user and the name of this machine, besides what sessions say."""
    return Redactor(
        keep=keep,
        known=known,
        own=own,
        reports_places=reports_places,
        home=os.path.expanduser("~"),
        user=os.environ.get("USER") or os.environ.get("USERNAME"),
        host=platform.node(),
    )
