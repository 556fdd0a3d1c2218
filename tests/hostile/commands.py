"""The commands that look at sessions, as words behind which, or between which, a session is named."""

from __future__ import annotations

from typing import Final

OF_A_SESSION: Final[tuple[tuple[str, ...], ...]] = (
    ("replay",),
    ("replay", "--format", "text", "--history"),
    ("replay", "--format", "json"),
    ("play", "--plain", "--idle", "0", "--thinking"),
    ("export", "--format", "markdown", "--thinking", "--full"),
    ("export", "--format", "asciicast"),
    ("show", "--full"),
    ("show", "--format", "json"),
    ("show", "--format", "text", "--line-numbers"),
    ("summary",),
    ("summary", "--json"),
    ("tree", "--prompts", "--strict"),
    ("tree", "--json"),
    ("files",),
    ("files", "--json"),
    ("files", "kettle.py"),
    ("files", "cup.py"),
    ("get",),
    ("get", "--json"),
    ("get", "--line", "30"),
    ("verify",),
    ("verify", "--json"),
    ("account",),
    ("account", "--json"),
    ("stats",),
    ("stats", "--csv", "--by", "model"),
    ("locks",),
    ("secrets",),
    ("secrets", "--json"),
    ("show", "--redact"),
)
OF_A_STORE: Final[tuple[tuple[str, ...], ...]] = (
    ("list",),
    ("list", "--json"),
    ("find", "kettle", "PWN"),
    ("find", "in:prompt", "kettle", "--json", "--all-hits"),
    ("find", "--regex", "[A-Z]+", "--by", "file"),
    ("find", "--exact", "a", "--by", "session", "--json"),
    ("index", "status"),
    ("index", "status", "--json"),
    ("prompts",),
    ("prompts", "--full", "--reverse"),
    ("prompts", "--json"),
    ("files", "--all", "kettle.py"),
    ("files", "--all", "kettle.py", "--diff"),
    ("projects",),
    ("projects", "--json"),
    ("stats",),
    ("stats", "--csv", "--by", "project"),
    ("todos",),
    ("memories",),
    ("settings",),
    ("settings", "--json"),
    ("verify", "--all"),
    ("locks",),
    ("secrets", "--all", "--details"),
    ("find", "kettle", "--redact"),
    ("clean", "--older-than", "1d"),
)
WITHOUT_CACHE: Final = ("todos", "memories", "settings", "clean", "locks", "index")
"""These do not take `--no-cache`."""
EXIT_CODES: Final = frozenset((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130))
"""All that are documented."""
