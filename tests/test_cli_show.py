"""The command `show`, from outside."""

from __future__ import annotations

import base64
import json
import os
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from claude_session_player.export.transcript import TranscriptStyle, entry_blocks
from claude_session_player.parser import read_events
from claude_session_player.transcript.builder import TranscriptBuilder
from claude_session_player.transcript.subagents import SubagentFinder
from claude_session_player.transcript.walk import TranscriptWalk
from tests.builder import START, SessionBuilder, call, text, thought
from tests.program import csp
from tests.stores import AGENT, ONE, StoreBuilder

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schema.json").read_text(encoding="utf-8"))
PNG = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"png").decode()},
}


@pytest.fixture
def store(tmp_path: Path) -> StoreBuilder:
    built = StoreBuilder(tmp_path / "claude")
    main = SessionBuilder(session_id=ONE).prompt("Start the engine").response(thought("Hm."), text("I will."))
    main.response(call("Bash", "b", command="ls")).result("b", "No such thing", error=True)
    main.response(call("Task", "t", prompt="Look around", subagent_type="Explore", description="Look"))
    main.result("t", f"agentId: {AGENT}").response(text("It runs.")).write(built.home() / f"{ONE}.jsonl")
    built.agent(place="subagents")
    return built


def show(store: StoreBuilder, *options: str, ref: str = ONE, code: int = 0, **more: Any) -> str:
    done = csp("show", ref, "--root", str(store.root), "--no-summary", *options, **more)
    assert done.returncode == code, done.stderr
    return done.stdout.decode()


def test_a_session_is_told_with_its_sub_agents_and_a_summary_first(store: StoreBuilder) -> None:
    done = csp("show", ONE[:8], "--root", str(store.root))
    assert done.returncode == 0
    assert done.stderr == b""
    told = done.stdout.decode()
    assert told.startswith(f"Session {ONE} (")
    assert "- User messages: 1\n" in told
    assert "\n\n---\n\nAll times are in UTC.\n\n**User** (2026-01-17 20:31:59)\nStart the engine\n" in told
    assert "\n> **User** (2026-01-17 20:31:59)\n> Look around\n> \n> **Assistant**" in told


def test_choices_are_words(store: StoreBuilder) -> None:
    assert show(store, "--only", "prompts,thinking").count("**") == 4
    assert "**Tool: Bash" not in show(store, "--hide", "tools")
    assert show(store, "--tool", "bash").startswith(
        "All times are in UTC.\n\n**Tool: Bash** (2026-01-17 20:32:02) → failed"
    )
    assert show(store, "--only", "errors").count("**Tool") == 1
    assert "> **User**" not in show(store, "--depth", "0")
    assert show(store, "--from", "2", "--to", "3").count("**") == 4
    assert show(store, "--from", "2026-01-17 20:32:05").count("**Assistant**") == 1
    assert "I will." in show(store, "--to", "2026-01-17")


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ("--depth 0", "1 sub-agent deeper than --depth 0 is not shown"),
        ("--only prompts", "7 entries are not shown because of these filters"),
        ("--only prompts --format jsonl", "7 entries are not shown because of these filters"),
        ("--from 2 --to 3", "1 entry up to line 3 is not shown because of these filters"),
        ("--page 1 --page-size 2", "more entries follow; use --page 2"),
    ],
)
def test_what_is_left_out_is_counted_on_stderr(store: StoreBuilder, options: str, note: str) -> None:
    done = csp("show", ONE, "--root", str(store.root), *options.split())
    assert done.returncode == 0
    assert done.stderr.decode() == f"note: {note}\n"


@pytest.mark.parametrize("options", ["", "--full", "--depth 9", "--hide subagents,tools --only user,assistant,tools"])
def test_counts_of_what_is_left_out_add_up(store: StoreBuilder, options: str) -> None:
    everything = [json.loads(line) for line in show(store, "--format", "jsonl").splitlines()]
    done = csp("show", ONE, "--root", str(store.root), "--format", "jsonl", *options.split())
    left_out = len(everything) - len(done.stdout.splitlines())
    assert done.stderr.decode().startswith(f"note: {left_out} entr") if left_out else done.stderr == b""


