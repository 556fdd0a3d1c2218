"""The audit of a store: what it finds, where, how little it decodes, and that nothing secret leaves it."""

from __future__ import annotations

import json
import os
import pickle
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from claude_session_player.errors import MissingExtra, NotInstalled
from claude_session_player.redact import deep_audit, kingfisher
from claude_session_player.redact.audit import AuditRules, Secret, SecretsReport, audit_files
from claude_session_player.redact.gate import FIELD_WORDS, Gate, gate_of
from claude_session_player.redact.known import KnownValue
from claude_session_player.redact.line_filter import SecretLineFilter
from claude_session_player.redact.plausibility import is_secret_name
from claude_session_player.redact.records import remove_images, transform
from claude_session_player.redact.redactor import Redactor
from claude_session_player.redact.rules import SECRET_RULES
from claude_session_player.redact.samples import expand
from claude_session_player.redact.session_audit import values_of_line
from claude_session_player.redact.session_texts import PORTION, text_portions
from claude_session_player.util import workers
from tests import corpus
from tests.builder import SessionBuilder, call, text
from tests.stores import ONE, THREE, TWO, StoreBuilder

KEY = expand("sk-ant-api03-{w93}AA", 1)
OTHER_KEY = expand("sk-ant-api03-{w93}AA", 2)
PASSWORD = "Tr0ub4dor&3xQ"


@pytest.fixture
def builder(tmp_path: Path) -> StoreBuilder:
    return StoreBuilder(tmp_path / "claude")


def session(id: str = ONE) -> SessionBuilder:
    return SessionBuilder(session_id=id)


def put(builder: StoreBuilder, written: SessionBuilder) -> Path:
    return written.write(builder.home() / f"{written.session_id}.jsonl")


def audited(builder: StoreBuilder, **options: Any) -> SecretsReport:
    store = builder.open()
    return audit_files(store, store.files(), **options)


def places(secret: Secret) -> list[tuple[str, int | None, str]]:
    return [(os.path.basename(place.path), place.line, place.field) for place in secret.places]


def test_a_secret_is_counted_once_with_all_its_places(builder: StoreBuilder) -> None:
    first = session().prompt("Hello").response(call("Bash", "t1", command=f"export KEY={KEY}"))
    put(builder, first.result("t1", f"set to {KEY}", toolUseResult={"stdout": f"set to {KEY}"}))
    put(builder, session(TWO).prompt(f"Use {KEY} or {OTHER_KEY}"))
    put(builder, session(THREE).prompt("Nothing here"))
    report = audited(builder)
    by_mask = {secret.mask: secret for secret in report.secrets}
    assert sorted(by_mask) == ["[anthropic-key-1]", "[anthropic-key-2]"]
    one, two = by_mask["[anthropic-key-1]"], by_mask["[anthropic-key-2]"]
    assert (one.occurrences, one.sessions, one.kind.word, one.rule) == (4, 2, "api-key", "anthropic-key")
    assert (two.occurrences, two.sessions) == (1, 1)
    assert places(one) == [
        (f"{ONE}.jsonl", 2, "message.content[0].input.command"),
        (f"{ONE}.jsonl", 3, "message.content[0].content"),
        (f"{ONE}.jsonl", 3, "toolUseResult.stdout"),
        (f"{TWO}.jsonl", 1, "message.content"),
    ]
    assert one.places[-1].preview == "Use [anthropic-key-1] or [anthropic-key-2]"
    assert (report.sessions, report.files) == (3, 3)
    assert one.first < one.last


def test_nothing_secret_is_in_the_report_or_passes_on_as_a_hash(builder: StoreBuilder) -> None:
    put(builder, session().prompt(f"Use {KEY}"))
    first, second = audited(builder), audited(builder)
    assert KEY[20:40] not in repr(first)
    assert first == second, "masks are the same in each run, and there are no hashes"


def test_a_password_is_found_where_it_stands_alone(builder: StoreBuilder) -> None:
    put(builder, session().prompt(f"It was {PASSWORD} once").prompt(f'DB_PASSWORD="{PASSWORD}"').prompt(PASSWORD))
    (secret,) = audited(builder).secrets
    assert [line for _, line, _ in places(secret)] == [1, 2, 3]
    assert all(PASSWORD not in place.preview for place in secret.places)


