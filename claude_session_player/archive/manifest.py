"""The manifest of an archive: what it holds and where that belongs. Manifests that could do harm are refused here."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

import msgspec

from claude_session_player import __version__
from claude_session_player.archive.session_files import FILE, FOLDER, LINK, SessionFiles, is_in_session_dir
from claude_session_player.errors import BadArchive
from claude_session_player.store import (
    AGENT_PREFIX,
    KIND_OF_DIR,
    META_SUFFIX,
    PROJECTS_DIR,
    SESSION_SUFFIX,
    SessionKind,
    is_session_name,
)
from claude_session_player.util.text import display_path, truncate
from claude_session_player.util.times import format_time, local_now

MAX_PATH_BYTES: Final = 1024
"""The longest path below a store: systems allow 1,024 to 4,096 bytes for the whole path."""
_MAX_NAME_BYTES: Final = 255
_CLAUDE_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*(?<!\.)")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""Device names on Windows."""
_PROJECT_CHARS: Final = frozenset(" -_.+@=,")
_PATH_CHARS: Final = _PROJECT_CHARS | frozenset("~()[]'!&#")
"""Characters of working directories such as `com~apple~CloudDocs` or `tea (copy)`. They are allowed only in a name with
a dash, which stands for a slash, and not at its beginning, where a shell would act on some of them."""
_LETTERS_MARKS_NUMBERS: Final = "LMN"


def is_claude_file_name(name: str) -> bool:
    """True for a name that Claude Code may give to a session file, or to anything in a session's directory.

    >>> [is_claude_file_name(name) for name in ("agent-a1b2.meta.json", "agent-$(id).jsonl", ".envrc")]
    [True, False, False]
    """
    rest = name.removeprefix(AGENT_PREFIX)
    return len(name) <= _MAX_NAME_BYTES and _CLAUDE_NAME.fullmatch(rest) is not None and not _RESERVED.fullmatch(rest)


def is_project_dir_name(name: str) -> bool:
    """True for the name of a project directory, as old and new versions of Claude Code spell a working directory.

    Old versions kept every character but `/` and `.`. Characters that make a shell run a program or write a file, even
    between double quotes, are refused nevertheless.

    >>> is_project_dir_name("-home-ada-my_engine"), is_project_dir_name("-home-zoë"), is_project_dir_name("-tmp-`id`")
    (True, True, False)
    """
    is_path = "-" in name and (name[0] == "-" or name[0].isalnum())
    allowed = _PATH_CHARS if is_path else _PROJECT_CHARS
    return (
        not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and all(char in allowed or unicodedata.category(char)[0] in _LETTERS_MARKS_NUMBERS for char in name)
        and 0 < len(name.encode()) <= _MAX_NAME_BYTES
        and not _RESERVED.fullmatch(name)
    )


MANIFEST_FORMAT: Final = 1
"""Increased when older versions of this program can no longer read the archives."""
_KINDS: Final = frozenset((SessionKind.SESSION, SessionKind.SUBAGENT, SessionKind.TRANSCRIPT, SessionKind.PRE_COMPACT))
_PATH_LENGTHS: Final = {PROJECTS_DIR: 3, **dict.fromkeys(KIND_OF_DIR, 2)}
"""The directories of a store that hold sessions, and the number of parts in the path of a session there."""
ARCHIVE_SUFFIX: Final = ".tar.zst"
MAX_MANIFEST_SIZE: Final = 16 << 20
_MAX_ENTRIES: Final = 50_000
_MAX_TEXT: Final = 1000
"""Characters of a title or project: a session may name itself anything."""
_MAX_NUMBER: Final = 1 << 62
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\){0,100})(?:(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u([dD][89a-fA-F]..))", re.DOTALL
)
_MAX_SURROGATES: Final = 10_000
_SIZE_LIMITS: Final = {FILE: _MAX_NUMBER, FOLDER: 1}
_MAX_QUOTED_PATH: Final = 200
_HEX: Final = frozenset("0123456789abcdef")


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory of a session; see `SessionItem`."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    mode: int
    sha256: str = ""
    """The checksum of a file's content; empty for a directory."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an archived session without unpacking it; see `SessionFiles`."""

    format: int
    program: str
    id: str
    kind: str
    main: str
    root: str
    title: str | None
    project: str | None
    created_at: str | None
    updated_at: str | None
    archived_at: str
    size: int
    """The total size of all files, in bytes."""
    entries: tuple[ManifestEntry, ...]

    @property
    def files(self) -> list[ManifestEntry]:
        """The regular files."""
        return [entry for entry in self.entries if entry.kind == FILE]


