"""Whatever text a transcript has, the structure of the document stays intact."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt

from claude_session_player.export.commonmark import (
    block_quote,
    code_block,
    inline_code,
    put_below,
    safe_markdown,
    shorten_text,
    tidy_text,
)
from tests.builder import SessionBuilder, call
from tests.conversations import markdown, subagent

MARKDOWN = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
PIECES = (
    "```",
    "````",
    "~~~",
    "```python",
    "   ```",
    "    ```",
    "- ```",
    "1. one",
    "   text",
    "> ```",
    "> quote",
    "<!-- note",
    "-->",
    "<pre>",
    "</pre>",
    "<div>",
    "<?php",
    "<![CDATA[",
    "| a | b |",
    "|---|---|",
    "===",
    "---",
    "# head",
    "plain words",
    "`tick`",
    "",
    "\ttab",
    "[a]: /b",
    "\r",
)
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("\n".join)


def heads(text: str) -> list[tuple[int, str]]:
    """The paragraphs that start in bold, with the depth of their block quotes."""
    depth, found, before = 0, [], ""
    for token in MARKDOWN.parse(text):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        kind, before = before, token.type
        if token.type == "inline" and kind == "paragraph_open" and re.match(r"\*\*[A-Z]", token.content):
            found.append((depth, token.content.split("\n")[0]))
    return found


@given(texts, st.integers(0, 3))
@example("```\nnever closed", 0)
@example("- list\n  ```\n  never closed", 1)
@example("<div>\n```\n\n```\nopen", 0)
@example("> ```\n```", 0)
@example("\ttab\n</pre>\n```", 1)
@example("first line\nsecond line\n---\nrest", 0)
def test_a_text_never_includes_what_follows_it(text: str, depth: int) -> None:
    block = put_below("**Head**", safe_markdown(tidy_text(text), by_model=True))
    gap = "> " * depth
    document = f"{block_quote(block, depth)}\n{gap}\n{block_quote('**Next**', depth)}\n"
    assert heads(document) == [(depth, "**Head**"), (depth, "**Next**")]


@given(texts, st.integers(0, 3))
def test_code_is_unchanged(text: str, depth: int) -> None:
    text = tidy_text(text)
    tokens = MARKDOWN.parse(block_quote(code_block(text, "diff"), depth))
    fences = [(token.content, token.info) for token in tokens if token.type == "fence"]
    assert fences == [(f"{text}\n", "diff")]


@given(st.text(alphabet="ab `", min_size=1).filter(str.strip))
def test_inline_code_is_unchanged(name: str) -> None:
    (inline,) = [token for token in MARKDOWN.parse(f"x {inline_code(name)}") if token.type == "inline"]
    assert inline.children is not None
    assert [child.content for child in inline.children if child.type == "code_inline"] == [name]


def test_every_line_of_a_quote_keeps_its_depth() -> None:
    assert block_quote("one\n\ntwo", 2).split("\n") == ["> > one", "> > ", "> > two"]


@pytest.mark.parametrize(
    "text", ["Plain words", "Words\n- and a list", "Words\n\nand more", "Words `code`", "Größe", "“Quoted”"]
)
def test_plain_words_follow_their_heading_at_once(text: str) -> None:
    assert put_below("**User**", text) == f"**User**\n{text}"


@pytest.mark.parametrize("text", ["- list", "1. list", "| a |\n|---|", "Title\n===", "    code", "```\n```", "# Head"])
def test_other_text_follows_after_a_blank_line(text: str) -> None:
    assert put_below("**User**", text) == f"**User**\n\n{text}"


HOSTILE = st.sampled_from(("x\n\n```", "<!--", "a\n# b", "\x1b[2J", "**", "> q", "`", "\r\n\r\n~~~"))


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_text_of_a_file_breaks_out_of_its_entry(trigger: str, name: str, words: str) -> None:
    session = SessionBuilder().compaction(trigger)
    session.response(call(name, "a", description=words, command=words), {"type": name})
    session.result("a", words).response(call("TodoWrite", "t", todos=[{"content": words, "status": name}]))
    session.prompt([{"type": "image", "source": {"type": "url", "url": words}}])
    session.response(call("Task", "g", description=words, prompt="Look")).result("g", "agentId: a1")
    session.system("away_summary", content=words).line({"type": "summary", "summary": words}).prompt("Next")
    document = markdown(session, subagent("a1", SessionBuilder().prompt(words), title=words, kind=name))
    assert heads(document)[-1] == (0, "**User** (2026-01-17 20:32:09)")
    assert "\x1b" not in document


def test_ordinary_markdown_is_left_alone() -> None:
    text = "Run:\n\n1. this\n   ```bash\n   ls\n\n   ```\n2. that\n\n```python\nif a < b:\n    pass\n```"
    assert safe_markdown(text, by_model=True) == text


def test_a_shortened_text_says_how_much_is_missing() -> None:
    assert shorten_text("1\n2\n3", 3) == "1\n2\n3"
    assert shorten_text("1\n2\n3", 2) == "1\n2\n… 1 more line"
    assert shorten_text("1\n2\n3", None) == "1\n2\n3"
