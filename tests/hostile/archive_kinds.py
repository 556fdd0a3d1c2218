"""A table of hostile archives: each kind by its name, with the function that builds its bytes.

They are made of raw blocks of zstandard and raw headers of tar: no library writes most of them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import struct
import tarfile
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import zstandard

Entry = dict[str, Any]
Build = Callable[[str], bytes]
"""Gives the bytes of an archive, by the id of the session that it pretends to hold."""

MAGIC: Final = b"\x28\xb5\x2f\xfd"
CONTENT: Final = b'{"type":"user","message":{"role":"user","content":"hostile"}}\n'
GIGA: Final = 1 << 30
TERA: Final = 1 << 40
LITTLE: Final = 16 << 20
"""So many bytes could be in an archive of some hundred bytes."""


# --- bytes ----------------------------------------------------------------------------------------


class Zeros(NamedTuple):
    """Many zeros, which take four bytes for every 128 kB."""

    size: int


def frame(*parts: bytes | Zeros, window: int = 0x50) -> bytes:
    """A frame of zstandard without a checksum; `window` is its descriptor, 1 MB by default."""
    blocks = list(_blocks(parts))
    last = blocks.pop() if blocks else b"\0\0\0"
    return MAGIC + bytes((0, window)) + b"".join(blocks) + bytes((last[0] | 1,)) + last[1:]


def _blocks(parts: Iterable[bytes | Zeros]) -> Iterable[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            for start in range(0, len(part), 1 << 17):
                piece = part[start : start + (1 << 17)]
                yield struct.pack("<I", len(piece) << 3)[:3] + piece
            continue
        whole, rest = divmod(part.size, 1 << 17)
        yield from [struct.pack("<I", (1 << 17) << 3 | 2)[:3] + b"\0"] * whole
        if rest:
            yield struct.pack("<I", rest << 3 | 2)[:3] + b"\0"


def header(name: str, size: int = 0, type: bytes = b"0", **fields: Any) -> bytes:
    """The header of a member, which is called so as far as a tar can say it."""
    info = tarfile.TarInfo(name.replace("\ud800", "?"))
    info.size, info.type = size, type
    for field, value in fields.items():
        setattr(info, field, value)
    data = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    return data[-512:] if type in (b"L", b"K", b"x", b"g") else data


def member(name: str, content: bytes = b"", type: bytes = b"0", **fields: Any) -> bytes:
    """A header and what follows it."""
    return header(name, len(content), type, **fields) + content + bytes(-len(content) % 512)


def pax(records: dict[str, str], type: bytes = b"x") -> bytes:
    """A header of attributes for the member that follows."""
    data = b""
    for key, value in records.items():
        line = f" {key}={value}\n".encode()
        size = len(line) + len(str(len(line) + len(str(len(line)))))
        data += str(size).encode() + line
    return member("././@PaxHeader", data, type)


def with_checksum(data: bytes) -> bytes:
    """A header after a change, with the checksum that belongs to it."""
    blank = data[:148] + b" " * 8 + data[156:]
    return data[:148] + f"{sum(blank[:512]):06o}\0 ".encode() + data[156:]


END: Final = bytes(1024)


# --- manifests ------------------------------------------------------------------------------------


def main_of(id: str) -> str:
    """Where the session is."""
    return f"projects/-p/{id}.jsonl"


def entry(path: str, content: bytes = CONTENT, **other: Any) -> Entry:
    """A file in a manifest."""
    told = {"path": path, "kind": "file", "size": len(content), "mtime_ns": 10**18, "mode": 0o600}
    return told | {"sha256": hashlib.sha256(content).hexdigest()} | other


def folder(path: str, **other: Any) -> Entry:
    """A directory in a manifest."""
    return entry(path, b"", kind="folder", sha256="") | other


def manifest(id: str, entries: list[Entry] | None = None, /, **other: Any) -> bytes:
    """The manifest of a session; sound unless something else is said."""
    entries = [entry(main_of(id))] if entries is None else entries
    told = {"format": 1, "program": "1.0", "id": id, "kind": "session", "main": main_of(id), "root": "/"}
    told |= dict.fromkeys(("title", "project", "created_at", "updated_at"))
    size = sum(one["size"] for one in entries if one["kind"] == "file" and isinstance(one["size"], int))
    told |= {"archived_at": "2026-01-17T20:00:00.000Z", "size": size, "entries": entries}
    return json.dumps(told | other).encode()


def first(id: str, entries: list[Entry] | None = None, /, **other: Any) -> bytes:
    """The first member of an archive."""
    return member("manifest.json", manifest(id, entries, **other))


def own(id: str) -> bytes:
    """The member that is the session."""
    return member(f"files/{main_of(id)}", CONTENT)


def sound(id: str) -> bytes:
    """An archive in which nothing is wrong."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(first(id) + own(id) + END)