def build_manifest(session: SessionFiles, checksums: dict[str, str]) -> Manifest:
    """The manifest of a session; `checksums` holds the checksum of each file by its path.

    Raises `BadArchive` for names that cannot be restored on every system, so that nothing is archived and then lost.
    """
    entries = [
        ManifestEntry(
            path=item.path,
            kind=item.kind,
            size=item.size,
            mtime_ns=item.mtime_ns,
            mode=item.mode & 0o777,
            sha256=checksums.get(item.path, ""),
        )
        for item in session.items
    ]
    manifest = Manifest(
        format=MANIFEST_FORMAT,
        program=__version__,
        id=session.id,
        kind=session.kind,
        main=session.main,
        root=session.store,
        title=session.title and truncate(session.title, _MAX_TEXT),
        project=session.project and truncate(session.project, _MAX_TEXT),
        created_at=session.created_at,
        updated_at=session.updated_at,
        archived_at=format_time(local_now()),
        size=session.size,
        entries=tuple(entries),
    )
    _check(manifest)
    if len(encode_manifest(manifest)) > MAX_MANIFEST_SIZE:
        raise BadArchive("it consists of too many files")
    return manifest


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as JSON; names that are not valid UTF-8 are escaped."""
    return json.dumps(msgspec.to_builtins(manifest), indent=1).encode("ascii")


class _NotFromClaude(BadArchive):
    """Something that Claude Code does not write; an older version of this program may have archived it."""


class _Version(msgspec.Struct):
    """The part of a manifest that every version of this program can read."""

    format: int
    program: str = ""


def decode_manifest(data: bytes) -> Manifest:
    """Read and check a manifest. Raises `BadArchive` if it is not one, or could do harm."""
    try:
        data = _pair_surrogates(data)
        version = msgspec.json.decode(data, type=_Version)
        if version.format > MANIFEST_FORMAT:
            raise BadArchive(f"it was written by a newer version ({truncate(version.program, 20)!r}) of this program")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadArchive("its manifest cannot be read") from error
    try:
        _check(manifest)
    except _NotFromClaude as error:
        raise BadArchive(f"{error} (if you trust this archive, unpack it with 'tar --zstd -xf')") from error
    texts = {name: _unpair_surrogates(getattr(manifest, name)) for name in ("root", "title", "project")}
    return msgspec.structs.replace(manifest, **texts)


def _pair_surrogates(data: bytes) -> bytes:
    """JSON in which every surrogate has its other half, as the typed decoder requires.

    Bytes of a path that are not UTF-8 are written as surrogates U+DC80 to U+DCFF; paired with a high surrogate they
    become characters of the last private-use plane. Any other lone surrogate becomes U+FFFD.
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _SURROGATES.sub(_pair, data, _MAX_SURROGATES)


def _pair(match: re.Match[bytes]) -> bytes:
    before, pair, lone = match.groups()
    if pair is not None:
        return match[0]
    return before + (b"\\udbf7\\u" + lone if b"dc80" <= lone.lower() <= b"dcff" else b"\\ufffd")


def _unpair_surrogates(text: str | None) -> str | None:
    """A text in which bytes that are not UTF-8 are lone surrogates again, as Python has them in paths."""
    if text is None or text.isascii():
        return text
    return "".join(chr(ord(char) - 0x100000) if "\U0010dc80" <= char <= "\U0010dcff" else char for char in text)


def _check(manifest: Manifest) -> None:
    _check_main(manifest)
    if len(manifest.entries) > _MAX_ENTRIES:
        raise BadArchive(f"its manifest names more than {_MAX_ENTRIES:,} files")
    home = manifest.main.rpartition("/")[0]
    kinds: dict[str, str] = {}
    for entry in manifest.entries:
        _check_path(entry.path)
        above = entry.path.rpartition("/")[0]
        if (key := entry.path.casefold()) in kinds:  # some file systems ignore case
            raise BadArchive(f"its manifest names {display_path(entry.path)!r} twice")
        if above != home and kinds.get(above.casefold()) != FOLDER:
            raise BadArchive(
                f"its manifest names {display_path(entry.path)!r}, which is not in a directory of the session"
            )
        if above == home and not is_in_session_dir(entry.path, manifest.main) and not _is_beside(entry, manifest.main):
            raise BadArchive(f"its manifest names {display_path(entry.path)!r}, which is not a file of the session")
        _check_entry(entry)
        kinds[key] = entry.kind
    if sum(entry.size for entry in manifest.files) != manifest.size:
        raise BadArchive("the sizes in its manifest do not add up")


