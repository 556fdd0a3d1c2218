"""The facts of session files: from the catalogue where it is up to date, else read from the files and remembered."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from claude_session_player.store.facts import IndexedFile
from claude_session_player.store.index import IndexEntry, IndexRow, StoreIndex
from claude_session_player.store.layout import ReadProblem, SessionFile, StoreWalk
from claude_session_player.store.workers import DIGEST, ExtractJob, ExtractResult, run_jobs

_KEEP_SECONDS: Final = 0.2

Progress = Callable[[int, int], None]
"""Is told how many bytes of session files are read, and how many there are to read."""


class IndexedFiles(NamedTuple):
    """The session files of some stores, by path, as far as they are known."""

    members: dict[str, IndexedFile]
    waiting: int
    """How many files are still to be read; some of them are known as they were."""


class Library:
    """Answers from the disk as it is now. What could not be read is added to `troubles`."""

    def __init__(self, catalogue: StoreIndex, progress: Progress | None = None) -> None:
        self.troubles: list[ReadProblem] = []
        self.has_removals = False
        """True where sessions were seen that are being removed, or whose removal was interrupted."""
        self._noted: set[ReadProblem] = set()
        self.seen: list[SessionFile] | None = None
        """The files that the last look at everything met."""
        self._catalogue = catalogue
        self._progress = progress

    @property
    def refusal(self) -> str | None:
        """Why the catalogue that is there is not used; see `Catalogue.refusal`."""
        return self._catalogue.refusal

    def without_catalogue(self) -> Library:
        """The same files, with nothing known of them."""
        return Library(StoreIndex(None), self._progress)

    def files(self, roots: Sequence[str]) -> list[SessionFile]:
        """Every session file of some stores; none is opened."""
        walk = StoreWalk()
        found = [file for root in roots for file in walk.store(root)]
        self.has_removals = bool(walk.removals)
        self.note(walk.troubles)
        return found

    def everything(self, roots: Sequence[str]) -> dict[str, IndexedFile]:
        """Every session file of some stores that can be read, by path."""
        found = self.seen = self.files(roots)
        known = self._known(roots)
        members = self._members(found, known)
        self._forget(known.keys() - {file.name for file in found})
        return members

    def arriving(self, roots: Sequence[str], seconds: float) -> Iterator[IndexedFiles]:
        """The same, for somebody who does not want to wait for all of it.

        First comes what the catalogue knows, and no file is opened for that. Then the files are read that are new or
        changed, the last written first; every so many seconds comes what is known by then, and in the end all of it.
        """
        found = self.files(roots)
        known = self._known(roots)
        members = {file.name: IndexedFile(file, known[file.name], self.recall) for file in found if file.name in known}
        stale = {file.name: file for file in found if file.name not in known or members[file.name].is_stale}
        yield IndexedFiles(members, len(stale))
        self._forget(known.keys() - {file.name for file in found})
        told, waiting = time.monotonic(), len(stale)
        newest_first = sorted(stale.values(), key=lambda file: file.stamp.mtime_ns, reverse=True)
        for result in self._digested(newest_first, known):
            waiting -= 1
            members.pop(result.path, None)  # what cannot be read now is not what it was
            if result.row is not None:
                members[result.path] = IndexedFile(stale[result.path], result.row, self.recall, result.responses)
            if not waiting or time.monotonic() - told >= seconds:
                yield IndexedFiles(members, waiting)
                told = time.monotonic()

    def members(self, found: Sequence[SessionFile]) -> dict[str, IndexedFile]:
        """These files, as far as they can be read, by path."""
        return self._members(found, self._catalogue.of([file.name for file in found]))

    def relatives(self, file: SessionFile, *, with_main: bool = True) -> dict[str, IndexedFile]:
        """A session file and those that may belong to the same session, by path; or only the sub-agents among them."""
        walk = StoreWalk()
        found = [one for one in walk.relatives(file) if with_main or one.is_agent]
        self.note(walk.troubles)
        return self.members(found)

    def recall(self, members: Sequence[IndexedFile]) -> dict[str, bytes]:
        """The responses of some files, by path: from the catalogue where it has them, else from the files."""
        known = self._catalogue.responses({member.found.name: member.row.stamp for member in members})
        if lost := [member.found for member in members if member.found.name not in known]:
            known |= {result.path: result.responses for result in self._read(lost, {}).values()}
        return known

    def _members(self, found: Sequence[SessionFile], known: Mapping[str, IndexRow]) -> dict[str, IndexedFile]:
        members: dict[str, IndexedFile] = {}
        stale: list[SessionFile] = []
        for file in found:
            row = known.get(file.name)
            if row is not None and row.stamp == file.version:
                members[file.name] = IndexedFile(file, row, self.recall)
            else:
                stale.append(file)
        if stale:
            results = self._read(stale, known)
            for file in stale:
                if (result := results.get(file.name)) is not None and result.row is not None:
                    members[file.name] = IndexedFile(file, result.row, self.recall, result.responses)
        return members

    def close(self) -> None:
        """Let go of the catalogue; a later question opens it again."""
        self._catalogue.close()

    def _known(self, roots: Sequence[str]) -> dict[str, IndexRow]:
        return {path: row for root in roots for path, row in self._catalogue.below(root).items()}

    def _forget(self, gone: Iterable[str]) -> None:
        """Forget files that are no more; what lies in a directory that cannot be read may still be there."""
        hidden = tuple(os.path.join(trouble.path, "") for trouble in self.troubles)
        self._catalogue.forget(path for path in gone if not f"{path}{os.sep}".startswith(hidden))

    def _read(self, files: Sequence[SessionFile], known: Mapping[str, IndexRow]) -> dict[str, ExtractResult]:
        """Digest files, and remember what they hold; gives the result of each, by path."""
        return {result.path: result for result in self._digested(files, known)}

    def _digested(self, files: Sequence[SessionFile], known: Mapping[str, IndexRow]) -> Iterator[ExtractResult]:
        """The same, one by one, in any order."""
        grown = [file.name for file in files if file.name in known and _has_grown(file, known[file.name])]
        states = self._catalogue.states(grown)
        is_kept = self._catalogue.is_kept
        jobs = [_job(file, known.get(file.name), states.get(file.name), is_kept) for file in files]
        sizes = {job.found.name: job.size for job in jobs}
        done, total = 0, sum(sizes.values())
        new: list[IndexEntry] = []
        kept = time.monotonic()
        for result in self._results(jobs):
            self.note(result.troubles)
            if result.row is not None and not result.troubles:  # what could not be read is tried, and named, again
                new.append(IndexEntry(result.path, result.row, result.state, result.responses))
            if time.monotonic() - kept >= _KEEP_SECONDS:  # so that an interrupted look was not in vain
                self._catalogue.keep(new)
                new, kept = [], time.monotonic()
            done += sizes[result.path]
            if self._progress is not None:
                self._progress(done, total)
            yield result._replace(state=b"")
        self._catalogue.keep(new)

    def _results(self, jobs: Sequence[ExtractJob]) -> Iterator[ExtractResult]:
        """The results of all jobs, in any order."""
        return run_jobs(jobs, DIGEST)

    def note(self, troubles: Sequence[ReadProblem]) -> None:
        """Remember what could not be read, each once."""
        new = [trouble for trouble in dict.fromkeys(troubles) if trouble not in self._noted]
        self._noted.update(new)
        self.troubles += new


def _job(file: SessionFile, row: IndexRow | None, state: bytes | None, is_kept: bool) -> ExtractJob:
    seen = int(row.stamp.split()[0]) if row and state is not None else 0
    return ExtractJob(file, state, max(file.stamp.size - seen, 0), is_kept)


def _has_grown(file: SessionFile, row: IndexRow) -> bool:
    """True where the file is still the same one, and longer, or only its description changed."""
    size, mtime, inode = map(int, row.stamp.split()[:3])
    is_same = (size, mtime) == (file.stamp.size, file.stamp.mtime_ns)
    return inode == file.stamp.inode and (is_same or size < file.stamp.size)
