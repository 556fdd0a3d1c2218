"""`--redact` and `redact` on the command line: what people see, and what is left behind."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from claude_session_player.cli import run
from claude_session_player.store import Session
from tests.builder import SessionBuilder
from tests.program import csp
from tests.users import ADA, csp_as, give, needs_users, shared_folder

ID = "aaaaaaaa-1111-4111-8111-111111111111"
OTHER = "bbbbbbbb-1111-4111-8111-111111111111"
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
PROJECT = "-srv-teapot"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A store with one session that says a token."""
    root = tmp_path / "store"
    path = root / "projects" / PROJECT / f"{ID}.jsonl"
    session(path, f"Make tea with {TOKEN}")
    os.utime(path, (10**9, 10**9))  # it is not in use
    return root


def session(path: Path, *prompts: str) -> Path:
    builder = SessionBuilder()
    for prompt in prompts:
        builder.prompt(prompt)
    path.parent.mkdir(parents=True, exist_ok=True)
    return builder.write(path)


# --- archives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_place", [True, False], ids=["--archive", "--archived"])
@pytest.mark.parametrize(
    "words",
    [
        ["export", ID],
        ["show", ID, "--redact"],
        ["replay", ID, "--redact"],
        ["get", ID, "--line", "1", "--redact"],
        ["find", "tea", "--redact"],
        ["find", "tea", "--redact", "--show"],
    ],
    ids=" ".join,
)
def test_an_archived_session_is_redacted(
    words: list[str], has_place: bool, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    place = ["--archive", str(tmp_path / "archive")] if has_place else []
    assert csp("archive", "add", ID, *place, "--root", root).returncode == 0
    done = csp(*words, *(place or ["--archived"]))
    assert (done.returncode, b"Make tea with [github-" in done.stdout) == (0, True), done
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_an_archived_session_is_copied(root: Path, tmp_path: Path) -> None:
    place = ["--archive", str(tmp_path / "archive")]
    assert csp("archive", "add", ID, *place, "--root", root).returncode == 0
    done = csp("redact", ID, *place, "-o", tmp_path / "tea.jsonl")
    assert done.returncode == 0, done
    assert "Make tea with [github-" in (tmp_path / "tea.jsonl").read_text()


# --- what is said ---------------------------------------------------------------------------------------


def test_a_redacted_search_suggests_nothing_that_only_the_originals_say(tmp_path: Path) -> None:
    session(tmp_path / "store" / "projects" / PROJECT / f"{ID}.jsonl", "password: tr0ub4dor3x, then kettle kettle")
    common = ("--root", tmp_path / "store")
    assert b"tr0ub4dor3x" in csp("find", "tr0ub4dor3z", *common).stderr
    done = csp("find", "tr0ub4dor3z", "--redact", *common)
    assert (done.stdout, done.stderr.decode().splitlines()[0]) == (b"", "No sessions match this query.")
    assert b"tr0ub4dor3x" not in done.stderr


def test_commands_that_open_a_redacted_hit_redact_as_well(root: Path) -> None:
    last = csp("find", "tea", "--redact", "--root", root).stdout.decode().splitlines()[-1]
    assert last.split()[:2] == ["csp", "show"]
    assert last.endswith("--redact")
    assert "claude --resume" not in last


@pytest.mark.parametrize("command", ["show", "export"])
def test_names_in_errors_have_masks(command: str, tmp_path: Path) -> None:
    path = tmp_path / f"{TOKEN}.jsonl"
    path.write_text("no session")
    done = csp(command, path, *(["--redact"] if command == "show" else []))
    assert done.returncode == 4
    assert b"[github-" in done.stderr
    assert TOKEN.encode() not in done.stderr


def test_names_in_warnings_have_masks(root: Path, tmp_path: Path) -> None:
    (root / "projects" / PROJECT / f"{TOKEN}.jsonl").symlink_to(tmp_path / "nowhere")
    done = csp("find", "tea", "--redact", "--no-index", "--root", root)
    assert b"1 file or directory could not be read" in done.stderr
    assert TOKEN.encode() not in done.stderr


# --- the report -----------------------------------------------------------------------------------------


def test_a_hit_that_is_shown_is_reported_once(root: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = csp("find", "tea", "--show", "--redact", "--redaction-report", report, "--root", root)
    assert (done.returncode, done.stderr.count(b"redacted: ")) == (0, 1), done
    assert "token" in [row["kind"] for row in json.loads(report.read_text())["counts"]]


@pytest.mark.parametrize("command", ["export", "redact"])
def test_the_report_is_no_output(command: str, root: Path, tmp_path: Path) -> None:
    path = tmp_path / "tea.jsonl"
    words = ["--format", "markdown"] if command == "export" else []
    done = csp(command, ID, *words, "-o", path, "--redaction-report", f"{tmp_path}/./tea.jsonl", "--root", root)
    assert (done.returncode, path.exists()) == (2, False), done
    assert b"--output and --redaction-report are the same file" in done.stderr


def test_a_report_replaces_nothing_that_was_written_meanwhile(root: Path, tmp_path: Path) -> None:
    place = tmp_path / "copies" / f"{ID}.jsonl"
    done = csp("redact", ID, "-o", f"{place.parent}/", "--redaction-report", place, "--root", root)
    assert (done.returncode, b"already exists: name another file" in done.stderr) == (5, True), done
    assert "Make tea with" in place.read_text()


def test_a_report_is_never_written_into_a_store(root: Path) -> None:
    report = root / "projects" / PROJECT / "report.json"
    done = csp("export", ID, "--redaction-report", report, "--root", root)
    assert (done.returncode, report.exists()) == (5, False), done
    assert b"is in a Claude store" in done.stderr


# --- a copy that is written -----------------------------------------------------------------------------


def with_subagent(root: Path, id: str = ID) -> None:
    session(root / "projects" / PROJECT / id / "subagents" / "agent-abc1234.jsonl", "Look for the kettle")


def test_the_name_of_a_copy_has_masks(root: Path, tmp_path: Path) -> None:
    path = session(tmp_path / f"ada@tea.dev-{TOKEN}.jsonl", "Make tea")
    done = csp("redact", path, "-o", f"{tmp_path / 'copies'}/")
    assert done.returncode == 0, done
    (name,) = os.listdir(tmp_path / "copies")
    assert "ada@tea.dev" not in name
    assert TOKEN not in name
    assert TOKEN.encode() not in done.stderr
    assert done.stderr.decode().startswith(f"wrote {tmp_path / 'copies' / name}\n")  # where it is
    assert csp("redact", ID, "-o", f"{tmp_path / 'copies'}/", "--root", root).returncode == 0
    assert (tmp_path / "copies" / f"{ID}.jsonl").exists()


@pytest.mark.parametrize("name", ["tea.txt", "tea.JSONL", "tea.jsonl"])
def test_what_belongs_to_a_copy_is_in_a_directory_with_its_stem(name: str, root: Path, tmp_path: Path) -> None:
    with_subagent(root)
    done = csp("redact", ID, "-o", tmp_path / "copies" / name, "--root", root)
    assert done.returncode == 0, done
    assert (tmp_path / "copies" / "tea" / "subagents" / "agent-abc1234.jsonl").is_file()
    assert (tmp_path / "copies" / name).is_file()


def test_a_copy_that_exists_is_refused_before_anything_is_read(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_session_player.errors import AlreadyThere
    from claude_session_player.redact import Redactor, write_copy, written_copy
    from claude_session_player.store import Store

    (tmp_path / "tea.jsonl").write_text("mine")
    monkeypatch.setattr(written_copy, "copy_redacted", None)
    original = Store.open(str(root), cache=None).resolve(ID)
    with pytest.raises(AlreadyThere):
        write_copy(original, str(tmp_path / "tea.jsonl"), Redactor())


def test_a_copy_that_fails_leaves_no_directory(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from claude_session_player.errors import CannotWrite
    from claude_session_player.redact import Redactor, write_copy, written_copy
    from claude_session_player.store import Store

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device")

    with_subagent(root)
    original = Store.open(str(root), cache=None).resolve(ID)
    for name in ("copy_redacted", "link_into_place"):
        with monkeypatch.context() as patched:
            patched.setattr(written_copy, name, fail)
            with pytest.raises(CannotWrite):
                write_copy(original, str(tmp_path / "some" / "copies" / "tea.jsonl"), Redactor())
        assert not (tmp_path / "some").exists()


# --- standard input -------------------------------------------------------------------------------------


def test_a_session_from_standard_input_is_put_into_a_file_that_only_its_owner_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from claude_session_player.redact import RedactedStore

    modes = []
    copy_of = RedactedStore.copy_of

    def noting(store: RedactedStore, original: Session) -> Session:
        modes.append(os.stat(original.path).st_mode & 0o777)
        return copy_of(store, original)

    monkeypatch.setattr(RedactedStore, "copy_of", noting)
    path = session(tmp_path / "tea.jsonl", "Make tea")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run(["replay", "-", "--redact"]) == 0
    assert modes == [0o600]


# --- what is kept, and what is learned ------------------------------------------------------------------


@pytest.mark.parametrize("words", [["redact", ID, "-o", "copies/"], ["secrets", ID]], ids=["redact", "secrets"])
def test_kinds_groups_and_rules_are_kept_by_the_same_words(
    words: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in ("github-token", "identity", "secrets", "cookie,Email"):
        done = csp(*words, *(["--force"] if words[0] == "redact" else []), "--keep", word, "--root", root)
        assert done.returncode in (0, 1), done
    done = csp(*words, "--keep", "githubtoken", "--root", root)
    assert done.returncode == 2
    meant = "did you mean 'github-token'? 'help redaction' lists the kinds"
    assert f"'githubtoken' is no kind and no rule: {meant}" in done.stderr.decode()
    done = csp(*words, "--keep", "xyzzy", "--root", root)
    assert b"'xyzzy' is no kind and no rule: 'help redaction' lists the kinds" in done.stderr


@pytest.mark.parametrize("command", [["show", OTHER, "--chain"], ["find", "kettle"], ["tree", OTHER, "--prompts"]])
def test_what_a_later_session_teaches_is_masked_in_an_earlier_one(command: list[str], tmp_path: Path) -> None:
    root = tmp_path / "store"
    home = root / "projects" / PROJECT
    first, second = SessionBuilder(), SessionBuilder()
    first.prompt("The kettle opens with xK9mQ2vB7nW4tQ")
    second.prompt("The kettle: password = xK9mQ2vB7nW4tQ")
    records = [dict(json.loads(line)) for line in second.write(tmp_path / "second").read_text().splitlines()]
    home.mkdir(parents=True)
    first.write(home / f"{ID}.jsonl")
    origin = json.loads((home / f"{ID}.jsonl").read_text().splitlines()[0])
    records[0]["forkedFrom"] = {"sessionId": ID, "messageUuid": origin["uuid"]}
    (home / f"{OTHER}.jsonl").write_text("".join(json.dumps({**row, "sessionId": OTHER}) + "\n" for row in records))
    done = csp(*command, "--redact", "--root", root)
    assert done.returncode == 0, done
    assert done.stdout.count(b"kettle") >= 1
    assert b"xK9mQ2vB7nW4tQ" not in done.stdout


def test_the_path_of_a_file_is_typed_as_the_session_has_it(root: Path) -> None:
    path = root / "projects" / PROJECT / f"{OTHER}.jsonl"
    builder = SessionBuilder()
    name = f"/srv/tea/{TOKEN}.py"
    block = {"type": "tool_use", "id": "c1", "name": "Write", "input": {"file_path": name, "content": "x = 1\n"}}
    builder.response(block).result("c1", "File created")
    builder.write(path)
    done = csp("files", OTHER, name, "--redact", "--root", root)
    assert (done.returncode, done.stdout) == (0, b"x = 1\n"), done


def test_a_redacted_summary_suggests_commands_that_redact(root: Path) -> None:
    lines = csp("summary", ID, "--redact", "--keep", "email", "--root", root).stdout.decode().splitlines()
    shown = [line for line in lines if " show " in line]
    assert shown
    assert all("--redact --keep email" in line for line in shown)


# --- what cannot be read --------------------------------------------------------------------------------


@needs_users
def test_a_subagent_that_cannot_be_read_is_left_out() -> None:
    with shared_folder() as folder:
        root, target = folder / "store", folder / "copies" / "tea.jsonl"
        session(root / "projects" / PROJECT / f"{ID}.jsonl", f"Make tea with {TOKEN}")
        with_subagent(root)
        lost = root / "projects" / PROJECT / ID / "subagents" / f"agent-{TOKEN}.jsonl"
        session(lost, "Look for the cups").chmod(0)
        target.parent.mkdir()
        give(target.parent, ADA)
        shown = csp_as(ADA, "show", ID, "--redact", "--root", root, "--no-cache")
        written = csp_as(ADA, "redact", ID, "-o", target, "--root", root, "--no-cache")
        for done in (shown, written):
            assert done.returncode == 1, done
            assert b"not read, and left out: " in done.stderr
            assert TOKEN.encode() not in done.stdout + done.stderr
        assert b"Make tea with [github-" in shown.stdout
        assert target.exists()
        assert os.listdir(target.parent / "tea" / "subagents") == ["agent-abc1234.jsonl"]
