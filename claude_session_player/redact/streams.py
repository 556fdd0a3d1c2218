"""Secrets that are spread over several records: texts that arrive in pieces, as a model streams them.

The texts of a response, or of a running command, are joined as they are read. What is found in several pieces is
masked in each of them by where it is: pieces of a few characters cannot be recognized by what they say.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from claude_session_player.format.blocks import DECODE_ERRORS
from claude_session_player.redact.masks import without_tags
from claude_session_player.redact.values import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from claude_session_player.redact.redactor import Redactor
    from claude_session_player.redact.report import Place
    from claude_session_player.redact.rule import Find

_TAIL: Final = 8 << 10
"""Characters at the end of a text that are joined with what follows it."""
_FRESH: Final = _TAIL // 2
"""Characters that are waited for before pieces are joined."""
_STREAMS: Final = 64
_HEAD: Final = 1500
"""Bytes at the beginning of a line that say to which stream it belongs."""
_STREAM: Final = re.compile(rb'"id"\s*:\s*"([^"]{1,100})"')
_ID: Final = b'"id"'
_DELTA: Final = b"stream_event"
_STREAMED: Final = (b'"text"', b'"thinking"')
_REPEATED: Final = 64
"""Characters by which a text is recognized that repeats another."""

_decode: Final = msgspec.json.Decoder().decode


class StreamCut(NamedTuple):
    """A part of a streamed text that belongs to a secret in several pieces."""

    text: int
    """The number of the text among those that its record streams."""
    start: int
    end: int
    value: str
    """The whole secret."""
    name: str
    """That of the rule that found it."""


class _Piece(NamedTuple):
    text: str
    line: int
    number: int
    """That of the text in its record."""
    offset: int
    """Where the piece begins in this text."""


class _Stream:
    """What was read of a text, as far as it may go on."""

    def __init__(self) -> None:
        self.pieces: list[_Piece] = []
        self.fresh = 0
        """Characters that were not joined with others yet."""
        self.last = (0, -1)
        """The last text: its line, and its number there."""

    def repeats(self, text: str) -> bool:
        """True for a text that begins with the last one, instead of going on with it."""
        last = self.pieces[-1].text[:_REPEATED] if self.pieces else ""
        return len(last) >= SHORTEST and text.startswith(last)

    def cut(self) -> None:
        """Keep only the end."""
        size = 0
        for at in range(len(self.pieces) - 1, -1, -1):
            size += len(self.pieces[at].text)
            if size >= _TAIL:
                del self.pieces[:at]
                break
        self.fresh = 0


class Streams:
    """Joins the texts of a file that are written in several records, and learns what they say together."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._first: OrderedDict[bytes, tuple[bytes, int]] = OrderedDict()
        """By stream: its first line, until a second one comes; most have only one."""
        self.cuts: dict[int, list[StreamCut]] = {}
        """What has to be masked, by the numbers of lines."""

    def goes_on(self, line: bytes, number: int) -> bool:
        """True for a line that goes on with what an earlier one began; the earlier one is added then."""
        if line.find(_DELTA, 0, _HEAD) >= 0:
            return True
        if (at := line.find(_ID, 0, _HEAD)) < 0 or (match := _STREAM.match(line, at)) is None:
            return False
        name = match[1]
        first = self._first.get(name)
        if first is None:
            self._first[name] = line, number
            if len(self._first) > _STREAMS:
                self._first.popitem(last=False)
            return False
        if not any(sign in line for sign in _STREAMED):
            return False
        if first[0]:
            self._first[name] = b"", 0
            with suppress(*DECODE_ERRORS):
                self.add(_decode(first[0]), first[1])
        return True

    def add(self, record: Any, line: int) -> None:
        """Add the texts of a record, whose line has this number."""
        for number, (name, is_delta, holder, key) in enumerate(_streamed_texts(record)):
            text = holder[key]
            stream = self._streams.pop(name, None) or _Stream()
            self._streams[name] = stream
            if len(self._streams) > _STREAMS:
                self._join(self._streams.popitem(last=False)[1])
            if (line, number) <= stream.last:  # a first line, which was decoded for another reason
                continue
            stream.last = line, number
            if not is_delta and stream.repeats(text):
                self._join(stream)
                stream.pieces.clear()
            if len(text) <= _TAIL:
                stream.pieces.append(_Piece(text, line, number, 0))
                stream.fresh += len(text)
                if stream.fresh >= _FRESH:
                    self._join(stream)
                    stream.cut()
            else:
                stream.pieces.append(_Piece(text[:_TAIL], line, number, 0))
                self._join(stream)
                stream.pieces = [_Piece(text[-_TAIL:], line, number, len(text) - _TAIL)]
                stream.fresh = 0

    def finish(self) -> None:
        """Learn what the last texts say."""
        for stream in self._streams.values():
            self._join(stream)
        self._streams.clear()

    def _join(self, stream: _Stream) -> None:
        pieces = stream.pieces
        if len(pieces) < 2 or not stream.fresh:
            return
        texts = [piece.text for piece in pieces]
        self._redactor.learn_pieces(texts)
        text = "".join(texts)
        for find in (*self._redactor.secrets(text), *self._redactor.values.finds(text)):
            self._cut(find, pieces)

    def _cut(self, find: Find, pieces: Sequence[_Piece]) -> None:
        """Note the parts of a find, if it is in more than one piece."""
        at = 0
        parts: list[tuple[int, StreamCut]] = []
        for piece in pieces:
            start, end = max(find.start - at, 0), min(find.end - at, len(piece.text))
            at += len(piece.text)
            if start < end:
                offset = piece.offset
                parts.append(
                    (piece.line, StreamCut(piece.number, start + offset, end + offset, find.value, find.rule.name))
                )
        for line, cut in parts if len(parts) > 1 else ():
            cuts = self.cuts.setdefault(line, [])
            if cut not in cuts:
                cuts.append(cut)


def cut_texts(record: Any, cuts: Sequence[StreamCut], redactor: Redactor, place: Place) -> None:
    """Put masks in place of parts of secrets in the streamed texts of a record."""
    texts = list(_streamed_texts(record))
    behind: dict[int, int] = {}
    """Where the last cut in a text begins."""
    for cut in sorted(cuts, key=lambda cut: (cut.text, cut.start), reverse=True):
        if cut.text >= len(texts):
            continue
        _, _, holder, key = texts[cut.text]
        end = min(cut.end, behind.get(cut.text, cut.end))
        behind[cut.text] = cut.start
        mask = redactor.masked(cut.value, place=place)
        if without_tags(mask):  # a value that is no secret by itself
            mask = f"[{cut.name}-1]"
        holder[key] = holder[key][: cut.start] + mask + holder[key][end:]


def _streamed_texts(record: Any) -> Iterator[tuple[str, bool, dict[str, Any], str]]:
    """The texts that a record adds to something longer: the name of that, whether they are deltas, and their fields."""
    if type(record) is not dict:
        return
    message = record.get("message")
    if type(message) is dict and type(message.get("id")) is str:
        content = message.get("content")
        if type(content) is str and content:
            yield f"text {message['id']}", False, message, "content"
        for block in content if type(content) is list else ():
            if type(block) is dict:
                for key in ("text", "thinking"):
                    if type(text := block.get(key)) is str and text:
                        yield f"{key} {message['id']}", False, block, key
    event = record.get("event")
    if type(event) is dict and type(delta := event.get("delta")) is dict:
        for key in ("text", "thinking", "partial_json"):
            if type(text := delta.get(key)) is str and text:
                yield f"{key} {record.get('session_id')} {event.get('index')}", True, delta, key
