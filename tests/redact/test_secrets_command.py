"""The command `secrets`: what it prints, its exit codes, and that it never prints a secret."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.cli.secrets import KINDS
from claude_session_player.redact.rule import Group, Kind
from claude_session_player.redact.samples import expand
from tests.builder import SessionBuilder, call
from tests.program import csp
from tests.stores import ONE, THREE, TWO, StoreBuilder

KEY = expand("sk-ant-api03-{w93}AA", 1)
PASSWORD = "Tr0ub4dor&3xQ"
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    """Three sessions: one with a key in three places and a password, one with the same key, and one without secrets."""
    builder = StoreBuilder(tmp_path / "claude")
    one = SessionBuilder(session_id=ONE).prompt("Start").response(call("Bash", "t1", command=f"export KEY={KEY}"))
    one.result("t1", f"KEY={KEY}", toolUseResult={"stdout": f"KEY={KEY}"}).prompt(f'DB_PASSWORD="{PASSWORD}"')
    one.write(builder.home() / f"{ONE}.jsonl")
    SessionBuilder(session_id=TWO).prompt(f"Use {KEY}").write(builder.home() / f"{TWO}.jsonl")
    builder.session(THREE, cwd="/home/ada/kettle")
    return builder


def run(builder: StoreBuilder, *arguments: str | Path) -> Any:
    done = csp("secrets", *arguments, "--root", builder.root, "--no-cache")
    for secret in (KEY, PASSWORD, KEY[20:60]):
        assert secret.encode() not in done.stdout + done.stderr
    return done


def test_all_sessions_are_summed_up_by_secret(builder: StoreBuilder) -> None:
    done = run(builder, "--all")
    assert done.returncode == 1
    lines = done.stdout.decode().splitlines()
    assert lines[0].split() == ["SECRET", "KIND", "PLACES", "SESSIONS", "FIRST", "LAST", "EXAMPLE"]
    rows = {line.split()[0]: line for line in lines[1:3]}
    assert rows["[anthropic-key-1]"].split()[1:5] == ["API", "key", "4", "2"]
    assert rows["[password-1]"].split()[1:4] == ["password", "1", "1"]
    assert lines[-1].startswith("1 API key and 1 password in 2 of 3 sessions, 5 places (3 files, ")
    assert b"--details lists the places" in done.stderr
    assert b"revoke them and make new ones" in done.stderr


def test_a_named_session_is_told_place_by_place(builder: StoreBuilder) -> None:
    path = builder.home() / f"{ONE}.jsonl"
    told = run(builder, ONE).stdout.decode()
    assert (
        f"{path}\n"
        "  line 2, message.content[0].input.command: export KEY=[anthropic-key-1]\n"
        "  line 3, message.content[0].content: KEY=[anthropic-key-1]\n"
        "  line 3, toolUseResult.stdout: KEY=[anthropic-key-1]\n"
        '  line 4, message.content: DB_PASSWORD="[password-1]"\n'
        "\n"
        "1 API key and 1 password in 1 of 1 session, 4 places"
    ) in told
    assert run(builder, path).stdout.decode() == told


def test_the_exit_code_tells_clean_from_found_from_unreadable(builder: StoreBuilder) -> None:
    clean = run(builder, THREE)
    assert (clean.returncode, clean.stderr) == (0, b"")
    assert clean.stdout.endswith(b": no secrets found\n")
    assert run(builder, "--all", "--quiet").stdout == run(builder, "--all").stdout
    quiet = run(builder, THREE, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
    assert run(builder, "--project", "kettle").returncode == 0
    assert run(builder, "nosuchsession").returncode == 2
    assert run(builder, builder.root / "gone.jsonl").returncode == 2
    assert run(builder, "1f2e").returncode == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_named(builder: StoreBuilder) -> None:
    (builder.home() / f"{TWO}.jsonl").chmod(0)
    done = run(builder, "--all")
    assert done.returncode == 2
    assert TWO.encode() in done.stderr


def test_kinds_are_selected_and_kept(builder: StoreBuilder) -> None:
    def masks(*arguments: str) -> list[str]:
        return [secret["mask"] for secret in json.loads(run(builder, "--all", "--json", *arguments).stdout)]

    assert sorted(masks()) == ["[anthropic-key-1]", "[password-1]"]
    assert masks("--kind", "password") == ["[password-1]"]
    assert masks("--keep", "password") == masks("--keep", "password,cookie") == ["[anthropic-key-1]"]
    assert masks("--keep", "anthropic-key") == ["[password-1]"]
    assert run(builder, "--all", "--keep", "api-key", "--keep", "password").returncode == 0
    wrong = run(builder, "--keep", "keys")
    assert wrong.returncode == 2
    assert b"'keys' is no kind and no rule: did you mean" in wrong.stderr


def test_named_values_are_found(builder: StoreBuilder, tmp_path: Path) -> None:
    file = tmp_path / "known.env"
    file.write_text("PROJECT=engine\n")
    SessionBuilder(session_id=THREE).prompt("The engine runs").write(builder.home() / f"{THREE}.jsonl")
    (secret,) = json.loads(run(builder, "--all", "--kind", "known", "--known", file, "--json").stdout)
    assert secret["kind"] == "known"
    assert run(builder, "--known", tmp_path / "gone").returncode == 3


def test_secrets_keep_the_contract(builder: StoreBuilder) -> None:
    contract = jsonschema.Draft202012Validator({**SCHEMA, "$ref": "#/$defs/secret"})
    found = [json.loads(line) for line in run(builder, "--all", "--jsonl").stdout.splitlines()]
    assert len(found) == 2
    for secret in found:
        contract.validate(secret)


def test_the_kinds_are_those_of_secrets() -> None:
    assert tuple(kind.word for kind in Kind if kind.group is Group.SECRETS) == KINDS
    assert tuple(SCHEMA["$defs"]["secret"]["properties"]["kind"]["enum"]) == KINDS


def test_archived_sessions_are_read(builder: StoreBuilder, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    packed = csp("archive", "add", "--all", "--archive", archive, "--root", builder.root, "--no-cache")
    assert packed.returncode == 0, packed.stderr
    for path in builder.root.rglob("*.jsonl"):
        path.unlink()
    done = csp("secrets", "--all", "--archive", archive, "--json", "--no-cache")
    assert done.returncode == 1
    found = {secret["mask"]: secret for secret in json.loads(done.stdout)}
    assert found["[anthropic-key-1]"]["occurrences"] == 4
    assert all(str(archive) in place["path"] for place in found["[anthropic-key-1]"]["places"])
    assert KEY.encode() not in done.stdout


def test_words_that_mean_it_lead_to_it(builder: StoreBuilder) -> None:
    assert b"did you mean 'secrets'?" in csp("audit").stderr
    assert b"did you mean 'secrets'?" in csp("leaks").stderr
