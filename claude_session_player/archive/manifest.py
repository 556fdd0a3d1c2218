"""The manifest of an archive: what it holds, and where that belongs. What could do harm is refused here."""

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

LONGEST_PATH: Final = 1024
"""Bytes of a path below the store: systems allow 1,024 to 4,096 for all of it, and a store is not at their end."""
_LONGEST_NAME: Final = 255
_WRITTEN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@=,-]*(?<!\.)")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
"""Names that are devices on Windows."""
_PROJECT_SIGNS: Final = frozenset(" -_.+@=,")
_PATH_SIGNS: Final = _PROJECT_SIGNS | frozenset("~()[]'!&#")
"""Signs of working directories, as in `com~apple~CloudDocs` or `tea (copy)`: in a name with a dash, which stands for a
slash, and not at its beginning, where a shell would act on some of them."""
_LETTERS_MARKS_NUMBERS: Final = "LMN"


def is_claude_file_name(name: str) -> bool:
    """True for a name that Claude Code may have given to a session file, or to anything in a session's directory.

    >>> [is_claude_file_name(name) for name in ("agent-a1b2.meta.json", "agent-$(id).jsonl", ".envrc")]
    [True, False, False]
    """
    rest = name.removeprefix(AGENT_PREFIX)
    return len(name) <= _LONGEST_NAME and _WRITTEN.fullmatch(rest) is not None and not _RESERVED.fullmatch(rest)


def is_project_dir_name(name: str) -> bool:
    """True for the name of a project directory, as old and new versions of Claude Code spell a working directory.

    Old versions kept every sign but `/` and `.`. What makes a shell run a program or write a file, even between double
    quotes, is refused all the same.

    >>> is_project_dir_name("-home-ada-my_engine"), is_project_dir_name("-home-zoë"), is_project_dir_name("-tmp-`id`")
    (True, True, False)
    """
    is_path = "-" in name and (name[0] == "-" or name[0].isalnum())
    signs = _PATH_SIGNS if is_path else _PROJECT_SIGNS
    return (
        not name.startswith((".", " "))
        and not name.endswith((".", " "))
        and all(sign in signs or unicodedata.category(sign)[0] in _LETTERS_MARKS_NUMBERS for sign in name)
        and 0 < len(name.encode()) <= _LONGEST_NAME
        and not _RESERVED.fullmatch(name)
    )


FORMAT: Final = 1
"""Goes up when older versions of this program could not read an archive any more."""
_KINDS: Final = frozenset((SessionKind.SESSION, SessionKind.SUBAGENT, SessionKind.TRANSCRIPT, SessionKind.PRE_COMPACT))
_PLACES: Final = {PROJECTS_DIR: 3, **dict.fromkeys(KIND_OF_DIR, 2)}
"""Where sessions lie in a store, and of how many parts the path of one consists."""
ARCHIVE: Final = ".tar.zst"
LARGEST: Final = 16 << 20
"""The most bytes that a manifest may have."""
_MOST_ENTRIES: Final = 50_000
_LONGEST_TEXT: Final = 1000
"""Characters of what a session tells about itself: it may call itself anything."""
_LARGEST_NUMBER: Final = 1 << 62
_SURROGATES: Final = re.compile(
    rb"(?<!\\)((?:\\\\){0,100})(?:(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u([dD][89a-fA-F]..))", re.DOTALL
)
_MOST_SURROGATES: Final = 10_000
_SIZES: Final = {FILE: _LARGEST_NUMBER, FOLDER: 1}
_LONGEST_TOLD: Final = 200
_HEX: Final = frozenset("0123456789abcdef")


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file or a directory of a session; see `Item`."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    mode: int
    sha256: str = ""
    """Of a file: the checksum of its bytes."""


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
    """The bytes of all files."""
    entries: tuple[ManifestEntry, ...]

    @property
    def files(self) -> list[ManifestEntry]:
        """The regular files."""
        return [entry for entry in self.entries if entry.kind == FILE]