# --- kinds ----------------------------------------------------------------------------------------


def _raw(*parts: bytes | Zeros | Callable[[str], bytes]) -> Build:
    """An archive of these parts, of which some depend on the id."""
    return lambda sid: frame(*(part(sid) if callable(part) else part for part in parts))


def _flipped(id: str) -> bytes:
    data = bytearray(sound(id))
    data[-1] ^= 1
    return bytes(data)


def _dictionary(id: str) -> bytes:
    samples: list[bytes | bytearray | memoryview] = [f"sample {number} of {id}".encode() * 20 for number in range(200)]
    trained = zstandard.train_dictionary(1000, samples)
    return zstandard.ZstdCompressor(dict_data=trained).compress(first(id) + own(id) + END)


CONTAINERS: Final[dict[str, Build]] = {
    "nothing": lambda sid: b"",
    "text": lambda sid: b"hello\n",
    "magic alone": lambda sid: MAGIC,
    "gzip": lambda sid: gzip.compress(first(sid) + own(sid) + END),
    "xz": lambda sid: lzma.compress(first(sid) + own(sid) + END),
    "tar without compression": lambda sid: first(sid) + own(sid) + END,
    "cut in half": lambda sid: sound(sid)[: len(sound(sid)) // 2],
    "another checksum of the whole": _flipped,
    "two frames": lambda sid: sound(sid) + sound(sid),
    "text behind the end": lambda sid: sound(sid) + b"hello",
    "another archive behind the mark": lambda sid: (
        sound(sid) + struct.pack("<IIQ", 0x184D2A50, 8, len(sound(sid))) + sound(sid)
    ),
    "a frame to be skipped first": lambda sid: struct.pack("<II", 0x184D2A50, 4) + b"skip" + sound(sid),
    "a frame of 4 GB to be skipped": lambda sid: struct.pack("<II", 0x184D2A50, 0xFFFFFFFF) + bytes(100),
    "a window of 128 MB": lambda sid: frame(first(sid), own(sid), END, window=0x88),
    "a window of 2 TB": lambda sid: frame(first(sid), own(sid), END, window=0xF8),
    "a dictionary that is not there": _dictionary,
    "a block of a reserved type": lambda sid: MAGIC + b"\0\x50" + b"\x07\0\0" + bytes(100),
    "only empty blocks": lambda sid: MAGIC + b"\0\x50" + bytes(3 << 20),
    "empty blocks behind the manifest": lambda sid: frame(first(sid))[:-3] + bytes(3 << 20),
}
"""What is wrong with the compression."""


def _sparse(id: str, size: int = TERA) -> bytes:
    """GNU's old format: any number of bytes in one header."""
    data = bytearray(header(f"files/{main_of(id)}", 0, b"S"))
    data[386 : 386 + 24] = b"%011o\0%011o\0" % (0, 0)
    data[483:495] = b"\x80" + size.to_bytes(11, "big")
    return with_checksum(bytes(data))


def _pax_sparse(version: str, real: int = TERA) -> Build:
    def build(id: str) -> bytes:
        name, size = f"files/{main_of(id)}", str(real)
        records = {
            "0.0": {"GNU.sparse.size": size, "GNU.sparse.numblocks": "1"}
            | {"GNU.sparse.offset": "0", "GNU.sparse.numbytes": "0"},
            "0.1": {"GNU.sparse.size": size, "GNU.sparse.map": "0,0", "GNU.sparse.name": name},
            "1.0": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
            | {"GNU.sparse.name": name, "GNU.sparse.realsize": size},
        }[version]
        content = b"1\n0\n0\n".ljust(512, b"\0") if version == "1.0" else b""
        return frame(_sized(id, real), pax(records), member(name, content), END)

    return build


def _sized(id: str, size: int) -> bytes:
    """A manifest that says that the session is so many zeros, and has their checksum where they can be."""
    checksum = hashlib.sha256(bytes(size) if size == LITTLE else b"").hexdigest()
    return first(id, [entry(main_of(id), size=size, sha256=checksum)])


def _of_type(type: bytes, **fields: Any) -> Build:
    """The session as a member of another type, with its bytes where they would be."""
    return lambda sid: frame(
        first(sid, [entry(main_of(sid), b"")]), header(f"files/{main_of(sid)}", 0, type, **fields), END
    )


def _size_field(value: bytes) -> Build:
    def build(id: str) -> bytes:
        data = header(f"files/{main_of(id)}", len(CONTENT))
        return frame(first(id), with_checksum(data[:124] + value + data[136:]), CONTENT, END)

    return build


def _long_names(id: str) -> bytes:
    return frame(first(id), member("././@LongLink", b"x", b"L") * 2000, own(id), END)


TARS: Final[dict[str, Build]] = {
    "a sparse file of 1 TB": lambda sid: frame(_sized(sid, TERA), _sparse(sid), END),
    "a sparse file of 16 MB": lambda sid: frame(_sized(sid, LITTLE), _sparse(sid, LITTLE), END),
    "a sparse file of 16 MB, PAX 0.0": _pax_sparse("0.0", LITTLE),
    "a sparse file of 16 MB, PAX 0.1": _pax_sparse("0.1", LITTLE),
    "a sparse file of 16 MB, PAX 1.0": _pax_sparse("1.0", LITTLE),
    "a sparse file of 1 TB, PAX 0.0": _pax_sparse("0.0"),
    "a sparse file of 1 TB, PAX 0.1": _pax_sparse("0.1"),
    "a sparse file of 1 TB, PAX 1.0": _pax_sparse("1.0"),
    "a sparse manifest": lambda sid: frame(_sparse("x").replace(b"files/projects/-p/x.jsonl", b"manifest.json"), END),
    "PAX gives another path": lambda sid: frame(first(sid), pax({"path": "/etc/passwd"}), own(sid), END),
    "PAX gives another size": lambda sid: frame(first(sid), pax({"size": str(TERA)}), own(sid), END),
    "PAX for all members": lambda sid: frame(first(sid), pax({"path": "/etc/passwd"}, b"g"), own(sid), END),
    "PAX before the manifest": lambda sid: frame(pax({"mtime": "1"}), first(sid), own(sid), END),
    "PAX attributes of 1 GB": _raw(first, header("x", GIGA, b"x"), Zeros(GIGA)),
    "a name of 1 GB": _raw(first, header("././@LongLink", GIGA, b"L"), Zeros(GIGA)),
    "a name of 1 GB before the manifest": _raw(header("././@LongLink", GIGA, b"L"), Zeros(GIGA)),
    "a link's target of 1 GB": _raw(first, header("././@LongLink", GIGA, b"K"), Zeros(GIGA)),
    "names of names": _long_names,
    "a name of no bytes": lambda sid: frame(first(sid), header("././@LongLink", 0, b"L"), own(sid), END),
    "a symbolic link": _of_type(b"2", linkname="/etc/passwd"),
    "a hard link": _of_type(b"1", linkname="manifest.json"),
    "a character device": _of_type(b"3", devmajor=1, devminor=5),
    "a block device": _of_type(b"4", devmajor=8, devminor=0),
    "a pipe": _of_type(b"6"),
    "a contiguous file": _of_type(b"7"),
    "a volume's name": _of_type(b"V"),
    "a part of several volumes": _of_type(b"M"),
    "a list of a directory": _of_type(b"D"),
    "a Solaris header": _of_type(b"X"),
    "an unknown type": _of_type(b"Z"),
    "a directory in place of the session": _of_type(b"5"),
    "a size below zero": _size_field(b"\xff" * 12),
    "a size of 2⁸⁸": _size_field(b"\x80" + b"\xff" * 11),
    "a size that is no number": _size_field(b"zzzzzzzzzzzz"),
    "another checksum of a header": lambda sid: frame(first(sid), own(sid).replace(b"0000644", b"0000777", 1), END),
    "a file is missing": lambda sid: frame(first(sid), END),
    "a file too many": lambda sid: frame(first(sid), own(sid), member("files/projects/-p/more", b"x"), END),
    "a file outside too many": lambda sid: frame(first(sid), own(sid), member("../../evil", b"x"), END),
    "a file has another name": lambda sid: frame(first(sid), member(f"files/projects/-q/{sid}.jsonl", CONTENT), END),
    "a file has no directory": lambda sid: frame(first(sid), member(main_of(sid), CONTENT), END),
    "a file is shorter": lambda sid: frame(first(sid), member(f"files/{main_of(sid)}", CONTENT[:-1]), END),
    "a file is longer": lambda sid: frame(first(sid), member(f"files/{main_of(sid)}", CONTENT + b"x"), END),
    "a file is another": lambda sid: frame(first(sid), member(f"files/{main_of(sid)}", CONTENT.swapcase()), END),
    "a file of 1 GB": _raw(first, lambda sid: header(f"files/{main_of(sid)}", GIGA), Zeros(GIGA), END),
    "no manifest": lambda sid: frame(own(sid), END),
    "the manifest is second": lambda sid: frame(own(sid), first(sid), END),
    "two manifests": lambda sid: frame(first(sid), first(sid), own(sid), END),
    "the manifest is a link": lambda sid: frame(
        header("manifest.json", 0, b"2", linkname="/etc/passwd"), own(sid), END
    ),
    "something behind the end of the tar": lambda sid: frame(first(sid), own(sid), END, b"hidden".ljust(512, b"\0")),
    "1 GB behind the end of the tar": _raw(first, own, Zeros(GIGA)),
    "1 GB before the manifest": _raw(Zeros(GIGA), first, own, END),
    "something between two files": lambda sid: frame(first(sid), own(sid)[:-1] + b"x", END),
    "the tar has no end": lambda sid: frame(first(sid), own(sid)),
}
"""What is wrong with the tar."""


def _with(**other: Any) -> Build:
    """An archive with another manifest."""
    return lambda sid: frame(first(sid, **other), own(sid), END)


def _changed(**other: Any) -> Build:
    """An archive whose manifest says something else about the session's file."""
    return lambda sid: frame(first(sid, [entry(main_of(sid), **other)]), own(sid), END)


def _with_text(data: bytes) -> Build:
    return lambda sid: frame(member("manifest.json", data), own(sid), END)


def _repeated(before: bytes, piece: bytes, after: bytes, size: int, *, is_packed: bool = True) -> Build:
    """A manifest that says the same again and again, compressed well, or not at all."""

    def build(id: str) -> bytes:
        data = before + piece * (size // len(piece)) + after
        parts = (member("manifest.json", data), own(id), END)
        return zstandard.ZstdCompressor(level=1).compress(b"".join(parts)) if is_packed else frame(*parts)

    return build


def _crowded(id: str) -> bytes:
    """A manifest of many files, with checksums that do not compress."""
    paths = [f"projects/-p/{id}/{number}" for number in range(60_000)]
    entries = [entry(main_of(id)), folder(f"projects/-p/{id}"), *(entry(path, path.encode()) for path in paths)]
    return zstandard.ZstdCompressor().compress(first(id, entries) + own(id) + END)


MANIFESTS: Final[dict[str, Build]] = {
    "a manifest of 60 MB of nothing": _repeated(b'{"entries":[', b"[],", b"0]}", 60 << 20),
    "a manifest of 9 MB of nothing": _repeated(b'{"x":[', b"[],", b"0]}", 9 << 20, is_packed=False),
    "a manifest of 9 MB of surrogates": _repeated(b'{"title":"', b"\\udc80", b'"}', 9 << 20, is_packed=False),
    "a manifest of 9 MB of backslashes": _repeated(b'{"title":"\\ud800', b"\\\\", b'"}', 9 << 20, is_packed=False),
    "a manifest of 9 MB of small files": _repeated(
        b'{"format":1,"program":"","id":"","kind":"","main":"","root":"","title":null,"project":null,"created_at":null,'
        b'"updated_at":null,"archived_at":"","size":0,"entries":[',
        b'{"path":"","kind":"","size":0,"mtime_ns":0,"mode":0},',
        b'{"path":"","kind":"","size":0,"mtime_ns":0,"mode":0}]}',
        9 << 20,
        is_packed=False,
    ),
    "a manifest of 1 GB": _raw(header("manifest.json", GIGA), Zeros(GIGA)),
    "a manifest of 60,000 files": _crowded,
    "a manifest of no bytes": _with_text(b""),
    "a manifest that is no JSON": _with_text(b"hello"),
    "a manifest that is a list": _with_text(b"[]"),
    "a manifest that is deep": _with_text(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a manifest that is no UTF-8": _with_text(b'{"format": 1, "program": "\xff"}'),
    "a manifest with a number of 10,000 digits": _with_text(b'{"format": ' + b"9" * 10_000 + b"}"),
    "a newer format": _with(format=2, program="\x1b[2J9.9"),
    "a format that is no number": _with(format="1"),
    "no format": _with(format=None),
    "an unknown kind of session": _with(kind="\x1b]0;evil\x07"),
    "another id": _with(id="evil"),
    "a store with a NUL": _with(root="/\0"),
    "entries that are none": _with_text(b'{"format": 1, "entries": 7}'),
    "sizes that do not add up": _with(size=1),
    "a size of 1 TB": _changed(size=TERA),
    "a negative size": _changed(size=-1),
    "a size with a fraction": _changed(size=0.5),
    "a size that is text": lambda sid: frame(first(sid, [entry(main_of(sid), size="9")], size=9), own(sid), END),
    "a directory with a size": lambda sid: frame(first(sid, [folder(f"projects/-p/{sid}", size=9)]), own(sid), END),
    "no checksum": _changed(sha256=""),
    "a checksum that is none": _changed(sha256="g" * 64),
    "a mode with special bits": _changed(mode=0o6755),
    "a negative mode": _changed(mode=-1),
    "a time beyond all times": _changed(mtime_ns=1 << 63),
    "an unknown kind of entry": _changed(kind="device"),
    "a link in the manifest": _changed(kind="link", target="/etc/passwd"),
    "a session in the root": _with(main="settings.json"),
    "a session among memories": lambda sid: frame(first(sid, main=f"memories/{sid}.jsonl"), own(sid), END),
    "a session too deep": lambda sid: frame(first(sid, main=f"projects/-p/q/{sid}.jsonl"), own(sid), END),
    "a todo list as a session": _with(main="projects/-p/todo.jsonl", id="todo"),
}
"""What is wrong with the manifest."""

NAMES: Final[dict[str, str]] = {
    "a command in it": "$(touch PWN)",
    "a command in backticks": "`touch PWN`",
    "a variable": "${IFS}",
    "a second command": "x;touch PWN",
    "a pipe in it": "x|sh",
    "an ampersand": "x&y",
    "a wildcard": "*",
    "a question mark": "x?",
    "braces": "{a,b}",
    "brackets": "[a]",
    "quotes": "it's",
    "double quotes": 'x"y',
    "an exclamation mark": "x!y",
    "a tilde": "~root",
    "a redirection": "x>y",
    "a dash first": "-rf",
    "a space": "a b",
    "a space last": "x ",
    "a dot last": "x.",
    "a dot first": ".bashrc",
    "an AppleDouble": "._x",
    "one dot": ".",
    "two dots": "..",
    "nothing in it": "",
    "a backslash": "..\\x",
    "a drive": "C:",
    "a stream": "x:y",
    "a device of Windows": "CON",
    "a device of Windows with a suffix": "nul.txt",
    "a NUL": "x\0y",
    "a line break": "x\ny",
    "a carriage return": "x\ry",
    "an escape sequence": "\x1b[2Jx",
    "a bell": "x\x07",
    "a delete": "x\x7f",
    "a C1 control": "x\x9b2J",
    "a bidi override": "x\u202egnp.exe",
    "a zero width": "x\u200by",
    "a byte order mark": "\ufeffx",
    "a line separator": "x\u2028y",
    "a letter like another": "аgent",
    "a composed letter": "caf\u00e9",
    "a decomposed letter": "cafe\u0301",
    "a full-width slash": "x\uff0fy",
    "a lone surrogate": "x\udcff",
    "another lone surrogate": "x\ud800",
    "256 bytes": "x" * 256,
}
"""What is wrong with a name, wherever it stands."""


def _own_file(name: str) -> Build:
    """A file in the session's directory."""

    def build(id: str) -> bytes:
        path = f"projects/-p/{id}/{name}"
        return _held(id, [folder(f"projects/-p/{id}"), entry(path)], path)

    return build


def _own_folder(name: str) -> Build:
    """A directory in the session's directory, with a file in it."""

    def build(id: str) -> bytes:
        own = f"projects/-p/{id}"
        return _held(id, [folder(own), folder(f"{own}/{name}"), entry(f"{own}/{name}/x")], f"{own}/{name}/x")

    return build


def _agent(name: str) -> Build:
    """A sub-agent beside the session."""

    def build(id: str) -> bytes:
        path = f"projects/-p/agent-{name}.jsonl"
        return _held(id, [entry(path)], path)

    return build


def _project(name: str) -> Build:
    """The directory of the project."""

    def build(id: str) -> bytes:
        main = f"projects/{name}/{id}.jsonl"
        return frame(first(id, [entry(main)], main=main), member(f"files/{main}", CONTENT), END)

    return build


def _session(name: str) -> Build:
    """The session itself."""

    def build(id: str) -> bytes:
        main = f"projects/-p/{name}.jsonl"
        return frame(first(id, [entry(main)], main=main, id=name), member(f"files/{main}", CONTENT), END)

    return build


def _held(id: str, entries: list[Entry], path: str) -> bytes:
    folders = b"".join(header(f"files/{one['path']}", 0, b"5") for one in entries if one["kind"] == "folder")
    return frame(first(id, [entry(main_of(id)), *entries]), own(id), folders, member(f"files/{path}", CONTENT), END)


PLACES: Final[dict[str, Callable[[str], Build]]] = {
    "file": _own_file,
    "directory": _own_folder,
    "sub-agent": _agent,
    "project": _project,
    "session": _session,
}
_FINE: Final = {
    ("sub-agent", "a dot last"),
    ("session", "a dot last"),
    ("project", "a dash first"),
    ("project", "a space"),
    ("project", "a letter like another"),
    ("project", "a composed letter"),
    ("project", "a decomposed letter"),
}
"""Where such a name is fine: a suffix follows, and old projects are called like the directories of people."""


def _collision(one: str, other: str) -> Build:
    """Two names that are the same on some systems."""

    def build(id: str) -> bytes:
        own = f"projects/-p/{id}"
        entries = [folder(own), entry(f"{own}/{one}"), entry(f"{own}/{other}")]
        return _held(id, entries, f"{own}/{one}")

    return build


def _deep(id: str) -> bytes:
    own = f"projects/-p/{id}"
    paths = [own + "/d" * depth for depth in range(1100)]
    return _held(id, [*map(folder, paths), entry(f"{paths[-1]}/x")], f"{paths[-1]}/x")


def _elsewhere(path: str) -> Build:
    """A file that is not the session's."""
    return lambda sid: _held(sid, [entry(path)], path)


PATHS: Final[dict[str, Build]] = {
    "names in both cases": _collision("x", "X"),
    "the same name twice": _collision("x", "x"),
    "a composed name and a decomposed": _collision("caf\u00e9", "cafe\u0301"),
    "1,100 directories": _deep,
    "an absolute path": _elsewhere("/etc/cron.d/evil"),
    "a path that climbs": _elsewhere("projects/-p/../../../evil"),
    "a path in the root": _elsewhere("settings.json"),
    "a path of commands": _elsewhere("commands/evil.md"),
    "a path of hooks": _elsewhere("hooks/evil"),
    "a path of memories": _elsewhere("projects/-p/memory/MEMORY.md"),
    "a path of another project": _elsewhere("projects/-q/agent-x.jsonl"),
    "a path of another session": _elsewhere("projects/-p/a9b8c7d6-0003-4000-8000-000000000003.jsonl"),
    "a sub-agent that is a program": _elsewhere("projects/-p/agent-x.sh"),
    "a file without its directory": lambda sid: _held(sid, [entry(f"projects/-p/{sid}/a/x")], f"projects/-p/{sid}/a/x"),
    "a file as a directory": lambda sid: _held(
        sid,
        [folder(f"projects/-p/{sid}"), entry(f"projects/-p/{sid}/a"), entry(f"projects/-p/{sid}/a/x")],
        "x",
    ),
    "the session's file as a directory": lambda sid: frame(first(sid, [folder(main_of(sid))]), own(sid), END),
}

KINDS: Final[dict[str, Build]] = {
    **CONTAINERS,
    **TARS,
    **MANIFESTS,
    **PATHS,
    **{
        f"a {place} with {what}": build(name)
        for place, build in PLACES.items()
        for what, name in NAMES.items()
        if (place, what) not in _FINE
    },
}
"""Every kind that is refused."""

ODD: Final[dict[str, Build]] = {
    "a title that a terminal obeys": _with(title="\x1b[2J\x07\x9b\u202e\r\n$(id)"),
    "a title of surrogates": _with(title="\udcff\ud83d"),
    "a title of 500 kB": _with(title="x" * 500_000),
    "a project that a terminal obeys": _with(project="/\x1b]0;x\x07/\n"),
    "times that are none": _with(archived_at="\x1b[2J", created_at="soon", updated_at="99999-99-99"),
    "a program that a terminal obeys": _with(program="\x1b[2J"),
    "a root elsewhere": _with(root="/etc"),
    "a root that is no path": _with(root="\x1b[2J\udcff\n" + "x" * 5000),
    "modes for everybody": _changed(mode=0o777),
    "a time before all times": _changed(mtime_ns=-(10**17)),
    "keys that nobody knows": _with(more={"x": [1, {}]}, target="/etc"),
}
"""Strange, but whole: such an archive is used, and does no harm."""
