"""The manifest of an archive: what it holds, and where that belongs. What could do harm is refused here."""

from __future__ import annotations

import json
import re
from typing import Final

import msgspec

from claude_session_player import __version__
from claude_session_player.care.bundles import FILE, FOLDER, LINK, Bundle, is_own, leads_out, own_folder
from claude_session_player.errors import BadArchive
from claude_session_player.store.layout import AGENT, SUFFIX, is_session_name
from claude_session_player.store.locate import HISTORIES, PROJECTS, TRANSCRIPTS
from claude_session_player.store.record import shown
from claude_session_player.times import format_time, local_now

FORMAT: Final = 1
"""Goes up when older versions of this program could not read an archive any more."""
_PLACES: Final = {PROJECTS: 3, TRANSCRIPTS: 2, HISTORIES: 2}
"""Where sessions lie in a store, and of how many parts the path of one consists."""
_NO_NAMES: Final = frozenset(("", ".", ".."))
ARCHIVE: Final = ".tar.zst"
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_LARGEST: Final = 1 << 62
_HEX: Final = frozenset("0123456789abcdef")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A file, a directory or a symbolic link of a session; see `Item`."""

    path: str
    kind: str
    size: int
    mtime_ns: int
    mode: int
    sha256: str = ""
    """Of a file: the checksum of its bytes."""
    target: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an archived session without unpacking it; see `Bundle`."""

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
    entries: tuple[Entry, ...]

    @property
    def files(self) -> list[Entry]:
        """The regular files."""
        return [entry for entry in self.entries if entry.kind == FILE]


def manifest_of(bundle: Bundle, checksums: dict[str, str]) -> Manifest:
    """The manifest of a bundle, with the checksum of each file by its path.

    Raises `BadArchive` for names that could not be put back everywhere: nothing is kept that would be lost so.
    """
    entries = [
        Entry(
            path=item.path,
            kind=item.kind,
            size=item.size,
            mtime_ns=item.mtime_ns,
            mode=item.mode & 0o777,
            sha256=checksums.get(item.path, ""),
            target=item.target,
        )
        for item in bundle.items
    ]
    manifest = Manifest(
        format=FORMAT,
        program=__version__,
        id=bundle.id,
        kind=bundle.kind,
        main=bundle.main,
        root=bundle.root,
        title=bundle.title,
        project=bundle.project,
        created_at=bundle.created_at,
        updated_at=bundle.updated_at,
        archived_at=format_time(local_now()),
        size=bundle.size,
        entries=tuple(entries),
    )
    _check(manifest)
    return manifest


def encode(manifest: Manifest) -> bytes:
    """A manifest as JSON; names that are no UTF-8 are escaped."""
    return json.dumps(msgspec.to_builtins(manifest), indent=1).encode("ascii")


def decode(data: bytes) -> Manifest:
    """A manifest that can do no harm: raises `BadArchive` where one could, or is none."""
    try:
        value = json.loads(data)
        if isinstance(value, dict) and isinstance(made := value.get("format"), int) and made > FORMAT:
            raise BadArchive(f"it was made by a newer version ({shown(str(value.get('program')))}) of this program")
        manifest = msgspec.convert(value, Manifest)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise BadArchive("its manifest cannot be understood") from error
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    _check_path(manifest.main)
    own = own_folder(manifest.main)
    home, _, name = manifest.main.rpartition("/")
    is_placed = manifest.main.count("/") + 1 == _PLACES[manifest.main.split("/")[0]]
    if not is_placed or not is_session_name(name) or name.removesuffix(SUFFIX) != manifest.id:
        raise BadArchive(f"its manifest names a session at {shown(manifest.main)!r}, where none belongs")
    kinds: dict[str, str] = {}
    for entry in manifest.entries:
        _check_path(entry.path)
        above = entry.path.rpartition("/")[0]
        if entry.path in kinds:
            raise BadArchive(f"its manifest names {shown(entry.path)!r} twice")
        if above != home and kinds.get(above) != FOLDER:
            raise BadArchive(f"its manifest names {shown(entry.path)!r}, which belongs to no directory of the session")
        if above == home and not is_own(entry.path, manifest.main) and not _is_beside(entry, manifest.main):
            raise BadArchive(f"its manifest names {shown(entry.path)!r}, which is no file of the session")
        _check_entry(entry, own)
        kinds[entry.path] = entry.kind
    if sum(entry.size for entry in manifest.files) != manifest.size:
        raise BadArchive("the sizes in its manifest do not add up")


def _is_beside(entry: Entry, main: str) -> bool:
    """True for the session's own file, and for a sub-agent beside it."""
    return entry.kind == FILE and (entry.path == main or entry.path.rpartition("/")[2].startswith(AGENT))


def _check_path(path: str) -> None:
    """Refuse a path that is not plainly below one of the places of sessions in a store."""
    parts = path.split("/")
    is_harmful = bool(_NO_NAMES & set(parts)) or any(map(_DRIVE.match, parts)) or "\\" in path or "\0" in path
    if is_harmful or len(parts) < _PLACES.get(parts[0], len(parts) + 1):
        raise BadArchive(f"its manifest names {shown(path)!r}, which is outside of the sessions of a store")


def _check_entry(entry: Entry, own: str | None) -> None:
    name = shown(entry.path)
    is_possible = 0 <= entry.size < _LARGEST and abs(entry.mtime_ns) < _LARGEST and 0 <= entry.mode <= 0o777
    if entry.kind not in (FILE, FOLDER, LINK) or not is_possible:
        raise BadArchive(f"its manifest describes {name!r} as nothing that can be in a session")
    if entry.kind == FILE and (len(entry.sha256) != 64 or not set(entry.sha256) <= _HEX):
        raise BadArchive(f"its manifest has no checksum of {name!r}")
    if entry.kind == LINK and leads_out(entry.path, entry.target, own):
        raise BadArchive(f"its manifest names a symbolic link {name!r} that leads out of the session")


def folder_name(main: str) -> str:
    """The directory of an archive in which a session is kept, by the path of its file.

    >>> folder_name("projects/-home-ada/1f2e.jsonl"), folder_name("transcripts/ses_1.jsonl")
    ('-home-ada', 'transcripts')
    """
    return main.split("/")[-2]


def version_of(name: str, main: str) -> int | None:
    """Which version of a session an archive of this name is; `None` where it is called like that of another.

    >>> version_of("1f2e.2.tar.zst", "projects/-p/1f2e.jsonl"), version_of("1f2e.tar.zst", "projects/-p/1f2e.2.jsonl")
    (2, None)
    """
    stem = main.rpartition("/")[2].removesuffix(SUFFIX)
    match = re.fullmatch(rf"{re.escape(stem)}(?:\.(\d+))?{re.escape(ARCHIVE)}", name, re.DOTALL)
    return int(match[1] or 1) if match else None


def file_name(main: str, version: int = 1) -> str:
    """The name of an archive, by the path of the session's file.

    >>> file_name("projects/-home-ada/1f2e.jsonl"), file_name("projects/-home-ada/1f2e.jsonl", 2)
    ('1f2e.tar.zst', '1f2e.2.tar.zst')
    """
    stem = main.rpartition("/")[2].removesuffix(SUFFIX)
    return f"{stem}{f'.{version}' if version > 1 else ''}{ARCHIVE}"