def build_manifest(bundle: SessionFiles, checksums: dict[str, str]) -> Manifest:
    """The manifest of a bundle, with the checksum of each file by its path.

    Raises `BadArchive` for names that could not be put back everywhere: nothing is kept that would be lost so.
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
        for item in bundle.items
    ]
    manifest = Manifest(
        format=FORMAT,
        program=__version__,
        id=bundle.id,
        kind=bundle.kind,
        main=bundle.main,
        root=bundle.store,
        title=bundle.title and truncate(bundle.title, _LONGEST_TEXT),
        project=bundle.project and truncate(bundle.project, _LONGEST_TEXT),
        created_at=bundle.created_at,
        updated_at=bundle.updated_at,
        archived_at=format_time(local_now()),
        size=bundle.size,
        entries=tuple(entries),
    )
    _check(manifest)
    if len(encode_manifest(manifest)) > LARGEST:
        raise BadArchive("it consists of too many files")
    return manifest


def encode_manifest(manifest: Manifest) -> bytes:
    """A manifest as JSON; names that are no UTF-8 are escaped."""
    return json.dumps(msgspec.to_builtins(manifest), indent=1).encode("ascii")


class _Foreign(BadArchive):
    """Something that Claude Code does not write: an older version of this program may have archived it."""


class _Version(msgspec.Struct):
    """What is understood of the manifest of any version."""

    format: int
    program: str = ""


def decode_manifest(data: bytes) -> Manifest:
    """A manifest that can do no harm: raises `BadArchive` where one could, or is none."""
    try:
        data = _paired(data)
        version = msgspec.json.decode(data, type=_Version)
        if version.format > FORMAT:
            raise BadArchive(f"it was made by a newer version ({truncate(version.program, 20)!r}) of this program")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadArchive("its manifest cannot be understood") from error
    try:
        _check(manifest)
    except _Foreign as error:
        raise BadArchive(f"{error} (if you trust this archive, unpack it with 'tar --zstd -xf')") from error
    texts = {name: _unpaired(getattr(manifest, name)) for name in ("root", "title", "project")}
    return msgspec.structs.replace(manifest, **texts)


def _paired(data: bytes) -> bytes:
    """JSON in which every surrogate has its other half, as the typed decoder wants it.

    Bytes of a path that are no UTF-8 are written as surrogates U+DC80 to U+DCFF: with a first half they are signs of
    the last private plane. Any other lone surrogate says nothing.
    """
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _SURROGATES.sub(_pair, data, _MOST_SURROGATES)


def _pair(match: re.Match[bytes]) -> bytes:
    before, pair, lone = match.groups()
    if pair is not None:
        return match[0]
    return before + (b"\\udbf7\\u" + lone if b"dc80" <= lone.lower() <= b"dcff" else b"\\ufffd")


def _unpaired(text: str | None) -> str | None:
    """A text with bytes that are no UTF-8 as Python writes them in paths."""
    if text is None or text.isascii():
        return text
    return "".join(chr(ord(sign) - 0x100000) if "\U0010dc80" <= sign <= "\U0010dcff" else sign for sign in text)


def _check(manifest: Manifest) -> None:
    _check_main(manifest)
    if len(manifest.entries) > _MOST_ENTRIES:
        raise BadArchive(f"its manifest names more than {_MOST_ENTRIES:,} files")
    home = manifest.main.rpartition("/")[0]
    kinds: dict[str, str] = {}
    for entry in manifest.entries:
        _check_path(entry.path)
        above = entry.path.rpartition("/")[0]
        if (key := entry.path.casefold()) in kinds:  # on some systems, letters of both cases are the same
            raise BadArchive(f"its manifest names {display_path(entry.path)!r} twice")
        if above != home and kinds.get(above.casefold()) != FOLDER:
            raise BadArchive(
                f"its manifest names {display_path(entry.path)!r}, which belongs to no directory of the session"
            )
        if above == home and not is_in_session_dir(entry.path, manifest.main) and not _is_beside(entry, manifest.main):
            raise BadArchive(f"its manifest names {display_path(entry.path)!r}, which is no file of the session")
        _check_entry(entry)
        kinds[key] = entry.kind
    if sum(entry.size for entry in manifest.files) != manifest.size:
        raise BadArchive("the sizes in its manifest do not add up")


def _check_main(manifest: Manifest) -> None:
    """Refuse a session that is not where sessions of its kind are."""
    _check_path(manifest.main)
    name = manifest.main.rpartition("/")[2]
    is_placed = manifest.main.count("/") + 1 == _PLACES[manifest.main.partition("/")[0]]
    if not is_placed or not is_session_name(name) or name.removesuffix(SESSION_SUFFIX) != manifest.id:
        raise BadArchive(f"its manifest names a session at {display_path(manifest.main)!r}, where none belongs")
    if "\0" in manifest.root:
        raise BadArchive("its manifest names a store that cannot be")
    if manifest.kind not in _KINDS:
        raise BadArchive(f"its manifest names a session of an unknown kind {truncate(manifest.kind, 20)!r}")


def _is_beside(entry: ManifestEntry, main: str) -> bool:
    """True for the session's own file, and for a sub-agent beside it."""
    name = entry.path.rpartition("/")[2]
    is_agent = name.startswith(AGENT_PREFIX) and name.endswith((SESSION_SUFFIX, META_SUFFIX))
    return entry.kind == FILE and (entry.path == main or is_agent)


