"""Full-text search in built sessions: every field is found at its line, whatever the state of the index."""

from __future__ import annotations

import json
import re
import unicodedata
from datetime import timedelta
from pathlib import Path

import pytest

from claude_session_player import Filter
from claude_session_player.errors import BadQuery, MissingExtra
from claude_session_player.search import Hit, SearchOptions, StoreSearch
from claude_session_player.search.engine import MOST_MATCHES
from claude_session_player.search.fields import FIELDS
from claude_session_player.search.query import FIELD_VALUES
from claude_session_player.util.installing import install_command
from tests.builder import START, SessionBuilder, call, text, thought
from tests.searches import ALL, found_ids, open_search, places
from tests.stores import AGENT, ENGINE, ONE, THREE, TWO, StoreBuilder


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "store")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def _write(builder: StoreBuilder, session: SessionBuilder, id: str = ONE) -> Path:
    session.session_id = id
    return session.write(builder.home(session.cwd) / f"{id}.jsonl")


def _hits(search: StoreSearch, query: str, **options: object) -> list[Hit]:
    wanted = ALL._replace(**options)  # type: ignore[arg-type]
    return [hit for group in search.search([query], wanted) for hit in group]


def _one(builder: StoreBuilder, cache: Path, session: SessionBuilder, query: str) -> Hit:
    _write(builder, session)
    (hit,) = _hits(open_search(builder.root, cache), query)
    return hit


# --- what is found --------------------------------------------------------------------------------


def test_fields_of_queries_are_those_of_texts() -> None:
    assert FIELD_VALUES["in"] == FIELDS


@pytest.mark.parametrize(
    ("field", "line", "session"),
    [
        ("prompt", 1, SessionBuilder().prompt("a zebra")),
        ("prompt", 1, SessionBuilder().prompt([{"type": "text", "text": "a zebra"}])),
        ("prompt", 1, SessionBuilder().prompt("<command-name>/zebra</command-name>")),
        ("prompt", 1, SessionBuilder().attachment("queued_command", prompt="a zebra")),
        ("response", 1, SessionBuilder().response(text("a zebra"))),
        ("thinking", 1, SessionBuilder().response(thought("a zebra"))),
        ("tool", 1, SessionBuilder().response(call("Bash", "t1", command="ls zebra"))),
        ("tool", 1, SessionBuilder().response(call("Edit", "t1", file_path="/a", old_string="zebra", new_string="x"))),
        ("tool", 1, SessionBuilder().response(call("Write", "t1", file_path="/a", content="# zebra\n"))),
        ("tool", 1, SessionBuilder().response(call("mcp__x__y", "t1", nested={"deep": ["zebra"]}))),
        ("result", 1, SessionBuilder().result("t1", "a zebra")),
        ("result", 1, SessionBuilder().result("t1", [{"type": "text", "text": "zebra"}])),
        ("result", 1, SessionBuilder().prompt("<local-command-stdout>zebra</local-command-stdout>")),
        ("result", 1, SessionBuilder().system("informational", content="zebra", level="info")),
        ("title", 2, SessionBuilder().prompt("x").line({"type": "custom-title", "customTitle": "The zebra"})),
        ("title", 2, SessionBuilder().prompt("x").line({"type": "ai-title", "aiTitle": "The zebra"})),
        ("summary", 2, SessionBuilder().prompt("x").line({"type": "summary", "summary": "zebra", "leafUuid": "u"})),
        ("summary", 1, SessionBuilder().prompt("zebra", isCompactSummary=True)),
        ("file", 1, SessionBuilder().prompt("zebra", isMeta=True)),
        ("file", 1, SessionBuilder().attachment("file", filename="/a.py", content={"file": {"content": "zebra"}})),
        ("file", 1, SessionBuilder().attachment("hook_success", stdout="zebra", exitCode=0)),
        ("file", 1, SessionBuilder().line({"type": "brand-new", "words": "zebra"})),
    ],
)
def test_texts_of_every_kind_are_found_at_their_line(
    builder: StoreBuilder, cache: Path, field: str, line: int, session: SessionBuilder
) -> None:
    hit = _one(builder, cache, session, "zebra")

    assert (hit.field, hit.line, hit.session.id) == (field, line, ONE)
    assert [hit.snippet[start:end].lower() for start, end in hit.spans] == ["zebra"]


