"""Redacted copies of files that cannot be read, that change meanwhile, and of secrets in several pieces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claude_session_player.errors import CannotRead
from claude_session_player.redact import Redactor, SourceFile, copy_redacted
from claude_session_player.redact.samples import expand
from tests.builder import SessionBuilder

TOKEN = expand("ghp_{a36}", 1)


def copied(sources: list[SourceFile], folder: Path, redactor: Redactor | None = None) -> list[str]:
    """Copy files, and return what could not be read."""

    def target_of(source: SourceFile) -> str:
        return str(folder / Path(source.path).name)

    return copy_redacted(sources, redactor or Redactor(), target_of).unread


def test_a_sub_agent_that_cannot_be_read_is_named_and_the_rest_is_copied(tmp_path: Path) -> None:
    main = SessionBuilder().prompt("Hello").write(tmp_path / "main.jsonl")
    agent = tmp_path / "agent-1.jsonl"
    agent.mkdir()  # root may read every file, but nobody a directory
    unread = copied([SourceFile(str(main), "1"), SourceFile(str(agent), "1", "main/agent-1.jsonl")], tmp_path / "out")
    assert unread == ["main/agent-1.jsonl (Is a directory)"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["main.jsonl"]
    with pytest.raises(CannotRead, match="Is a directory"):
        copied([SourceFile(str(agent), "1")], tmp_path / "out")


# --- files that change meanwhile --------------------------------------------------------------------------


def said(text: str) -> bytes:
    record = {"type": "user", "message": {"role": "user", "content": text}}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("reports_places", [True, False])
@pytest.mark.parametrize("after", [said(TOKEN) * 10, said(TOKEN + "x" * 460) * 3, said("x" * 500), b""])
def test_a_file_that_is_rewritten_between_the_passes_is_not_copied(
    after: bytes, reports_places: bool, tmp_path: Path
) -> None:
    path, target = tmp_path / "session.jsonl", tmp_path / "copy.jsonl"
    path.write_bytes(said("x" * 500) * 3)

    def rewritten(source: SourceFile) -> str:
        path.write_bytes(after)
        return str(target)

    with pytest.raises(CannotRead, match=r"session\.jsonl: it was rewritten while it was read: try again"):
        copy_redacted([SourceFile(str(path), "1")], Redactor(reports_places=reports_places), rewritten)
    path.write_bytes(said("x" * 500) * 3)
    target.unlink()
    unread = copy_redacted([SourceFile(str(path), "1", "agent.jsonl")], Redactor(), rewritten).unread
    assert unread == ["agent.jsonl (it was rewritten while it was read: try again)"]
    assert not target.exists()


def test_a_file_that_grows_in_many_places_is_copied_as_far_as_it_was_read(tmp_path: Path) -> None:
    path, target = tmp_path / "session.jsonl", tmp_path / "copy.jsonl"
    before = said("x" * 500) * 2000 + said("y" * 100)[:-20]
    path.write_bytes(before)

    def grown(source: SourceFile) -> str:
        path.write_bytes(before + said("x" * 500) * 2000)
        return str(target)

    copy_redacted([SourceFile(str(path), "1")], Redactor(), grown)
    assert target.read_bytes() == before


# --- secrets in several pieces ----------------------------------------------------------------------------


def delta(text: str, index: int = 0) -> dict[str, Any]:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "session_id": "s", "event": event}


def message(text: str, id: str = "msg_1") -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"id": id, "role": "assistant", "content": [{"type": "text", "text": text}]},
    }


@pytest.mark.parametrize("reports_places", [True, False])
@pytest.mark.parametrize("size", [1, 4, 7, 10, 14, 30])
@pytest.mark.parametrize("record", [delta, message])
def test_every_piece_of_a_secret_is_masked(record: Any, size: int, reports_places: bool, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    text = f"{'Take a cup of tea. ' * 40}Use {TOKEN} for the kettle, and pass {'on ' * 4000}then."
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    lines = [line for part in parts for line in (record(part), message("Other words here", f"m{len(part)}"))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    redactor = Redactor(reports_places=reports_places)
    copied([SourceFile(str(path), "1")], tmp_path / "out", redactor)
    after = [json.loads(line) for line in (tmp_path / "out" / "session.jsonl").read_text().splitlines()]
    texts = [one["event"]["delta"]["text"] if "event" in one else one["message"]["content"][0]["text"] for one in after]
    joined = "".join(texts[::2])
    assert all(TOKEN[at : at + 4] not in joined for at in range(4, len(TOKEN) - 4))
    assert joined.replace("[github-token-1]", "") == text.replace(TOKEN, "")