def _check_main(manifest: Manifest) -> None:
    """Refuse a session that is not where sessions of its kind are stored."""
    _check_path(manifest.main)
    name = manifest.main.rpartition("/")[2]
    has_valid_depth = manifest.main.count("/") + 1 == _PATH_LENGTHS[manifest.main.partition("/")[0]]
    if not has_valid_depth or not is_session_name(name) or name.removesuffix(SESSION_SUFFIX) != manifest.id:
        raise BadArchive(f"its manifest names a session at {display_path(manifest.main)!r}, where none belongs")
    if "\0" in manifest.root:
        raise BadArchive("its manifest names a store with an impossible path")
    if manifest.kind not in _KINDS:
        raise BadArchive(f"its manifest names a session of an unknown kind {truncate(manifest.kind, 20)!r}")


def _is_beside(entry: ManifestEntry, main: str) -> bool:
    """True for the session's own file and for a sub-agent beside it."""
    name = entry.path.rpartition("/")[2]
    is_agent = name.startswith(AGENT_PREFIX) and name.endswith((SESSION_SUFFIX, META_SUFFIX))
    return entry.kind == FILE and (entry.path == main or is_agent)


def _check_path(path: str) -> None:
    """Refuse a path outside of the session directories of a store, or with a name that Claude Code does not write."""
    top, *names = path.split("/")
    if len(names) + 1 < _PATH_LENGTHS.get(top, len(names) + 2):
        raise BadArchive(f"its manifest names {_quote(path)}, which is outside of the sessions of a store")
    if not all(map(_is_possible_name, names)):
        raise BadArchive(f"its manifest names {_quote(path)}, which cannot be a file of a session")
    is_project = top != PROJECTS_DIR or is_project_dir_name(names.pop(0))
    if not is_project or not all(map(is_claude_file_name, names)) or len(path.encode()) > MAX_PATH_BYTES:
        raise _NotFromClaude(f"{_quote(path)} is not a name that Claude Code writes")


def _is_possible_name(name: str) -> bool:
    """False for a name that leads elsewhere, or that contains control characters."""
    return name not in ("", ".", "..") and name.isprintable()


def _quote(path: str) -> str:
    """A path for a message, truncated if it is long."""
    return repr(truncate(display_path(path), _MAX_QUOTED_PATH))


def _check_entry(entry: ManifestEntry) -> None:
    name = display_path(entry.path)
    is_possible = abs(entry.mtime_ns) < _MAX_NUMBER and 0 <= entry.mode <= 0o777
    if entry.kind == LINK:
        raise _NotFromClaude(f"{name!r} is a symbolic link, which Claude Code does not write")
    if entry.kind not in _SIZE_LIMITS or not is_possible or not 0 <= entry.size < _SIZE_LIMITS[entry.kind]:
        raise BadArchive(f"its manifest describes {name!r} as something that cannot be in a session")
    if entry.kind == FILE and (len(entry.sha256) != 64 or not set(entry.sha256) <= _HEX):
        raise BadArchive(f"its manifest has no checksum of {name!r}")


def archive_folder_name(main: str) -> str:
    """The subdirectory of the archive directory that holds a session's archives, by the path of its file.

    >>> archive_folder_name("projects/-home-ada/1f2e.jsonl"), archive_folder_name("transcripts/ses_1.jsonl")
    ('-home-ada', 'transcripts')
    """
    return main.split("/")[-2]


def archive_version(name: str, main: str) -> int | None:
    """The version of a session that an archive of this name holds; `None` if the name belongs to another session.

    >>> archive_version("1f2e.2.tar.zst", "projects/-p/1f2e.jsonl")
    2
    >>> archive_version("1f2e.tar.zst", "projects/-p/1f2e.2.jsonl") is None
    True
    """
    stem = main.rpartition("/")[2].removesuffix(SESSION_SUFFIX)
    match = re.fullmatch(rf"{re.escape(stem)}(?:\.([1-9][0-9]{{0,8}}))?{re.escape(ARCHIVE_SUFFIX)}", name)
    return int(match[1] or 1) if match else None


def archive_file_name(main: str, version: int = 1) -> str:
    """The file name of an archive, by the path of the session's file.

    >>> archive_file_name("projects/-home-ada/1f2e.jsonl"), archive_file_name("projects/-home-ada/1f2e.jsonl", 2)
    ('1f2e.tar.zst', '1f2e.2.tar.zst')
    """
    stem = main.rpartition("/")[2].removesuffix(SESSION_SUFFIX)
    return f"{stem}{f'.{version}' if version > 1 else ''}{ARCHIVE_SUFFIX}"
