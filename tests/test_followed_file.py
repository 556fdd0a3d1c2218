"""A followed file and its frame index, while the file grows, is truncated, replaced or deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from claude_session_player import View
from claude_session_player.errors import CannotRead
from claude_session_player.player import follow
from claude_session_player.player.follow import FileChange, FollowedFile
from claude_session_player.player.recording import FileSource
from tests.builder import SessionBuilder, call, text


class CountingTape(FileSource):
    """A source that counts the bytes that were read from it."""

    count = 0

    def read(self, offset: int, size: int) -> bytes:
        """The same bytes."""
        data = super().read(offset, size)
        CountingTape.count += len(data)
        return data


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def shown(followed: FollowedFile) -> str:
    return followed.frame_index.screen(len(followed.frame_index.frames) - 1).to_markdown()


@pytest.fixture
def session() -> SessionBuilder:
    return SessionBuilder().prompt("Start the engine")


@pytest.fixture
def path(session: SessionBuilder, tmp_path: Path) -> Path:
    path = session.write(tmp_path / "session.jsonl")
    session.flush()
    return path


@pytest.fixture
def followed(path: Path) -> FollowedFile:
    followed = FollowedFile(str(path))
    assert followed.catch_up() is FileChange.GREW
    return followed


def test_what_is_appended_is_taken_in(followed: FollowedFile, path: Path, session: SessionBuilder) -> None:
    assert followed.catch_up() is FileChange.NOTHING
    append(path, session.response(text("It runs.")).flush())
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed) == "❯ Start the engine\n\n● It runs."
    assert followed.catch_up() is FileChange.NOTHING


def test_a_line_that_is_half_written_waits(followed: FollowedFile, path: Path, session: SessionBuilder) -> None:
    line = session.response(text("It runs.")).flush()
    append(path, line[:100])
    assert followed.catch_up() is FileChange.NOTHING
    append(path, line[100:-2])
    assert followed.catch_up() is FileChange.NOTHING
    append(path, line[-2:])
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed).endswith("● It runs.")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_whole_record_is_shown_before_its_line_ends(
    followed: FollowedFile, path: Path, session: SessionBuilder, end: bytes
) -> None:
    append(path, session.response(text("It runs.")).flush().rstrip(b"\n"))
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed).endswith("● It runs.")
    assert followed.catch_up() is FileChange.NOTHING
    append(path, end + session.response(text("It stops.")).flush())
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed).endswith("● It runs.\n\n● It stops.")
    assert [frame.line for frame in followed.frame_index.frames] == [1, 2, 3]
    assert followed.frame_index.size == path.stat().st_size


def test_a_file_that_is_cut_off_is_filmed_anew(followed: FollowedFile, path: Path) -> None:
    index = followed.frame_index
    path.write_bytes(b"")
    assert followed.catch_up() is FileChange.SHORTENED
    assert followed.frame_index is not index
    assert followed.frame_index.frames == []
    append(path, SessionBuilder().prompt("Again").data())
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed) == "❯ Again"


def test_a_file_that_is_cut_off_in_a_half_written_line_is_filmed_anew(followed: FollowedFile, path: Path) -> None:
    size = path.stat().st_size
    append(path, b'{"type":"user","mess')
    followed.catch_up()
    os.truncate(path, size + 5)
    assert followed.catch_up() is FileChange.SHORTENED
    assert shown(followed) == "❯ Start the engine"


def test_a_half_written_line_that_is_taken_back_hides_no_line_that_is_whole(followed: FollowedFile, path: Path) -> None:
    size = path.stat().st_size
    append(path, b'{"type":"user"' + b"x" * 2000)
    followed.catch_up()
    os.truncate(path, size)
    append(path, SessionBuilder().prompt("Two").data() + b" " * 3000)
    assert followed.catch_up() is FileChange.SHORTENED
    assert shown(followed) == "❯ Start the engine\n\n❯ Two"


def test_a_file_that_was_written_anew_and_is_longer_is_filmed_anew(followed: FollowedFile, path: Path) -> None:
    inode = path.stat().st_ino
    path.write_bytes(SessionBuilder().prompt("Something else").response(text("Yes.")).data())
    assert path.stat().st_ino == inode
    assert followed.catch_up() is FileChange.SHORTENED
    assert shown(followed) == "❯ Something else\n\n● Yes."


def test_a_file_that_takes_the_place_of_another_is_filmed_anew(
    followed: FollowedFile, path: Path, tmp_path: Path
) -> None:
    other = SessionBuilder().prompt("Another").response(text("Yes.")).write(tmp_path / "other.jsonl")
    os.replace(other, path)
    assert followed.catch_up() is FileChange.REPLACED
    assert shown(followed) == "❯ Another\n\n● Yes."


def test_another_view_of_a_deleted_file_shows_all_that_was_read(followed: FollowedFile, path: Path) -> None:
    path.unlink()
    assert followed.catch_up() is FileChange.DELETED
    followed.rebuild_index(View.rich())
    assert followed.catch_up() is FileChange.GREW
    assert shown(followed) == "❯ Start the engine"


def test_another_view_of_a_deleted_sub_agent_is_still_that_of_a_sub_agent(tmp_path: Path) -> None:
    path = SessionBuilder(sidechain=True).prompt("Measure.").write(tmp_path / "s.jsonl")
    followed = FollowedFile(str(path))
    path.unlink()
    followed.rebuild_index(View.rich())
    followed.catch_up()
    assert shown(followed) == "❯ Measure."


def test_a_file_that_is_deleted_while_it_is_reopened_stays_readable(
    followed: FollowedFile, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(name: str) -> bool:
        path.unlink()
        raise CannotRead(f"{name}: it is gone")

    os.replace(SessionBuilder().prompt("Another").write(tmp_path / "other.jsonl"), path)
    monkeypatch.setattr(follow, "is_subagent_file", delete)
    assert followed.catch_up() is FileChange.DELETED
    assert shown(followed) == "❯ Start the engine"


def test_a_file_that_was_replaced_is_not_held_open(path: Path, tmp_path: Path) -> None:
    tapes: list[FileSource] = []

    def opener(name: str) -> FileSource:
        tapes.append(FileSource(name))
        return tapes[-1]

    followed = FollowedFile(str(path), opener=opener)
    os.replace(SessionBuilder().prompt("Another").write(tmp_path / "other.jsonl"), path)
    followed.catch_up()
    before, now = tapes
    now.status()
    with pytest.raises(ValueError, match="closed"):
        before.status()


def test_of_a_file_that_is_deleted_the_film_stays(followed: FollowedFile, path: Path, session: SessionBuilder) -> None:
    append(path, session.response(text("It runs.")).flush())
    path.unlink()
    assert followed.catch_up() is FileChange.DELETED
    assert followed.is_deleted
    assert shown(followed).endswith("● It runs.")
    assert followed.catch_up() is FileChange.NOTHING


def test_a_file_that_comes_back_is_followed_again(followed: FollowedFile, path: Path, tmp_path: Path) -> None:
    path.rename(tmp_path / "away")
    assert followed.catch_up() is FileChange.DELETED
    (tmp_path / "away").rename(path)
    assert followed.catch_up() is FileChange.NOTHING
    assert not followed.is_deleted
    path.unlink()
    followed.catch_up()
    SessionBuilder().prompt("Again").write(path)
    assert followed.catch_up() in (FileChange.REPLACED, FileChange.SHORTENED)  # the system may use an inode again
    assert shown(followed) == "❯ Again"


def test_what_cannot_be_read_any_more_is_told(followed: FollowedFile, path: Path) -> None:
    path.unlink()
    path.mkdir()
    with pytest.raises(CannotRead):
        followed.catch_up()


def test_a_sub_agents_own_file_shows_its_lines(tmp_path: Path) -> None:
    path = SessionBuilder(sidechain=True).prompt("Look").write(tmp_path / "agent-a1.jsonl")
    followed = FollowedFile(str(path), View())
    followed.catch_up()
    assert shown(followed) == "❯ Look"


def test_a_long_file_is_taken_in_by_portions(tmp_path: Path) -> None:
    session = SessionBuilder()
    for number in range(50):
        session.prompt(f"{number} " + "x" * 1000)
    followed = FollowedFile(str(session.write(tmp_path / "session.jsonl")))
    looks = 0
    while followed.catch_up(size=5000) is FileChange.GREW:
        looks += 1
    assert looks > 10
    assert len(followed.frame_index.frames) == 50


def test_following_reads_no_more_than_is_appended(tmp_path: Path) -> None:
    """Of a file of 50 MB, too: what was read once is not read again."""
    session = SessionBuilder().prompt("Start").response(call("Bash", "toolu_1", command="x"))
    session.result("toolu_1", "y" * 1_000_000)
    path = session.write(tmp_path / "session.jsonl")
    for _ in range(50):
        append(path, session.lines[-1])
    session.flush()
    followed = FollowedFile(str(path), opener=CountingTape)
    CountingTape.count = 0
    followed.catch_up()
    assert path.stat().st_size <= CountingTape.count <= path.stat().st_size * 2.2
    shown(followed)
    CountingTape.count, appended, decoded = 0, 0, followed.frame_index.lines_decoded
    for number in range(200):
        data = session.prompt(f"More {number}").flush()
        append(path, data)
        appended += len(data)
        assert followed.catch_up() is FileChange.GREW
        shown(followed)
    assert CountingTape.count <= 2 * appended + 200 * 2 * 64
    assert followed.frame_index.lines_decoded - decoded == 2 * 200
