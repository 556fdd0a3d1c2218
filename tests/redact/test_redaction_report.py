"""The file of `--redaction-report`: what was masked where, as docs/schema.json describes it, and no secret."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from claude_session_player.redact import Kind
from claude_session_player.redact.samples import expand
from tests.builder import SessionBuilder, call, text
from tests.program import csp

KEY = expand("sk-ant-api03-{w93}AA", 1)
PASSWORD = "Tr0ub4dor&3xQ"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))
CONTRACT = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/redaction_report"})


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with a key in two places, a password, a home directory and an image."""
    builder = SessionBuilder(cwd="/home/ada/kettle").prompt(f"Use {KEY}")
    builder.response(call("Bash", "t1", command=f"mysql --password={PASSWORD} kettle"))
    builder.result("t1", f"KEY={KEY}").response(text(f"![](data:image/png;base64,{'iVBORw0KGgo' * 20})"))
    return builder.write(tmp_path / "tea.jsonl")


@pytest.mark.parametrize("command", [("export",), ("show", "--redact"), ("redact", "-o", "copy.jsonl")], ids=" ".join)
def test_the_report_keeps_the_contract(command: tuple[str, ...], session: Path, tmp_path: Path) -> None:
    name, *options = command
    report = tmp_path / "report.json"
    options = [str(tmp_path / option) if option.endswith(".jsonl") else option for option in options]
    assert csp(name, session, *options, "--redaction-report", report).returncode == 0
    written = report.read_text(encoding="utf-8")
    assert KEY not in written
    assert PASSWORD not in written
    CONTRACT.validate(record := json.loads(written))
    places = {masked["mask"]: [place["line"] for place in masked["places"]] for masked in record["masked"]}
    assert places["[anthropic-key-1]"] == [1, 3]
    assert places["[password-1]"] == [2]
    assert places["[image removed]"] == [4]
    assert {count["kind"] for count in record["counts"]} == {"api-key", "password", "home", "images"}


def test_the_contract_knows_every_kind() -> None:
    assert SCHEMA["$defs"]["masked_kind"]["enum"] == [kind.word for kind in Kind]


def test_a_report_is_not_written_over_another(session: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("mine")
    done = csp("export", session, "--redaction-report", report)
    assert (done.returncode, done.stdout) == (5, b"")
    assert report.read_text() == "mine"
