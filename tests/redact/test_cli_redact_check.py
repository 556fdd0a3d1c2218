"""`redact check` on the command line: what people and scripts see."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.redact.rule_file import builtin_rules
from tests import agreement
from tests.hostile.effort import sample
from tests.program import csp, told_on_terminal
from tests.redact.test_own_rules import TEA, project_rules, write

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))
CUP = TEA.replace("tea-token", "cup-token")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "tea"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    return project


def check(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return csp("redact", "check", *arguments)


def records(done: subprocess.CompletedProcess[bytes]) -> list[dict[str, Any]]:
    """What was printed as JSON, each as the schema says."""
    values: list[dict[str, Any]] = json.loads(done.stdout)
    for value in values:
        jsonschema.validate(value, {**SCHEMA, "$ref": "#/$defs/checked_rule"})
        assert list(value) == SCHEMA["$defs"]["checked_rule"]["required"]
    return values


def test_rules_that_pass_are_a_table_and_a_sum(project: Path) -> None:
    path = write(project / "rules.toml", TEA)
    done = check(path)
    assert (done.returncode, done.stderr) == (0, b"")
    head, row, last = done.stdout.decode().splitlines()
    assert head.split() == ["RULE", "FOUND", "IGNORED", "SLOWEST"]
    assert row.split()[:7] == ["tea-token", "1", "of", "1", "2", "of", "2"]
    assert row.endswith(" ms")
    assert last == "1 rule: all pass"


def test_without_a_file_those_in_use_are_checked(project: Path) -> None:
    path = project_rules(project, TEA + "[allow]\nvalues = ['x1']\n")
    done = check("--json")
    assert done.returncode == 0
    (record,) = records(done)
    seconds = record.pop("seconds")
    assert 0 < seconds < 1
    assert record == {
        "rule": "tea-token",
        "kind": "custom",
        "file": str(path),
        "samples": 1,
        "found": 1,
        "others": 2,
        "ignored": 2,
        "sound": True,
        "problems": [],
    }
    assert done.stderr == b"note: .claude-session-player/redact.toml allows 1 value\n"


def test_without_rules_it_is_said_where_to_write_some(project: Path) -> None:
    done = check()
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"write some into .claude-session-player/redact.toml" in done.stderr
    assert check("--json").stdout == b"[]\n"


def test_the_files_of_rules_are_named_if_there_are_several(project: Path) -> None:
    write(project / "one.toml", TEA), write(project / "two.toml", CUP)
    lines = check("one.toml", "two.toml").stdout.decode().splitlines()
    assert [line.split()[-1] for line in lines[:3]] == ["FILE", "one.toml", "two.toml"]


def test_every_sample_that_fails_is_named_and_the_exit_code_says_so(project: Path) -> None:
    broken = CUP.replace('["TEA_KEY=tea_{l30}"]', '["tea_{l30}", "tea", "pot_{l30}"]')
    write(project / "rules.toml", TEA + broken.replace('"tea_cup"', '"tea_{l25}"'))
    done = check("rules.toml", "--json")
    assert done.returncode == 1
    fine, failed = records(done)
    assert (fine["sound"], failed["sound"]) == (True, False)
    assert (failed["samples"], failed["found"], failed["others"], failed["ignored"]) == (3, 1, 2, 1)
    assert failed["problems"] == [
        "sample 2 of matches is not found: the pattern does not match it",
        "sample 3 of matches is not found: the pattern does not match it",
        "sample 1 of ignores is found: make the pattern narrower, or raise entropy",
    ]
    said = check("rules.toml")
    assert [f"rules.toml, line 9, rule cup-token: {problem}" for problem in failed["problems"]] == (
        said.stderr.decode().splitlines()
    )
    assert said.stdout.decode().splitlines()[-1] == "2 rules: 1 failed"


def test_a_slow_pattern_fails_and_its_samples_are_not_tried(project: Path) -> None:
    write(project / "rules.toml", TEA.replace("[a-z0-9]{20,40}", "([a-z0-9]+)+$"))
    done = check("rules.toml", "--json")
    assert done.returncode == 1
    (record,) = records(done)
    assert (record["found"], record["ignored"], record["sound"]) == (None, None, False)
    assert record["problems"][0].startswith("the pattern is too slow: 'TEA_K…")
    assert "too slow" in check("rules.toml").stdout.decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [("[[rule]", "line 1"), (TEA + TEA, "the name is not unique"), (TEA.replace("{20,40}", "("), "line 3, rule tea-")],
)
def test_a_broken_file_is_refused_and_nothing_is_printed(project: Path, text: str, words: str) -> None:
    write(project / "rules.toml", text)
    done = check("rules.toml", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"claude-session-player: rules.toml, ")
    assert done.stderr.count(b"\n") == 1
    assert words in done.stderr.decode()


def test_a_file_that_is_not_there_cannot_be_read(project: Path) -> None:
    done = check("none.toml")
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"none.toml: No such file or directory" in done.stderr


def test_built_in_rules_pass_besides_those_of_a_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project_rules(project, "not even TOML")
    write(project / "rules.toml", TEA)
    rules = sample(builtin_rules(), 24)
    monkeypatch.setattr("claude_session_player.redact.builtin_rules", lambda: rules, raising=False)
    code, output, talk = agreement.csp("redact", "check", "rules.toml", "--builtin", "--json")
    assert (code, talk) == (0, "")
    checked = json.loads(output)
    names = [rule.name for rule in rules if rule.samples]
    assert [record["rule"] for record in checked] == ["tea-token", *names]
    assert all(record["file"] is None for record in checked[1:])


def test_control_characters_of_a_file_name_do_not_reach_the_terminal(project: Path) -> None:
    (project / "a\x1b[31m.toml").write_text("[[rule]]", encoding="utf-8")
    output, code = told_on_terminal("redact", "check", "a\x1b[31m.toml")
    assert code == 2
    assert "\x1b[31m" not in output


def test_a_first_word_that_is_no_command_is_a_session_to_copy() -> None:
    assert csp("redact", "--help").stdout.decode().split("Commands:")[1].split()[0] == "copy"
    assert b"redact copy --help" in csp("redact", "--no-such-option").stderr


@pytest.mark.parametrize("word", ["anonymize", "scrub", "redcat"])
def test_other_words_for_redact_lead_to_it(word: str) -> None:
    done = csp(word, "latest")
    assert done.returncode == 2
    assert b"did you mean 'redact'?" in done.stderr
