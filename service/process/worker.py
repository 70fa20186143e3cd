"""One worker as its parent sees it: how it is started and told what to do, how it says that it is ready, how it ends.

The two speak over one socket. The parent sends an assignment of one line; the worker answers with `ready`, or with
`refused` and a line for a person. Its end of the socket closes with the parent, however that ends, and so stops the worker.
"""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import trio
from pydantic import ValidationError

from service.config import Config
from service.process.shared_sockets import Sockets
from service.process.supervisor import WorkerFailed
from service.user_errors import ConfigError

READY = b"ready"
REFUSED = b"refused "
LINE_BYTES = 4_096
"""The longest line that a worker says."""

Descriptors = tuple[tuple[int, ...], ...]
"""Those of one worker's sockets, place by place."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker is told at its start."""

    number: int
    config: Config
    data_dir: Path
    urls: tuple[str, ...]
    """What the sockets of each place are called from outside."""
    sockets: Descriptors
    """Descriptors of the sockets of each place, bound by the parent."""

    def line(self) -> bytes:
        """It in one line of JSON."""
        facts = {
            "number": self.number,
            "config": self.config.model_dump(mode="json"),
            "data_dir": str(self.data_dir),
            "urls": self.urls,
            "sockets": self.sockets,
        }
        return json.dumps(facts).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Raises ConfigError where the parent is of a version that has other settings."""
        facts = json.loads(line)
        try:
            config = Config.model_validate(facts["config"])
        except ValidationError:
            raise ConfigError("this version has other settings than its parent's: start the service anew") from None
        return cls(
            number=facts["number"],
            config=config,
            data_dir=Path(facts["data_dir"]),
            urls=tuple(facts["urls"]),
            sockets=tuple(map(tuple, facts["sockets"])),
        )


class Process:
    """A worker that is a process of this machine."""

    def __init__(self, assignment: Assignment, process: trio.Process, channel: trio.SocketStream) -> None:
        self._assignment = assignment
        self._process = process
        self._channel = channel

    def __repr__(self) -> str:
        return f"<worker {self._assignment.number}, pid {self._process.pid}>"

    async def until_ready(self) -> None:
        number, said = self._assignment.number, b""
        try:
            await self._channel.send_all(self._assignment.line())
            while not said.endswith(b"\n") and len(said) < LINE_BYTES:
                more = await self._channel.receive_some(LINE_BYTES)
                if not more:
                    break
                said += more
        except trio.BrokenResourceError:
            pass
        if said.strip() == READY:
            return
        if said.startswith(REFUSED):
            raise WorkerFailed(said.removeprefix(REFUSED).decode(errors="replace").strip())
        raise WorkerFailed(f"worker {number} {await self.until_dead()} before it was ready")

    async def until_dead(self) -> str:
        code = await self._process.wait()
        self._channel.socket.close()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        return f"(pid {self._process.pid}) {how}"

    def end(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()


async def spawn(number: int, config: Config, data_dir: Path, urls: Sequence[str], sockets: Sockets) -> Process:
    """Start a worker on these sockets, in a session of its own: what a terminal signals is for the parent alone.

    Raises `WorkerFailed` where the system has no room for a process, or the interpreter is not where it was.
    """
    descriptors = tuple(tuple(each.fileno() for each in place) for place in sockets)
    assignment = Assignment(number, config, data_dir, tuple(urls), descriptors)
    try:
        ours, process = await _open_process(descriptors)
    except OSError as error:
        raise WorkerFailed(f"worker {number} cannot be started: {error.strerror}") from None
    return Process(assignment, process, trio.SocketStream(trio.socket.from_stdlib_socket(ours)))


async def _open_process(descriptors: Descriptors) -> tuple[socket.socket, trio.Process]:
    """A process that has these descriptors, and the socket that leads to it."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await trio.lowlevel.open_process(
                [sys.executable, "-m", "service.process.worker_process", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *(each for place in descriptors for each in place)],
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return ours, process
