"""When two paths mean the same file. Paths are of any system; the disk is not asked."""

from __future__ import annotations

import posixpath
import re
from typing import Final

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def is_absolute(path: str) -> bool:
    """True for a path that means the same file whatever directory a session is in.

    >>> is_absolute("/a"), is_absolute("c:/a"), is_absolute("a/b")
    (True, True, False)
    """
    return path[:1] == "/" or _WINDOWS.match(path) is not None


def absolute(path: str, cwd: str | None) -> str:
    """A path from the root on, without detours, and otherwise spelled as it was.

    >>> absolute("src/../a.py", "/home/ada"), absolute("//a/./b", None), absolute("c:/a/./b", None)
    ('/home/ada/a.py', '/a/b', 'c:/a/b')
    """
    if _WINDOWS.match(path) or (not path.startswith("/") and _WINDOWS.match(cwd or "")):
        import ntpath  # seldom needed elsewhere than on Windows

        joined = ntpath.join(cwd or "", path)
        full = ntpath.normpath(joined)
        return full if "\\" in joined else full.replace("\\", "/")
    full = posixpath.normpath(posixpath.join(cwd or "", path))
    return full[1:] if full.startswith("//") else full


def file_key(path: str) -> str:
    """What tells an absolute path from those of other files: on Windows, the case of the drive and slashes do not.

    >>> file_key("c:/a/B.py") == file_key("C:\\\\a\\\\B.py"), file_key("/a/B.py")
    (True, '/a/B.py')
    """
    if _WINDOWS.match(path) is None:
        return path
    path = path.replace("/", "\\")
    return path[:1].upper() + path[1:]
