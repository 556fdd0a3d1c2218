"""Transcripts read back: a plain reference that takes entries out of markdown, and what they should be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from claude_session_player.export.commonmark import single_line
from claude_session_player.export.transcript import HEADINGS, TranscriptStyle
from claude_session_player.format.content import Prose
from claude_session_player.transcript.entries import EntryKind, TranscriptCall
from claude_session_player.transcript.walk import PlacedEntry
from claude_session_player.util.humanize import transcript_time

_HEAD = re.compile(rf"({'|'.join(sorted(set(HEADINGS.values())))})(?:: (.*))?", re.DOTALL)
_TIME = re.compile(r" \((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|Unknown time)\)")
_SECTION = re.compile(r"Session \S+|Sub-agents without a known call|Lines that are not told")
_ADDRESS = re.compile(r"https?:|mailto:|(?![a-z][a-z0-9+-]*:)", re.IGNORECASE)
_NAME = 100


class Head(NamedTuple):
    """How an entry begins, or, with no time, a section."""

    depth: int
    who: str
    about: str = ""
    time: str = ""


def parser(*, is_github: bool) -> MarkdownIt:
    """A parser that believes everything: HTML is HTML, every address is a link; with tables, or without."""
    markdown = MarkdownIt("commonmark", {"html": True, "maxNesting": 1000})
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    return markdown.enable(["table", "strikethrough"]) if is_github else markdown


PARSERS = (parser(is_github=False), parser(is_github=True))


def heads(text: str, markdown: MarkdownIt) -> list[Head]:
    """The entries and sections of a transcript: paragraphs and headings that stand in block quotes, or in lists."""
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
            elif inside[-1] == "h2" and _SECTION.fullmatch(title := _seen(token.children or [])):
                found.append(Head(depth, title))
    return found


def _head(depth: int, children: list[Token]) -> Iterator[Head]:
    """An entry begins with bold words, or so it seems where nothing before them shows a word."""
    starts = [place for place, child in enumerate(children) if child.type == "strong_open"]
    for start in starts:
        if any(map(str.isalnum, _seen(children[:start]))):
            return
        end = next(place for place, child in enumerate(children) if place > start and child.type == "strong_close")
        head, time = _HEAD.fullmatch(_text(children[start:end])), _TIME.match(_text(children[end:]))
        if head and time:
            yield Head(depth, head[1], head[2] or "", time[1])
            return


def _seen(children: Iterable[Token]) -> str:
    """What shows of a text: letters that do not, do not count."""
    return re.sub("[\u115f\u1160\u3164\uffa0\u200b-\u200f\xad]", "", _text(children)).strip()


def _text(children: Iterable[Token]) -> str:
    return "".join(" " if child.type in ("softbreak", "hardbreak") else child.content for child in children)


def expected(told: Iterable[PlacedEntry], style: TranscriptStyle) -> Iterator[Head]:
    """The entries and sections that a transcript holds."""
    for one in told:
        entry, depth = one.entry, one.depth
        if entry.full_only and not style.is_full:
            continue
        if entry.kind is EntryKind.SECTION:
            yield Head(depth, entry.text)
        elif entry.kind is EntryKind.AGENT:
            yield Head(depth, "Agent", _about(entry.body.id), transcript_time(entry.body.started))
        elif isinstance(entry, TranscriptCall):
            yield from _call(one, entry, style)
        else:
            about = _about(entry.text) if entry.kind is EntryKind.BLOCK else ""
            yield Head(depth, HEADINGS[entry.kind], about, transcript_time(entry.timestamp))


def _call(told: PlacedEntry, call: TranscriptCall, style: TranscriptStyle) -> Iterator[Head]:
    result = call.result
    answer = Head(told.depth, "Result", _about(call.name), transcript_time(result.timestamp if result else None))
    if told.is_end:
        if style.is_full or call.is_error or len(call.subagents) > 1:
            yield answer
        return
    if call.kind is EntryKind.RESULT:
        yield answer
        return
    yield Head(told.depth, "Tool", _about(call.name), transcript_time(call.timestamp))
    if not told.subagents_follow and (reply := call.reply()) is not None:
        returned = call.to_parts(reply).returned
        if returned and isinstance(returned[0], Prose):
            yield answer


def _about(name: str) -> str:
    return single_line(name, _NAME).strip().replace("\0", "\ufffd")


def alien(text: str, markdown: MarkdownIt) -> list[str]:
    """What no transcript holds: HTML, images, links to anything but pages and files, definitions of links."""
    environment: dict[str, object] = {}
    tokens = [t for token in markdown.parse(text, environment) for t in (token, *(token.children or ()))]
    found = [token.content for token in tokens if token.type in ("html_block", "html_inline", "image")]
    links = [str(token.attrGet("href")) for token in tokens if token.type == "link_open"]
    found += [link for link in links if not _ADDRESS.match(link)]
    return found + [f"[{label}]:" for label in environment.get("references", {})]  # type: ignore[attr-defined]