def test_hits_have_time_uuid_tool_and_file(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder().response(call("Read", "t1", file_path="/home/ada/engine/src/parser.py"))
    hit = _one(builder, cache, session.result("t1", "def zebra(): ..."), "zebra")

    record = hit.record
    assert (hit.source, record["tool"], record["file"]) == ("Read", "Read", "/home/ada/engine/src/parser.py")
    assert record["time"] == "2026-01-17T20:32:00.197Z"
    assert record["uuid"] == json.loads(session.lines[1])["uuid"]


@pytest.mark.parametrize(
    "session",
    [
        SessionBuilder().response({"type": "thinking", "thinking": "", "signature": "zebra"}),
        SessionBuilder().prompt(
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "zebra"}}]
        ),
        SessionBuilder().result("zebra", "ok"),
        SessionBuilder().prompt("x", promptId="zebra"),
        SessionBuilder().progress("bash_progress", "t1", fullOutput="zebra"),
    ],
)
def test_signatures_base64_ids_and_progress_are_not_searched(
    builder: StoreBuilder, cache: Path, session: SessionBuilder
) -> None:
    _write(builder, session.prompt("else"))

    assert not _hits(open_search(builder.root, cache), "zebra")


def test_large_outputs_are_found_where_results_refer_to_them(builder: StoreBuilder, cache: Path) -> None:
    path = builder.home() / ONE / "tool-results" / "b1.txt"
    path.parent.mkdir(parents=True)
    path.write_text("much output\nand a zebra\n")
    preview = (
        f"<persisted-output>\nOutput too large. Full output saved to: {path}\n\nPreview:\nmuch\n</persisted-output>"
    )
    hit = _one(builder, cache, SessionBuilder().prompt("x").result("t1", preview), "zebra")

    assert (hit.field, hit.line) == ("result", 2)


def test_sub_agents_in_all_layouts_are_found_below_their_session(builder: StoreBuilder, cache: Path) -> None:
    builder.every_layout()
    builder.agent("flat0001", task="A zebra beside its session")
    builder.agent("nest0001", place="subagents", task="A zebra below its session")
    builder.agent("work0001", place="subagents/workflows/wf_1", task="A zebra in a workflow")
    search = open_search(builder.root, cache)

    assert {hit.session.id for hit in _hits(search, "zebra")} == {"flat0001", "nest0001", "work0001"}
    assert found_ids(search.search(["zebra"])) == [ONE]
    assert {(hit.session.id, hit.line) for hit in _hits(search, "kettle in:response")} == {(TWO, 4), (TWO, 5)}


def test_workflow_runs_are_found(builder: StoreBuilder, cache: Path) -> None:
    builder.every_layout()
    (hit,) = _hits(open_search(builder.root, cache), "completed tool:Workflow")

    assert (hit.session.id, hit.name.rpartition("/")[2]) == (ONE, "wf_1.json")


def test_sub_agents_that_only_report_progress_are_found(builder: StoreBuilder, cache: Path) -> None:
    inner = {"type": "assistant", "message": {"role": "assistant", "content": [text("a zebra")]}, "uuid": "u1"}
    session = SessionBuilder().response(call("Task", "t1", prompt="Look", description="Look"))
    session.progress("agent_progress", "t1", message=inner, agentId="a1", prompt="Look")
    hit = _one(builder, cache, session, "zebra")

    assert (hit.field, hit.line) == ("response", 2)
    builder.agent("a1", place="subagents")
    assert not _hits(open_search(builder.root, cache / "new"), "zebra")  # its own file is searched instead


