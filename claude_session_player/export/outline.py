"""An outline as text, one line a node, and as JSON. However deep it is, no function calls itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.cells import cell_len, set_cell_size

from claude_session_player.format import lenient_json
from claude_session_player.transcript import Node, NodeKind
from claude_session_player.util.humanize import plural
from claude_session_player.util.text import ELLIPSIS, printable
from claude_session_player.util.times import parse_time, to_zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import tzinfo

_WIDEST: Final = 120
_DEEPEST: Final = 36
"""So many columns of a line are at most for its place in the tree."""
_KEPT: Final = _DEEPEST + 3
"""So much is kept of that: enough to see that it is too long, or a tree of n levels would have n² of it."""
_LEAST: Final = 12
_SHORT: Final = 8
_UUID: Final = 36


class OutlineLine(NamedTuple):
    """What is said of a node: the middle gives way where there is no room."""

    head: str
    middle: str = ""
    tail: str = ""


def draw_outline(root: Node, zone: tzinfo | None, width: int | None = None) -> Iterator[str]:
    """The lines of a tree; `width` is that of the terminal."""
    yield _fitted("", _WORDS[root.kind](root.facts, zone), width)
    waiting = [(child, "", number == len(root.children)) for number, child in enumerate(root.children, 1)][::-1]
    while waiting:
        node, indent, is_last = waiting.pop()
        yield _fitted(f"{indent}{'└─' if is_last else '├─'} ", _WORDS[node.kind](node.facts, zone), width)
        below = (indent + ("   " if is_last else "│  "))[-_KEPT:]
        count = len(node.children)
        waiting += [(child, below, number == count) for number, child in enumerate(node.children, 1)][::-1]


def encode_outline(root: Node) -> str:
    """The same tree as a JSON object: `children` are objects like it."""
    pieces: list[str] = []
    waiting: list[Node | str] = [root]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        pieces.append(lenient_json.compact({"kind": part.kind, **part.facts})[:-1] + ',"children":[')
        waiting.append("]}")
        for child in reversed(part.children):
            waiting += (child, ",")
        if part.children:
            waiting.pop()
    return "".join(pieces)


def _fitted(indent: str, line: OutlineLine, width: int | None) -> str:
    if len(indent) > _DEEPEST:
        indent = ELLIPSIS + indent[1 - _DEEPEST :]
    head, middle, tail = map(printable, line)
    room = (width or _WIDEST) - len(indent) - sum(cell_len(part) + 2 for part in (head, tail) if part)
    room = max(room, _LEAST)
    if cell_len(middle) > room:
        middle = set_cell_size(middle, room - 1).rstrip() + ELLIPSIS
    text = indent + "  ".join(part for part in (head, middle, tail) if part)
    return text if width is None or cell_len(text) <= width else set_cell_size(text, width - 1) + ELLIPSIS


# --- the words for each kind of node ---------------------------------------------------------------


def _session(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    branches = f", {plural(facts['branches'], 'branch', 'branches')}" if facts["branches"] > 1 else ""
    about = "  ".join(filter(None, (facts["title"] or "(no title)", facts["project"])))
    return OutlineLine(_short(facts["id"]), about, plural(facts["events"], "event") + branches)


def _segment(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    said = [plural(facts[key], key[:-1]) for key in ("prompts", "responses") if facts[key]]
    return OutlineLine(_place(facts, zone), _prompt(facts), ", ".join(said))


def _branch(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    name = f"branch {facts['number']}{' ● live' if facts['live'] else ''}" if facts["number"] else ""
    lines = plural(facts["lines"], "line") if facts["lines"] is not None else ""
    return OutlineLine("  ".join(filter(None, (name, _place(facts, zone)))), _prompt(facts), lines)


def _fork(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return OutlineLine(f"fork at line {facts['line']}")


def _compaction(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    tokens = f"{facts['tokens']:,} tokens" if facts["tokens"] is not None else ""
    about = ", ".join(filter(None, (facts["trigger"], tokens)))
    return OutlineLine(f"compacted at line {facts['line']}{f' ({about})' if about else ''}")


def _said(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return OutlineLine(_place(facts, zone), _prompt(facts))


def _agent(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    head = "  ".join(filter(None, (f"agent {_short(facts['id'])}", facts["agent"])))
    return OutlineLine(
        head, facts["title"] or "", plural(facts["events"], "event") + ("" if facts["linked"] else ", no call found")
    )


def _workflow(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    tail = ", ".join(filter(None, (plural(facts["agents"], "agent"), facts["status"])))
    return OutlineLine(f"workflow {facts['id']}", facts["name"] or "", tail)


def _continues(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return _linked("resumed from" if facts["common"] else "continues", facts)


def _continued(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return _linked("resumed as" if facts["common"] else "continued by", facts)


def _linked(words: str, facts: dict[str, Any]) -> OutlineLine:
    common = f"{plural(facts['common'], 'event')} in common" if facts["common"] else ""
    if facts["copy"]:
        return OutlineLine("copied before a compaction", facts["id"], common)
    return OutlineLine(f"{words} {_short(facts['id'])}", facts["title"] or "", common)


_WORDS: Final[dict[str, Callable[[dict[str, Any], tzinfo | None], OutlineLine]]] = {
    NodeKind.SESSION: _session,
    NodeKind.SEGMENT: _segment,
    NodeKind.BRANCH: _branch,
    NodeKind.FORK: _fork,
    NodeKind.COMPACTION: _compaction,
    NodeKind.PROMPT: _said,
    NodeKind.AGENT: _agent,
    NodeKind.WORKFLOW: _workflow,
    NodeKind.CONTINUES: _continues,
    NodeKind.CONTINUED: _continued,
}


def _place(facts: dict[str, Any], zone: tzinfo | None) -> str:
    line = f"line {facts['line']}" if facts["line"] is not None else ""
    return "  ".join(filter(None, (line, _moment(facts["time"], zone))))


def _prompt(facts: dict[str, Any]) -> str:
    return f"❯ {facts['prompt']}" if facts["prompt"] else "(goes on)"


def _moment(time: str | None, zone: tzinfo | None) -> str:
    try:
        return f"{to_zone(parse_time(time), zone):%m-%d %H:%M}" if time else ""
    except (ValueError, OverflowError):
        return ""


def _short(id: str) -> str:
    """The beginning of an id that is as long as a uuid.

    >>> _short("1f2e3d4c-0001-4000-8000-000000000001"), _short("a5b6c7d8")
    ('1f2e3d4c', 'a5b6c7d8')
    """
    return id[:_SHORT] if len(id) >= _UUID else id
