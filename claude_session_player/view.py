"""What a viewer wants to see. The default view is the screen of the specification."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class View:
    """How much of a session is kept and shown; `None` as a size means: all of it.

    >>> View().result_lines, View.full().result_lines, View.full(thinking=True).thinking
    (5, None, True)
    """

    label_width: int | None = 60
    """Characters of a tool's name and of its label."""
    result_lines: int | None = 5
    """Lines of a result; a longer one ends in a line that says so."""
    summary_width: int | None = 80
    """Characters of a sub-agent's answer, which is shown on one line."""
    progress_width: int | None = 76
    """Characters of a running command's last line."""
    thinking: bool = False
    """Show the thoughts themselves below `✱ Thinking…`."""
    history: bool = False
    """Keep what came before a compaction."""
    sidechains: bool = False
    """Show sidechain lines, as in the file of a sub-agent."""
    queued: bool = False
    """Show prompts that stand only in the queue; the screen of the specification does not."""

    @classmethod
    def full(cls, *, thinking: bool = False, history: bool = False) -> View:
        """The view that cuts nothing."""
        return cls(None, None, None, None, thinking=thinking, history=history)

    def with_queue(self) -> View:
        """The same view, which loses nothing that a person typed."""
        return replace(self, queued=True)

    def of_subagent(self) -> View:
        """The same view, for a file that is a sub-agent's own."""
        return replace(self, sidechains=True)
