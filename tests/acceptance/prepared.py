"""Runs the program in forks of a process that has imported it, because the import takes longer than most commands.

Each fork has its own arguments, environment, output and exit code; only the interpreter's start is shared.
`python -m tests.acceptance.prepared DESCRIPTOR` serves requests from that socket until it closes.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import NoReturn
from weakref import finalize

REPOSITORY = Path(__file__).resolve().parents[2]
REQUEST_BYTES = 100_000
NUMBER = struct.Struct("i")


# The client.


class Forked:
    """A fork that runs the program. Implements the part of `subprocess.Popen` that the tests use."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], out: int, err: int) -> None:
        request = json.dumps([arguments, dict(environment)]).encode()
        assert len(request) <= REQUEST_BYTES, "a longer request would be cut"
        self.arguments = arguments
        self.returncode: int | None = None
        hearing, telling = os.pipe()
        self._answers, self._reading = hearing, Lock()
        finalize(self, os.close, hearing)
        with open(telling, "wb", buffering=0):
            socket.send_fds(_server(), [request], [out, err, telling])
        self.pid = self._number()

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Returns the exit code. Raises TimeoutExpired after `timeout` seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.arguments), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], timeout)[0]:
            with self._reading:
                if self.returncode is None:
                    self.returncode = self._number()
        return self.returncode

    def _number(self) -> int:
        [number] = NUMBER.unpack(os.read(self._answers, NUMBER.size))
        return int(number)


def run_prepared(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. Raises TimeoutExpired after `seconds`."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        fork = Forked(arguments, environment, out.fileno(), err.fileno())
        try:
            code = fork.wait(seconds)
        except subprocess.TimeoutExpired:
            fork.kill()
            fork.wait()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


@cache
def _server() -> socket.socket:
    """The socket for requests. The first call starts the process behind it, which ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.acceptance.prepared", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()

    return ours


# The server.


def _serve(requests: socket.socket, main: Callable[[Sequence[str]], int]) -> None:
    signal.signal(signal.SIGCHLD, _reap)
    # Forks share what is never written, and a garbage collection writes to all that it looks at.
    gc.collect()
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 3)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _command(main, *json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _reap(*_: object) -> None:
    """Reap ended forks, so that their CPU time counts as the suite's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _command(
    main: Callable[[Sequence[str]], int],
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: int,
    err: int,
    telling: int,
) -> NoReturn:
    """Run one command in a fork of this fork. Reports its pid, waits for its end, and reports its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(telling)
        os.dup2(out, sys.stdout.fileno())
        os.dup2(err, sys.stderr.fileno())
        os.environ.clear()
        os.environ.update(environment)
        sys.stdout.reconfigure(write_through="PYTHONUNBUFFERED" in environment)  # type: ignore[union-attr]
        sys.exit(main(arguments))
    os.write(telling, NUMBER.pack(pid))
    _, status = os.waitpid(pid, 0)
    os.write(telling, NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


if __name__ == "__main__":
    from service.cli.main import main
    from service.cli.table import COMMANDS

    works = (f"service.cli.{each.work}" for each in COMMANDS.values())
    for name in ("service.running.node", "service.cli.running", *works):
        resolve_name(name)
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        _serve(requests, main)
