"""Hostile archives: none costs much memory, disk or time, none brings anything along, and none stops the others."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unicodedata
from pathlib import Path
from typing import NamedTuple

import pytest

from claude_session_player.archive.pack import check_archive, read_manifest
from claude_session_player.archive.restore import restore_session
from claude_session_player.errors import BadArchive
from tests.archives import seen
from tests.hostile.archive_kinds import (
    CONTENT,
    END,
    KINDS,
    ODD,
    Zeros,
    entry,
    first,
    frame,
    header,
    main_of,
    own,
    sound,
)
from tests.hostile.effort import IS_FULL, pick, sample
from tests.program import PROGRAM
from tests.stores import ONE

MEMORY = 192 << 20
LARGEST_FILE = 32 << 20
SECONDS = 30
KIND_NAMES = list(KINDS)


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def limited() -> None:
    """What a command may use; beyond that the system stops it."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def run(place: Path, *arguments: str | Path) -> Done:
    """Run the program within limits; whatever it was asked, it behaves, and leaves nothing behind."""
    temporary = place / "temporary"
    temporary.mkdir(exist_ok=True)
    command = [*PROGRAM, *map(str, arguments)]
    variables = {**os.environ, "TMPDIR": str(temporary), "XDG_CACHE_HOME": str(place / "cache")}
    process = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=variables, preexec_fn=limited, check=False
    )
    done = Done(process.returncode, process.stdout.decode(), process.stderr.decode())
    assert 0 <= done.code <= 10, done.err
    assert "Traceback" not in done.err
    assert harmless(done.err)
    assert "--jsonl" in arguments or harmless(done.out)  # scripts get every sign as it is
    assert not list(temporary.iterdir())
    return done


def harmless(text: str) -> bool:
    """True where a terminal would obey nothing."""
    return all(sign == "\n" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for sign in text)


def session_id(number: int) -> str:
    return f"{number:08x}-0001-4000-8000-000000000001"


def vault_of(place: Path, kinds: dict[str, bytes]) -> Path:
    """An archive directory with a good archive, and some others beside it, by their ids."""
    folder = place / "archive_dir" / "-p"
    folder.mkdir(parents=True)
    (folder / f"{ONE}.tar.zst").write_bytes(sound(ONE))
    for id, data in kinds.items():
        (folder / f"{id}.tar.zst").write_bytes(data)
    return place / "archive_dir"


def ids(done: Done) -> list[str]:
    return [json.loads(line)["id"] for line in done.out.splitlines()]


def restored(target: Path) -> set[str]:
    """Everything that is in a store, directories included."""
    return set(seen(target)) if target.exists() else set()