def test_a_choice_that_matches_nothing_says_so(store: StoreBuilder) -> None:
    done = csp("show", ONE, "--root", str(store.root), "--tool", "Nonesuch")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"match these filters" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "nonsense"), "'nonsense' is not one of user, assistant, tools"),
        (("--from", "soon"), "'soon' is neither a line number nor a time"),
        (("--fork", "2"), "--fork 2 does not exist: the conversation has 1 branch"),
    ],
)
def test_a_wrong_option_is_one_line(store: StoreBuilder, options: tuple[str, ...], message: str) -> None:
    done = csp("show", ONE, "--root", str(store.root), *options)
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert message in done.stderr.decode()


def test_pages_together_are_the_whole(store: StoreBuilder) -> None:
    whole = show(store)
    pages = [show(store, "--page", str(number), "--page-size", "3") for number in range(1, 5)]
    assert "".join(pages).replace("\n", "").replace("> ", "") == whole.replace("\n", "").replace("> ", "")
    assert all(pages[:3])


def test_line_numbers_are_those_of_the_file(store: StoreBuilder) -> None:
    assert "**User** (2026-01-17 20:31:59) · line 1\nStart" in show(store, "--line-numbers")


def test_one_branch_is_told_without_the_others(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("First").response(text("One")).prompt("Left").response(text("L"))
    session.prompt("Right", parentUuid="00000000-0000-4000-8000-000000000002").response(text("R"))
    session.write(store.home() / f"{ONE}.jsonl")
    first, second = (show(store, "--fork", number) for number in "12")
    assert ("Left" in first, "Right" in first, "Left" in second, "Right" in second) == (True, False, False, True)
    assert "First" in first
    assert "First" in second


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_holds_all_facts_and_fits_the_contract(store: StoreBuilder, form: str) -> None:
    out = show(store, "--format", form)
    entries = json.loads(out) if form == "json" else [json.loads(line) for line in out.splitlines()]
    schema = {**SCHEMA, "$ref": "#/$defs/entry"}
    for entry in entries:
        jsonschema.validate(entry, schema)
    assert [entry["depth"] for entry in entries] == [0, 0, 0, 0, 0, 1, 1, 0]
    (bash,) = [entry for entry in entries if entry.get("tool") == "Bash"]
    assert bash["result"]["is_error"] is True
    assert [entry["agent"] for entry in entries if entry["depth"]] == [AGENT, AGENT]


def test_pictures_are_written_where_they_are_wanted(store: StoreBuilder, tmp_path: Path) -> None:
    SessionBuilder(session_id=ONE).prompt([text("See"), PNG, PNG]).write(store.home() / f"{ONE}.jsonl")
    folder = tmp_path / "pictures"
    told = show(store, "--assets", str(folder))
    (picture,) = folder.iterdir()
    assert picture.read_bytes() == b"png"
    assert f"\n[image](<{picture}>)" in told  # no page could show these three bytes as a picture


def test_a_picture_that_was_written_is_shown(store: StoreBuilder, tmp_path: Path) -> None:
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()
    real = {"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": data}}
    SessionBuilder(session_id=ONE).prompt([real]).write(store.home() / f"{ONE}.jsonl")
    told = show(store, "--assets", str(tmp_path / "pictures"))
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.suffix == ".png"
    assert f"![image](<{picture}>)" in told


def test_a_place_for_pictures_that_cannot_be_written_is_one_line(store: StoreBuilder, tmp_path: Path) -> None:
    SessionBuilder(session_id=ONE).prompt([PNG]).write(store.home() / f"{ONE}.jsonl")
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "x"):
        done = csp("show", ONE, "--root", str(store.root), "--no-summary", "--assets", str(folder))
        assert done.returncode == 5
        assert done.stderr.decode().count("\n") == 1


