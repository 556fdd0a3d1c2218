"""A process that has the program loaded, and forks for each command: the real `main`, in a process of its own.

What is lost is the start of the interpreter, a quarter of a second for each of thousands of commands. Tests of that
start, or of what the interpreter makes of its environment, run `PROGRAM` instead.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from tests.other_systems import load_again, load_package

_LENGTH: Final = struct.Struct(">I")
_CODE: Final = struct.Struct(">i")
_STREAMS: Final = 3
_LATER: Final = (
    "click.testing",
    "difflib",
    "importlib.resources",
    "pickle",
    "platformdirs",
    "sqlite3",
    "tarfile",
    "tempfile",
    "zstandard",
)
"""What commands load when they need it. Another user may not be able to read where it is."""


class ForkServer:
    """Runs commands one after another, as another operating system would where one is named."""

    def __init__(self, system: str = "") -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), system]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def start(
        self,
        arguments: Sequence[str],
        streams: Sequence[int],
        environment: Mapping[str, str],
        cwd: str,
        user: int | None = None,
    ) -> None:
        """Start a command with these handles as its stdin, stdout and stderr; as another user where one is given."""
        request = json.dumps(
            {
                "arguments": [os.fsencode(argument).hex() for argument in arguments],
                "environment": [[os.fsencode(part).hex() for part in pair] for pair in environment.items()],
                "cwd": os.fsencode(cwd).hex(),
                "user": user,
            }
        ).encode()
        socket.send_fds(self._socket, [_LENGTH.pack(len(request))], list(streams))
        self._socket.sendall(request)

    def wait(self, seconds: float) -> int:
        """The exit code of the command, as `subprocess` tells it."""
        self._socket.settimeout(seconds)
        try:
            return int(_CODE.unpack(_received(self._socket, _CODE.size))[0])
        except TimeoutError:
            self.close()  # and with it, the command
            raise
        finally:
            self._socket.settimeout(None)

    def close(self) -> None:
        """End it, and the command that runs."""
        self._socket.close()
        self._process.kill()
        self._process.wait()


@functools.cache
def fork_server(system: str = "") -> ForkServer:
    """The one of this process, for each system."""
    server = ForkServer(system)
    atexit.register(server.close)
    return server


def serve(connection: socket.socket, system: str) -> None:
    """Fork for each request, until nobody asks any more."""
    load_package()
    for name in _LATER:
        importlib.import_module(name)
    if system:
        load_again(system)
    gc.freeze()
    while True:
        header, streams, _, _ = socket.recv_fds(connection, _LENGTH.size, _STREAMS)
        if not header:
            return
        request = json.loads(_received(connection, _LENGTH.unpack(header)[0]))
        if not (child := os.fork()):
            connection.close()
            _become(request, streams)
            _run_to_its_end()
        for handle in streams:
            os.close(handle)
        connection.sendall(_CODE.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Be what a new interpreter would be."""
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    os.environ.clear()
    os.environ.update((_text(name), _text(value)) for name, value in request["environment"])
    time.tzset()
    os.chdir(_text(request["cwd"]))
    if request["user"] is not None:
        os.setgroups([])
        os.setgid(request["user"])
        os.setuid(request["user"])
    sys.argv = ["csp", *map(_text, request["arguments"])]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stderr.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def _run_to_its_end() -> NoReturn:
    """Run, and leave as an interpreter does, but without taking apart what was loaded: that takes longest of all."""
    from claude_session_player.cli import main

    code: Any = 1
    try:
        main()
    except SystemExit as leave:
        code = leave.code
    except BaseException:
        traceback.print_exc()
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


def _stream(number: int, like: Any) -> io.TextIOWrapper:
    mode = "r" if number == 0 else "w"
    return open(number, mode, encoding=like.encoding, errors=like.errors, closefd=False)  # type: ignore[return-value]


def _text(hexadecimal: str) -> str:
    return os.fsdecode(bytes.fromhex(hexadecimal))


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        assert part, "the process at the other end is gone"
        data += part
    return data


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
