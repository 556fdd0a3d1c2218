"""Which markup in the text of a session is escaped, and which is left unchanged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from claude_session_player.export import escaping
from claude_session_player.export.commonmark import safe_markdown
from claude_session_player.export.escaping import escape_inline, escape_markdown, escape_text
from claude_session_player.export.transcript import OMITTED
from claude_session_player.transcript.walk import UNLINKED

HARMLESS = (
    "Plain words, *emphasis*, **bold** and `code`.",
    "- a list\n  - in a list\n1. with numbers",
    "| a | b |\n|---|---|\n| `x` | y |",
    "```html\n<script>alert(1)</script>\n# no heading\n```",
    "1. Run:\n   ```bash\n   cat <<EOF\n   ```\n2. Done",
    "- Run:\n    ```html\n    <b>\n    ```",
    "Use `<details>` or ``a ` <b>``.",
    "Indented:\n\n    <b>\n    # no heading\n\nand on.",
    "a < b, a <- b, a << 2, x<1, [brackets], [ ] and f(x)[0]",
    "**Note**: at (12:30), **Result** (good)",
    "R&D costs $5 & more; 100%!",
    "snake_case and __init__.py, C:\\temp\\new",
)
ACTIVE = {
    "<script>alert(1)</script>": "\\<script>alert(1)\\</script>",
    "<!-- gone -->": "\\<!-- gone -->",
    "<?php x ?>": "\\<?php x ?>",
    "an <img src=x onerror=y>": "an \\<img src=x onerror=y>",
    "\\<b> and \\\\<b>": "\\<b> and \\\\\\<b>",
    "[x](javascript:alert)": "[x\\](javascript:alert)",
    "[x](JAVA&#83;CRIPT:alert)": "[x\\](JAVA&#83;CRIPT:alert)",
    "[x](data:text/html,y)": "[x\\](data:text/html,y)",
    "[x]: https://example.org": "[x\\]: https://example.org",
    "**User** (2026-01-17 20:31:59)\nYes": "\\*\\*User\\*\\* (2026-01-17 20:31:59)\nYes",
    "__Tool: Bash__ (Unknown time)": "\\_\\_Tool: Bash\\_\\_ (Unknown time)",
    "&nbsp;**User** (2026-01-17 20:31:59)": "&nbsp;\\*\\*User\\*\\* (2026-01-17 20:31:59)",
    "**User** (2026-01-17 20:31:59) **bold**": "\\*\\*User\\*\\* (2026-01-17 20:31:59) **bold**",
    "One ` open\n`<b>`": "One ` open\n`\\<b>`",
}
MODEL_ONLY = {
    "# Heading": "\\# Heading",
    "- # Heading": "- \\# Heading",
    "Heading\n===": "Heading\n\\===",
    "Heading\n---": "Heading\n\\---",
    "one\n\n---\n\ntwo": "one\n\n\\---\n\ntwo",
    "* * *": "\\* * *",
    "> quote": "\\> quote",
    "[docs](https://example.org)": "[docs\\](https://example.org)",
    "[file](src/main.py:12)": "[file\\](src/main.py:12)",
    "[file](main.py:12)": "[file\\](main.py:12)",
    "<https://example.org>": "\\<https://example.org>",
}


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("by_model", [True, False])
def test_harmless_text_is_unchanged(text: str, by_model: bool) -> None:
    assert safe_markdown(text, by_model=by_model) == text


@pytest.mark.parametrize("text", ACTIVE)
@pytest.mark.parametrize("escape", [escape_markdown, escape_text])
def test_markup_that_affects_more_than_its_words_is_escaped(text: str, escape: Callable[[str], str]) -> None:
    assert escape(text) == ACTIVE[text]


def test_an_image_becomes_a_link_at_most() -> None:
    assert escape_markdown("![x](https://example.org/p.png)") == "\\![x](https://example.org/p.png)"
    assert escape_text("![x](https://example.org/p.png)") == "\\![x\\](https://example.org/p.png)"


@pytest.mark.parametrize("text", MODEL_ONLY)
def test_headings_quotes_rules_and_links_are_left_to_the_model(text: str) -> None:
    assert escape_markdown(text) == text
    assert escape_text(text) == MODEL_ONLY[text]


@pytest.mark.parametrize("title", ["## Session 1f2e3d4c", f"## {UNLINKED}", f"## {OMITTED}", "Session x\n---"])
def test_headings_like_those_of_transcript_sections_are_escaped(title: str) -> None:
    assert escape_markdown(title) in (f"\\{title}", title.replace("\n", "\n\\"))
    assert escape_markdown("## Session summary of today") == "## Session summary of today"


def test_names_stay_legible() -> None:
    assert (
        escape_inline("mcp__wiki__get (src/my_file.py:12) [x] a<1 ~/x")
        == "mcp__wiki__get (src/my_file.py:12) [x] a<1 ~/x"
    )
    assert escape_inline("src/**/*.ts") == "src/\\*\\*/\\*.ts"
    assert escape_inline("&lt;b&gt; `x` <b> \\") == "\\&lt;b\\&gt; \\`x\\` \\<b> \\\\"


@given(st.lists(st.sampled_from([*HARMLESS, *ACTIVE, *MODEL_ONLY, "\n", "*", "_", "a"]), max_size=8).map("".join))
def test_a_long_text_is_escaped_as_a_short_one(text: str) -> None:
    """Long texts are escaped in a way that needs less memory."""
    functions = (escape_inline, escape_markdown, escape_text)
    expected = [escape(text) for escape in functions]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(escaping, "_LONG", 0)
        assert [escape(text) for escape in functions] == expected