def test_an_output_that_was_too_large_is_whole_in_full(store: StoreBuilder) -> None:
    persisted = (
        "<persisted-output>\nOutput too large (9KB). Full output saved to: /elsewhere/.claude/x/tool-results/b1.txt\n\n"
        "Preview (first 2KB):\nbegin\n</persisted-output>"
    )
    session = SessionBuilder(session_id=ONE).response(call("Bash", "b", command="yes")).result("b", persisted)
    session.response(call("Bash", "c", command="no")).result("c", persisted.replace("b1.txt", "gone.txt"))
    session.write(store.home() / f"{ONE}.jsonl")
    folder = store.home() / ONE / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b1.txt").write_text("begin\nmiddle\nend\n")
    assert "Preview" in show(store)
    full = show(store, "--full")
    assert "```\nbegin\nmiddle\nend\n```" in full
    assert "the whole output is missing" in full


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_an_output_to_which_several_results_refer_is_told_once(store: StoreBuilder, form: str) -> None:
    session = SessionBuilder(session_id=ONE)
    for number in range(5):
        reference = f"<persisted-output>\nsaved to: /x/tool-results/b1.txt\n\npreview {number}\n</persisted-output>"
        session.response(call("Bash", f"b{number}", command="yes")).result(f"b{number}", reference)
    session.write(store.home() / f"{ONE}.jsonl")
    folder = store.home() / ONE / "tool-results"
    folder.mkdir(parents=True)
    (folder / "b1.txt").write_text("begin\nmiddle\nend\n")
    full = show(store, "--full", "--format", form)
    assert full.count("middle") == 1
    assert all(f"preview {number}" in full for number in range(1, 5))


