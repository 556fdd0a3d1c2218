"""Secrets that their context gives away are found whole, and what only looks alike is left alone."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, strategies as st

from claude_session_player.redact.plausibility import is_secret_name, plausible_value
from claude_session_player.redact.rule import SECRET, Rule
from claude_session_player.redact.rules import CREDENTIAL_RULES
from claude_session_player.redact.samples import expand
from tests.hostile.effort import pick
from tests.redact.credential_texts import NO_SECRETS, SECRETS

_FIELD = re.compile(r"\{(?:[aluwbhHdp]\d+|uuid|json64\d+|lines64\d+)\}")
_OPEN, _CLOSE = "⟦", "⟧"

RULES = [pytest.param(rule, id=f"{number}-{rule.name}") for number, rule in enumerate(CREDENTIAL_RULES)]
SAMPLES = [(rule, sample) for rule in CREDENTIAL_RULES for sample in rule.samples]
OTHERS = [(rule, other) for rule in CREDENTIAL_RULES for other in rule.others]


def found(text: str) -> set[str]:
    """The values that any of the rules finds, as a redactor would ask them."""
    low = text.lower()
    asked = [rule for rule in CREDENTIAL_RULES if any(keyword in low for keyword in rule.keywords)]
    return {find.value for rule in asked for find in rule.finds(text)}


def masked(text: str) -> str:
    """The text with every value that is found replaced by a mark of our own."""
    for value in sorted(found(text), key=len, reverse=True):
        text = text.replace(value, "[password-1]")
    return text


# --- the tables ---


@pytest.mark.parametrize(("rule", "sample"), SAMPLES)
def test_samples_are_found(rule: Rule, sample: str) -> None:
    for seed in range(25):
        text = expand(sample, seed)
        assert rule.finds(text), text
        assert any(keyword in text.lower() for keyword in rule.keywords), "the keyword is in every match"


@pytest.mark.parametrize(("rule", "sample"), [(rule, text) for rule, text in SAMPLES if len(_FIELD.findall(text)) == 1])
def test_only_the_value_is_found_and_whole(rule: Rule, sample: str) -> None:
    for seed in range(5):
        text = expand(sample, seed)
        before, after = _FIELD.split(sample)
        value = text.removeprefix(before).removesuffix(after)
        finds = rule.finds(text)
        assert len(finds) == 1
        assert value in finds[0].value
        rest = text[: finds[0].start] + text[finds[0].end :]
        assert value not in rest
        if rule.name != "cookie":
            assert len(finds[0].value) <= len(value) + 12, "the context stays"


@pytest.mark.parametrize(("rule", "other"), OTHERS)
def test_others_are_left_alone(rule: Rule, other: str) -> None:
    for seed in range(10):
        assert not rule.finds(expand(other, seed))


@pytest.mark.parametrize("rule", RULES)
def test_rules_mask_a_part_of_their_match(rule: Rule) -> None:
    assert rule.keywords
    assert all(keyword == keyword.lower() for keyword in rule.keywords)
    assert SECRET in rule.regex.groupindex or rule.name == "password-hash"


@pytest.mark.parametrize(("_", "sample"), SAMPLES)
def test_masked_text_is_a_fixed_point(_: Rule, sample: str) -> None:
    for seed in range(5):
        once = masked(expand(sample, seed))
        assert masked(once) == once


# --- what people write ---


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_of_everyday_are_found(text: str) -> None:
    text = expand(text)
    start, end = text.index(_OPEN), text.index(_CLOSE)
    assert found(text.replace(_OPEN, "").replace(_CLOSE, "")) == {text[start + 1 : end]}


PLACEHOLDERS = [
    *(
        "changeme",
        "your-api-key",
        "<password>",
        "${DB_PASSWORD}",
        "$TOKEN",
        "{{ secret }}",
        "%s",
        "xxxx",
        "****",
        "…",
        "...",
    ),
    *(
        "example",
        "test",
        "password",
        "secret",
        "none",
        "null",
        "true",
        "false",
        "redacted",
        "TODO",
        "YOUR_API_KEY_HERE",
    ),
    *(
        "[password-1]",
        "[api-key-12]",
        "user-1",
        "[image removed]",
        "sk-xxxxxxxxxxxxxxxx",
        "<your-token>",
        "${{ secrets.X }}",
    ),
    *(
        "$(cat /run/secrets/x)",
        "%DB_PASSWORD%",
        "{token}",
        "{{.Env.PASSWORD}}",
        "REPLACE_ME",
        "my-secret-token",
        "••••••••",
    ),
    *("ghp_xxxxxxxxxxxx", "[REDACTED]", "placeholder", "dummy-token-123456", "%(password)s", "***", "<redacted>", "''"),
]
FORMS = [
    *("password={}", 'password = "{}"', "password: {}", "DB_PASSWORD={}", "export API_TOKEN='{}'", "client_secret: {}"),
    *('{{"api_key": "{}"}}', '{{\\"token\\": \\"{}\\"}}', "<password>{}</password>", "machine x login y password {}"),
    *(
        "Authorization: Bearer {}",
        "curl -u user:{} x",
        "X-Api-Key: {}",
        "postgres://user:{}@host/db",
        "?token={}",
        "tool --token={}",
    ),
    *(
        "tool --password {}",
        "mysql -p{} db",
        "PGPASSWORD={} psql",
        "sshpass -p {} ssh x",
        "Server=x;Password={};",
        "_authToken={}",
    ),
    *("gh secret set X --body {}", "echo {} | docker login --password-stdin", "//x/:_password={}", "Cookie: sid={}"),
]


@pytest.mark.parametrize("form", FORMS)
def test_placeholders_are_never_found(form: str) -> None:
    for placeholder in PLACEHOLDERS:
        text = form.format(placeholder)
        assert not found(text), text


@given(st.lists(st.tuples(st.sampled_from(FORMS), st.sampled_from(PLACEHOLDERS)), min_size=2, max_size=6))
def test_lines_of_placeholders_hold_no_secret(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(form.format(placeholder) for form, placeholder in lines)
    assert not found(text), text


@given(st.sampled_from(FORMS[:11]), st.from_regex(r"[a-z]{3,9}", fullmatch=True))
def test_letters_that_stand_for_a_value_are_never_found_in_assignments(form: str, word: str) -> None:
    text = form.format("{{ " + word + " }}")
    assert not found(text), text


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_stays(text: str) -> None:
    for seed in range(5):
        assert not found(expand(text, seed))


# --- fields ---


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("api_key", "{a24}"),
        ("accessToken", "{a24}"),
        ("client_secret", "{p20}"),
        ("passwd", "hunter2!x"),
        ("password", "latte art"),
        ("db_password", "Brew-House-17"),
        ("Authorization", "Bearer {a24}"),
        ("Authorization", "Basic YWxpY2U6bGV0bWVpbg=="),
        ("x-api-key", "{h32}"),
        ("Cookie", "a=1; sid={a32}"),
        ("AWS_SECRET_ACCESS_KEY", "{b40}"),
        ("auth", "YWxpY2U6bGV0bWVpbg=="),
        ("HEROKU_API_KEY", "{uuid}"),
    ],
)
def test_fields_that_hold_secrets(key: str, value: str) -> None:
    assert is_secret_name(key)
    for seed in range(10):
        assert plausible_value(key, expand(value, seed))


@pytest.mark.parametrize(
    "key",
    [
        *("input_tokens", "tokenCount", "next_page_token", "nextPageToken", "public_key", "key", "keyword", "tokens"),
        *(
            "max_tokens",
            "keyboard",
            "password_hint",
            "tokenizer",
            "primary_key",
            "token_type",
            "secretName",
            "x" * 10_000,
        ),
        *(
            "sessionId",
            "uuid",
            "csrf_token",
            "cache_read_input_tokens",
            "author",
            "authors",
            "passed",
            "bypass",
            "compass",
        ),
    ],
)
def test_names_of_fields_that_hold_none(key: str) -> None:
    assert not is_secret_name(key)


@given(
    st.sampled_from(PLACEHOLDERS), st.sampled_from(["password", "token", "api_key", "Authorization", "cookie", "auth"])
)
def test_placeholders_are_plausible_under_no_name(placeholder: str, key: str) -> None:
    assert not plausible_value(key, placeholder)


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_name_and_value_is_judged(key: str, value: str) -> None:
    assert plausible_value(key, value) in {True, False}
    assert is_secret_name(key) in {True, False}


# --- hostile texts ---

_SIZE = pick(250_000, 1_000_000)
_BLOCKS = {
    "letters": "a",
    "names": "password",
    "assignments": "password=",
    "assigned": "password: a1",
    "quotes": "token='",
    "escaped": 'token=\\"',
    "escapes": "token=\\",
    "tokens": "token token: ",
    "keys": "api_key",
    "secrets": "secret_",
    "urls": "://a:",
    "users": "://" + "a" * 90 + ":",
    "parameters": "?token=&key=",
    "headers": "authorization: bearer ",
    "cookies": "cookie: a=b; ",
    "pairs": "a=b; ",
    "commands": "mysql curl -u docker login ",
    "options": "--password --a-a-a-token ",
    "pipes": "echo a | ",
    "secret set": "gh secret set --from-literal ",
    "kinds": "kind: Secret\n",
    "hashes": "$2y$10$a",
    "machines": "machine a login b ",
    "brackets": "token=((((",
    "blanks": "password" + " " * 100,
    "dots": "token=a.b.",
    "stars": "password=.-*_",
    "base64": "auth=QUFB",
    "config": "vault put a heroku config:set a=b ",
    "shell": "set -x config set ENV ",
}


@pytest.mark.parametrize("name", list(_BLOCKS))
def test_hostile_texts_take_time_in_proportion(name: str) -> None:
    block = _BLOCKS[name]
    heads = {"cookies": "cookie: ", "pairs": "cookie: "}
    for text in (
        heads.get(name, "") + block * (_SIZE // len(block)),
        "password=token='" + block * (_SIZE // len(block)),
    ):
        low = text.lower()
        for rule in CREDENTIAL_RULES:
            if any(keyword in low for keyword in rule.keywords):
                start = time.process_time()
                rule.finds(text)
                taken = time.process_time() - start
                assert taken < _SIZE / 500_000, f"{rule.name} {rule.pattern[:60]}: {taken:.1f} s"  # on a busy machine
