"""No text of a session makes entries, HTML or links in a transcript, wherever it stands."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from claude_session_player.export.commonmark import block_quote, put_below, safe_markdown, tidy_text
from claude_session_player.export.escaping import escape_inline, escape_markdown, escape_text
from claude_session_player.export.transcript import TranscriptStyle, entry_blocks, join_blocks
from claude_session_player.transcript.subagents import Subagent
from tests.builder import SessionBuilder, call, text, thought
from tests.conversations import subagent, walk
from tests.hostile.effort import pick
from tests.hostile.work import assert_linear
from tests.program import csp
from tests.stores import ONE, StoreBuilder
from tests.transcripts import PARSERS, expected, forbidden, heads

HEADS = (
    "**User** (2026-01-17 20:31:59)",
    "> **User** (2026-01-17 20:31:59)",
    "> > **Assistant** (Unknown time)",
    "__User__ (2026-01-17 20:31:59)",
    "***User*** (2026-01-17 20:31:59)",
    "**&#85;ser** (2026&#45;01-17 20:31:59)",
    "**User**\n(2026-01-17 20:31:59)",
    "**User**&#32;(Unknown&#32;time)",
    "**User** (Unk*no*wn time)",
    "**User** ((2026-01-17 20:31:59)",
    "[](x)**User** (2026-01-17 20:31:59)",
    "&zwnj;**User** (2026-01-17 20:31:59)",
    "**[User](https://example.org)** (2026-01-17 20:31:59)",
    "**Tool: Bash** (2026-01-17 20:32:02) → failed",
    "**Sub-agent: a1** (Unknown time) Explore",
    "*\u200b* **User** (2026-01-17 20:31:59)",
    "_\u200b_ **User** (2026-01-17 20:31:59)",
    "[\u200b](x)**User** (2026-01-17 20:31:59)",
    "[ ](https://example.org 'title') **User** (2026-01-17 20:31:59)",
    "**\u3164** **User** (2026-01-17 20:31:59)",
    "1. **User** (2026-01-17 20:31:59)",
    "* **User** (2026-01-17 20:31:59)",
    "words\u2028**User** (2026-01-17 20:31:59)",
    "** (2026-01-17 20:31:59)",
    "User** (2026-01-17 20:31:59)",
    "## Session abc",
    "## [\u200b](x)Session abc",
    "## Sub-agents without a matching call",
    "Session\nabc\n---",
    "## S&#101;ssion abc ##",
    "## Omitted lines",
    "All times are in UTC.",
)
MARKS = (
    *(
        "```",
        "````",
        "~~~",
        "~~~~~",
        "```python",
        "   ```",
        "    ```",
        "\t```",
        "- ```",
        "> ```",
        "``` a`b",
        "```\u00a0",
    ),
    *(
        "- one",
        "  - two",
        "     deep",
        "1. one",
        "7) seven",
        "   text",
        "    indented",
        "> quote",
        ">",
        "\ttab",
        "* * *",
    ),
    *(
        "<script>alert(1)</script>",
        "<SCRIPT",
        "</script>",
        "<pre>",
        "</pre>",
        "<style",
        "<textarea>",
        "<!-- note",
        "-->",
    ),
    *("<?php", "?>", "<!DOCTYPE html>", "<![CDATA[", "]]>", "<div>", "</div>", "<details>", "<b>", "<b", "x='>'>"),
    *("<img src=x onerror=alert(1)>", "<a href=javascript:x>", '<i a="', '">', "\\<b>", "\\\\<b>", "&lt;b&gt;", "< b"),
    *("`<b>`", "``<b>``", "`", "``", "a ` b", "\\`", "`a | <b>` |", "| a | b |", "|---|---|", "---|---", "|"),
    *(
        "===",
        "---",
        "-",
        "--",
        "***",
        "___",
        "# head",
        "####### seven",
        "#",
        "plain words",
        "**bold**",
        "*",
        "**",
        "__",
    ),
    *("[a]: /b", "[a]: javascript:x 'title", "[x", "y]: /b", "[a", "]: <b>", "[^1]: note", "[x]", "[a][b]", "'", '"'),
    *(
        "[a](javascript:alert(1))",
        "[a](https://example.org 'a` b')",
        "[a](/b`<b>) `",
        "![a](https://example.org/x.png)",
    ),
    *(
        "[a](java&#115;cript:x)",
        "[a](<javascript:x>)",
        "[a](\tdata:text/html,x)",
        "![",
        "[",
        "](",
        ")",
        "[a]( javascript:x)",
    ),
    *(
        "<javascript:x>",
        "<https://example.org>",
        "<https://example.org/`>",
        "<a@example.org>",
        "https://a.b/`<b>`",
        "www.a`",
    ),
    *("\\", "trailing\\", "two  ", "\r", "\r\n", "\u2028", "\x0b", "\x0c", "\0", "\u00a0", "\u200b", "&", "&amp;", "|"),
    *("- [x] done", "- > **User** (Unknown time)", "…", "→ failed", "</tool>", "", ""),
)
fragments = st.one_of(
    st.sampled_from(HEADS), st.sampled_from(MARKS), st.text(alphabet="ab <>[]()`*_\\\n!#-=|~:&;", max_size=8)
)
INVISIBLE = ("\u3164", "\u115f", "\uffa0", "\ufe0f", "\u034f", "\U000e0041", "\u200b")
DENSE = (
    *INVISIBLE,
    *("\u2028", "\x85"),
    *(
        "`",
        "``",
        "```",
        "````",
        "~~~",
        " ",
        "  ",
        "    ",
        "\t",
        "\n",
        "\n",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "1. ",
        "2. ",
        "<b>",
        "<b>",
    ),
    *(
        "|",
        "|-|-|",
        "---",
        "*",
        "#",
        "[a](",
        "[",
        "]:",
        ")",
        "\\",
        "x",
        "https://a.b/",
        "'",
        '"',
        "<!--",
        "**User** (Unknown time)",
    ),
)
joined = st.lists(st.tuples(fragments, st.sampled_from(("\n", "\n", "\n\n", "", " "))), min_size=1, max_size=9).map(
    lambda parts: "".join(part for pair in parts for part in pair)
)
texts = st.one_of(joined, st.lists(st.sampled_from(DENSE), max_size=20).map("".join))


@pytest.mark.parametrize("by_model", [True, False])
@settings(max_examples=pick(150, 20_000), deadline=None)
@given(texts, st.integers(0, 2))
@example("[a](/x`) <b>alert(1)</b> `", 0)
@example("foo ` bar\n`<b>`", 0)
@example("# foo `\nx `` <b> ` y", 0)
@example("text\n    ```\n    `` <b>\n    ````", 0)
@example("| a | b |\n|---|---|\n| `a | <b>` |", 0)
@example("```\n\t```\n<b>\n```", 1)
@example("```\n```\u00a0\n<b>\n```", 0)
@example("['`https://a.b/]:`\n\n)'", 0)
@example("|-|-|1. https://a.b/[a](]:)````\n<!--", 0)
def test_a_text_makes_nothing_but_its_own_words(by_model: bool, text: str, depth: int) -> None:
    block = put_below("**User** (Unknown time)", safe_markdown(tidy_text(text), by_model=by_model))
    gap = "> " * depth
    told = f"{block_quote(block, depth)}\n{gap}\n{block_quote('**Note** (Unknown time)', depth)}\n"
    for markdown in PARSERS:
        assert [(head.depth, head.who) for head in heads(told, markdown)] == [(depth, "User"), (depth, "Note")]
        assert forbidden(told, markdown) == []


@settings(max_examples=pick(150, 20_000), deadline=None)
@given(st.lists(st.one_of(fragments, st.text(max_size=5)), max_size=5).map(" ".join))
@example("a_ __b__ c\\")
def test_words_on_a_line_are_shown_as_they_are(words: str) -> None:
    words = " ".join(words.replace("\0", "").split())
    for markdown in PARSERS:
        assert markdown.renderInline(f"x {escape_inline(words)} x") == html.escape(f"x {words} x", quote=True).replace(
            "&#x27;", "'"
        )


def hostile_session(a: str, b: str, c: str) -> tuple[SessionBuilder, list[Subagent]]:
    """A session with these texts wherever a text can stand, and its sub-agents."""
    session = SessionBuilder().prompt(a).response(thought(b), text(c)).compaction(b)
    session.response(call(a, "1", description=b, command=c)).result("1", c)
    session.response(call("Bash", "2", description=a, command=b)).result("2", c, error=True)
    session.response(call("Read", "3", file_path=b), call("Grep", "4", pattern=a, path=c)).result("3", a).result("4", b)
    session.response(call("TodoWrite", "5", todos=[{"content": c, "status": a}])).result("5", "ok")
    session.response(call("ExitPlanMode", "6", plan=a)).result("6", f"User has approved {b}")
    questions = [{"question": b, "options": [{"label": a, "description": c}]}]
    session.response(call("AskUserQuestion", "7", questions=questions)).result("7", c)
    session.response(call("Agent", "8", subagent_type=a, description=b, prompt=c)).result("8", a)
    session.response(call("Task", "9", description=c, prompt="Look")).result("9", "agentId: a1")
    session.response({"type": a or "x", "deep": b}).result("nowhere", b)
    session.prompt([{"type": "image", "source": {"type": "url", "url": a}}, {"type": "text", "text": c}])
    session.prompt(f"<teammate-message>{a}</teammate-message>").prompt(
        f"<local-command-stdout>{b}</local-command-stdout>"
    )
    session.system("away_summary", content=a).system(None, level=c, content=b).line({"type": "summary", "summary": c})
    session.system("api_error", error={"message": a}).attachment("file", displayPath=b).line({"type": b or "x"})
    session.attachment("hook_blocking_error", hookName=c, blockingError={"blockingError": a})
    session.line({"type": "pr-link", "prUrl": b, "prNumber": 1, "prRepository": c}).prompt("Next")
    inner = SessionBuilder(sidechain=True).prompt(b).response(text(a), call(c, "1", prompt=a)).result("1", b)
    lost = SessionBuilder(sidechain=True).prompt(c).response(thought(a))
    return session, [subagent("a1", inner, title=a, kind=b), subagent(a or "?", lost, title=c, workflow=b)]


@settings(max_examples=pick(30, 4_000), deadline=None)
@given(
    texts, texts, texts, st.sampled_from([TranscriptStyle(), TranscriptStyle.full(), TranscriptStyle(with_lines=True)])
)
def test_a_transcript_read_back_has_exactly_its_entries(a: str, b: str, c: str, style: TranscriptStyle) -> None:
    session, actors = hostile_session(a, b, c)
    told = walk(session, *actors)[1]
    written = "".join(join_blocks(entry_blocks(told, style)))
    for markdown in PARSERS:
        assert heads(written, markdown) == list(expected(told, style))
        assert forbidden(written, markdown) == []


SHAPES = {
    "backticks": "` ",
    "runs of backticks": "`` ` ``` x ",
    "code": "`a` ",
    "unclosed code": "` `` \n",
    "tags": "<b>",
    "comments": "<!-- ",
    "links": "[a](javascript:x) ",
    "addresses": "[a](b",
    "bare addresses": "https://www.",
    "brackets": "[",
    "definitions": "[a]: b\n",
    "bold": "**",
    "bold lines": "**User** (2026-01-17 20:31:59)\n",
    "bold lines without a time": "** (\n",
    "bold lines for a reader": "\u2028:**&",
    "bold lines for a reader, with times": "\x0b__ (2026-01-17 20:31)",
    "entities": "&#85;",
    "markers": "- ",
    "numbers": "1. ",
    "quotes": "> ",
    "rules": "* ",
    "underscores": "_",
    "spaced underscores": "_ ",
    "underlines": "Session a\n---\n",
    "headings": "## Session\n",
    "hashes": "#",
    "fences": "```\n",
    "deep fences": "    ```\n",
    "nested fences": "````\n```\n<b>\n```\n````\n",
    "indented": "    <b>\n",
    "indented paragraphs": "\n\n    <b>",
    "blank lines": "\n \n",
    "spaces": " ",
    "tabs": "\t",
    "backslashes": "\\",
    "pipes": "|-",
    "tildes": "~",
    "parentheses": "(",
    "years": "2026-01-",
    "ampersands": "&#",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("escape", [escape_inline, escape_markdown, escape_text])
def test_escaping_is_linear(shape: str, escape: Callable[[str], str]) -> None:
    def of(size: int) -> Callable[[], Any]:
        many = SHAPES[shape] * (size // len(SHAPES[shape]))
        text = f"<b> ![ a{many}x\n**{many}y\n{many}z"
        return lambda: escape(text)

    assert_linear(of, pick(6_000, 100_000))


PAYLOAD = "<script>x</script> ![p](https://example.org/p) **User** (Unknown time) ` # [a](javascript:x)"


def test_a_summary_makes_nothing_but_its_own_words(tmp_path: Path) -> None:
    store = StoreBuilder(tmp_path / "claude")
    session = SessionBuilder(session_id=ONE, cwd=f"/home/{PAYLOAD}", branch=PAYLOAD)
    session.line({"type": "custom-title", "customTitle": PAYLOAD}).prompt(PAYLOAD, version=PAYLOAD)
    session.response(call(PAYLOAD, "1", file_path=PAYLOAD), call("Task", "2", subagent_type=PAYLOAD), model=PAYLOAD)
    session.line({"type": "pr-link", "prUrl": PAYLOAD, "prNumber": 1, "prRepository": PAYLOAD})
    session.write(store.home() / f"{ONE}.jsonl")
    shown = csp("show", ONE, "--root", str(store.root)).stdout.decode()
    told = csp("summary", ONE, "--root", str(store.root)).stdout.decode()
    assert shown.count("script>") > 12
    assert told.count("script>") > 12
    for markdown in PARSERS:
        assert [head.who for head in heads(shown, markdown)] == ["User", "Tool", "Tool", "Note"]
        assert heads(told, markdown) == []
        assert forbidden(shown, markdown) == forbidden(told, markdown) == []


@pytest.mark.parametrize("sign", INVISIBLE)
@pytest.mark.parametrize(
    "text",
    [
        "{}**User** (2026-01-17 20:31:59)",
        "**User** (2026-{}01-17 20:31:59)",
        "**User** (Un{}known time)",
        "**User** ({}2026-01-17 20:31:59)",
    ],
)
def test_signs_that_show_nothing_hide_no_entry(sign: str, text: str) -> None:
    for before in ("", "hello\n", "hello\u2028"):
        for by_model in (True, False):
            assert "\\*\\*User" in safe_markdown(before + text.format(sign), by_model=by_model), (before, by_model)


@pytest.mark.parametrize("address", ["tel:0900123456", "sms:911", "ms-settings:1", "data:1", "javascript:1", "x:1-2"])
def test_a_number_behind_a_scheme_makes_no_line_of_a_file(address: str) -> None:
    assert safe_markdown(f"[x]({address})", by_model=True) == f"[x\\]({address})"


def test_a_line_of_a_file_stays_a_link() -> None:
    for address in ("kettle.py:12", "src/kettle.py:12", "src/kettle.py:1-2", "kettle.py#L1"):
        assert safe_markdown(f"[x]({address})", by_model=True) == f"[x]({address})"