def test_a_persisted_output_never_leads_out_of_its_folder(store: StoreBuilder, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = store.home() / ONE / "tool-results"
    folder.mkdir(parents=True)
    os.symlink(tmp_path / "secret.txt", folder / "b1.txt")
    told = "<persisted-output>\nFull output saved to: ../../../secret.txt\n\nPreview\n</persisted-output>"
    session = SessionBuilder(session_id=ONE).response(call("Bash", "b")).result("b", told)
    session.response(call("Bash", "c")).result("c", told.replace("../../../secret", "b1"))
    session.write(store.home() / f"{ONE}.jsonl")
    assert "\nsecret\n" not in show(store, "--full")


def test_in_full_every_line_is_told_or_accounted_for(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").progress("bash_progress", "x").attachment("date")
    session.line({"type": "brand-new"}).raw(b"oops\n").raw(b"\n").write(store.home() / f"{ONE}.jsonl")
    told = show(store, "--full")
    assert "**Note** (Unknown time) Unknown record `brand-new` (line 4)\n" in told
    assert told.endswith(
        "## Omitted lines\n\n- attachment date: 1\n- blank line: 1\n- progress bash_progress: 1\n- malformed: 1\n"
    )


def test_records_of_unknown_types_are_told_with_their_line_and_warned_about(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).line({"type": "first"}).prompt("Go")
    session.line({"type": "brand-new"}).line({"type": "brand-new"}).write(store.home() / f"{ONE}.jsonl")
    done = csp("show", ONE, "--root", str(store.root), "--no-summary")
    told, said = done.stdout.decode(), done.stderr.decode()
    places = [told.index(f"Unknown record `{name}` (line {number})") for name, number in
              (("first", 1), ("brand-new", 3), ("brand-new", 4))]  # fmt: skip
    assert places == sorted(places)
    assert places[0] < told.index("Go\n") < places[1]
    assert "warning: 2 records of unknown type 'brand-new', the first in line 3\n" in said
    entries = json.loads(show(store, "--format", "json"))
    found = [(one["record"], one["line"], one["text"]) for one in entries if one["kind"] == "record"]
    assert found[1:] == [("brand-new", 3, "Unknown record brand-new"), ("brand-new", 4, "Unknown record brand-new")]
    for entry in entries:
        jsonschema.validate(entry, {**SCHEMA, "$ref": "#/$defs/entry"})
    assert "Unknown record" not in show(store, "--hide", "notes")
    assert "Unknown record" not in show(store, "--only", "user,assistant")
    assert "Go" not in show(store, "--only", "notes")


def test_a_file_of_unknown_records_only_is_no_session(tmp_path: Path) -> None:
    path = SessionBuilder().line({"type": "brand-new"}).line({"kind": "log"}).write(tmp_path / "log.jsonl")
    done = csp("show", path)
    assert (done.returncode, done.stdout) == (4, b"")
    assert b"no Claude Code session" in done.stderr


def test_unknown_records_beside_known_ones_are_told_even_where_nobody_says_anything(tmp_path: Path) -> None:
    path = SessionBuilder().line({"type": "brand-new"}).line({"type": "mode"}).write(tmp_path / "x.jsonl")
    assert b"Unknown record `brand-new` (line 1)" in csp("show", path, "--no-summary").stdout


def test_strict_names_everything_that_is_wrong(store: StoreBuilder) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").prompt("On", parentUuid="nowhere")
    session.response({"type": "brand_new"}).line({"type": "brand-new"}).raw(b"oops\n")
    session.raw(session.lines[0]).write(store.home() / f"{ONE}.jsonl")
    done = csp("show", ONE, "--root", str(store.root), "--strict")
    assert done.returncode == 1
    said = done.stderr.decode()
    for words in ("line 2: parent", "unknown block 'brand_new'", "unknown record 'brand-new'", "line 5: "):
        assert words in said
    assert f"sub-agent {AGENT}: its call is not known" in said
    assert "line 6: " in said


@pytest.mark.parametrize("options", [("--to", "1"), ("--page", "1", "--page-size", "1"), ("--only", "prompts")])
def test_strict_looks_at_everything_whatever_was_chosen(store: StoreBuilder, options: tuple[str, ...]) -> None:
    session = SessionBuilder(session_id=ONE).prompt("Go").prompt("On").prompt("More", parentUuid="nowhere")
    session.raw(b"oops\n").write(store.home() / f"{ONE}.jsonl")
    show(store, "--strict", *options, code=1)


def test_a_page_behind_the_last_one_is_named(store: StoreBuilder) -> None:
    for number in ("99", "9" * 30):
        done = csp("show", ONE, "--root", str(store.root), "--page", number)
        assert (done.returncode, done.stdout) == (0, b"")
        assert b"the transcript has 1 page" in done.stderr


def test_a_file_that_is_no_session_is_none_whatever_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b'{"a": 1}\n')
    assert csp("show", str(tmp_path / "x.jsonl"), "--only", "user").returncode == 4


def test_the_facts_of_a_call_have_its_pictures_and_its_input_as_it_is(store: StoreBuilder, tmp_path: Path) -> None:
    session = SessionBuilder(session_id=ONE).response(call("Read", "r", file_path="k.png")).result("r", [PNG])
    session.response(call("TaskCreate", "c", subject="Oil it")).result("c", toolUseResult={"task": {"id": "1"}})
    session.response(call("TaskUpdate", "u", taskId="1")).result("u").write(store.home() / f"{ONE}.jsonl")
    first, _, last, *_ = json.loads(show(store, "--format", "json", "--assets", str(tmp_path / "p")))
    assert Path(first["pictures"][0]["url"]).read_bytes() == b"png"
    assert last["input"] == {"taskId": "1"}


def test_a_name_of_an_output_that_cannot_be_one_is_not_there(store: StoreBuilder) -> None:
    told = "<persisted-output>\nFull output saved to: /x/a\0b\n\nPreview\n</persisted-output>"
    session = SessionBuilder(session_id=ONE).response(call("Bash", "b")).result("b", told)
    session.write(store.home() / f"{ONE}.jsonl")
    assert "the whole output is missing" in show(store, "--full")


def test_a_chain_tells_each_sub_agent_once_and_finds_the_outputs_of_all(store: StoreBuilder) -> None:
    other = "1f2e3d4c-0009-4000-8000-000000000009"
    lines = (store.home() / f"{ONE}.jsonl").read_bytes().replace(ONE.encode(), other.encode())
    persisted = "<persisted-output>\nFull output saved to: /x/old.txt\n\nPreview\n</persisted-output>"
    (store.home() / ONE / "tool-results").mkdir(parents=True)
    (store.home() / ONE / "tool-results" / "old.txt").write_text("all of it")
    lines = lines.replace(b"No such thing", json.dumps(persisted)[1:-1].encode())
    (store.home() / f"{ONE}.jsonl").write_bytes(lines.replace(other.encode(), ONE.encode()))
    more = SessionBuilder(session_id=other, start=START + timedelta(hours=1))
    more.prompt("And now?", parentUuid="00000000-0000-4000-8000-000000000008", uuid="other-9")
    (store.home() / f"{other}.jsonl").write_bytes(lines + more.data())
    store.agent(session=other, place="subagents")
    told = show(store, "--chain", "--full", ref=other)
    assert told.count("> Look around") == 1
    assert "without a matching call" not in told
    assert "all of it" in told
    assert told.count("And now?") == 1


def test_strict_has_nothing_against_helpers_that_nobody_calls(store: StoreBuilder) -> None:
    store.agent("acompact-4f2a", place="subagents", task="Sum up")
    store.agent("b0b1b2b3", place="subagents", task="Warmup")
    assert "without a matching call" in show(store, "--strict")


def test_strict_is_content_with_a_sound_session(store: StoreBuilder) -> None:
    assert show(store, "--strict")


def test_standard_input_is_told_without_a_store() -> None:
    done = csp("show", "-", stdin=SessionBuilder().prompt("Hello").data())
    assert done.stdout.decode() == "All times are in UTC.\n\n**User** (2026-01-17 20:31:59)\nHello\n"


@pytest.mark.parametrize(("data", "code"), [(b"", 4), (b"no json\n", 4), (b'{"a": 1}\n', 4), (b"\x1f\x8b\x00", 4)])
def test_what_is_no_session_is_one_line(tmp_path: Path, data: bytes, code: int) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    done = csp("show", str(path))
    assert done.returncode == code
    assert done.stdout == b""
    assert "Traceback" not in done.stderr.decode()


def test_a_sub_agent_can_be_told_by_itself(store: StoreBuilder) -> None:
    assert show(store, ref=AGENT).startswith("All times are in UTC.\n\n**User** (2026-01-17 20:31:59)\nLook around\n")


def test_a_session_that_continues_another_is_told_from_the_beginning(store: StoreBuilder) -> None:
    other = "1f2e3d4c-0009-4000-8000-000000000009"
    again = SessionBuilder(session_id=other).prompt("Start the engine").response(thought("Hm."), text("I will."))
    again.prompt("And now?", parentUuid="00000000-0000-4000-8000-000000000003", uuid="other-4").response(text("Well."))
    again.write(store.home() / f"{other}.jsonl")
    told = show(store, "--chain", ref=other)
    assert told.count("Start the engine") == 1
    assert told.index("It runs.") < told.index("And now?")


def test_the_first_page_is_told_without_reading_the_rest() -> None:
    session = SessionBuilder()
    for number in range(5000):
        session.prompt(f"Prompt {number}").response(call("Bash", f"b{number}", command="ls")).result(f"b{number}")
    lines = iter(session.lines)
    told = entry_blocks(
        TranscriptWalk(TranscriptBuilder(SubagentFinder())).entries(read_events(lines)), TranscriptStyle()
    )
    first = [text for _, text in islice(told, 50)]
    assert first[0].endswith("Prompt 0")
    assert len(list(lines)) > 14_000
