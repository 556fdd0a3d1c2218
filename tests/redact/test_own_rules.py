"""Rules of a user's own: where they come from, what they mask and allow, and what is said about wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from claude_session_player.errors import BadRules, CannotRead
from claude_session_player.redact.known import KnownValue
from claude_session_player.redact.own_rules import OwnRules, load_own_rules
from claude_session_player.redact.redactor import Redactor
from claude_session_player.redact.rule import Find, Kind, Rule
from claude_session_player.redact.rule_file import LARGEST, builtin_rules
from claude_session_player.redact.samples import expand
from claude_session_player.redact.scanner import Scanner

TEA = """\
[[rule]]
name = "tea-token"
pattern = 'tea_[a-z0-9]{20,40}'
keywords = ["tea_"]
entropy = 3.0
matches = ["TEA_KEY=tea_{l30}"]
ignores = ["tea_cup", "tea_xxxxxxxxxxxxxxxxxxxx"]
"""
TOKEN = expand("tea_{l30}")
ANTHROPIC = expand("sk-ant-api03-{w93}AA")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a project in a repository, which is the working directory."""
    project = tmp_path / "home" / "tea"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(project)
    return project


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def project_rules(project: Path, text: str) -> Path:
    return write(project / ".claude-session-player" / "redact.toml", text)


def user_rules(project: Path, text: str) -> Path:
    return write(project.parents[1] / "config" / "claude-session-player" / "redact.toml", text)


def load(path: Path, text: str) -> OwnRules:
    return load_own_rules([str(write(path / "rules.toml", text))])


def refusal(path: Path, text: str) -> str:
    """What is said about a file: one line that begins with its path."""
    with pytest.raises(BadRules) as caught:
        load(path, text)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert message.startswith(f"{path}/rules.toml"), message
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}/rules.toml")


# --- where rules come from --------------------------------------------------------------------------


def test_without_files_there_are_no_rules(place: Path) -> None:
    assert load_own_rules() == OwnRules()


def test_rules_of_the_project_and_of_the_user_are_used_in_this_order(place: Path) -> None:
    user = user_rules(place, TEA.replace("tea-token", "cup-token"))
    project = project_rules(place, TEA)
    own = load_own_rules()
    assert [rule.name for rule in own.rules] == ["tea-token", "cup-token"]
    assert own.sources == (str(project), str(user))


def test_files_that_are_named_are_the_only_ones(place: Path) -> None:
    project_rules(place, TEA)
    named = write(place / "mine.toml", TEA.replace("tea-token", "my-token"))
    own = load_own_rules([str(named), "mine.toml"])
    assert [rule.name for rule in own.rules] == ["my-token"]
    assert own.sources == (str(named),)


def test_the_nearest_file_above_counts_up_to_the_repository(place: Path) -> None:
    inner = place / "a" / "b"
    inner.mkdir(parents=True)
    project_rules(place.parent, TEA)
    assert load_own_rules(directory=str(inner)).sources == (), "above the repository"
    path = project_rules(place, TEA)
    assert load_own_rules(directory=str(inner)).sources == (str(path),)
    nearer = project_rules(place / "a", TEA)
    assert load_own_rules(directory=str(inner)).sources == (str(nearer),)


def test_without_a_repository_files_up_to_home_count(place: Path) -> None:
    (place / ".git").rmdir()
    path = project_rules(place.parent, TEA)
    assert load_own_rules().sources == (str(path),)


