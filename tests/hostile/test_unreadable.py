"""What cannot be read is not removed: nobody knows how old it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builder import SessionBuilder, call, text
from tests.stores import ENGINE, ONE, TWO, StoreBuilder, settle
from tests.users import ADA, csp_as, give, needs_users, shared_folder

pytestmark = needs_users


@pytest.fixture
def builder() -> Iterator[StoreBuilder]:
    """A store with a session that called a sub-agent, and one that called none."""
    with shared_folder() as folder:
        builder = StoreBuilder(folder / "store")
        session = SessionBuilder(session_id=ONE, cwd=ENGINE).prompt("Start the engine")
        session.response(call("Task", "toolu_t1", description="Look", prompt="Look around", subagent_type="Explore"))
        session.response(text("It runs.")).write(builder.home() / f"{ONE}.jsonl")
        builder.session(TWO, "Stop it")
        yield builder


@pytest.mark.parametrize("place", ["subagents", ""])
@pytest.mark.parametrize("how", [("--delete", "--yes"), ()])
def test_a_session_whose_subagent_cannot_be_read_is_left_alone(
    builder: StoreBuilder, place: str, how: tuple[str, ...]
) -> None:
    agent = builder.agent(place=place)
    settle(builder.root)
    give(builder.root.parent, ADA)
    agent.chmod(0)
    options: tuple[str | Path, ...] = (
        "--older-than",
        "1d",
        "--apply",
        *how,
        "--root",
        builder.root,
        "--archive",
        builder.root.parent / "archive",
    )
    done = csp_as(ADA, "clean", *options, "--no-cache")
    assert done.returncode == 1, done.stderr
    assert f"skipped {ONE} (Start the engine): {agent} cannot be read: Permission denied" in done.stderr.decode()
    left = [path for path in (builder.home() / f"{ONE}.jsonl", agent, builder.home() / f"{TWO}.jsonl") if path.exists()]
    assert [os.path.basename(path) for path in left] == [f"{ONE}.jsonl", agent.name]


def test_a_session_that_is_not_found_may_be_in_a_directory_that_cannot_be_read(builder: StoreBuilder) -> None:
    give(builder.root.parent, ADA)
    builder.home().chmod(0)
    done = csp_as(ADA, "show", ONE, "--root", builder.root, "--no-cache")
    assert done.returncode == 7
    assert f"{builder.home()}: Permission denied" in done.stderr.decode()