def test_everything_beside_a_session_is_read(builder: StoreBuilder) -> None:
    main = put(builder, session().prompt("Go"))
    own = main.with_suffix("")
    agent = builder.agent("a1", place="subagents", task=f"Use {KEY}")
    builder.meta(agent, description=f"Use {KEY}")
    flat = builder.meta(builder.agent("f1"), description=f"Try {KEY}")
    (own / "tool-results").mkdir()
    (own / "tool-results" / "b1.txt").write_text(f"one\ntwo\n{KEY}\n")
    builder.json(own / "workflows" / "wf_1.json", {"steps": [{"result": f"It is {KEY}"}]})
    (secret,) = audited(builder).secrets
    assert sorted(places(secret), key=str) == sorted(
        [
            ("agent-a1.jsonl", 1, "message.content"),
            ("agent-a1.meta.json", None, "description"),
            (flat.name, None, "description"),
            ("b1.txt", 3, ""),
            ("wf_1.json", None, "steps[0].result"),
        ],
        key=str,
    )


@pytest.mark.parametrize(
    "data",
    [
        f"a\0b\n\0{KEY}\0c\n".encode(),
        b"\x89PNG\r\n\0\0\0\xff\xfe" + KEY.encode() + b"\0" * 9 + b"\xd8\xff",
        f"one\n{KEY}\n".encode("utf-16"),
    ],
)
def test_files_with_nul_bytes_are_read(data: bytes, builder: StoreBuilder) -> None:
    results = put(builder, session().prompt("Go")).with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "b1.txt").write_bytes(data)
    (secret,) = audited(builder).secrets
    assert (places(secret), secret.kind.word) == ([("b1.txt", 2, "")], "api-key")


def test_a_key_where_a_portion_of_a_text_ends_is_one_secret(builder: StoreBuilder) -> None:
    key = expand("-----BEGIN RSA PRIVATE KEY-----\n{lines6412}\n{a40}==\n-----END RSA PRIVATE KEY-----\n", 1)
    results = put(builder, session().prompt("Go")).with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    filler = "x y z\n" * ((PORTION - 300) // 6)
    (results / "b1.txt").write_text(f"{filler}{key}then\n")
    (secret,) = audited(builder).secrets
    assert (secret.occurrences, places(secret)) == (1, [("b1.txt", filler.count("\n") + 1, "")])
    portions = list(text_portions(str(results / "b1.txt")))
    assert [portions[0].endswith(b"KEY-----\n"), b"".join(portions[1:])] == [True, b"then\n"]


def test_backups_of_files_are_read(builder: StoreBuilder) -> None:
    put(builder, session().prompt("Go"))
    put(builder, session(TWO).prompt("Go"))
    folder = builder.root / "file-history" / ONE
    (folder / "deeper").mkdir(parents=True)
    (folder / "deeper" / "5e1f@v1").write_text(f"one\n{KEY}\n")
    (folder / "5e1f@v2").symlink_to(folder / "deeper" / "5e1f@v1")
    report = audited(builder)
    (secret,) = report.secrets
    assert (places(secret), secret.sessions, report.files) == ([("5e1f@v1", 2, "")], 1, 3)
    assert secret.places[0].path == str(folder / "deeper" / "5e1f@v1")


def test_lines_are_numbered_through_blank_and_damaged_ones(builder: StoreBuilder) -> None:
    damaged = session().raw(b"\n").raw(b'{"type":"user","message":"cut of\n').prompt(f"a {KEY}")
    cut = json.dumps({"type": "user", "content": f"b {OTHER_KEY}"})[:-4].encode()
    put(builder, damaged.raw(cut + b"\n").raw(b"{}{" + f'"x": "c {KEY}"'.encode() + b"}\n"))
    found = {secret.mask: [line for _, line, _ in places(secret)] for secret in audited(builder).secrets}
    assert found == {"[anthropic-key-1]": [3, 5], "[anthropic-key-2]": [4]}


def test_disguised_secrets_are_found(builder: StoreBuilder) -> None:
    coloured = f"{KEY[:30]}\x1b[31m{KEY[30:]}"
    escaped = "".join(f"\\u{ord(char):04x}" for char in KEY)
    lines = [
        {"type": "user", "message": {"role": "user", "content": one}} for one in (coloured, KEY.replace("-", "%2D"))
    ]
    raw = (
        "".join(json.dumps(line) + "\n" for line in lines) + f'{{"type":"user","message":{{"content":"{escaped}"}}}}\n'
    )
    put(builder, session().raw(raw.encode()))
    assert {line for secret in audited(builder).secrets for _, line, _ in places(secret)} == {1, 2, 3}


def test_pictures_are_not_looked_at(builder: StoreBuilder) -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": f"{'AAAA' * 30}AKIA" * 9},
    }
    put(builder, session().prompt([picture]))
    assert audited(builder).secrets == []


