"""Search queries: what they mean, how mistakes in them are shown, and that any text is parsed or refused."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, strategies as st
from rich.cells import cell_len

from claude_session_player import cli
from claude_session_player.cli.help import TOPICS
from claude_session_player.errors import BadQuery
from claude_session_player.search.query import (
    DATE_FIELDS,
    FIELD_VALUES,
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_TERMS,
    QUERY_FIELDS,
    AllOf,
    AnyOf,
    Condition,
    Node,
    Not,
    Phrase,
    Word,
    format_query,
    parse_query,
    plain_words,
    without_word,
)
from tests.program import not_measured

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
A, B, C = Word("a"), Word("b"), Word("c")


def refusal(query: str) -> BadQuery:
    """The error that a query is refused with."""
    with pytest.raises(BadQuery) as caught:
        parse_query(query)
    return caught.value


# --- syntax ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("kettle", Word("kettle")),
        ("  Käse\t", Word("Käse")),
        ("a b", AllOf((A, B))),
        ("a\u3000b\nc", AllOf((A, B, C))),
        ('"a  b"', Phrase("a  b")),
        ('a"b c"', AllOf((A, Phrase("b c")))),
        (r'"say \"a\" now"', Phrase('say "a" now')),
        (r'"C:\new\\x\\"', Phrase("C:\\new\\\\x\\")),
        ("a OR b", AnyOf((A, B))),
        ("a OR b OR c", AnyOf((A, B, C))),
        ("a b OR c", AnyOf((AllOf((A, B)), C))),
        ("a (b OR c)", AllOf((A, AnyOf((B, C))))),
        ("(a)OR(b)", AnyOf((A, B))),
        ("a (b c)", AllOf((A, B, C))),
        ("(a OR b) OR c", AnyOf((A, B, C))),
        ("((a))", A),
        ("or Or ORs", AllOf((Word("or"), Word("Or"), Word("ORs")))),
        ('a "OR" b', AllOf((A, Phrase("OR"), B))),
        ("pars*", Word("pars", is_prefix=True)),
        ("pars**", Word("pars", is_prefix=True)),
        ("a*b *a", AllOf((Word("a*b"), Word("*a")))),
        ("a * b", AllOf((A, Word("*"), B))),
        ('"a b"*', AllOf((Phrase("a b"), Word("*")))),
        ("a !!! => b", AllOf((A, Word("!!!"), Word("=>"), B))),
    ],
)
def test_words_phrases_and_groups_are_parsed(query: str, node: Node) -> None:
    assert parse_query(query) == node


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("a -b", AllOf((A, Not(B)))),
        ('a -"b c"', AllOf((A, Not(Phrase("b c"))))),
        ("a -tool:Bash", AllOf((A, Not(Condition("tool", "Bash"))))),
        ("a -(b OR c)", AllOf((A, Not(AnyOf((B, C)))))),
        ("a -b*", AllOf((A, Not(Word("b", is_prefix=True))))),
        ("a -OR", AllOf((A, Not(Word("OR"))))),
        ("-(-a)", A),
        ("a-b", Word("a-b")),
        ("--no-cache", Word("--no-cache")),
        ("a ---", AllOf((A, Word("---")))),
        ("a - b", AllOf((A, Word("-"), B))),
        ("(a -)", AllOf((A, Word("-")))),
        ("a -> b", AllOf((A, Word("->"), B))),
        ("a -(--b)", AllOf((A, Not(Word("--b"))))),
    ],
)
def test_a_minus_excludes_what_directly_follows_it(query: str, node: Node) -> None:
    assert parse_query(query) == node


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("main()", Word("main()")),
        ("(a OR f(b))", AnyOf((A, Word("f(b)")))),
        ("f((b))", Word("f((b))")),
        ("a(b OR c)", AllOf((A, AnyOf((B, C))))),
        ('a("b c")', AllOf((A, Phrase("b c")))),
        ("path:(app)/page.tsx", Condition("path", "(app)/page.tsx")),
        ("(path:a)", Condition("path", "a")),
    ],
)
def test_parentheses_that_close_within_a_word_belong_to_it(query: str, node: Node) -> None:
    assert parse_query(query) == node


@pytest.mark.parametrize(
    ("query", "node"),
    [
        ("tool:Bash", Condition("tool", "Bash")),
        ("tool:mcp__*", Condition("tool", "mcp__", is_prefix=True)),
        ('project:"my app"', Condition("project", "my app")),
        ('project:"my app"*', Condition("project", "my app", is_prefix=True)),
        ('cmd:"x*"', Condition("cmd", "x*")),
        (r"path:C:\x", Condition("path", r"C:\x")),
        ("path:/a/b", Condition("path", "/a/b")),
        ('path:"//host/a"', Condition("path", "//host/a")),
        ("git:fix/kettle-7", Condition("git", "fix/kettle-7")),
        ("error:YES", Condition("error", "yes")),
        ("in:Prompt a", AllOf((Condition("in", "prompt"), A))),
        ('path:a"b"', AllOf((Condition("path", "a"), Phrase("b")))),
    ],
)
def test_fields_have_a_value_that_may_be_quoted_or_end_with_a_star(query: str, node: Node) -> None:
    assert parse_query(query) == node


@pytest.mark.parametrize("name", QUERY_FIELDS)
def test_the_example_of_every_field_is_a_query(name: str) -> None:
    node = parse_query(f"{name}:{QUERY_FIELDS[name]}")
    assert node == Condition(name, QUERY_FIELDS[name])


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in FIELD_VALUES for value in FIELD_VALUES[name]])
def test_a_field_with_known_values_takes_each_of_them(name: str, value: str) -> None:
    assert parse_query(f"{name}:{value}") == Condition(name, value)


@pytest.mark.parametrize(
    "word",
    ["foo::bar", "std::vector", "path::Path", "http://x", "git://host/x", "10:30", "C:\\x", "c:x", "a.py:12", ":x"]
    + ["note:", "Foo:bar", "TODO:fix", "日本:語", "foo:/x", "x_y:z", "errors:"],
)
def test_a_colon_of_an_ordinary_word_makes_no_field(word: str) -> None:
    assert parse_query(word + " a") == AllOf((Word(word), A))


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("7d", datetime(2026, 2, 22, 12, tzinfo=UTC)),
        ("2026-02", datetime(2026, 2, 1, tzinfo=UTC)),
        ('"last month"', datetime(2026, 2, 1, tzinfo=UTC)),
        ("2026-01-17T20:31+02:00", datetime(2026, 1, 17, 18, 31, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("name", DATE_FIELDS)
def test_a_date_field_holds_the_moment_at_which_its_span_starts(name: str, value: str, moment: datetime) -> None:
    node = parse_query(f"{name}:{value}", NOON)
    assert isinstance(node, Condition)
    assert (node.field, node.value, node.moment) == (name, value.strip('"'), moment)
    assert node.moment is not None
    assert node.moment.tzinfo is UTC


def test_a_relative_date_equals_itself_at_any_time() -> None:
    assert parse_query("since:7d", NOON) == parse_query("since:7d")


# --- mistakes -------------------------------------------------------------------------------------

FIELD_LIST = "in:, tool:, path:, cmd:, error:, model:, project:, git:, agent:, since:, before:, session:"
IN_LIST = "prompt, response, thinking, tool, result, title, summary, file"
DATES = "write 2026-01-17, 2026-01, 2026, today, yesterday, 7d, 12h, 2w, week, month, year, last month, or a time like "
AS_TEXT = "put it in quotes to search for it as text"
NOTHING_BUT_SIGNS = "the query has no letters or digits: use --exact to search for punctuation"
NOTHING_BUT_STARS = "a query of nothing but * matches everything: write letters before it"
UNCLOSED_QUOTE = 'the quote is not closed: add a " at the end of the phrase'
UNCLOSED = "the parenthesis is not closed: add a ), or put the text in quotes"
UNOPENED = "no parenthesis is open here: remove the ), or put the text in quotes"
EMPTY_GROUP = "the parentheses are empty: write words between them, or remove them"
EMPTY_QUOTES = "the quotes are empty: write a phrase between them, or remove them"
OR_ADVICE = 'write words on both sides of it, or "OR" in quotes to search for it'
NO_LEFT, NO_RIGHT = (f"OR has nothing on its {side}: {OR_ADVICE}" for side in ("left", "right"))
ONLY_EXCLUDES = "only excludes: at least one word or field must be wanted"

MISTAKES = [
    (
        "foo AND bar",
        "    ^",
        'all words are wanted anyway: leave out AND, or write "AND" in quotes to search for it',
    ),
    (
        "NOT foo",
        "^",
        'write a minus before a word to exclude it, instead of NOT, or write "NOT" in quotes to search for it',
    ),
    ("!!!", "^", NOTHING_BUT_SIGNS),
    ("- () *", "^", NOTHING_BUT_SIGNS),
    ('  ""', "  ^", NOTHING_BUT_SIGNS),
    ("*", "^", NOTHING_BUT_STARS),
    (" **", " ^", NOTHING_BUT_STARS),
    ('a "b c', "  ^", UNCLOSED_QUOTE),
    ('a cmd:"b c', "      ^", UNCLOSED_QUOTE),
    (r'a "b\"', "  ^", UNCLOSED_QUOTE),
    ("a (b OR c", "  ^", UNCLOSED),
    ("a (", "  ^", UNCLOSED),
    ("f(a b", " ^", UNCLOSED),
    ("a (b))", "     ^", UNOPENED),
    (") a", "^", UNOPENED),
    ("a OR b)", "      ^", UNOPENED),
    ("a ( )", "  ^", EMPTY_GROUP),
    ("a -()", "   ^", EMPTY_GROUP),
    ('a ""', "  ^", EMPTY_QUOTES),
    ('a -" "', "   ^", EMPTY_QUOTES),
    ("OR a", "^", NO_LEFT),
    ("a (OR b)", "   ^", NO_LEFT),
    ("a OR", "  ^", NO_RIGHT),
    ("a OR OR b", "  ^", NO_RIGHT),
    ("(a OR )", "   ^", NO_RIGHT),
    ("a OR ) b", "  ^", NO_RIGHT),
    ("a pat:b", "  ^", "unknown field 'pat:': did you mean 'path:'?"),
    ("a -Path:/b", "   ^", "unknown field 'Path:': did you mean 'path:'?"),
    ('projet:"b c"', "^", "unknown field 'projet:': did you mean 'project:'?"),
    ("foo:bar", "^", f"unknown field 'foo:': fields are {FIELD_LIST}; {AS_TEXT}"),
    ('foo:"b c"', "^", f"unknown field 'foo:': fields are {FIELD_LIST}; {AS_TEXT}"),
    (f"{'x' * 50}:b", "^", f"unknown field '{'x' * 40}…:': fields are {FIELD_LIST}; {AS_TEXT}"),
    ("in:promt", "   ^", f"unknown value 'promt' of 'in:': did you mean 'prompt'? values are {IN_LIST}; {AS_TEXT}"),
    ("in:tool*", "   ^", f"unknown value 'tool*' of 'in:': did you mean 'tool'? values are {IN_LIST}; {AS_TEXT}"),
    ("in:x", "   ^", f"unknown value 'x' of 'in:': values are {IN_LIST}; {AS_TEXT}"),
    ("error:404", "      ^", f"unknown value '404' of 'error:': values are yes, no; {AS_TEXT}"),
    ("a since:tea", "        ^", f"'tea' is not a known date or time: {DATES}2026-01-17T20:31"),
    ("before:7d*", "       ^", f"'7d*' is not a known date or time: {DATES}2026-01-17T20:31"),
    ("path: a", "^", f"'path:' has no value: write one directly after it, like path:src/parser.py; {AS_TEXT}"),
    ('a tool:""', "  ^", f"'tool:' has no value: write one directly after it, like tool:Bash; {AS_TEXT}"),
    ("tool:*", "^", f"'tool:' has no value: write one directly after it, like tool:Bash; {AS_TEXT}"),
    ("tool:(a OR b)", "^", "'tool:' takes one value: write (tool:… OR tool:…)"),
    ("-a", "^", f"the query {ONLY_EXCLUDES}"),
    (" -a -tool:b !!!", " ^", f"the query {ONLY_EXCLUDES}"),
    ("(-a OR b)", "^", f"one side of OR {ONLY_EXCLUDES}"),
    ("a OR -b", "     ^", f"one side of OR {ONLY_EXCLUDES}"),
    ("-a OR b", "^", f"one side of OR {ONLY_EXCLUDES}"),
    ("a OR !!!", "     ^", NOTHING_BUT_SIGNS.replace("the query", "one side of OR")),
]


@pytest.mark.parametrize(("query", "caret", "message"), MISTAKES)
def test_a_mistake_is_named_with_its_place(query: str, caret: str, message: str) -> None:
    error = refusal(query)
    assert (str(error), error.details) == (message, (query, caret))
    assert error.exit_code == 2


@pytest.mark.parametrize("query", ["", " \n", " " * 10_000])
def test_an_empty_query_is_refused_without_a_place(query: str) -> None:
    error = refusal(query)
    assert str(error) == "the query is empty: write a word, a phrase in quotes, or a field like tool:Bash"
    assert error.details == ()


def test_too_long_a_query_is_refused_at_the_first_character_too_many() -> None:
    assert parse_query("x" * MAX_LENGTH) == Word("x" * MAX_LENGTH)
    error = refusal("x" * MAX_LENGTH + "y" * 8_000)
    assert str(error) == ("the query has 10,000 characters; at most 2,000 are allowed: use --exact for long texts")
    assert error.details == ("…" + "x" * 39 + "y" * 35 + "…", " " * 40 + "^")


def test_too_many_terms_are_refused_at_the_first_one_too_many() -> None:
    terms = ["a", '"b"', "-c", "in:tool"] * (MAX_TERMS // 4)
    parse_query(" ".join(terms))
    error = refusal(" ".join([*terms, "last"]))
    assert str(error) == ("the query has more than 200 words, phrases and fields: use fewer, or --exact for long texts")
    assert error.details[0].endswith(" last")
    assert error.details[1] == " " * error.details[0].index("last") + "^"


@pytest.mark.parametrize("opening", ["(", "-(", "(a OR "])
def test_too_deep_parentheses_are_refused_at_the_first_one_too_many(opening: str) -> None:
    parse_query(f"x {opening * MAX_DEPTH}b{')' * MAX_DEPTH}")
    error = refusal(f"x {opening * (MAX_DEPTH + 1)}b{')' * (MAX_DEPTH + 1)}")
    assert str(error) == "parentheses are nested more than 50 deep: use fewer of them"
    assert error.details[0][error.details[1].index("^")] == "("


@pytest.mark.parametrize(
    ("query", "shown", "caret"),
    [
        ("茶 (b", "茶 (b", "   ^"),
        ("a\u0301 (b", "a\u0301 (b", "  ^"),
        ("\x1b[2J\u202e (b", "\ufffd[2J\ufffd (b", "      ^"),
        ("a\t\n\u3000(b", "a   (b", "    ^"),
        ("\ud800 (b", "\ufffd (b", "  ^"),
    ],
)
def test_a_caret_stands_under_its_place_behind_wide_and_unprintable_characters(
    query: str, shown: str, caret: str
) -> None:
    assert refusal(query).details == (shown, caret)


def test_a_long_query_is_shortened_around_the_place_of_the_mistake() -> None:
    early = refusal("(b " + "x" * 100)
    assert early.details == ("(b " + "x" * 72 + "…", "^")
    middle = refusal("x" * 100 + " (b " + "y" * 100)
    assert middle.details == ("…" + "x" * 38 + " (b " + "y" * 32 + "…", " " * 40 + "^")
    late = refusal("茶" * 100 + " (b")
    assert late.details == ("…" + "茶" * 19 + " (b", " " * 40 + "^")
    odd = refusal("茶" * 100 + "(b")
    assert odd.details == (" …" + "茶" * 19 + "(b", " " * 40 + "^")


def test_an_error_is_printed_with_the_caret_under_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    error = refusal("  茶\t (b")
    cli._print_error(str(error), *error.details)
    message, query, caret = capsys.readouterr().err.splitlines()
    assert message.endswith(f": {UNCLOSED}")
    assert (query, caret) == ("    茶  (b", "        ^")


def test_details_of_an_error_keep_their_spaces_and_stay_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    cli._print_error("a  \n message", "  two  words\n", "a\r\n\tb\x1b[2J\u2028c")
    assert capsys.readouterr().err.splitlines()[1:] == ["    two  words", "  a   b\ufffd[2J c"]


# --- what is made of a query ----------------------------------------------------------------------


def test_plain_words_are_those_that_are_wanted() -> None:
    node = parse_query('Tea* "hot water" -milk (cup OR (mug -glass)) ::: tool:Bash Tea -(a OR -b)')
    assert plain_words(node) == ("Tea", "hot water", "cup", "mug")


@pytest.mark.parametrize(
    ("query", "word", "rest"),
    [
        ("a b", "a", "b"),
        ("a b c", "b", "a c"),
        ("a b a", "a", "b"),
        ("a OR b", "a", "b"),
        ("a (b OR c)", "b", "a c"),
        ("a (b OR (c d))", "c", "a (b OR d)"),
        ("c (a OR (b (a OR d)))", "a", "c b d"),
        ('"a b" c', "a b", "c"),
        ("a* b", "a", "b"),
        ("a tool:Bash", "a", "tool:Bash"),
        ("a b -a", "a", "b -a"),
        ("a b", "x", "a b"),
        ("a", "a", None),
        ("a -b", "a", None),
        ("a !!!", "a", None),
    ],
)
def test_a_query_without_a_word_is_what_else_is_wanted(query: str, word: str, rest: str | None) -> None:
    assert without_word(parse_query(query), word) == (None if rest is None else parse_query(rest))


@pytest.mark.parametrize(
    ("query", "formatted"),
    [
        ("  a   (b   c) ", "a b c"),
        ('a ("b"OR(c -d))', 'a ("b" OR c -d)'),
        ("a -(b)", "a -b"),
        ("a -(b c)", "a -(b c)"),
        ("a -(--b)", "a -(--b)"),
        ("a -(->)", "a -(->)"),
        ('cmd:"a"', "cmd:a"),
        ('cmd:"a b"*', 'cmd:"a b"*'),
        ('cmd:"a*" path:"b)"', 'cmd:"a*" path:"b)"'),
        ('path:":x" path:"//x"', 'path:":x" path:"//x"'),
        (r'"a\"b\\"', r'"a\"b\\"'),
        ('a since:"last month"', 'a since:"last month"'),
    ],
)
def test_a_query_is_written_back_in_its_shortest_form(query: str, formatted: str) -> None:
    assert format_query(parse_query(query)) == formatted


# --- any text, any node ---------------------------------------------------------------------------

fragments = st.sampled_from(
    ["a", "b*", "OR", "(", ")", '"', "-", "--", "*", ":", "\\", " ", "/", "茶", "!", "\t", "path:", "tool:", "in:tool"]
    + ["since:7d", "error:", "Foo:", "foo:", "->", "\x1b", "//", "note: "]
)
texts = st.lists(fragments, max_size=20).map("".join) | st.text(max_size=60)
searchable = st.text(min_size=1, max_size=12).filter(lambda text: any(map(str.isalnum, text)))
words = st.sampled_from(["a", "parse_line", "--no-cache", "main()", "foo::bar", "é", "茶", "a*b", "note:", "!!!", "->"])
free_fields = st.sampled_from([name for name in QUERY_FIELDS if name not in (*FIELD_VALUES, *DATE_FIELDS)])
leaves: st.SearchStrategy[Node] = st.one_of(
    st.builds(Word, words),
    st.builds(Word, st.sampled_from(["a", "--x", "f(x)", "OR"]), st.just(True)),
    st.builds(Phrase, searchable | st.text('a"\\ ', min_size=1).filter(str.strip)),
    st.builds(Condition, free_fields, searchable | st.text('a"\\ *:/()', min_size=1).filter(str.strip), st.booleans()),
    st.builds(Condition, st.just("in"), st.sampled_from(FIELD_VALUES["in"])),
    st.builds(Condition, st.sampled_from(DATE_FIELDS), st.sampled_from(["7d", "2026-02", "last month"])),
)


def joined(kind: type[AllOf | AnyOf], nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    """Several nodes as one, as the parser would join them."""
    several = st.lists(nodes.filter(lambda node: not isinstance(node, kind)), min_size=2, max_size=4)
    return several.map(lambda found: kind(tuple(found)))


def composed(nodes: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    excluded = nodes.filter(lambda node: not isinstance(node, Not)).map(Not)
    return joined(AllOf, nodes) | joined(AnyOf, nodes) | excluded


any_node = st.recursive(leaves, composed, max_leaves=12)


def parsed_or_refused(text: str) -> Node | BadQuery:
    """What becomes of a text."""
    try:
        return parse_query(text)
    except BadQuery as error:
        return error


@given(texts)
def test_any_text_is_parsed_or_refused_with_the_caret_in_it(text: str) -> None:
    outcome = parsed_or_refused(text)
    if not isinstance(outcome, BadQuery):
        assert plain_words(outcome) or any(f"{name}:" in text for name in QUERY_FIELDS)
        return
    assert "\n" not in str(outcome)
    assert len(str(outcome)) < 300
    if outcome.details:
        shown, caret = outcome.details
        assert (shown + caret).isprintable()
        assert caret.strip() == "^"
        assert len(caret) <= cell_len(shown) + 1  # a lone accent has no cell of its own


@given(texts)
def test_what_a_text_is_parsed_to_is_written_back(text: str) -> None:
    outcome = parsed_or_refused(text)
    assume(not isinstance(outcome, BadQuery))
    assert not isinstance(outcome, BadQuery)
    assert parse_query(format_query(outcome)) == outcome


@given(any_node)
def test_any_node_is_written_as_a_query_that_parses_to_it(node: Node) -> None:
    whole = AllOf((A, *(node.nodes if isinstance(node, AllOf) else (node,))))  # so that something is wanted
    assert parse_query(format_query(whole)) == whole


@given(any_node, st.data())
def test_a_query_without_one_of_its_words_has_all_the_others(node: Node, data: st.DataObject) -> None:
    whole = parse_query(format_query(AllOf((Word("first"), node))))
    word = data.draw(st.sampled_from(plain_words(whole)))
    rest = without_word(whole, word)
    kept = tuple(other for other in plain_words(whole) if other != word)
    assert rest is None or plain_words(rest) == kept


# --- costs ----------------------------------------------------------------------------------------


def calls_to_parse(query: str) -> int:
    """How many functions are called to parse or refuse a query, built-in ones included."""
    count = 0

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        parsed_or_refused(query)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "(", "a(", "-(", ")", '"', '"\\', '"a\\\\', "\\", "-", "-a ", "a:", "A:b ", "()", "a OR ", "*", "(a)"],
)
def test_the_work_for_a_query_grows_no_faster_than_its_length(unit: str) -> None:
    refusal("!")  # loads what errors need
    short, long, refused = (calls_to_parse("x " + unit * (length // len(unit))) for length in (900, 1_800, 10_000))
    assert long < 3 * short
    assert max(long, refused) < 10 * MAX_DEPTH * MAX_LENGTH


@not_measured
def test_the_query_language_loads_no_library() -> None:
    code = "import sys; from claude_session_player.search.query import parse_query; parse_query('a (b OR -tool:c) http://x')\n"
    code += "print({'tantivy', 'msgspec', 'click', 'textual', 'rich', 'difflib'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


# --- the help page --------------------------------------------------------------------------------


def test_the_help_page_fits_on_a_screen_and_names_every_field_and_value() -> None:
    page = TOPICS["query"][1]()
    assert len(page.splitlines()) <= 40
    assert [name for name in QUERY_FIELDS if f"{name}:" not in page] == []
    assert [value for values in FIELD_VALUES.values() for value in values if value not in page] == []


def test_the_queries_of_the_help_page_are_queries() -> None:
    page = TOPICS["query"][1]().splitlines()
    rows = [line[2:].split("  ")[0] for line in page if line.startswith("  ") and line[2] != " "]
    queries = [row.removeprefix("csp search '").removesuffix("'") for row in rows]
    assert len(queries) > 15
    for query in queries:
        assert format_query(parse_query(query)) == query
