"""Any tree of files: every session has a structure and a summary, and skimming counts what a close look counts."""

from __future__ import annotations

import json
from datetime import UTC

from hypothesis import given
from rich.cells import cell_len

from claude_session_player import Filter
from claude_session_player.export.outline import draw_outline, encode_outline
from claude_session_player.export.summary import summary_markdown
from claude_session_player.transcript.chains import chain_of, relatives_of
from claude_session_player.transcript.outline import build_outline
from tests.test_outline import CONTRACT
from tests.test_store_properties import built, damaged, trees
from tests.test_summarize import compare

EVERYTHING = Filter(include_subagents=True)


@given(trees)
def test_every_session_of_any_store_has_a_structure_and_a_summary(
    tree: dict[tuple[tuple[str, ...], str], bytes | str],
) -> None:
    with built(tree) as builder:
        store = builder.open()
        for session in store.sessions(EVERYTHING):
            outline = build_outline(session, relatives_of(session, store), with_prompts=True)
            CONTRACT.validate(json.loads(encode_outline(outline.root)))
            assert all(cell_len(line) <= 80 for line in draw_outline(outline.root, UTC, 80))
            assert all("\n" not in problem for problem in outline.problems)
            assert summary_markdown(compare(session)).startswith("Session ")
            assert chain_of(session, store)[-1].path == session.path


@given(damaged)
def test_skimming_any_lines_counts_what_a_close_look_counts(lines: list[bytes]) -> None:
    with built({(("projects", "-home-ada"), "1f2e3d4c.jsonl"): b"".join(lines)}) as builder:
        for session in builder.open().sessions():
            compare(session)
            for agent in session.subagents:
                compare(agent)