def test_kinds_can_be_kept_and_values_named(builder: StoreBuilder) -> None:
    put(builder, session().prompt(f"Use {KEY} in xyzzy-lab"))
    assert audited(builder, rules=AuditRules(keep=("api-key",))).secrets == []
    assert audited(builder, rules=AuditRules(keep=("anthropic-key",))).secrets == []
    known = AuditRules(keep=("api-key",), known=(KnownValue("", "xyzzy-lab"),))
    (secret,) = audited(builder, rules=known).secrets
    assert (secret.kind.word, secret.occurrences) == ("known", 1)


def test_a_file_that_cannot_be_read_is_a_problem_and_the_rest_is_read(builder: StoreBuilder) -> None:
    put(builder, session().prompt(f"Use {KEY}"))
    store = builder.open()
    gone = put(builder, session(TWO))
    files = store.files()
    gone.unlink()
    report = audit_files(store, files)
    assert [(os.path.basename(problem.path), problem.reason) for problem in report.problems] == [
        (gone.name, "No such file or directory")
    ]
    assert len(report.secrets) == 1


def test_several_processes_find_what_one_does(builder: StoreBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        id = f"1f2e3d4c-0000-4000-8000-00000000000{number}"
        put(builder, session(id).prompt(f"Use {expand('sk-ant-api03-{w93}AA', number // 2)} and {KEY}"))
    alone = audited(builder)
    monkeypatch.setattr(workers, "PARALLEL_BYTES", 0)
    monkeypatch.setattr(workers, "_PORTION_BYTES", 1)
    monkeypatch.setattr(workers, "_cores", lambda: 3)
    assert audited(builder) == alone
    assert len(alone.secrets) == 3


# --- the fast way ---------------------------------------------------------------------------------


def test_lines_without_keywords_are_not_decoded(builder: StoreBuilder) -> None:
    written = session()
    for _ in range(50):
        written.response(text("It runs and runs.")).prompt("Go on")
    put(builder, written.prompt(f"Use {KEY}"))
    admitted = SecretLineFilter(Gate(["sk-ant-[a-z]"]), ()).admitted(written.lines)
    assert admitted == {100}, "every response counts its input_tokens, which is no reason to decode it"


PIECES = st.sampled_from(
    [
        *(
            KEY,
            KEY[:30],
            KEY[30:],
            "\x1b[31m",
            "%2D",
            "\\u0073",
            "&#45;",
            "\n",
            " ",
            '"',
            "\\",
            "/",
            "token",
            "é",
            "🙂",
        ),
        *(f'password = "{PASSWORD}"', "https://ada:s3cr3tPw9@db.tea.dev/", '"input_tokens":7', "input_tokens", "\x08"),
        *(expand("ghp_{a36}"), "AKIA", expand("xoxb-{d12}-{d12}-{a24}"), "--password", "\u200b", "\x00", "=", "key"),
    ]
)
VALUES = st.recursive(
    st.lists(PIECES, max_size=5).map("".join),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "api_key", "text", "input_tokens", "password"]) | PIECES, inner, max_size=3
        )
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.booleans())
def test_the_filter_admits_every_line_with_a_secret(value: Any, is_ascii: bool) -> None:
    line = json.dumps({"message": value, "usage": {"input_tokens": 4}}, ensure_ascii=is_ascii).encode() + b"\n"
    found: list[str] = []

    def visit(key: str, text: str, field: str) -> str:
        found.extend(find.value for find in REDACTOR.secrets(text, key))
        return text

    for record in values_of_line(line):
        remove_images(record)
        transform(record, visit)
    assert not found or FILTER.admitted([line])


