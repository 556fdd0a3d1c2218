"""Which of the files that a session touched is meant by a path, or by the end of one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from claude_session_player.errors import Ambiguous, NoSuchFile
from claude_session_player.insight.file_paths import absolute, file_key
from claude_session_player.text import file_name

_MANY: Final = 10
_NEAREST: Final = 3


def named_file(given: str, paths: Sequence[str], project: str | None) -> str:
    """The one path that is meant; raises `Ambiguous` or `NoSuchFile`.

    >>> named_file("b.py", ["/a/b.py", "/a/c.py"], None), named_file("./c.py", ["/a/b.py", "/a/c.py"], "/a")
    ('/a/b.py', '/a/c.py')
    """
    full = file_key(absolute(given, project))
    for path in paths:
        if file_key(path) == full:
            return path
    end = "/" + _slashed(file_key(absolute(given, None))).lstrip("/")
    matches = [path for path in paths if _slashed(file_key(path)).endswith(end)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        more = [f"… and {len(matches) - _MANY} more"] if len(matches) > _MANY else []
        raise Ambiguous(f"{given!r} fits {len(matches)} files: write more of the path", *matches[:_MANY], *more)
    raise _unknown(given, paths)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _unknown(given: str, paths: Sequence[str]) -> NoSuchFile:
    """An error that names what is nearest: paths that hold the words, names that sound alike."""
    words = _slashed(given).casefold()
    near = [path for path in paths if words in _slashed(path).casefold()]
    names = {file_name(path).casefold(): path for path in paths}
    near += [names[name] for name in get_close_matches(file_name(words), names, n=_NEAREST, cutoff=0.6)]
    if near:
        nearest = list(dict.fromkeys(near))[:_NEAREST]
        return NoSuchFile(f"the session touched no file {given!r}; the nearest are", *nearest)
    if not paths:
        return NoSuchFile("the session touched no file at all")
    return NoSuchFile(f"the session touched no file {given!r}: leave PATH out to see which ({len(paths)}) it did touch")
