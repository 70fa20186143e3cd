"""The parent's side of a worker process: starting it, waiting until it is ready, and ending it.

Over a socket the parent sends one line, the assignment. The worker replies `ready`, or `refused` and a line for the
operator. Then the parent may send lines with a number, and the worker replies to each with that number and a report.
The socket closes when the parent dies for any reason, which stops the worker.
"""

import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trio
from pydantic import TypeAdapter, ValidationError

from service.config.model import Config
from service.config.user_errors import ConfigError
from service.observability.health import Report
from service.process.shared_sockets import Sockets
from service.process.supervisor import WorkerFailed, WorkerRefused
from service.running.signals import ABORT_SIGNAL, RETIRE_SIGNAL

READY = b"ready"
REFUSED = b"refused "
LINE_BYTES = 4_096
"""Maximum length of a worker's reply, except reports."""
REPORT_BYTES = 4 * 1024 * 1024
"""Maximum length of a report."""

Descriptors = tuple[tuple[int, ...], ...]
"""The file descriptors of one worker's sockets, by listen address."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The instructions that a worker receives when it starts. `urls` and `sockets` are by listen address."""

    number: int
    config: Config
    data_dir: Path
    urls: tuple[str, ...]
    sockets: Descriptors

    def line(self) -> bytes:
        """The assignment as one line of JSON."""
        return _ASSIGNMENT.dump_json(self) + b"\n"

    @staticmethod
    def read(line: bytes) -> "Assignment":
        """Parse `line`. Raises `ConfigError` if the parent's version has different settings."""
        try:
            return _ASSIGNMENT.validate_json(line)
        except ValidationError:
            raise ConfigError("this version's settings differ from its parent's: restart the service") from None


_ASSIGNMENT = TypeAdapter(Assignment)


class Process:
    """A worker process on this machine."""

    def __init__(self, assignment: Assignment, process: trio.Process, channel: trio.SocketStream) -> None:
        self._assignment = assignment
        self._process = process
        self._channel = channel
        self._received = bytearray()
        self._asking = trio.Lock()
        self._asked = 0
        self._stop_requested = False

    def __repr__(self) -> str:
        return f"<worker {self._assignment.number}, pid {self._process.pid}>"

    async def until_ready(self) -> None:
        reply, number = await self._reply_to(self._assignment.line(), LINE_BYTES), self._assignment.number
        if reply.strip() == READY:
            return
        if reply.startswith(REFUSED):
            raise WorkerRefused(reply.removeprefix(REFUSED).decode(errors="replace").strip())
        raise WorkerFailed(f"worker {number} {await self.until_dead()} before it was ready")

    async def report(self) -> Report:
        async with self._asking:
            self._asked += 1
            number = b"%d" % self._asked
            question = number + b"\n"
            while (line := await self._reply_to(question, REPORT_BYTES)).endswith(b"\n"):
                answered, _, report = line.partition(b" ")
                if answered == number:
                    return Report.read(report)
                question = b""  # a reply to an earlier question, which had timed out
        raise WorkerFailed(f"worker {self._assignment.number} has ended")

    async def _reply_to(self, line: bytes, most: int) -> bytes:
        """Send `line` and return the worker's next line, or what it sent before it ended: at most about `most` bytes."""
        try:
            await self._channel.send_all(line)
            while b"\n" not in self._received and len(self._received) < most:
                more = await self._channel.receive_some()
                if not more:
                    break
                self._received += more
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        end = self._received.find(b"\n") + 1 or len(self._received)
        reply = bytes(self._received[:end])
        del self._received[:end]
        return reply

    async def until_dead(self) -> str:
        code = await self._process.wait()
        self._channel.socket.close()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        return f"(pid {self._process.pid}) {how}"

    def end(self) -> None:
        self._process.send_signal(ABORT_SIGNAL if self._stop_requested else signal.SIGTERM)
        self._stop_requested = True

    def retire(self) -> None:
        self._process.send_signal(RETIRE_SIGNAL)
        self._stop_requested = True

    def kill(self) -> None:
        self._process.kill()


async def spawn(number: int, config: Config, data_dir: Path, urls: Sequence[str], sockets: Sockets) -> Process:
    """Start a worker on these sockets, in its own session, so that a terminal's signals reach only the parent.

    Raises `WorkerFailed` if the system cannot create the process or the interpreter is missing.
    """
    descriptors = tuple(tuple(each.fileno() for each in group) for group in sockets)
    assignment = Assignment(number, config, data_dir, tuple(urls), descriptors)
    try:
        ours, process = await _open_process(descriptors)
    except OSError as error:
        raise WorkerFailed(f"cannot start worker {number}: {error.strerror}") from None
    return Process(assignment, process, trio.SocketStream(trio.socket.from_stdlib_socket(ours)))


async def _open_process(descriptors: Descriptors) -> tuple[socket.socket, trio.Process]:
    """Start a process that inherits the descriptors. Returns the socket to it, and the process."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = await trio.lowlevel.open_process(
                [sys.executable, "-m", "service.process.worker_process", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *(each for group in descriptors for each in group)],
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return ours, process