def test_outside_of_home_and_repositories_only_the_directory_itself_counts(place: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside" / "inner"
    outside.mkdir(parents=True)
    project_rules(outside.parent, TEA)
    assert load_own_rules(directory=str(outside)).sources == ()
    path = project_rules(outside, TEA)
    assert load_own_rules(directory=str(outside)).sources == (str(path),)


def test_a_deleted_working_directory_has_no_rules(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> str:
        raise FileNotFoundError

    monkeypatch.setattr("os.getcwd", gone)
    assert load_own_rules() == OwnRules()


def test_a_file_that_is_used_but_broken_is_refused_though_nobody_named_it(place: Path) -> None:
    project_rules(place, "[[rule]]\n")
    with pytest.raises(BadRules, match=r"redact\.toml, line 1, rule number 1: no name: write"):
        load_own_rules()


# --- what they do -----------------------------------------------------------------------------------


def test_a_rule_masks_with_its_name(tmp_path: Path) -> None:
    own = load(tmp_path, TEA)
    redactor = Redactor(own=own)
    assert redactor.text(f"use {TOKEN} and tea_cup") == "use [tea-token-1] and tea_cup"
    assert redactor.report.summary == "1 value of your own rules"


def test_only_the_group_secret_is_masked(tmp_path: Path) -> None:
    rule = "[[rule]]\nname = 'pot'\npattern = 'pot is (?P<secret>\\w{8})'\nmatches = ['pot is {a8}']\n"
    assert Redactor(own=load(tmp_path, rule)).text("the pot is Ab3dE6gh.") == "the pot is [pot-1]."


def test_a_rule_without_keywords_is_tried_on_every_text(tmp_path: Path) -> None:
    rule = "[[rule]]\nname = 'pot-id'\npattern = '\\b\\d{3}-\\d{3}-\\d{3}\\b'\nmatches = ['{d3}-{d3}-{d3}']\n"
    own = load(tmp_path, rule)
    assert own.rules[0].keywords == ()
    assert Redactor(own=own).text("call 123-456-789") == "call [pot-id-1]"
    assert Redactor(own=own).text(f"{ANTHROPIC} 123-456-789") == "[anthropic-key-1] [pot-id-1]"


def test_keywords_are_found_in_upper_and_lower_case(tmp_path: Path) -> None:
    rule = TEA.replace('["tea_"]', '["TEA_", "Größe"]').replace("'tea_[", "'(?i)tea_[")
    own = load(tmp_path, rule)
    assert own.rules[0].keywords == ("tea_", "größe")
    assert Redactor(own=own).text(TOKEN.upper()) == "[tea-token-1]"


def test_a_keyword_in_upper_case_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="'Tea' is empty or has upper case"):
        Scanner([Rule(name="x", kind=Kind.CUSTOM, pattern="x", keywords=("Tea",))]).finds_as_is("a text")


def test_rules_of_a_user_win_over_built_in_ones(tmp_path: Path) -> None:
    rule = "[[rule]]\nname = 'our-key'\npattern = 'sk-ant-api03-[\\w-]{95}'\nmatches = ['sk-ant-api03-{w93}AA']\n"
    assert Redactor(own=load(tmp_path, rule)).text(ANTHROPIC) == "[our-key-1]"


def test_values_that_are_allowed_are_not_masked(tmp_path: Path) -> None:
    other = expand("sk-ant-api03-{w93}AA", 1)
    own = load(tmp_path, f"[allow]\nvalues = ['{ANTHROPIC}', 'ada@tea.dev']\n")
    text = f"{ANTHROPIC} ada@tea.dev bob@tea.dev"
    assert Redactor(own=own).text(text) == f"{ANTHROPIC} ada@tea.dev person-1@example.com"
    assert Redactor(own=own).text(other) == "[anthropic-key-1]"


def test_an_allowed_value_that_begins_like_a_secret_is_not_masked_in_part(tmp_path: Path) -> None:
    example = f"{ANTHROPIC[:-20]}{expand('{w18}')}AA"
    own = load(tmp_path, f"[allow]\nvalues = ['{example}', '{ANTHROPIC[:-40]}']\n")
    text = f"{ANTHROPIC} {example} {ANTHROPIC}"
    assert Redactor(own=own).text(text) == f"[anthropic-key-1] {example} [anthropic-key-1]"
    known = KnownValue("KEY", example[10:30])
    assert "[known-value-1]" in Redactor(own=own, known=[known]).text(example)


def test_patterns_that_are_allowed_match_whole_values(tmp_path: Path) -> None:
    own = load(tmp_path, "[allow]\npatterns = ['^sk-ant-.*EXAMPLE$', 'api03']\n")
    example = expand("sk-ant-api03-{w93}EXAMPLE", 1)
    assert Redactor(own=own).text(f"{example} {ANTHROPIC}") == f"{example} [anthropic-key-1]"


def test_built_in_rules_are_switched_off_by_name(tmp_path: Path) -> None:
    own = load(tmp_path, "[allow]\nrules = ['anthropic-key']\n")
    assert own.switched_off == {"anthropic-key"}
    assert Redactor(own=own).text(ANTHROPIC) == ANTHROPIC


def test_a_rule_that_is_switched_off_does_not_shield_what_others_find(tmp_path: Path) -> None:
    rule = "[[rule]]\nname = 'our-key'\npattern = 'sk-ant-[\\w-]{20}'\nmatches = ['sk-ant-{w20}']\n"
    own = load(tmp_path, f"{rule}[allow]\nrules = ['anthropic-key']\n")
    assert "[our-key-1]" in Redactor(own=own).text(ANTHROPIC)


def test_a_known_value_is_masked_whatever_a_file_allows(tmp_path: Path) -> None:
    own = load(tmp_path, "[allow]\nvalues = ['milk-and-sugar']\n")
    assert "milk" not in Redactor(own=own, known=[KnownValue("TEA", "milk-and-sugar")]).text("it is milk-and-sugar")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
)
def test_allowed_values_are_never_masked_and_all_others_are(allowed: list[int], used: list[int]) -> None:
    values = [*(expand("sk-ant-api03-{w93}AA", seed) for seed in range(3)), *(f"{name}@tea.dev" for name in "abc")]
    own = OwnRules(values=frozenset(values[number] for number in allowed))
    masked = Redactor(own=own).text(" and ".join(values[number] for number in used)).split(" and ")
    assert [values[number] == text for number, text in zip(used, masked, strict=True)] == [n in allowed for n in used]