def test_prompts_that_are_only_in_the_queue_are_found_where_they_were_taken_up(
    builder: StoreBuilder, cache: Path
) -> None:
    session = SessionBuilder().prompt("Start")
    session.line(
        {"type": "queue-operation", "operation": "enqueue", "content": "a zebra", "timestamp": "2026-01-17T20:32:05Z"}
    )
    session.line({"type": "queue-operation", "operation": "remove", "timestamp": "2026-01-17T20:32:06Z"})
    path = _write(builder, session)
    (hit,) = _hits(open_search(builder.root, cache), "zebra")
    assert (hit.field, hit.line) == ("prompt", 3)

    session.response(text("Yes."))
    path.write_bytes(session.data())
    (hit,) = _hits(open_search(builder.root, cache), "zebra")
    assert (hit.field, hit.line) == ("prompt", 3)


def test_a_response_of_a_sub_agent_does_not_settle_the_queue(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder().prompt("Start")
    session.line({"type": "queue-operation", "operation": "enqueue", "content": "a zebra"})
    session.line({"type": "queue-operation", "operation": "remove"})
    session.sidechain = True
    session.response(text("Inside."))
    session.sidechain = False
    session.attachment("queued_command", prompt="a zebra").response(text("Yes."))

    assert _one(builder, cache, session, "zebra").line == 5


def test_a_conversation_that_was_written_again_is_found_once(builder: StoreBuilder, cache: Path) -> None:
    first = SessionBuilder().prompt("Feed the zebra").response(text("It eats."))
    again = [
        json.loads(line) | {"uuid": f"new-{n}", "timestamp": "2026-02-01T00:00:00Z"}
        for n, line in enumerate(first.lines)
    ]
    for record in again:
        first.line(record)
    _write(builder, first)
    search = open_search(builder.root, cache)

    assert [hit.line for hit in _hits(search, "zebra")] == [1]
    assert [hit.line for hit in _hits(search, "eats")] == [2]


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("call parse_line here", "parse_line"),
        ("call parse_line here", "line"),
        ("call parseLine here", "parseLine"),
        ("call parseLine here", "parseline"),
        ("call parseLine here", "parse"),
        ("call parseLine here", "line"),
        ("call parseLine here", "parse_line"),
        ("an HTTPServer", "server"),
        ("an HTTPServer", "http"),
        ("in src/app/main.py", "src/app/main.py"),
        ("in src/app/main.py", "main.py"),
        ("in src/app/main.py", "main"),
        ("failed: ERR_1234", "ERR_1234"),
        ("failed: ERR_1234", "1234"),
        ("use --no-cache", "--no-cache"),
        ("use --no-cache", "cache"),
        ("a foo::bar", "foo::bar"),
        ("a foo::bar", "bar"),
        ("GitHub", "github"),
        ("the Café", "cafe"),
        ("the cafe", "CAFÉ"),
        ("the cafe\u0301 au lait", '"cafe au lait"'),
        ("naïve", "naive"),
        ("数据库管理系统", "数据"),
        ("数据库管理系统", "管理"),
        ("数据库管理系统", "数据库管理"),
        ("数据库管理系统", "统"),
        ("こんにちは世界", "世界"),
        ("안녕하세요 세계", "하세"),
        (unicodedata.normalize("NFD", "안녕하세요"), "하세"),
        (unicodedata.normalize("NFD", "がぎぐ"), "ぎぐ"),
        ("an arrow -> here", 'arrow -"=>"'),
        ("用python写的", "python"),
        ("\x1b[31m3 failed\x1b[0m", "failed"),
        ("see localhost:8080", "localhost:8080"),
        ("rendering", "rend*"),
        ("src/app/main.py", "src/app/ma*"),
    ],
)
def test_identifiers_accents_and_cjk_are_found_whole_and_by_parts(
    builder: StoreBuilder, cache: Path, written: str, query: str
) -> None:
    assert _one(builder, cache, SessionBuilder().prompt(written), query).line == 1


