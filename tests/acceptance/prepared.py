"""Commands in forks of one process that has imported the program: importing it costs more than most commands do.

Each command is a process with arguments, environment, output and exit code of its own; only the start of an interpreter is
not its own. `python -m tests.acceptance.prepared DESCRIPTOR` serves the requests that come over that socket until it closes.
"""

import atexit
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
from functools import cache
from pathlib import Path
from typing import NoReturn

REPOSITORY = Path(__file__).resolve().parents[2]
REQUEST_BYTES = 100_000
NUMBER = struct.Struct("i")


# Where commands are wanted.


def run_prepared(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end; TimeoutExpired when that is not within `seconds`."""
    request = json.dumps([arguments, dict(environment)]).encode()
    assert len(request) <= REQUEST_BYTES, "a longer request would be cut"
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        hearing, telling = os.pipe()
        with open(hearing, "rb", buffering=0) as answers:
            with open(telling, "wb", buffering=0):
                socket.send_fds(_server(), [request], [out.fileno(), err.fileno(), telling])
            pid = _number(answers.fileno(), seconds)
            assert pid is not None, "no fork was made"
            code = _number(answers.fileno(), seconds)
            if code is None:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), seconds)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(list(arguments), code, out.read(), err.read())


def _number(descriptor: int, seconds: float) -> int | None:
    readable, _, _ = select.select([descriptor], [], [], seconds)
    if not readable:
        return None
    [number] = NUMBER.unpack(os.read(descriptor, NUMBER.size))
    return int(number)


@cache
def _server() -> socket.socket:
    """Where requests are sent. The process behind it is started by the first and ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", "tests.acceptance.prepared", str(theirs.fileno())]
        process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait()

    return ours


# Where they are run.


def _serve(requests: socket.socket, main: Callable[[Sequence[str]], int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 3)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _command(main, *json.loads(request), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _command(
    main: Callable[[Sequence[str]], int],
    arguments: Sequence[str],
    environment: Mapping[str, str],
    out: int,
    err: int,
    telling: int,
) -> NoReturn:
    """Run one command in a fork of this fork, which tells its pid, waits for its end, and tells its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(telling)
        os.dup2(out, sys.stdout.fileno())
        os.dup2(err, sys.stderr.fileno())
        os.environ.clear()
        os.environ.update(environment)
        sys.exit(main(arguments))
    os.write(telling, NUMBER.pack(pid))
    _, status = os.waitpid(pid, 0)
    os.write(telling, NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


if __name__ == "__main__":
    from service.cli.main import main

    with socket.socket(fileno=int(sys.argv[1])) as requests:
        _serve(requests, main)