def _check_path(path: str) -> None:
    """Refuse a path that is not below one of the places of sessions in a store, or has a name that none of them has."""
    place, *names = path.split("/")
    if len(names) + 1 < _PLACES.get(place, len(names) + 2):
        raise BadArchive(f"its manifest names {_told(path)}, which is outside of the sessions of a store")
    if not all(map(_is_possible_name, names)):
        raise BadArchive(f"its manifest names {_told(path)}, which can be no file of a session")
    is_project = place != PROJECTS_DIR or is_project_dir_name(names.pop(0))
    if not is_project or not all(map(is_claude_file_name, names)) or len(path.encode()) > LONGEST_PATH:
        raise _Foreign(f"{_told(path)} is not a name that Claude Code writes")


def _is_possible_name(name: str) -> bool:
    """False for a name that leads elsewhere, or that a terminal would obey."""
    return name not in ("", ".", "..") and name.isprintable()


def _told(path: str) -> str:
    """A path in a message, however long it is."""
    return repr(truncate(display_path(path), _LONGEST_TOLD))


def _check_entry(entry: ManifestEntry) -> None:
    name = display_path(entry.path)
    is_possible = abs(entry.mtime_ns) < _LARGEST_NUMBER and 0 <= entry.mode <= 0o777
    if entry.kind == LINK:
        raise _Foreign(f"{name!r} is a symbolic link, which Claude Code does not write")
    if entry.kind not in _SIZES or not is_possible or not 0 <= entry.size < _SIZES[entry.kind]:
        raise BadArchive(f"its manifest describes {name!r} as nothing that can be in a session")
    if entry.kind == FILE and (len(entry.sha256) != 64 or not set(entry.sha256) <= _HEX):
        raise BadArchive(f"its manifest has no checksum of {name!r}")


def archive_folder_name(main: str) -> str:
    """The directory of an archive in which a session is kept, by the path of its file.

    >>> archive_folder_name("projects/-home-ada/1f2e.jsonl"), archive_folder_name("transcripts/ses_1.jsonl")
    ('-home-ada', 'transcripts')
    """
    return main.split("/")[-2]


def archive_version(name: str, main: str) -> int | None:
    """Which version of a session an archive of this name is; `None` where it is called like that of another.

    >>> archive_version("1f2e.2.tar.zst", "projects/-p/1f2e.jsonl")
    2
    >>> archive_version("1f2e.tar.zst", "projects/-p/1f2e.2.jsonl") is None
    True
    """
    stem = main.rpartition("/")[2].removesuffix(SESSION_SUFFIX)
    match = re.fullmatch(rf"{re.escape(stem)}(?:\.([1-9][0-9]{{0,8}}))?{re.escape(ARCHIVE)}", name)
    return int(match[1] or 1) if match else None


def archive_file_name(main: str, version: int = 1) -> str:
    """The name of an archive, by the path of the session's file.

    >>> archive_file_name("projects/-home-ada/1f2e.jsonl"), archive_file_name("projects/-home-ada/1f2e.jsonl", 2)
    ('1f2e.tar.zst', '1f2e.2.tar.zst')
    """
    stem = main.rpartition("/")[2].removesuffix(SESSION_SUFFIX)
    return f"{stem}{f'.{version}' if version > 1 else ''}{ARCHIVE}"
