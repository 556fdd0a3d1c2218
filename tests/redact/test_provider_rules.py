"""Every rule for the secrets of providers finds its samples whole, no look-alikes, and in time."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final

import pytest

from claude_session_player.redact.rule import Rule
from claude_session_player.redact.rules import PROVIDER_RULES
from claude_session_player.redact.samples import expand
from tests.hostile.effort import pick

SEEDS: Final = range(5)
SIZE: Final = pick(150_000, 1_000_000)
SLOW: Final = pick(1, 3)
"""Seconds: an order of magnitude more than any rule needs on a free machine."""
RULES: Final = [pytest.param(rule, id=f"{rule.name}-{place}") for place, rule in enumerate(PROVIDER_RULES)]
FIELD: Final = re.compile(r"\{(?:[a-zA-Z]|uuid|json64|lines64)\d*\}")
CLOSERS: Final = "\"'`)}>,; \n\\/?=&getMe"
"""What may follow the secret in a sample."""

HARMLESS: Final = (
    "{uuid}",
    "session {uuid} of {uuid}",
    "{h40}",
    "commit {h40}\nAuthor: A\n",
    "index {h7}..{h7} 100644",
    "{h64}",
    "sha256:{h64}",
    "toolu_01{a22}",
    "toolu_vrtx_01{a22}",
    "msg_01{a22}",
    "req_01{a22}",
    "srvtoolu_01{a22}",
    "call_{a24}",
    "chatcmpl-{a29}",
    '"integrity": "sha512-{b86}=="',
    '"integrity": "sha1-{b27}="',
    'integrity sha512-{b86}==\n  dependencies:\n    "key": "^1.0.0"',
    "yarn@npm:4.0.0/{h128}",
    "h1:{b43}=",
    "package/module.py,sha256={w43},5177",
    "data:image/png;base64,iVBORw0KGgo{b4000}",
    "/9j/4AAQSkZJRg{b4000}",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} user@host",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{b500} user@host",
    "ssh-rsa AAAA{b500}",
    "-----BEGIN CERTIFICATE-----\n{lines6420}\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n{lines646}\n-----END PUBLIC KEY-----",
    "agent-{h8}.jsonl",
    "https://github.com/owner/repo/commit/{h40}",
    "function e(t,n){return t&&n||e.call(this,t.key,n.token)}var r={};",
    "password: str = Field(...)",
    "token: Optional[str] = None",
    "key = os.environ['ANTHROPIC_API_KEY']",
    "ANTHROPIC_API_KEY=sk-ant-...",
    "OPENAI_API_KEY=your-api-key-here",
    "secret_key = settings.SECRET_KEY",
    "aws_secret_access_key = os.environ['AWS_SECRET_ACCESS_KEY']",
    "const secretKey = generateRandomSecretKeyForTestingPurposes()",
    "test_something_that_is_long_and_has_many_words_in_it",
    "def test_token_is_refreshed_when_it_expires_after_one_hour(): ...",
)
"""What looks random, or talks of keys, in sessions that hold no secret."""


def texts(rule: Rule) -> Iterator[tuple[str, str]]:
    for sample in rule.samples:
        for seed in SEEDS:
            yield sample, expand(sample, seed)


@pytest.mark.parametrize("rule", RULES)
def test_rule_finds_each_sample_whole(rule: Rule) -> None:
    assert rule.samples
    for sample, text in texts(rule):
        finds = rule.finds(text)
        assert finds, text
        assert len(finds) == 1, text
        found = finds[0]
        before, after = text[: found.start], text[found.end :]
        assert sample.endswith(after), (text, found)
        assert not after.strip(CLOSERS), (text, found)
        # what is random begins in the secret; only beside the id of an AWS key, in front of it
        assert FIELD.sub("", sample[: len(before)]) == before or before[-1:] in set(" ,\":;'="), (text, found)
        assert any(keyword in text.lower() for keyword in rule.keywords), text


@pytest.mark.parametrize("rule", RULES)
def test_rule_finds_its_samples_between_other_texts(rule: Rule) -> None:
    for sample, text in texts(rule):
        value = rule.finds(text)[0].value
        for left, right in (("see ", " there"), ("\n", "\n"), ('"', '"'), ("\\n", "\\n"), ("%3D", "&x=1"), ("(", ")")):
            if value.endswith("\n") or sample.startswith(("?", "&")):
                continue
            found = [find.value for find in rule.finds(left + text + right)]
            if text.endswith(value) or not sample.startswith("-----"):
                assert value in found or is_cut_off(sample), (left, text, right, found)


def is_cut_off(sample: str) -> bool:
    """True for a key without its end, of which a short last line is only taken at the end of a text."""
    return ("\n" in sample and "END" not in sample) or "PRIVATE KEY" in sample


@pytest.mark.parametrize("rule", RULES)
def test_rule_leaves_what_looks_alike(rule: Rule) -> None:
    for other in rule.others:
        for seed in SEEDS:
            assert rule.finds(expand(other, seed)) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule_leaves_ids_hashes_and_code(rule: Rule) -> None:
    for text in HARMLESS:
        for seed in SEEDS:
            assert rule.finds(expand(text, seed)) == []


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_a_row_that_can_be_filtered_and_shown(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.keywords
    assert all(keyword and keyword == keyword.lower() for keyword in rule.keywords)
    assert not rule.regex.flags & re.IGNORECASE
    assert rule.mask == "[{name}-{n}]"


def hostile_texts(rule: Rule) -> Iterator[str]:
    """Large texts that are made of what the rule looks for."""
    sample = expand(rule.samples[0])
    beginning = rule.samples[0].partition("{")[0]
    for part in (rule.keywords[0], rule.keywords[-1].upper() + "A1b2", beginning or "{", sample, sample[:-1] + "_"):
        yield repeated(part)
    yield repeated(sample[: len(sample) * 2 // 3])
    for char in "a1.-":
        yield beginning + char * SIZE
    for char in " \\":
        yield sample[: len(sample) // 2] + char * SIZE
    yield repeated("aB3-_.")


def repeated(part: str) -> str:
    return part * (SIZE // max(len(part), 1))


@pytest.mark.parametrize("rule", RULES)
def test_rule_reads_large_hostile_texts_in_time(rule: Rule) -> None:
    assert rule.regex
    for text in hostile_texts(rule):
        start = time.process_time()
        rule.finds(text)
        seconds = time.process_time() - start
        assert seconds < SLOW, (text[:80], seconds)


def test_what_is_masked_is_not_masked_again() -> None:
    for rule in PROVIDER_RULES:
        for sample, text in texts(rule):
            once = masked(text)
            assert rule.finds(once) == [], sample
            assert masked(once) == once, sample


def masked(text: str) -> str:
    """A text after all rules, one after the other."""
    lowered = text.lower()
    for rule in PROVIDER_RULES:
        if any(keyword in lowered for keyword in rule.keywords):
            for find in reversed(rule.finds(text)):
                text = text[: find.start] + rule.mask.format(name=rule.name, n=1) + text[find.end :]
    return text


def test_rules_cover_the_providers() -> None:
    assert len(PROVIDER_RULES) >= 75
    assert len({rule.name for rule in PROVIDER_RULES}) >= 60


PRIVATE_KEYS: Final = [
    sample for rule in PROVIDER_RULES if rule.name == "private-key" for sample in rule.samples if "END " in sample
]


@pytest.mark.parametrize("template", PRIVATE_KEYS)
@pytest.mark.parametrize(
    ("between", "first"),
    [
        ("\r\n", ""),
        ("\\n", ""),
        ("\\\\n", ""),
        ("\\r\\n", ""),
        ("\n+", "+"),
        ("\n-", "-"),
        ("\n ", " "),
        ("\n> ", "> "),
        ("\n        ", "        "),
        ("\n    # ", "    # "),
        ('\\n" +\n  "', '"'),
        ("\\n'\n  '", "'"),
        ("\n2026-11-20T00:00:00.123Z ", "2026-11-20T00:00:00.123Z "),
        ("\ncerts/server/key.pem:", "certs/server/key.pem:"),
        ("\nkey.pem-12-", "key.pem:11:"),
    ],
)
def test_private_key_is_found_whole_in_every_disguise(template: str, between: str, first: str) -> None:
    text = first + expand(template).strip("\n").replace("\n", between)
    assert left_of(text) in ("", first)


@pytest.mark.parametrize("shape", ["{:6d}→{}", "{:6d}\t{}", "{}: {}", "{}:{}", "{}-{}", "{:>4} | {}"])
def test_private_key_is_found_whole_behind_line_numbers(shape: str) -> None:
    for template in PRIVATE_KEYS:
        text = "\n".join(shape.format(number, line) for number, line in enumerate(expand(template).splitlines(), 98))
        assert left_of(text) in (shape.format(98, ""), "98")  # of more dashes than five, all are taken


def left_of(text: str) -> str:
    """What the rules for private keys leave of a text."""
    for rule in PROVIDER_RULES:
        if rule.name == "private-key":
            for find in reversed(rule.finds(text)):
                text = text[: find.start] + text[find.end :]
    return text


def test_escaped_slashes_do_not_cut_a_private_key() -> None:
    for template in PRIVATE_KEYS:
        if "Comment" not in template:
            assert left_of(expand(template).strip().replace("/", "\\/").replace("\n", "\\n")) == ""


def test_text_behind_a_key_that_is_cut_off_stays() -> None:
    text = expand("-----BEGIN RSA PRIVATE KEY-----\n{lines643}\nand so on: the end of the output")
    assert left_of(text) == "\nand so on: the end of the output"
