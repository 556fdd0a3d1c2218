"""Text that a terminal would obey, and how to tell from the bytes on a terminal that it was let through."""

from __future__ import annotations

import re
from typing import Final

_C1: Final = "".join(map(chr, range(0x80, 0xA0)))
PAYLOADS: Final = {
    "colour": "\x1b[21;9953mPWN",
    "clear": "\x1b[9953J\x1b[9953;9953HPWN",
    "title": "\x1b]0;PWN\x07",
    "clipboard": "\x1b]52;c;UFdO\x1b\\PWN",
    "link": "\x1b]8;;file:///PWN\x1b\\PWN\x1b]8;;\x1b\\",
    "device control": "\x1bP$q9953\x1b\\PWN",
    "privacy message": "\x1b^PWN\x1b\\",
    "answer back": "\x1b[9953c\x05PWN",
    "unfinished CSI": "PWN\x1b[9953;",
    "unfinished OSC": "PWN\x1b]0;PWN",
    "lone escape": "PWN\x1b",
    "split escape": "\x1b\x1b[[9953mPWN",
    "C1": f"PWN{_C1}",
    "C1 CSI": "\x9b9953JPWN",
    "C1 OSC": "\x9d0;PWN\x9c",
    "C0": "PWN\x01\x02\x03\x04\x05\x06\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1c\x1d\x1e\x1f",
    "bell": "PWN\x07",
    "backspace": "PWN\b\b\bOWN",
    "overwrite": "PWN\rOWN",
    "feeds": "PWN\x0bOWN\x0cOWN",
    "NUL": "PWN\0OWN",
    "DEL": "PWN\x7f\x7f",
    "bidi override": "PWN\u202egpj.\u202c\u202d\u202a\u202b",
    "bidi isolate": "PWN\u2066PWN\u2067PWN\u2068PWN\u2069",
    "surrogate": "PWN\ud83d\udc80\ud83d",
}
"""No sequence of ours has the number 9953; every payload holds one that has it, or a character that is forbidden."""

_COLOUR: Final = re.compile(r"\x1b\[([0-9;]*)m")
_SEQUENCE: Final = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*[@-~]|[=>78]|\]22;[a-z]+\x07)")
_OBEYED: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def obeyed(output: bytes, *, is_full_screen: bool = False) -> list[str]:
    """What is in the bytes for a terminal that it would obey, and that a program of ours does not say by itself.

    Printing needs no more than colours. A full screen needs many sequences, but none with the number of a payload.
    """
    text = output.decode(errors="replace").replace("\r\n", "\n")
    ours = _SEQUENCE if is_full_screen else _COLOUR
    forbidden = [match[0] for match in ours.finditer(text) if "9953" in (match[1] or "").split(";")]
    rest = ours.sub("", text)
    if is_full_screen:
        rest = rest.replace("\r", "")
    return forbidden + [rest[max(0, match.start() - 30) : match.end() + 30] for match in _OBEYED.finditer(rest)]
