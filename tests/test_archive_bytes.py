"""The bytes of one archive: none explodes in memory, and nothing is before or behind what belongs there."""

from __future__ import annotations

import io
import json
import tarfile
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from claude_session_player.archive import pack
from claude_session_player.archive.manifest import decode_manifest, encode_manifest
from claude_session_player.archive.pack import archive_trailer, check_archive, is_complete_archive, read_manifest
from claude_session_player.errors import BadArchive
from tests.archives import described, forged
from tests.stores import ONE

MAIN = f"projects/-p/{ONE}.jsonl"
LARGE = 256 << 20


def sound(path: Path) -> Path:
    return forged(path, [described(MAIN, b"{}")], [(f"files/{MAIN}", b"{}")])


def packed(path: Path, *parts: bytes, zeros: int = 0) -> Path:
    """A tar of any headers, which ends with many zeros."""
    with path.open("wb") as file, zstandard.ZstdCompressor(write_checksum=True).stream_writer(file) as out:
        for part in parts:
            out.write(part)
        for _ in range(zeros >> 20):
            out.write(bytes(1 << 20))
    return path


def header(name: str, size: int, type: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, type
    return info.tobuf(tarfile.GNU_FORMAT)


def manifest_member(path: Path, size: int) -> bytes:
    """The first member of an archive whose only file is said to be so large."""
    forged(path, [described(MAIN, size=size)], [])
    with zstandard.open(path) as file:
        data = tarfile.open(fileobj=io.BytesIO(file.read())).extractfile("manifest.json")  # noqa: SIM115
        assert data is not None
        told = data.read()
    return header("manifest.json", len(told)) + told + bytes(-len(told) % 512)


def peak_of(path: Path) -> int:
    """The memory that it takes to find out that an archive is bad."""
    tracemalloc.start()
    try:
        with pytest.raises(BadArchive):
            check_archive(str(path))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("type", [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE])
def test_a_name_may_not_be_as_long_as_a_file(tmp_path: Path, type: bytes) -> None:
    first = manifest_member(tmp_path / "x.tar.zst", 2 * LARGE)
    bomb = packed(tmp_path / "bomb.tar.zst", first, header("././@LongLink", LARGE, type), zeros=LARGE)
    assert peak_of(bomb) < LARGE // 2


def test_the_name_of_the_manifest_may_not_be_long_either(tmp_path: Path) -> None:
    long = header("././@LongLink", LARGE, tarfile.GNUTYPE_LONGNAME)
    assert peak_of(packed(tmp_path / "bomb.tar.zst", long, zeros=LARGE)) < LARGE // 2


def test_headers_within_headers_come_to_an_end(tmp_path: Path) -> None:
    name = header("././@LongLink", 1, tarfile.GNUTYPE_LONGNAME) + b"x".ljust(512, b"\0")
    with pytest.raises(BadArchive):
        check_archive(str(packed(tmp_path / "x.tar.zst", name * 2000)))


def test_a_manifest_that_is_too_large_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sound(tmp_path / "x.tar.zst")
    assert read_manifest(str(path)).id == ONE
    monkeypatch.setattr(pack, "MAX_MANIFEST_SIZE", 100)
    with pytest.raises(BadArchive, match="manifest is too large"):
        read_manifest(str(path))


@pytest.mark.parametrize("more", [b"x", archive_trailer(0), archive_trailer(7) + b"x", bytes(5000)])
def test_nothing_else_is_behind_the_end(tmp_path: Path, more: bytes) -> None:
    path = sound(tmp_path / "x.tar.zst")
    check_archive(str(path))
    path.write_bytes(path.read_bytes() + more)
    with pytest.raises(BadArchive, match="after its end"):
        check_archive(str(path))


def test_an_archive_is_complete_where_its_last_bytes_say_so(tmp_path: Path) -> None:
    path = sound(tmp_path / "x.tar.zst")
    assert not is_complete_archive(str(path))
    whole = path.read_bytes() + archive_trailer(path.stat().st_size)
    path.write_bytes(whole)
    assert is_complete_archive(str(path))
    check_archive(str(path))
    for other in (b"", whole[:-1], whole[1:], whole + b"x"):
        path.write_bytes(other)
        assert not is_complete_archive(str(path))


def test_damage_behind_the_last_file_is_found(tmp_path: Path) -> None:
    path = sound(tmp_path / "x.tar.zst")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1  # in the checksum of the whole
    path.write_bytes(data)
    with pytest.raises(BadArchive) as caught:
        check_archive(str(path))
    assert str(caught.value).count(str(path)) == 1


def manifest(**other: object) -> bytes:
    told = {"format": 1, "program": "x", "id": ONE, "kind": "session", "main": MAIN, "root": "/", "size": 2}
    told |= dict.fromkeys(("title", "project", "created_at", "updated_at")) | {"archived_at": "2026-01-17T20:00:00Z"}
    return json.dumps(told | {"entries": [described(MAIN, b"{}")]} | other).encode()


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/home/ren\udce9/\udcff", "/home/ren\udce9/\udcff"),
        ("/home/\N{ELECTRIC PLUG}/\udce9", "/home/\N{ELECTRIC PLUG}/\udce9"),
        ("/\\udce9/\\\\\udce9", "/\\udce9/\\\\\udce9"),
        ("/\ud83d", "/\ufffd"),
    ],
)
def test_bytes_that_are_no_utf_8_are_known_again(root: str, expected: str) -> None:
    made = decode_manifest(manifest(root=root, title=root))
    assert (made.root, made.title) == (expected, expected)
    assert decode_manifest(encode_manifest(made)) == made


def test_sizes_that_do_not_add_up_are_refused() -> None:
    assert decode_manifest(manifest()).size == 2
    with pytest.raises(BadArchive, match="do not add up"):
        decode_manifest(manifest(size=3))


@pytest.mark.parametrize("name", ["C:", "c:x", "C:x/y", "z:/y"])
def test_drive_letters_are_refused(name: str) -> None:
    folders = [described(f"projects/-p/{ONE}", kind="folder", sha256="", size=0)]
    if "/" in name:
        above = f"projects/-p/{ONE}/{name.partition('/')[0]}"
        folders.append(described(above, kind="folder", sha256="", size=0))
    entries = [described(MAIN, b"{}"), *folders, described(f"projects/-p/{ONE}/{name}")]
    with pytest.raises(BadArchive, match="not a name that Claude Code writes"):
        decode_manifest(manifest(entries=entries))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": null}', b"[" * 100_000])
def test_what_is_no_manifest_is_said_in_plain_words(data: bytes) -> None:
    with pytest.raises(BadArchive) as caught:
        decode_manifest(data)
    assert str(caught.value) == "its manifest cannot be read"


@pytest.mark.parametrize("cut", [1, 8, 15, 16])
def test_an_archive_whose_mark_alone_is_cut_can_be_read(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.tar.zst"
    forged(path, [described(MAIN, b"{}")], [(f"files/{MAIN}", b"{}")])
    data = path.read_bytes()
    path.write_bytes((data + archive_trailer(len(data)))[:-cut])
    assert check_archive(str(path)).size == 2