def test_a_file_of_a_project_that_allows_anything_is_worth_a_note(place: Path) -> None:
    project_rules(place, TEA)
    assert load_own_rules().notes == ()
    path = project_rules(place, "[allow]\nvalues = ['a1', 'b2']\npatterns = ['x+']\nrules = ['anthropic-key']\n")
    allowed = "allows 2 values and 1 pattern of values and switches off the rule anthropic-key"
    assert load_own_rules().notes == (f".claude-session-player/redact.toml {allowed}",)
    assert load_own_rules([str(path)]).notes == (), "the user named it"
    path.unlink()
    user_rules(place, "[allow]\nvalues = ['a1']\n")
    assert load_own_rules().notes == (), "the user's own"


# --- what is wrong with them ------------------------------------------------------------------------

OTHER_ORDER = """\
[[rule]]
name = "cup"
pattern = 'cup_\\d{9}'
matches = ["cup_{d9}"]

[[rule]]
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", ", line 1, column 7: not valid TOML: "),
        ("a = 1\na = 2\n", ", line 2, column 6: not valid TOML: Cannot overwrite a value"),
        ("a =", ", line 1, the end: not valid TOML: Invalid value"),
        (f"a = {'9' * 5000}", ": not valid TOML: a number that is too long"),
        (f"a = {'[' * 5000}", ": not valid TOML: a number that is too long, or too many nested arrays"),
        ("rules = []\n", ": unknown key 'rules': did you mean rule?"),
        ("x = 1\n", ": unknown key 'x': write rules as [[rule]], and what is never masked as [allow]"),
        ("rule = 1\n", ": rule is not a list of tables: begin each rule with [[rule]]"),
        ("[rule]\nname = 'a'\n", ", line 1: rule is not a list of tables: begin each rule with [[rule]]"),
        ("allow = 1\n", ": allow is not a table: begin it with [allow]"),
        ("[[rule]]\n", ", line 1, rule number 1: no name: write the word of the mask, like name = "),
        ("[[rule]]\nname = 'tea'\n", ", line 2, rule tea: no pattern: write a regular expression, like pattern = "),
        ("[[rule]]\nname = 'tea'\npattern = 't'\n", ", line 2, rule tea: no matches: write at least one text"),
        (TEA.replace('["TEA_KEY=tea_{l30}"]', "[]"), ", line 6, rule tea-token: no matches: write at least one"),
        (TEA.replace("entropy", "entrophy"), ", line 5, rule tea-token: unknown key 'entrophy': did you mean entropy?"),
        (TEA + "paths = []\n", ", line 8, rule tea-token: unknown key 'paths': use name, pattern, matches"),
        (TEA.replace('"tea-token"', "3"), ", line 2, rule number 1: name is a number: write the word of the mask"),
        (TEA.replace("tea-token", "Tea token"), ", line 2, rule number 1: the name 'Tea token' cannot be a mask: use"),
        (TEA.replace("tea-token", "tea\\u001b"), ", line 2, rule number 1: the name 'tea\\x1b' cannot be a mask: use"),
        (TEA.replace("tea-token", "t" * 42), "cannot be a mask: use 2 to 41 lower case letters and digits"),
        (TEA.replace("tea-token", "anthropic-key"), "the name anthropic-key has another meaning already: choose"),
        (TEA.replace("tea-token", "identity"), "the name identity has another meaning already: choose another"),
        (TEA + TEA, ", line 9, rule tea-token: the name is not unique, see "),
        (TEA.replace("'tea_[a-z0-9]{20,40}'", "[1]"), ", line 3, rule tea-token: pattern is a list: write a regular"),
        (TEA.replace("{20,40}", "{20,40"), " sample 1 of matches is not found: the pattern does not match it"),
        (
            TEA.replace("{20,40}'", "{20,40})'"),
            ", line 3, rule tea-token: pattern is not a regular expression of Python:",
        ),
        (TEA.replace("{20,40}'", "{20,40})'"), "at character 20: unbalanced parenthesis"),
        (TEA.replace("{20,40}", "{99999999999}"), "pattern is not a regular expression of Python: the repetition num"),
        (TEA.replace("tea_[a-z0-9]{20,40}'", "(?:" * 3000 + ")" * 3000 + "'"), "it is nested too deeply"),
        (TEA.replace("{20,40}", "{20,40}|"), "pattern matches the empty text, and so everywhere: ask for at least"),
        (TEA.replace("3.0", "'3'"), ", line 5, rule tea-token: entropy is a text: write bits per character, like 3.0"),
        (TEA.replace("3.0", "true"), ", line 5, rule tea-token: entropy is true or false: write bits"),
        (TEA.replace("3.0", "6.1"), ", line 5, rule tea-token: entropy is not between 0 and 6: write bits"),
        (TEA.replace("3.0", "-1"), "entropy is not between 0 and 6: write bits"),
        (TEA.replace("3.0", "nan"), "entropy is not between 0 and 6: write bits"),
        (TEA.replace("3.0", "2026-01-17"), "entropy is a date or a time: write bits"),
        (
            TEA.replace('["tea_"]', '"tea_"'),
            ", line 4, rule tea-token: keywords is a text: write a list of texts, like ke",
        ),
        (TEA.replace('["tea_"]', '["tea_", 7]'), "keywords: number 2 is a number: write it as text in quotes"),
        (TEA.replace('["tea_"]', '[""]'), "keywords: number 1 is empty: leave it out"),
        (
            TEA.replace('["tea_"]', '["pot_"]'),
            "sample 1 of matches is not found: it has no keyword: add one that is in",
        ),
        (
            TEA.replace("TEA_KEY=tea_", "TEA_KEY=pot_"),
            "sample 1 of matches is not found: the pattern does not match it",
        ),
        (TEA.replace("3.0", "5.5"), "is not found: its entropy is 4."),
        (TEA.replace("tea_{l30}", "tea_{l30}").replace("tea_cup", "tea_{l20}"), "sample 1 of ignores is found: make"),
        (TEA.replace("tea_[a-z0-9]{20,40}", "tea_(?:[a-z0-9]+)+$"), "the pattern is too slow: '"),
        (
            "[[rule]]\nname = 'pot'\npattern = 'p\\d'\nmatches = ['p1']\n",
            "texts of fewer than 5 characters are not masked",
        ),
        (OTHER_ORDER, ", line 6, rule number 2: no name: "),
        ("rule = [{name = 'tea'}]\n", ", rule tea: no pattern: "),
        ("[[ rule ]]\n'name' = 'tea'\n", ", line 2, rule tea: no pattern: "),
        ("[allow]\nvalue = ['a']\n", ", line 2: unknown key 'value': did you mean values?"),
        ("[allow]\nvalues = 'a'\n", ", line 2: values is a text: write a list of texts"),
        ("[allow]\nvalues = ['']\n", ", line 2: values: number 1 is empty: leave it out"),
        (
            "[allow]\npatterns = ['(']\n",
            ", line 2: patterns is not a regular expression of Python: at character 1: missing",
        ),
        ("[allow]\npatterns = ['.*']\n", ", line 2: patterns matches the empty text, and so everywhere"),
        ("[allow]\npatterns = ['x', '.+']\n", ", line 2: pattern 2 allows every value: write a narrower one, or"),
        ("[allow]\npatterns = ['(a+)+']\n", ", line 2: pattern 1 is too slow: 'aaaaa…a!' ("),
        (
            "[allow]\nrules = ['antropic-key']\n",
            ", line 2: rules: there is no built-in rule 'antropic-key': did you mean",
        ),
        (TEA + "[allow]\nrules = ['tea-token']\n", ", line 9: rules: there is no built-in rule 'tea-token'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


def test_a_message_does_not_quote_samples(tmp_path: Path) -> None:
    sample = "TEA_KEY=tea_s3cr3ts3cr3ts3cr3ts3"
    assert "s3cr3t" not in refusal(tmp_path, TEA.replace("TEA_KEY=tea_{l30}", sample).replace('["tea_"]', '["pot"]'))


def test_the_same_name_in_two_files_is_refused(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / name, TEA)) for name in ("one.toml", "two.toml")]
    with pytest.raises(BadRules, match=r"two\.toml, line 2, rule tea-token: the name is not unique, see .*one\.toml"):
        load_own_rules(paths)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    for make, error, words in (
        (lambda path: None, CannotRead, "No such file"),
        (lambda path: path.mkdir(), BadRules, "is a directory: name a file of rules in it"),
        (lambda path: path.write_bytes(b"a = 1\n# caf\xe9"), BadRules, ", line 2: not UTF-8: save the file"),
        (lambda path: path.write_bytes(b"#" * (LARGEST + 1)), BadRules, "is larger than 1 MB"),
    ):
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        make(path)
        path = path if path.exists() else tmp_path / "none"
        with pytest.raises(error, match=re.escape(words)):
            load_own_rules([str(path)])
    with pytest.raises(CannotRead):
        load_own_rules(["a\0b"])


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEA.replace("\n", "\r\n").encode())
    assert len(load_own_rules([str(path)]).rules) == 1


def test_a_pattern_that_python_warns_of_prints_nothing(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    load(
        tmp_path,
        "[[rule]]\nname = 'pot'\npattern = 'pot_[[a-z]{8}'\nmatches = ['pot_{l8}aa']\n".replace("{l8}", "abc" * 3),
    )
    assert not recwarn.list


keys = st.sampled_from(["rule", "allow", "name", "pattern", "keywords", "entropy", "matches", "ignores", "values", "x"])
toml_texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="'"), max_size=12)
toml_values = st.recursive(
    st.sampled_from(
        ["true", "1", "-2.5", "nan", "1979-05-27", "'(?P<secret>tea)'", "'tea_pot'", "'tea'", "'[a-z]{4,}'"]
    )
    | toml_texts.map(lambda text: f"'{text}'"),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
    max_leaves=4,
)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    """Files that are nearly right: known keys with any values, in any tables."""
    lines = [*([draw(st.sampled_from(["[[rule]]", "[allow]", "[rule]", "[[allow]]", ""]))] * draw(st.integers(0, 1)))]
    for _ in range(draw(st.integers(0, 7))):
        lines.append(f"{draw(keys)} = {draw(toml_values)}")
        if draw(st.integers(0, 4)) == 0:
            lines.append("[[rule]]")
    return "\n".join(lines)


def _loads_or_refuses(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        own = load_own_rules([str(path)])
    except BadRules as error:
        message = str(error)
    else:
        Redactor(own=own).text("a tea_pot for ada")
        return
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(toml_files())
def test_nearly_right_files_are_loaded_or_refused_in_one_line(tmp_path: Path, text: str) -> None:
    _loads_or_refuses(tmp_path / "rules.toml", text.encode())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_loaded_or_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    _loads_or_refuses(tmp_path / "rules.toml", data)


def _finds(rules: tuple[Rule, ...]) -> Iterator[Find]:
    for rule in rules:
        for sample in rule.samples:
            yield from Scanner([rule]).finds(expand(sample))


def test_what_a_built_in_rule_finds_can_be_allowed() -> None:
    finds = list(_finds(builtin_rules()))
    assert finds
    for find in finds:
        assert OwnRules(values=frozenset({find.value})).allows(find)
        assert OwnRules(patterns=(re.compile(re.escape(find.value)),)).allows(find)
        assert OwnRules(switched_off=frozenset({find.rule.name})).allows(find)
        assert not OwnRules().allows(find)