REDACTOR = Redactor(keep=["identity"])
FILTER = SecretLineFilter(gate_of(tuple(rule.pattern for rule in SECRET_RULES)), ())


def test_names_of_secret_fields_have_a_word_that_the_filter_looks_for() -> None:
    names = [
        *("api_key", "accessToken", "client_secret", "X-Api-Key", "DB_PASSWORD", "APIKey", "authorization", "_auth"),
        *("Set-Cookie", "passphrase", "pwd", "jwt", "credentials", "private_key", "proxyAuthorization", "pass"),
    ]
    assert all(is_secret_name(name) for name in names)
    assert all(any(word in name.lower() for word in FIELD_WORDS) for name in names)


def test_real_sessions_are_read_without_a_mistake() -> None:
    if not corpus.STORE.exists():
        pytest.skip("there is no real store")
    store = StoreBuilder.open(_Existing(corpus.STORE))
    report = audit_files(store, store.files()[:40])
    assert report.problems == []
    assert report.lines > 0


class _Existing(StoreBuilder):
    def __init__(self, root: Path) -> None:
        self.root = root


# --- kingfisher -----------------------------------------------------------------------------------


@pytest.fixture
def has_kingfisher() -> None:
    try:
        kingfisher.find_kingfisher()
    except (MissingExtra, NotInstalled) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.mark.usefixtures("has_kingfisher")
def test_kingfisher_finds_more_and_leaves_nothing_behind(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    token, password = expand("ghp_{a36}", 3), "Zk4rTq9wLm2x"
    put(builder, session().prompt(f"first {token}\nthen https://ada:{password}@db.tea.dev/x then {KEY}"))
    report = audited(builder, rules=AuditRules(keep=("github-token",)), is_deep=True)
    found = {secret.kind.word: secret for secret in report.secrets}
    assert {kind: secret.found_by for kind, secret in found.items()} == {
        "api-key": ("rules", "kingfisher"),
        "password": ("rules", "kingfisher"),
        "token": ("kingfisher",),
    }
    assert places(found["token"]) == [(f"{ONE}.jsonl", 1, "message.content")]
    assert found["token"].places[0].preview.startswith("first [github-pat-1] then https://ada:[password-1]@")
    for secret in (token, password, KEY):
        assert secret not in repr(report)
    assert list(scratch.iterdir()) == []


def test_texts_for_kingfisher_are_private_and_deleted_if_it_fails(
    builder: StoreBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    def fail(program: str, folder: str, private: str) -> Any:
        paths = (Path(private), Path(folder), *Path(folder).iterdir())
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in paths)
        raise NotInstalled("it failed")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(deep_audit, "find_kingfisher", lambda: "kingfisher")
    monkeypatch.setattr(kingfisher, "find_kingfisher", lambda: "kingfisher")
    monkeypatch.setattr(deep_audit, "run_kingfisher", fail)
    put(builder, session().prompt(f"Use {KEY}"))
    with pytest.raises(NotInstalled, match="it failed"):
        audited(builder, is_deep=True)
    assert modes == [0o700, 0o700, 0o600]
    assert [path.name for path in tmp_path.iterdir()] == ["claude"]


def test_a_missing_or_broken_kingfisher_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kingfisher, "_path", lambda: None)
    with pytest.raises(MissingExtra, match="--deep needs kingfisher-bin: install it with "):
        kingfisher.find_kingfisher()
    broken = tmp_path / "kingfisher"
    broken.write_text("not a program")
    broken.chmod(0o700)
    monkeypatch.setattr(kingfisher, "_path", lambda: str(broken))
    with pytest.raises(NotInstalled, match="kingfisher does not run on this machine: Exec format error"):
        kingfisher.find_kingfisher()


def test_what_passes_to_workers_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(tuple(AuditRules(("api-key",), (KnownValue("A", "b"),))))) is not None