def test_texts_with_lone_surrogates_are_found(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder().raw(b'{"type":"user","message":{"content":"a lone \\ud83d surrogate"}}\n')

    assert _one(builder, cache, session, "surrogate").snippet == "a lone \N{REPLACEMENT CHARACTER} surrogate"


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("prefix", "fix"),
        ("parse the line", "parse_line"),
        ("数据", "据数"),
        ("one two", '"two one"'),
        ("one two", "one -two"),
        ("one", "one two"),
        ("Error", "in:response error"),
        ("alphaBeta gammaDelta", '"delta alpha"'),
        ("alphaBeta gammaDelta", '"beta gamma"'),
    ],
)
def test_texts_that_do_not_match_are_not_found(builder: StoreBuilder, cache: Path, written: str, query: str) -> None:
    _write(builder, SessionBuilder().prompt(written))

    assert not _hits(open_search(builder.root, cache), query)


def test_capitals_count_only_with_case(builder: StoreBuilder, cache: Path) -> None:
    _write(builder, SessionBuilder().prompt("an error").prompt("an Error"))
    search = open_search(builder.root, cache)

    assert [hit.line for hit in _hits(search, "Error")] == [2, 1]
    assert [hit.line for hit in _hits(search, "Error", has_case=True)] == [2]
    assert [hit.line for hit in _hits(search, "error", has_case=True)] == [2, 1]


def test_capitals_are_compared_word_by_word(builder: StoreBuilder, cache: Path) -> None:
    session = (
        SessionBuilder().prompt("an error in MyErrors").prompt("a Warning").prompt("Hello, World").prompt("myError")
    )
    _write(builder, session)
    search = open_search(builder.root, cache)

    for query, lines in (("Error", [4]), ("Error OR Warning", [4, 2]), ('"Hello World"', [3]), ("Warning -Error", [2])):
        assert [hit.line for hit in _hits(search, query, has_case=True)] == lines


def test_phrases_do_not_span_parts_of_a_text(builder: StoreBuilder, cache: Path) -> None:
    _write(builder, SessionBuilder().response(call("Edit", "t1", old_string="ends here", new_string="begins there")))
    search = open_search(builder.root, cache)

    assert _hits(search, '"ends here"')
    assert not _hits(search, '"here begins"')


def test_commands_that_people_typed_are_found_as_commands(builder: StoreBuilder, cache: Path) -> None:
    assert (
        _one(builder, cache, SessionBuilder().prompt("<bash-input>git tag -d v1</bash-input>"), 'cmd:"git tag"').line
        == 1
    )


