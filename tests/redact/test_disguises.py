"""What hides in escapes, colours, lists of words, numbered lines and damaged lines is found all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_session_player.redact import KnownValue, Redactor
from claude_session_player.redact.samples import expand
from tests.builder import SessionBuilder, call
from tests.redact.copies import redacted


@pytest.mark.parametrize(
    ("words", "masked"),
    [
        ("mail tolmin7q@kettle\x1b[31mers.dev soon", "mail person-1@example.com soon"),
        ("ssh%20root%40kettlers-mill.local%20uptime", "ssh%20root%40host-1%20uptime"),
        ('has "accountUuid": "f93b821d-8ee8\\u002dcc51-2823-098d9a83c1e4"', 'has "accountUuid": "account-1"'),
        ("ping 192.168\u200b.226.150 twice", "ping ip-1 twice"),
    ],
)
def test_identity_is_found_in_disguise(words: str, masked: str) -> None:
    assert Redactor().text(words) == masked


def test_a_known_value_is_found_in_disguise() -> None:
    redactor = Redactor(known=[KnownValue("TEA", "Lapsang7Souchong")])
    for words in (
        "Lapsang7\x1b[1mSouchong",
        "Lapsang7\\u0053ouchong",
        "Lapsang7&#83;ouchong",
        "Lapsang7\u200bSouchong",
    ):
        assert "ouchong" not in redactor.text(words)


def test_a_colour_that_is_written_as_an_escape_hides_nothing() -> None:
    key = expand("e2b_{h40}", 1)
    for colour in (r"\u001b[31m", r"\x1b[31m", r"\033[0;31m"):
        assert key[-20:] not in Redactor().text(f"{key[:20]}{colour}{key[20:]}")


def test_the_name_of_an_author_is_found_in_the_middle_of_a_line() -> None:
    assert "Lovejoy" not in Redactor().text("log.txt:12: Author: Adeline Lovejoy <adeline@kettlers.dev>")


def test_a_value_below_its_name_is_found_behind_numbers_of_lines() -> None:
    value = expand("{a20}", 2)
    redactor = Redactor()
    redactor.learn(f"     1→- name: access_token\n     2→  value: {value}\n")
    assert value not in redactor.masked(f"     2→  value: {value}")


def test_a_secret_in_a_list_of_words_is_found(tmp_path: Path) -> None:
    path, value = tmp_path / "session.jsonl", expand("{h32}", 3)
    session = SessionBuilder().response(call("Run", command=["curl", "-s", "--cookie", f"sid={value}", "x"]))
    session.write(path)
    assert value.encode() not in redacted(path, tmp_path / "copy.jsonl")


def test_a_damaged_line_stays_damaged_when_the_damage_is_masked(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    value = expand("{a20}", 4).encode()
    path.write_bytes(b'{"type":"user","message":{"content":"set -x MY_SECRET ' + value + b'\xff\xfe"}}\n')
    copy = redacted(path, tmp_path / "copy.jsonl")
    assert value not in copy
    with pytest.raises(UnicodeDecodeError):
        copy.decode()


@pytest.mark.parametrize(
    "words",
    [
        "password: {tag}Tr0ub4dor&3x",
        'password = "{tag}Tr0ub4dor&3x"',
        "export DB_PASSWORD={tag}Tr0ub4dor&3x",
        "postgres://app:q9X{tag}Tr0ub4dor3x@db.example.org/tea",
        "Authorization: Basic {tag}YWRhOlRyMHViNGRvcg==",
        "mysql -p{tag}Tr0ub4dor3x",
    ],
)
@pytest.mark.parametrize("tag", ["[x-1]", "[node-1]", "[worker-3]", "[token-1]"])
def test_what_reads_like_a_mask_hides_nothing(words: str, tag: str) -> None:
    masked = Redactor().text(words.format(tag=tag))
    assert "ub4dor" not in masked
    assert "YWRh" not in masked
    assert Redactor().text(masked) == masked


def test_what_reads_like_a_mask_hides_nothing_in_a_field() -> None:
    assert Redactor().record({"password": "[x-1]Tr0ub4dor&3x"}) == {"password": "[secret-1]"}
    assert Redactor().record({"password": "[password-7]"}) == {"password": "[password-7]"}
