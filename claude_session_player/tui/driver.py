"""The keyboard of a terminal, from which anything may come: pasted bytes, broken sequences, odd answers."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from textual.drivers import linux_driver

_REST: Final = 0.05
"""Seconds until the keyboard is read again: an error that stays must not keep a core busy."""


class TerminalDriver(linux_driver.LinuxDriver):
    """Passes over what Textual cannot read: it would end the program."""

    def run_input_thread(self) -> None:
        """Read keys until the program ends; after a sequence that is refused, begin anew."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except OSError:  # there is no terminal any more
                raise
            except Exception:
                self.exit_event.wait(_REST)


def _lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Bytes that are no text become signs that no key has, and nothing around them is lost."""
    return partial(codecs.getincrementaldecoder(encoding), "replace")


_module: Any = linux_driver
_module.getincrementaldecoder = _lenient_decoder
