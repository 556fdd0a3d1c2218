"""Whatever lies in a session's directory: it comes back byte for byte, or nothing of it is taken."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from claude_session_player.archive.add import SKIPPED
from claude_session_player.archive.archive_dir import ArchiveDir
from claude_session_player.archive.restore import RESTORED, plan_restore, restore_sessions
from tests.archives import archived, litter, seen
from tests.stores import ONE, StoreBuilder

NAMES = st.one_of(
    st.sampled_from(["a", "b", ".hidden", "agent-x.jsonl", "subagents", "C:x", "x\\y", " ", "é", "x" * 120]),
    st.binary(min_size=1, max_size=12)
    .map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"_"))
    .filter(lambda raw: raw not in (b".", b".."))
    .map(os.fsdecode),
)
CONTENTS = st.one_of(st.binary(max_size=300), st.sampled_from(["a", "../a", "/nowhere", "..", "b/a", "a/../.."]))
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=4).map(tuple), CONTENTS, max_size=8)


def plant(own: Path, tree: dict[tuple[str, ...], bytes | str]) -> None:
    """Files, and links where a target is given; what is in the way of something else is left out."""
    own.mkdir()
    own = own.resolve()
    for names, content in tree.items():
        path = own.joinpath(*names)
        if os.path.realpath(path.parent) != str(path.parent):  # nothing is planted behind a link
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.symlink_to(content)
            else:
                path.write_bytes(content)
        except OSError:
            continue


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(TREES)
def test_what_is_archived_comes_back_and_what_could_not_come_back_is_not_archived(
    tree: dict[tuple[str, ...], bytes | str],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        store = StoreBuilder(place / "store")
        store.session()
        plant(store.home() / ONE, tree)
        before = seen(place / "store")
        archive_dir = ArchiveDir(place / "archive")
        outcomes = archived(store, archive_dir)
        assert seen(place / "store") == before
        statuses = [
            outcome.status for outcome in restore_sessions(plan_restore(archive_dir.archives(), str(place / "target")))
        ]
        if not outcomes or outcomes[0].status == SKIPPED:
            assert not list(archive_dir.archive_paths())
        else:
            assert statuses == [RESTORED]
            assert seen(place / "target") == before
        assert not litter(place)