def test_sub_agents_inside_a_file_are_found_by_their_type(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder().prompt("Ask somebody")
    session.response(call("Task", "toolu_i", description="Ask", prompt="What is it?", subagent_type="Explore"))
    session.sidechain = True
    session.prompt("What is it?", parentUuid=None).response(text("A zebra."))
    session.sidechain = False
    _write(builder, session.response(text("A zebra, they say.")))
    search = open_search(builder.root, cache)

    assert [hit.line for hit in _hits(search, "zebra agent:explore")] == [4]
    assert [hit.line for hit in _hits(search, "zebra -agent:explore")] == [5]


# --- conditions -----------------------------------------------------------------------------------


@pytest.fixture
def search(builder: StoreBuilder, cache: Path) -> StoreSearch:
    """Two sessions that differ in every condition."""
    first = SessionBuilder(cwd=ENGINE, branch="main").prompt("word one")
    first.response(call("Bash", "t1", command="pytest -q tests"), request="r1")
    first.result("t1", "1 failed word", error=True)
    first.response(call("Read", "t2", file_path="/home/ada/engine/src/parser.py"), request="r2")
    first.result("t2", "a word of the file")
    _write(builder, first, ONE)
    second = SessionBuilder(cwd="/home/ada/kettle", branch="whistle", start=START.replace(year=2027)).prompt("word two")
    second.block(text("the word"), request="r3", model="claude-haiku-4-5")
    _write(builder, second, THREE)
    agent = SessionBuilder(session_id=THREE, sidechain=True, cwd="/home/ada/kettle").prompt("word three", agentId=AGENT)
    path = agent.write(builder.home("/home/ada/kettle") / THREE / "subagents" / f"agent-{AGENT}.jsonl")
    builder.meta(path, agentType="Explore", description="Look at the spout")
    return open_search(builder.root, cache)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("word in:prompt", {(ONE, 1), (THREE, 1), (AGENT, 1)}),
        ("word in:result", {(ONE, 3), (ONE, 5)}),
        ("word in:response", {(THREE, 2)}),
        ("word tool:bash", {(ONE, 3)}),
        ("word tool:R*", {(ONE, 5)}),
        ("word path:parser.py", {(ONE, 5)}),
        ("word path:src/parser.py", {(ONE, 5)}),
        ("path:parser", {(ONE, 4), (ONE, 5)}),
        ("word cmd:pytest", {(ONE, 3)}),
        ("word error:yes", {(ONE, 3)}),
        ("word error:no", {(ONE, 5)}),
        ("word project:kettle", {(THREE, 1), (THREE, 2), (AGENT, 1)}),
        ("word git:whistle", {(THREE, 1), (THREE, 2), (AGENT, 1)}),
        ("word model:haiku", {(THREE, 1), (THREE, 2)}),
        ("word agent:explore", {(AGENT, 1)}),
        (f"word session:{ONE[:13]}", {(ONE, 1), (ONE, 3), (ONE, 5)}),
        ("word since:2026-06", {(THREE, 1), (THREE, 2)}),
        ("word before:2026-06", {(ONE, 1), (ONE, 3), (ONE, 5), (AGENT, 1)}),
        ("one OR two", {(ONE, 1), (THREE, 1)}),
        ("word -in:prompt -tool:bash", {(ONE, 5), (THREE, 2)}),
        ("word (project:kettle OR error:yes) -agent:explore", {(ONE, 3), (THREE, 1), (THREE, 2)}),
        ("project:engine", {(ONE, 1), (ONE, 2), (ONE, 3), (ONE, 4), (ONE, 5)}),
    ],
)
def test_conditions_select_documents(search: StoreSearch, query: str, expected: set[tuple[str, int]]) -> None:
    assert {(hit.session.id, hit.line) for hit in _hits(search, query)} == expected


def test_filters_select_sessions_with_their_sub_agents(search: StoreSearch) -> None:
    found = _hits(search, "word", filter=Filter(project="kettle"))

    assert {hit.session.id for hit in found} == {THREE, AGENT}
    assert found_ids(search.search(["word"], ALL._replace(filter=Filter(limit=1, offset=1)))) != found_ids(
        search.search(["word"], ALL._replace(filter=Filter(limit=1)))
    )


def test_several_queries_must_all_match_a_session(search: StoreSearch) -> None:
    assert found_ids(search.search(["word", "pytest"])) == [ONE]
    assert found_ids(search.search(["word", "pytest", "zebra"])) == []
    assert {hit.query for group in search.search(["word", "pytest"], ALL) for hit in group} == {"word", "pytest"}


def test_hits_are_sorted_by_time_if_that_is_wanted(search: StoreSearch) -> None:
    assert found_ids(search.search(["word"], SearchOptions(order="newest"))) == [THREE, ONE]
    assert found_ids(search.search(["word"], SearchOptions(order="oldest"))) == [ONE, THREE]


