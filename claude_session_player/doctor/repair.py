"""Writes a repaired copy of a session file: the same records, each on a line of its own, and nothing else.

Everything that is not a record goes to a second file, with its line number and offset. The original is only read.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from claude_session_player.doctor.checks import check_line, check_whole_lines, is_strict_json, is_utf8
from claude_session_player.doctor.findings import REPAIRABLE_KINDS
from claude_session_player.errors import CannotWrite
from claude_session_player.format import lenient_json
from claude_session_player.format.line_reader import LongLine, copy_bytes, read_batches
from claude_session_player.parser import LinePiece, open_session, salvage_line
from claude_session_player.util.fsutil import link_into_place

REJECTED_SUFFIX: Final = ".rejected"

_encode: Final = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


@dataclass
class RepairReport:
    """What was done to the lines of a file."""

    lines: int = 0
    records: int = 0
    """Records of damaged lines that are in the copy."""
    damaged: int = 0
    """Lines that are not in the copy as they were."""
    split: int = 0
    """Lines that had several records."""
    rejected: int = 0
    """Pieces of lines that are not records."""
    nuls: int = 0
    """NUL bytes that were dropped."""


def repair_file(source: str, target: str) -> RepairReport:
    """Write a repaired copy of a file, and beside it what was rejected, if anything was.

    Both files appear only when they are complete. Raises `CannotRead`, or `CannotWrite` if one of them exists.
    """
    for path in (target, target + REJECTED_SUFFIX):
        if os.path.lexists(path):
            raise CannotWrite(f"{path} already exists and is not overwritten: name another file")
    with open_session(source) as original:
        try:
            return _repair(original, target)
        except FileExistsError as error:
            raise CannotWrite(f"{target} has just been created and is not overwritten: name another file") from error
        except OSError as error:
            raise CannotWrite(f"{target}: {error.strerror or error}") from error


def _repair(original: BinaryIO, target: str) -> RepairReport:
    """Write both files in a temporary directory, and link them into place when they are complete."""
    repair = _Repair()
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=os.path.dirname(os.path.abspath(target))) as directory:
        copy, rejected = (os.path.join(directory, name) for name in ("copy", "rejected"))
        with open(copy, "xb") as good, open(rejected, "xb") as bad:
            repair.run(original, good, bad)
            for file in (good, bad):
                file.flush()
                os.fsync(file.fileno())
        status = os.fstat(original.fileno())
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))  # the content is as old as the original
        if repair.report.rejected:
            link_into_place(rejected, target + REJECTED_SUFFIX)
        link_into_place(copy, target)
    return repair.report


class _Repair:
    """Copies the lines of one file, and counts what was done."""

    def __init__(self) -> None:
        self.report = RepairReport()
        self._offset = 0

    def run(self, original: BinaryIO, copy: BinaryIO, rejected: BinaryIO) -> None:
        for lines in read_batches(original):
            if check_whole_lines(lines) is not None:
                copy.writelines(lines)
                self.report.lines += len(lines)
                self._offset += sum(map(len, lines))
                continue
            for line in lines:
                self.report.lines += 1
                if isinstance(line, LongLine):
                    copy.writelines(copy_bytes(original, self._offset, len(line)))
                elif REPAIRABLE_KINDS.isdisjoint(flaw.kind for flaw in check_line(line).flaws):
                    copy.write(line)
                else:
                    self._repair_line(line, copy, rejected)
                self._offset += len(line)

    def _repair_line(self, line: bytes, copy: BinaryIO, rejected: BinaryIO) -> None:
        records = 0
        for piece in salvage_line(line):
            if isinstance(piece.value, dict):
                copy.write(_repaired_record(line[piece.start : piece.end], piece.value) + b"\n")
                records += 1
            else:
                rejected.write(self._rejected_line(line, piece))
                self.report.rejected += 1
        self.report.damaged += 1
        self.report.records += records
        self.report.split += records > 1
        self.report.nuls += line.count(b"\0")

    def _rejected_line(self, line: bytes, piece: LinePiece) -> bytes:
        """A piece that is not a record, as a line of JSON."""
        data = line[piece.start : piece.end].rstrip(b"\r\n")
        is_damaged = isinstance(piece.value, lenient_json.Damage)
        content = {"text": data.decode()} if is_utf8(data) else {"base64": base64.b64encode(data).decode()}
        rejected = {
            "line": self.report.lines,
            "offset": self._offset + piece.start,
            "reason": piece.value.reason if is_damaged else "not a JSON object",
            **content,
        }
        return lenient_json.dump(rejected) + b"\n"


def _repaired_record(data: bytes, value: dict[str, Any]) -> bytes:
    """A record as it was written, if every parser accepts that; else its value, encoded again."""
    if is_utf8(data) and is_strict_json(data):
        return data
    try:
        return _encode(value).encode()
    except (ValueError, RecursionError):
        return lenient_json.dump(value)
