"""Where matches of a pattern can begin and how far they can extend, so that few places of a text have to be tried."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_parser: Final[Any] = import_module("re._parser")
_UNBOUNDED: Final = 1 << 16
"""A pattern that can match more is applied to whole texts."""
_EDGE: Final = 2
"""Characters beside a match that tell whether it is a word."""
_MOST_PREFIXES: Final = 2000
_MOST_REPEATS: Final = 3
_LONGEST_BEGINNING: Final = 8
_SHORTEST_BEGINNING: Final = 3
_MOST_BEGINNINGS: Final = 500


def reach(pattern: str) -> int | None:
    """The number of characters from the beginning of a match, and all that is looked at before, to the end of it.

    `None` if there is no limit.

    >>> reach("a{2,5}"), reach("(?<=key: )[a-z]{1,9}(?!x)"), reach("a+")
    (7, 17, None)
    """
    parsed = _parsed(pattern)
    width = parsed.getwidth()[1] + _around(parsed.data) + _EDGE
    return width if width < _UNBOUNDED else None


@lru_cache(maxsize=1)
def _parsed(pattern: str) -> Any:
    return _parser.parse(pattern)


def _around(items: Any) -> int:
    """The characters that lookarounds look at."""
    total = 0
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and str(item[0]) in ("ASSERT", "ASSERT_NOT"):
            inner = item[1][1]
            total += inner.getwidth()[1] + _around(inner.data)
        elif isinstance(item, _parser.SubPattern):
            total += _around(item.data)
        elif isinstance(item, tuple | list):
            total += _around(item)
    return total


def begins_with_keyword(pattern: str, keywords: Sequence[str]) -> bool:
    """True if every match begins with one of the keywords, in upper or lower case.

    >>> begins_with_keyword(r"(?<!\\w)(?:gh[pou]_|key)[a-z]+", ("ghp_", "gho_", "ghu_", "key"))
    True
    >>> begins_with_keyword("a?key", ("key",)), begins_with_keyword("[a-z]{3}key", ("key",))
    (False, False)
    """
    prefixes = _prefixes(_parsed(pattern).data, max(map(len, keywords), default=0))
    return bool(keywords) and all(prefix.lower().startswith(tuple(keywords)) for prefix, _ in prefixes)


def beginnings(pattern: str) -> frozenset[str]:
    """Words in lower case with one of which every match begins; none if they are not known, many or short.

    >>> sorted(beginnings(r"\\b(?i:echo|print(?:f|ln))\\s+x")), beginnings("[a-z]+key"), beginnings("-?x")
    (['echo', 'printf', 'println'], frozenset(), frozenset())
    """
    found = {prefix.lower() for prefix, _ in _prefixes(_parsed(pattern).data, _LONGEST_BEGINNING)}
    shortest = min(map(len, found), default=0)
    return frozenset(found) if shortest >= _SHORTEST_BEGINNING and len(found) <= _MOST_BEGINNINGS else frozenset()


_Prefix = tuple[str, bool]
"""How matches begin, and whether what follows in the pattern comes directly behind it."""
_ANYTHING: Final[list[_Prefix]] = [("", False)]


def _prefixes(items: Any, longest: int) -> list[_Prefix]:
    """All beginnings of matches of a sequence, as far as they are known."""
    found: list[_Prefix] = [("", True)]
    for item in items:
        if not any(is_open and len(prefix) < longest for prefix, is_open in found):
            break
        more = _prefixes_of_item(item, longest)
        done = [one for one in found if not one[1] or len(one[0]) >= longest]
        going = [one for one in found if one[1] and len(one[0]) < longest]
        if len(done) + len(going) * len(more) > _MOST_PREFIXES:
            return [(prefix, False) for prefix, _ in found]
        found = [*done, *((prefix + tail, is_open) for prefix, _ in going for tail, is_open in more)]
    return found


def _prefixes_of_item(item: Any, longest: int) -> list[_Prefix]:
    name, argument = str(item[0]), item[1]
    if name == "LITERAL":
        return [(chr(argument), True)]
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return [("", True)]
    if name == "IN":
        return _characters(argument)
    if name == "SUBPATTERN":
        return _prefixes(argument[3].data, longest)
    if name == "ATOMIC_GROUP":
        return _prefixes(argument.data, longest)
    if name == "BRANCH":
        return [one for branch in argument[1] for one in _prefixes(branch.data, longest)]
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = argument
        if most > _MOST_REPEATS:
            return _prefixes(list(inner.data) * longest, longest) if least >= longest else _ANYTHING
        return [one for times in range(least, most + 1) for one in _prefixes(list(inner.data) * times, longest)]
    return _ANYTHING


def _characters(choices: Any) -> list[_Prefix]:
    """The characters of a class, if they are few."""
    found: list[_Prefix] = []
    for choice in choices:
        name, argument = str(choice[0]), choice[1]
        if name == "LITERAL":
            found.append((chr(argument), True))
        elif name == "RANGE" and argument[1] - argument[0] < 32:
            found += ((chr(code), True) for code in range(argument[0], argument[1] + 1))
        else:
            return _ANYTHING
    return found