def test_answers_are_the_same_without_the_index(search: StoreSearch, builder: StoreBuilder, cache: Path) -> None:
    without = open_search(builder.root, cache, uses_index=False)

    for query in ("word", "path:parser.py", "wo*", '"the word"', "error:yes", "word project:kettle"):
        found = [hit.record for hit in _hits(search, query)]
        assert found
        assert found == [hit.record for hit in _hits(without, query)]
    assert without.search(["word"]).report.read == 3
    assert search.search(["word"]).report.read == 0


# --- copies ---------------------------------------------------------------------------------------


def test_an_event_that_several_sessions_hold_is_one_hit_of_the_newest(builder: StoreBuilder, cache: Path) -> None:
    first = SessionBuilder(session_id=ONE).prompt("a zebra").response(text("It grazes."))
    first.write(builder.home() / f"{ONE}.jsonl")
    forked = SessionBuilder(session_id=TWO)
    for line in first.lines:
        forked.line(json.loads(line) | {"sessionId": TWO})
    forked.prompt("And now?", timestamp="2026-03-01T00:00:00Z")
    forked.write(builder.home() / f"{TWO}.jsonl")
    search = open_search(builder.root, cache)

    for query in ("zebra", "grazes"):
        (hit,) = _hits(search, query)
        assert (hit.session.id, [copy.id for copy in hit.copies]) == (TWO, [ONE])


def test_titles_that_two_sessions_share_are_hits_of_both(builder: StoreBuilder, cache: Path) -> None:
    for id in (ONE, TWO):
        _write(builder, SessionBuilder().prompt("x").line({"type": "ai-title", "aiTitle": "The zebra"}), id)

    assert {hit.session.id for hit in _hits(open_search(builder.root, cache), "zebra")} == {ONE, TWO}


def test_short_ids_of_calls_do_not_merge_sessions(builder: StoreBuilder, cache: Path) -> None:
    for days, id in enumerate((ONE, TWO)):
        session = SessionBuilder(start=START + timedelta(days=days))
        session.response(call("Bash", "call_0", command="zebra"), request=f"r{days}").result("call_0", "a zebra")
        _write(builder, session, id)

    assert len(_hits(open_search(builder.root, cache), "zebra")) == 4


