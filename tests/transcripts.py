"""Transcripts parsed back: a plain reference that finds the entries in markdown, and the expected ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from claude_session_player.export.commonmark import single_line
from claude_session_player.export.transcript import HEADINGS, OMITTED, TranscriptStyle
from claude_session_player.format.content import Prose
from claude_session_player.transcript.entries import EntryKind, TranscriptCall
from claude_session_player.transcript.walk import UNLINKED, PlacedEntry
from claude_session_player.util.humanize import transcript_time

_HEAD = re.compile(rf"({'|'.join(sorted(set(HEADINGS.values())))})(?:: (.*))?", re.DOTALL)
_TIME = re.compile(r" \((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|Unknown time)\)")
_SECTION = re.compile(rf"Session \S+|{UNLINKED}|{OMITTED}")
_ADDRESS = re.compile(r"https?:|mailto:|(?![a-z][a-z0-9+-]*:)", re.IGNORECASE)
_NAME = 100


class Head(NamedTuple):
    """The first line of an entry, or without a time the heading of a section."""

    depth: int
    who: str
    about: str = ""
    time: str = ""


def parser(*, is_github: bool) -> MarkdownIt:
    """A parser that allows HTML and links to any address; with or without tables."""
    markdown = MarkdownIt("commonmark", {"html": True, "maxNesting": 1000})
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    return markdown.enable(["table", "strikethrough"]) if is_github else markdown


PARSERS = (parser(is_github=False), parser(is_github=True))


def heads(text: str, markdown: MarkdownIt) -> list[Head]:
    """The entries and sections of a transcript: paragraphs and headings inside block quotes and lists."""
    inside: list[str] = []
    found: list[Head] = []
    for token in markdown.parse(text):
        if token.nesting == 1:
            inside.append(token.tag)
        elif token.nesting == -1:
            inside.pop()
        elif token.type == "inline" and set(inside[:-1]) <= {"blockquote", "ol", "ul", "li"}:
            depth = len(inside) - 1
            if inside[-1] == "p":
                found += _head(depth, token.children or [])
            elif inside[-1] == "h2" and _SECTION.fullmatch(title := _visible_text(token.children or [])):
                found.append(Head(depth, title))
    return found


def _head(depth: int, children: list[Token]) -> Iterator[Head]:
    """An entry starts with bold words, or seems to if no visible word comes before them."""
    starts = [place for place, child in enumerate(children) if child.type == "strong_open"]
    for start in starts:
        if any(map(str.isalnum, _visible_text(children[:start]))):
            return
        end = next(place for place, child in enumerate(children) if place > start and child.type == "strong_close")
        head, time = _HEAD.fullmatch(_text(children[start:end])), _TIME.match(_text(children[end:]))
        if head and time:
            yield Head(depth, head[1], head[2] or "", time[1])
            return


def _visible_text(children: Iterable[Token]) -> str:
    """The visible text: some letters are invisible."""
    return re.sub("[\u115f\u1160\u3164\uffa0\u200b-\u200f\xad]", "", _text(children)).strip()


def _text(children: Iterable[Token]) -> str:
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content for child in children)


def expected(entries: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[Head]:
    """The entries and sections that a transcript should have."""
    for placed in entries:
        entry, depth = placed.entry, placed.depth
        if entry.full_only and not style.is_full:
            continue
        if entry.kind is EntryKind.SECTION:
            yield Head(depth, entry.text)
        elif entry.kind is EntryKind.AGENT:
            yield Head(depth, "Sub-agent", _about(entry.body.id), transcript_time(entry.body.started))
        elif isinstance(entry, TranscriptCall):
            yield from _call(placed, entry, style)
        else:
            about = _about(entry.text) if entry.kind is EntryKind.BLOCK else ""
            yield Head(depth, HEADINGS[entry.kind], about, transcript_time(entry.timestamp))


def _call(placed: PlacedEntry, call: TranscriptCall, style: TranscriptStyle) -> Iterator[Head]:
    result = call.result
    result_head = Head(placed.depth, "Result", _about(call.name), transcript_time(result.timestamp if result else None))
    if placed.is_end:
        if style.is_full or call.is_error or len(call.subagents) > 1:
            yield result_head
        return
    if call.kind is EntryKind.RESULT:
        yield result_head
        return
    yield Head(placed.depth, "Tool", _about(call.name), transcript_time(call.timestamp))
    if not placed.subagents_follow and (reply := call.reply()) is not None:
        returned = call.to_parts(reply).returned
        if returned and isinstance(returned[0], Prose):
            yield result_head


def _about(name: str) -> str:
    return single_line(name, _NAME).strip().replace("\0", "\ufffd")


def forbidden(text: str, markdown: MarkdownIt) -> list[str]:
    """What no transcript may have: HTML, images, link definitions, and links to anything but pages and files."""
    environment: dict[str, object] = {}
    tokens = [t for token in markdown.parse(text, environment) for t in (token, *(token.children or ()))]
    found = [token.content for token in tokens if token.type in ("html_block", "html_inline", "image")]
    links = [str(token.attrGet("href")) for token in tokens if token.type == "link_open"]
    found += [link for link in links if not _ADDRESS.match(link)]
    return found + [f"[{label}]:" for label in environment.get("references", {})]  # type: ignore[attr-defined]
