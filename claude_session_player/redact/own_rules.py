"""Rules of a user's own: those of the project, and those of the user, or of the files that are named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from claude_session_player.errors import BadRules
from claude_session_player.redact.rule import Kind
from claude_session_player.util.dirs import PROGRAM, config_dir
from claude_session_player.util.humanize import path_from_cwd, plural
from claude_session_player.util.text import display_path

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from claude_session_player.redact.rule import Find, Rule
    from claude_session_player.redact.rule_file import RuleFile

FILE_NAME: Final = "redact.toml"
"""The name of a file of rules in the user's settings directory."""
PROJECT_FILE: Final = os.path.join(f".{PROGRAM}", FILE_NAME)
"""The path of a file of rules in a project."""


@dataclass(frozen=True)
class OwnRules:
    """What is masked besides what the program knows, and what is not masked although it is found."""

    rules: tuple[Rule, ...] = ()
    values: frozenset[str] = frozenset()
    """Values that are never masked, except where the user names them with `--known`."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """Patterns of such values."""
    switched_off: frozenset[str] = frozenset()
    """Names of built-in rules that are not used."""
    sources: tuple[str, ...] = ()
    """The paths of the files."""
    notes: tuple[str, ...] = ()
    """What a person has to know: what a file allows that came with a project. One line each."""

    def allows(self, find: Find) -> bool:
        """True for what is not masked although it is found."""
        if find.rule.kind is Kind.KNOWN:  # the user named it just now; the list may have come with a repository
            return False
        if find.rule.name in self.switched_off or find.value in self.values:
            return True
        return any(pattern.fullmatch(find.value) for pattern in self.patterns)

    def not_allowed(self, finds: Iterable[Find], text: str) -> list[Find]:
        """The finds in a text that are masked: those that are not allowed, nor part of an allowed value."""
        return [find for find in finds if not (self.allows(find) or self._is_part_of_value(find, text))]

    def _is_part_of_value(self, find: Find, text: str) -> bool:
        """True for a part of a text that is an allowed value as a whole: it may begin like one that is not allowed."""
        if find.rule.kind is Kind.KNOWN:
            return False
        around = ((max(find.end - len(value), 0), find.start + len(value), value) for value in self.values)
        return any(value in text[start:end] for start, end, value in around if len(value) > find.end - find.start)


class RuleSource(NamedTuple):
    """A file of rules that is used."""

    path: str
    is_project: bool = False
    """True for one that lies in a project, and may have come with it."""


def load_own_rules(paths: Sequence[str] = (), directory: str | None = None) -> OwnRules:
    """The rules of the files that are named; without any, those of the project of a directory, and of the user.

    Every rule is tried on its samples, and on hostile texts. Raises `BadRules` if anything is wrong with a file, or
    `CannotRead`.
    """
    from claude_session_player.redact.pattern_speed import WHEN_LOADED
    from claude_session_player.redact.rule_check import check_rule

    files = read_rule_files(rule_sources(paths, directory))
    for _, file in files:
        for rule, place in file.rules:
            for problem in check_rule(rule, WHEN_LOADED).problems:
                raise BadRules(f"{place}: {problem}")
    return OwnRules(
        rules=tuple(one.rule for _, file in files for one in file.rules),
        values=frozenset().union(*(file.values for _, file in files)),
        patterns=tuple(pattern for _, file in files for pattern in file.patterns),
        switched_off=frozenset().union(*(file.switched_off for _, file in files)),
        sources=tuple(source.path for source, _ in files),
        notes=tuple(allowance_notes(files)),
    )


def rule_sources(paths: Sequence[str] = (), directory: str | None = None) -> list[RuleSource]:
    """The files that are named, each once; without any, those that are in use in a directory."""
    sources = [RuleSource(path) for path in paths] or list(_in_use(directory))
    return list({_real_path(source.path): source for source in reversed(sources)}.values())[::-1]


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # no path at all, which whoever reads the file will say
        return path


def read_rule_files(sources: Sequence[RuleSource]) -> list[tuple[RuleSource, RuleFile]]:
    """What the files say; no two rules have the same name. Raises `BadRules` or `CannotRead`."""
    if not sources:
        return []
    from claude_session_player.redact.rule_file import read_rule_file

    files = [(source, read_rule_file(source.path)) for source in sources]
    places: dict[str, str] = {}
    for _, file in files:
        for rule, place in file.rules:
            if (other := places.setdefault(rule.name, place)) != place:
                raise BadRules(f"{place}: the name is not unique, see {other}: choose another")
    return files


def allowance_notes(files: Iterable[tuple[RuleSource, RuleFile]]) -> Iterator[str]:
    """What files of projects allow, one line each: such a file may have come with a repository."""
    for source, file in files:
        if source.is_project and (allowed := _allowed(file)):
            yield f"{path_from_cwd(display_path(file.path))} {allowed}"


def _in_use(directory: str | None) -> Iterator[RuleSource]:
    if (path := _project_file(directory)) is not None:
        yield RuleSource(path, is_project=True)
    folder = config_dir()
    if folder is not None and os.path.lexists(own := os.path.join(folder, FILE_NAME)):
        yield RuleSource(own)


def _project_file(directory: str | None) -> str | None:
    """The file of the project that a directory belongs to: in it, or nearest above, up to the repository or home.

    Outside of both, only the directory itself counts: others may write to the ones above it.
    """
    try:
        place = os.path.realpath(os.getcwd() if directory is None else directory)
    except OSError:  # the working directory was deleted
        return None
    home = os.path.realpath(os.path.expanduser("~"))
    places = [place]
    while place != home and not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            del places[1:]
            break
        places.append(place := above)
    paths = (os.path.join(place, PROJECT_FILE) for place in places)
    return next((path for path in paths if os.path.lexists(path)), None)


def _allowed(file: RuleFile) -> str:
    """What a file allows; empty if it allows nothing."""
    allowed = [plural(len(file.values), "value")] if file.values else []
    allowed += [plural(len(file.patterns), "pattern") + " of values"] if file.patterns else []
    parts = [f"allows {' and '.join(allowed)}"] if allowed else []
    if file.switched_off:
        names = ", ".join(sorted(file.switched_off))
        parts.append(f"switches off the rule{'s' if len(file.switched_off) > 1 else ''} {names}")
    return " and ".join(parts)