GOOD = {"projects", "projects/-p", main_of(ONE)}


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 64


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_hostile_archive_is_refused_and_leaves_nothing_behind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{ONE}.tar.zst"
    path.write_bytes(KINDS[kind](ONE))
    with pytest.raises(BadArchive) as caught:
        check_archive(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert harmless(message.removeprefix(str(path)))
    assert "\n" not in message
    assert len(message) < 600
    with pytest.raises(BadArchive):
        restore_session(str(path), str(tmp_path / "target"))
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("kind", sample(list(ODD), 2))
def test_an_odd_archive_is_used_and_does_no_harm(tmp_path: Path, kind: str) -> None:
    archive_dir, target = vault_of(tmp_path, {session_id(1): ODD[kind](session_id(1))}), tmp_path / "target"
    assert run(tmp_path, "archive", "verify", "--archive", archive_dir).code == 0
    run(tmp_path, "archive", "list", "--archive", archive_dir)
    assert sorted(ids(run(tmp_path, "archive", "list", "--jsonl", "--archive", archive_dir))) == [session_id(1), ONE]
    assert run(tmp_path, "list", "--archive", archive_dir).code == 0
    assert run(tmp_path, "restore", "--all", "--archive", archive_dir, "--root", target).code == 0
    assert restored(target) == GOOD | {main_of(session_id(1))}
    assert (target / main_of(session_id(1))).stat().st_mode & 0o133 == 0


@pytest.mark.parametrize("kind", KIND_NAMES[:: len(KIND_NAMES) // pick(1, 64)])
def test_a_hostile_archive_costs_little_and_does_not_stop_another(tmp_path: Path, kind: str) -> None:
    bad = session_id(1)
    archive_dir, target, alone = vault_of(tmp_path, {bad: KINDS[kind](bad)}), tmp_path / "target", tmp_path / "alone"
    path = archive_dir / "-p" / f"{bad}.tar.zst"
    before = seen(archive_dir)
    assert ONE in ids(run(tmp_path, "archive", "list", "--jsonl", "--archive", archive_dir))
    checked = run(tmp_path, "archive", "verify", "--archive", archive_dir)
    assert checked.code == 1
    assert checked.out == "2 archives: 1 refused\n"
    assert str(path) in checked.err
    listed = run(tmp_path, "list", "--jsonl", "--archive", archive_dir)
    assert (listed.code, ids(listed)) == (0, [ONE])
    assert str(path) in listed.err
    assert "hostile" in run(tmp_path, "show", ONE, "--archive", archive_dir).out
    for reference in (path, bad):
        assert run(tmp_path, "show", reference, "--archive", archive_dir).code == 10
    assert run(tmp_path, "restore", path, "--root", alone).code == 10
    assert restored(alone) == set()
    assert run(tmp_path, "archive", "verify", path, ONE, "--archive", archive_dir).out == "2 archives: 1 refused\n"
    both = run(tmp_path, "restore", path, ONE, "--archive", archive_dir, "--root", alone)
    assert (both.code, restored(alone)) == (1, GOOD)
    everything = run(tmp_path, "restore", "--all", "--archive", archive_dir, "--root", target)
    assert (everything.code, restored(target)) == (1, GOOD)
    assert (target / main_of(ONE)).read_bytes() == CONTENT
    assert seen(archive_dir) == before


def test_many_hostile_archives_do_not_stop_a_good_one(tmp_path: Path) -> None:
    kinds = {session_id(number): KINDS[kind](session_id(number)) for number, kind in enumerate(KIND_NAMES, 1)}
    archive_dir, target = vault_of(tmp_path, kinds), tmp_path / "target"
    assert ONE in ids(run(tmp_path, "archive", "list", "--jsonl", "--archive", archive_dir))
    checked = run(tmp_path, "archive", "verify", "--jsonl", "--archive", archive_dir)
    records = [json.loads(line) for line in checked.out.splitlines()]
    assert [Path(record["archive"]).name for record in records if record["sound"]] == [f"{ONE}.tar.zst"]
    assert len(records) == len(KINDS) + 1
    listed = run(tmp_path, "list", "--jsonl", "--archive", archive_dir)
    assert (listed.code, ids(listed)) == (0, [ONE])
    done = run(tmp_path, "restore", "--all", "--archive", archive_dir, "--root", target)
    assert (done.code, restored(target)) == (1, GOOD)


@pytest.mark.parametrize("kind", sample(["a file is another", "a file is missing", "something between two files"], 1))
def test_a_hostile_archive_that_is_said_to_be_newer_does_not_hide_an_older_one(tmp_path: Path, kind: str) -> None:
    archive_dir, target = vault_of(tmp_path, {f"{ONE}.2": KINDS[kind](ONE)}), tmp_path / "target"
    listed = run(tmp_path, "list", "--jsonl", "--archive", archive_dir)
    assert ids(listed) == [ONE]
    assert f"{ONE}.2.tar.zst" in listed.err
    for reference in (ONE, "latest", "hostile"):
        assert "hostile" in run(tmp_path, "show", reference, "--archive", archive_dir).out
    for arguments in (["--all"], [ONE]):
        done = run(tmp_path, "restore", *arguments, "--archive", archive_dir, "--root", target)
        assert (done.code, restored(target)) == (1, GOOD)
        shutil.rmtree(target)


def test_an_archive_that_does_not_fit_on_the_disk_is_not_unpacked(tmp_path: Path) -> None:
    """Its bytes may be true: only their number is too large."""
    size = 2 * shutil.disk_usage(tmp_path).free
    bad = session_id(1)
    parts = (first(bad, [entry(main_of(bad), size=size)]), header(f"files/{main_of(bad)}", size))
    if size >> 15 > 512 << 20:
        pytest.skip("the disk is too large for an archive that does not fit on it")
    archive_dir, target = vault_of(tmp_path, {bad: frame(*parts, Zeros(size))}), tmp_path / "target"
    done = run(tmp_path, "restore", bad, "--archive", archive_dir, "--root", target)
    assert (done.code, restored(target)) == (5, set())
    assert "not enough space (" in done.err
    assert "--root" in done.err
    assert "TMPDIR" in run(tmp_path, "show", bad, "--archive", archive_dir).err
    listed = run(tmp_path, "list", "--jsonl", "--archive", archive_dir)
    assert (listed.code, ids(listed)) == (0, [ONE])
    assert "not enough space (" in listed.err
    done = run(tmp_path, "restore", "--all", "--archive", archive_dir, "--root", target)
    assert (done.code, restored(target)) == (1, GOOD)


def test_a_session_from_an_unknown_store_does_not_stop_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    bad = session_id(1)
    archive_dir = vault_of(tmp_path, {bad: ODD["a root elsewhere"](bad)})
    good = frame(first(ONE, root=str(store)), own(ONE), END)
    (archive_dir / "-p" / f"{ONE}.tar.zst").write_bytes(good)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", f"{store},{tmp_path / 'other'}")
    done = run(tmp_path, "restore", "--all", "--archive", archive_dir)
    assert (done.code, restored(store)) == (1, GOOD)
    assert "--root" in done.err


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    archive_dir = vault_of(tmp_path, {})
    pipe, link = archive_dir / "-p" / f"{session_id(1)}.tar.zst", archive_dir / "-p" / f"{session_id(2)}.tar.zst"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    for path in (pipe, link):
        for command in (["archive", "verify"], ["restore"], ["show", "--archive", archive_dir]):
            assert run(tmp_path, *command, path).code in (3, 10)
    assert ids(run(tmp_path, "list", "--jsonl", "--archive", archive_dir)) == [ONE]


def test_a_file_that_is_empty_for_ever_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / f"{ONE}.tar.zst"
    path.write_bytes(frame(first(ONE))[:-3])
    os.truncate(path, 1 << 40)
    start = time.process_time()
    with pytest.raises(BadArchive):
        check_archive(str(path))
    assert time.process_time() - start < 5


@pytest.mark.skipif(not IS_FULL, reason="takes long; HOSTILE=full")
def test_true_content_may_be_as_dense_as_it_is(tmp_path: Path) -> None:
    import hashlib

    digest = hashlib.sha256()
    for _ in range(1024):
        digest.update(bytes(1 << 20))
    parts = (
        first(ONE, [entry(main_of(ONE), size=1 << 30, sha256=digest.hexdigest())]),
        header(f"files/{main_of(ONE)}", 1 << 30),
    )
    path = tmp_path / f"{ONE}.tar.zst"
    path.write_bytes(frame(*parts, Zeros((1 << 30) + len(END))))
    assert run(tmp_path, "archive", "verify", path).code == 0


def test_versions_with_long_numbers_hinder_nobody(tmp_path: Path) -> None:
    archive_dir = vault_of(tmp_path, {f"{ONE}.{'9' * 200}": sound(ONE)})
    assert run(tmp_path, "archive", "list", "--archive", archive_dir).code == 0
    assert read_manifest(str(archive_dir / "-p" / f"{ONE}.tar.zst")).id == ONE
