"""The outline of a session as text, one line per node, and as JSON; without recursion, for any depth."""

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

_DEFAULT_WIDTH: Final = 120
_MAX_INDENT: Final = 36
"""The most columns of a line that show its place in the tree."""
_KEPT_INDENT: Final = _MAX_INDENT + 3
"""The length of indents that are kept, enough to detect longer ones: full indents would be quadratic in the depth."""
_MIN_TEXT_WIDTH: Final = 12
_SHORT_ID_LENGTH: Final = 8
_UUID_LENGTH: Final = 36


class OutlineLine(NamedTuple):
    """The words for a node; the middle part is truncated if the line is too long."""

    head: str
    middle: str = ""
    tail: str = ""


def draw_outline(root: Node, zone: tzinfo | None, width: int | None = None) -> Iterator[str]:
    """Draw a tree line by line; `width` is that of the terminal."""
    yield _fit("", _DESCRIBERS[root.kind](root.facts, zone), width)
    pending = [(child, "", number == len(root.children)) for number, child in enumerate(root.children, 1)][::-1]
    while pending:
        node, indent, is_last = pending.pop()
        yield _fit(f"{indent}{'└─' if is_last else '├─'} ", _DESCRIBERS[node.kind](node.facts, zone), width)
        below = (indent + ("   " if is_last else "│  "))[-_KEPT_INDENT:]
        count = len(node.children)
        pending += [(child, below, number == count) for number, child in enumerate(node.children, 1)][::-1]


def encode_outline(root: Node) -> str:
    """Encode a tree as a JSON object; `children` are objects of the same kind."""
    pieces: list[str] = []
    pending: list[Node | str] = [root]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            pieces.append(part)
            continue
        pieces.append(lenient_json.compact({"kind": part.kind, **part.facts})[:-1] + ',"children":[')
        pending.append("]}")
        for child in reversed(part.children):
            pending += (child, ",")
        if part.children:
            pending.pop()
    return "".join(pieces)


def _fit(indent: str, line: OutlineLine, width: int | None) -> str:
    if len(indent) > _MAX_INDENT:
        indent = ELLIPSIS + indent[1 - _MAX_INDENT :]
    head, middle, tail = map(printable, line)
    room = (width or _DEFAULT_WIDTH) - len(indent) - sum(cell_len(part) + 2 for part in (head, tail) if part)
    room = max(room, _MIN_TEXT_WIDTH)
    if cell_len(middle) > room:
        middle = set_cell_size(middle, room - 1).rstrip() + ELLIPSIS
    text = indent + "  ".join(part for part in (head, middle, tail) if part)
    return text if width is None or cell_len(text) <= width else set_cell_size(text, width - 1) + ELLIPSIS


# --- the words for each kind of node -----------------------------------------------------------------


def _describe_session(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    branches = f", {plural(facts['branches'], 'branch')}" if facts["branches"] > 1 else ""
    about = "  ".join(filter(None, (facts["title"] or "(no title)", facts["project"])))
    return OutlineLine(_short_id(facts["id"]), about, plural(facts["events"], "event") + branches)


def _describe_segment(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    counts = [plural(facts[key], key[:-1]) for key in ("prompts", "responses") if facts[key]]
    return OutlineLine(_position(facts, zone), _prompt_text(facts), ", ".join(counts))


def _describe_branch(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    name = f"branch {facts['number']}{' ● live' if facts['live'] else ''}" if facts["number"] else ""
    lines = plural(facts["lines"], "line") if facts["lines"] is not None else ""
    return OutlineLine("  ".join(filter(None, (name, _position(facts, zone)))), _prompt_text(facts), lines)


def _describe_fork(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return OutlineLine(f"fork at line {facts['line']}")


def _describe_compaction(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    tokens = f"{facts['tokens']:,} tokens" if facts["tokens"] is not None else ""
    about = ", ".join(filter(None, (facts["trigger"], tokens)))
    return OutlineLine(f"compacted at line {facts['line']}{f' ({about})' if about else ''}")


def _describe_prompt(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return OutlineLine(_position(facts, zone), _prompt_text(facts))


def _describe_agent(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    head = "  ".join(filter(None, (f"sub-agent {_short_id(facts['id'])}", facts["agent"])))
    return OutlineLine(
        head, facts["title"] or "", plural(facts["events"], "event") + ("" if facts["linked"] else ", no matching call")
    )


def _describe_workflow(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    tail = ", ".join(filter(None, (plural(facts["agents"], "sub-agent"), facts["status"])))
    return OutlineLine(f"workflow {facts['id']}", facts["name"] or "", tail)


def _describe_continues(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return _describe_link("resumed from" if facts["common"] else "continues", facts)


def _describe_continued(facts: dict[str, Any], zone: tzinfo | None) -> OutlineLine:
    return _describe_link("resumed as" if facts["common"] else "continued by", facts)


def _describe_link(relation: str, facts: dict[str, Any]) -> OutlineLine:
    common = f"{plural(facts['common'], 'event')} in common" if facts["common"] else ""
    if facts["copy"]:
        return OutlineLine("copy from before a compaction", facts["id"], common)
    return OutlineLine(f"{relation} {_short_id(facts['id'])}", facts["title"] or "", common)


_DESCRIBERS: Final[dict[str, Callable[[dict[str, Any], tzinfo | None], OutlineLine]]] = {
    NodeKind.SESSION: _describe_session,
    NodeKind.SEGMENT: _describe_segment,
    NodeKind.BRANCH: _describe_branch,
    NodeKind.FORK: _describe_fork,
    NodeKind.COMPACTION: _describe_compaction,
    NodeKind.PROMPT: _describe_prompt,
    NodeKind.AGENT: _describe_agent,
    NodeKind.WORKFLOW: _describe_workflow,
    NodeKind.CONTINUES: _describe_continues,
    NodeKind.CONTINUED: _describe_continued,
}


def _position(facts: dict[str, Any], zone: tzinfo | None) -> str:
    line = f"line {facts['line']}" if facts["line"] is not None else ""
    return "  ".join(filter(None, (line, _moment(facts["time"], zone))))


def _prompt_text(facts: dict[str, Any]) -> str:
    return f"❯ {facts['prompt']}" if facts["prompt"] else "(continued)"


def _moment(time: str | None, zone: tzinfo | None) -> str:
    try:
        return f"{to_zone(parse_time(time), zone):%m-%d %H:%M}" if time else ""
    except (ValueError, OverflowError):
        return ""


def _short_id(id: str) -> str:
    """The first characters of an id that is as long as a uuid; shorter ids as they are.

    >>> _short_id("1f2e3d4c-0001-4000-8000-000000000001"), _short_id("a5b6c7d8")
    ('1f2e3d4c', 'a5b6c7d8')
    """
    return id[:_SHORT_ID_LENGTH] if len(id) >= _UUID_LENGTH else id