def test_results_that_differ_in_their_second_part_are_two_hits(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder()
    for number in range(2):
        parts = [{"type": "text", "text": "ok"}, {"type": "text", "text": f"zebra {number}"}]
        session.result("toolu_0123456789abcdef", parts)
    _write(builder, session)

    assert len(_hits(open_search(builder.root, cache), "zebra")) == 2


def test_a_session_whose_event_was_copied_still_matches_all_queries(builder: StoreBuilder, cache: Path) -> None:
    first = SessionBuilder(session_id=ONE).prompt("a zebra").response(text("Only here."))
    first.write(builder.home() / f"{ONE}.jsonl")
    forked = SessionBuilder(session_id=TWO).line(json.loads(first.lines[0]) | {"sessionId": TWO})
    forked.prompt("And now?", timestamp="2026-03-01T00:00:00Z").write(builder.home() / f"{TWO}.jsonl")

    assert found_ids(open_search(builder.root, cache).search(["zebra", "only"])) == [ONE]


# --- many matches -----------------------------------------------------------------------------------


@pytest.fixture
def crowded(builder: StoreBuilder, cache: Path) -> StoreSearch:
    """A session with more matches than are ranked, an older one, and a newer one that only a tool mentions."""
    many = SessionBuilder(start=START + timedelta(days=5))
    for number in range(MOST_MATCHES + 100):
        many.prompt(f"zebra {number}")
    _write(builder, many, ONE)
    _write(builder, SessionBuilder().result("t1", "an old Zebra"), TWO)
    _write(builder, SessionBuilder(start=START + timedelta(days=9)).result("t1", "a new zebra and a gnu"), THREE)
    return open_search(builder.root, cache)


def test_a_session_with_many_matches_hides_no_other(crowded: StoreSearch) -> None:
    assert set(found_ids(crowded.search(["zebra"]))) == {ONE, TWO, THREE}


def test_the_newest_and_the_oldest_are_those_of_all_matches(crowded: StoreSearch) -> None:
    assert found_ids(crowded.search(["zebra"], SearchOptions(order="newest")))[0] == THREE
    assert found_ids(crowded.search(["zebra"], SearchOptions(order="oldest")))[0] == TWO


def test_capitals_and_several_queries_are_looked_for_in_all_matches(crowded: StoreSearch) -> None:
    assert found_ids(crowded.search(["Zebra"], SearchOptions(has_case=True))) == [TWO]
    assert found_ids(crowded.search(["zebra", "gnu"])) == [THREE]


def test_a_prefix_of_an_identifier_has_any_number_of_ends(builder: StoreBuilder, cache: Path) -> None:
    session = SessionBuilder()
    for number in range(120):
        session.prompt(f"see foo_ma{number:03}")
    _write(builder, session)

    assert len(_hits(open_search(builder.root, cache), "foo_ma*")) == 120


@pytest.mark.parametrize("query", ["foo_a*", "x" * 1_900 + "*", "foo_" + "y" * 1_900 + "*"])
def test_a_prefix_that_the_index_does_not_answer_is_refused_and_costs_nothing(
    builder: StoreBuilder, cache: Path, query: str
) -> None:
    session = SessionBuilder()
    for number in range(20):
        session.prompt(" ".join(f"foo_a{number}x{word}" for word in range(1_000)))
    _write(builder, session)
    search = open_search(builder.root, cache)
    for each in (search, open_search(builder.root, cache, uses_index=False)):
        with pytest.raises(BadQuery, match="before the"):
            each.search([query])

    assert search.search(["foo"]).report.lane == "index"
    assert open_search(builder.root, cache).search(["foo"]).report.read == 0


def test_texts_without_a_time_have_that_of_their_session(builder: StoreBuilder, cache: Path) -> None:
    plain = b'{"type":"summary","summary":"a zebra","leafUuid":"u"}\n'
    _write(builder, SessionBuilder().raw(plain).prompt("x"))
    search = open_search(builder.root, cache)

    assert not _hits(search, "zebra before:2000")
    assert [hit.line for hit in _hits(search, "zebra since:2026-01-17")] == [1]


def test_prompts_without_times_come_before_output_of_hooks(builder: StoreBuilder, cache: Path) -> None:
    _write(builder, SessionBuilder().raw(b'{"type":"user","message":{"content":"a zebra"}}\n'), ONE)
    _write(builder, SessionBuilder().attachment("hook_success", stdout="zebra", exitCode=0), TWO)

    assert found_ids(open_search(builder.root, cache).search(["zebra"])) == [ONE, TWO]


# --- nothing found, and errors ----------------------------------------------------------------------


def test_nothing_found_comes_with_what_would_have_matched(search: StoreSearch) -> None:
    assert search.search(["pytset"]).suggestions == ('Did you mean "pytest"?',)
    assert search.search(["word zebra"]).suggestions == ('Without "zebra", 2 sessions match.',)
    assert search.search(["word"]).suggestions == ()


def test_wrong_queries_are_refused(search: StoreSearch) -> None:
    with pytest.raises(BadQuery):
        search.search(['"open'])


def test_search_in_an_empty_store_finds_nothing(builder: StoreBuilder, cache: Path) -> None:
    hits = open_search(builder.root, cache).search(["word"])

    assert (len(hits), hits.total, hits.suggestions) == (0, 0, ())


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    import claude_session_player.search as room

    for name in [name for name in sys.modules if name.startswith("claude_session_player.search.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tantivy", None)
    monkeypatch.delattr(room, "StoreSearch", raising=False)
    with pytest.raises(MissingExtra, match=re.escape(f"install it with {install_command('tantivy')},")):
        _ = room.StoreSearch


def test_places_of_hits_are_unique(search: StoreSearch) -> None:
    hits = search.search(["word"], ALL)

    assert len(places(hits)) == hits.total
