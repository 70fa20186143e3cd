"""One Postgres server process: its settings, launch, log output, readiness probe and stop.

Must not know what follows its end, which is for the supervisor to decide.
"""

import logging
import os
import re
import shutil
import signal
import struct
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.embedded.children import main_error, spawn, wait_exit
from storage.embedded.cluster import DATABASE, PORT, QUIT_SECONDS, ROLE, Cluster

LINE_BYTES = 2_000
LAST_LINES = 20
LAST_LINES_SECONDS = 1.0
PROBE_SECONDS = 2.0
PROGRESS_SECONDS = 5.0

# Set on the command line, so that neither a file nor ALTER SYSTEM can weaken a guarantee.
FIXED = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "unix_socket_directories": "",  # set at the start
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%e ",
}
DEFAULTS = {
    "max_connections": "50",
    "shared_buffers": "128MB",
    # pglz costs more than the writes it saves: with it, batches of events take more than twice as long.
    "wal_compression": "off",
    # Each page is written whole to the log once after a checkpoint: rare checkpoints write less log (ADR 113).
    "checkpoint_timeout": "2h",
    # A checkpoint has at most `shared_buffers` to write. The earlier it ends, the less a start after a crash has to replay.
    "checkpoint_completion_target": "0.1",
    "deadlock_timeout": "200ms",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # Details and statements would put row values, such as email addresses, into the log.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}

LEAST_LOG_MB, MOST_LOG_MB = 1_024, 8_192
DISK_SHARE = 20

STARTUP = struct.Struct("!ii")
STARTING_UP = "57P03"
TERMINATE = b"X\0\0\0\4"
ORPHANS_HOLD_MEMORY = "pre-existing shared memory block"

_LINE = re.compile(r"(?P<code>[0-9A-Z]{5}) (?P<severity>[A-Z]+)\d?:  (?P<text>.*)")
_LEVELS = {"WARNING": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR, "PANIC": logging.CRITICAL}
# Expected, and logged at DEBUG only: a probe during startup, a connection closed by shutdown, a start that the supervisor
# will repeat because backends of a killed postmaster still run, a unique violation caused by another node, and the time limit
# of a statement, whose sender reports it where that matters: anyone can search for what takes too long.
_QUIET_CODES = {STARTING_UP, "57P01", "F0001", "23505", "57014"}

log = logging.getLogger("storage.embedded.server")
SERVER_LOG = "storage.embedded.server.postgres"
"""The logger of what the server itself says."""

server_log = logging.getLogger(SERVER_LOG)


@dataclass(frozen=True, slots=True)
class End:
    """How a postmaster ended. It ran and `died`, or it could not start, possibly only because of `orphans`."""

    why: str
    died: bool = False
    orphans: bool = False


class Postmaster:
    """A launched server. `output.read` must run as a task until `stop` has returned."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, str]) -> None:
        self._socket = cluster.socket
        read_end, write_end = os.pipe()
        self.output = LogOutput(read_end)
        try:
            self.process = spawn(_command(cluster, settings), cluster.account, signal.SIGINT, write_end)
        finally:
            os.close(write_end)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process.returncode is None else None

    async def until_ready(self, start_seconds: float) -> End | None:
        """Probe until the server admits the service. Returns None then, or why it never will."""
        began = reported = trio.current_time()
        pause_seconds = 0.01
        while self.process.poll() is None:
            answer = await _probe(self._socket)
            if answer.ready:
                return None
            if answer.refused:
                return End(f"Postgres rejects the service: {answer.text}")
            now = trio.current_time()
            if now - began > start_seconds:
                return End(
                    f"Postgres is not ready after {now - began:.0f} s; its last log line: {self.output.last_line()}"
                )
            if now - reported >= PROGRESS_SECONDS:
                reported = now
                log.info("waiting for Postgres for %.0f s; its last log line: %s", now - began, self.output.last_line())
            await trio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 1.5, 0.25)
        await self.output.finish()
        why = main_error(self.output.lines)
        return End(f"Postgres does not start: {why}", died=True, orphans=ORPHANS_HOLD_MEMORY in why)

    async def until_dead(self) -> End:
        code = await wait_exit(self.process)
        await self.output.finish()
        return End(f"it ended with code {code}; its last log line: {self.output.last_line()}", died=True)

    async def stop(self, stop_seconds: float) -> None:
        """Fast shutdown, then immediate, then kill. Shielded and bounded; the process is reaped."""
        orders = ((signal.SIGINT, stop_seconds), (signal.SIGQUIT, QUIT_SECONDS), (signal.SIGKILL, QUIT_SECONDS))
        with trio.CancelScope(shield=True):
            for order, seconds in orders:
                if self.process.poll() is None:
                    self.process.send_signal(order)
                    with trio.move_on_after(seconds):
                        await wait_exit(self.process)
            if self.process.poll() is None:
                log.critical("Postgres (pid %d) still runs after SIGKILL", self.process.pid)
            await self.output.finish()


def _command(cluster: Cluster, settings: Mapping[str, str]) -> list[str | Path]:
    sockets = '"' + str(cluster.sockets).replace('"', '""') + '"'
    log_mb = most_log_mb(shutil.disk_usage(cluster.directory).total)
    own = {"max_wal_size": f"{log_mb}MB", **DEFAULTS, **settings}
    all_settings = {**own, **FIXED, "unix_socket_directories": sockets}
    options = [option for name, value in all_settings.items() for option in ("-c", f"{name}={value}")]
    return [cluster.binaries / "postgres", "-D", cluster.directory, *options]


def most_log_mb(disk_bytes: int) -> int:
    """`max_wal_size` on a disk of this size: Postgres's default, or one part in `DISK_SHARE` if that is more. The most
    suffices for a day of 100 million events, and is replayed after a crash in minutes."""
    return min(max(LEAST_LOG_MB, disk_bytes // DISK_SHARE >> 20), MOST_LOG_MB)


class LogOutput:
    """Reads the log of one postmaster and its backends, so that their pipe never fills up. Keeps the last lines."""

    def __init__(self, descriptor: int) -> None:
        self.lines: deque[str] = deque(maxlen=LAST_LINES)
        self._stream = trio.lowlevel.FdStream(descriptor)
        self._ended = trio.Event()
        self._reading = trio.CancelScope(shield=True)

    async def read(self) -> None:
        pending = b""
        with self._reading:
            async with self._stream:
                async for chunk in self._stream:
                    *lines, pending = (pending + chunk).split(b"\n")
                    pending = pending[:LINE_BYTES]
                    for line in lines:
                        self._log_line(line[:LINE_BYTES].decode(errors="replace").rstrip())
        self._ended.set()

    def _log_line(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        code, severity, text = match.groups() if match else ("", "LOG", line)
        level = logging.DEBUG if code in _QUIET_CODES else _LEVELS.get(severity, logging.DEBUG)
        server_log.log(level, "%s", text)
        if code != STARTING_UP:  # our own probes would displace the lines that matter
            self.lines.append(f"{severity}: {text}")

    def last_line(self) -> str:
        return self.lines[-1] if self.lines else "none"

    async def finish(self) -> None:
        """Read what is left, for a bounded time, because orphaned backends may keep the pipe open."""
        with trio.move_on_after(LAST_LINES_SECONDS):
            await self._ended.wait()
        self._reading.cancel()


@dataclass(frozen=True, slots=True)
class _Answer:
    """The result of a probe: a SQLSTATE ("" without a full answer, 00000 when admitted) and the server's message."""

    code: str = ""
    text: str = ""

    @property
    def refused(self) -> bool:
        return self.code.startswith(("28", "3D"))

    @property
    def ready(self) -> bool:
        # Any other error, such as too many connections, proves that the server is up.
        return not self.refused and self.code not in ("", STARTING_UP)


async def _probe(socket: Path) -> _Answer:
    """Connect like the service, by peer authentication, without a driver, and disconnect."""
    answer = _Answer()
    with trio.move_on_after(PROBE_SECONDS):
        try:
            async with await trio.open_unix_socket(str(socket)) as stream:
                await stream.send_all(_startup_message())
                received = b""
                async for chunk in stream:
                    received += chunk
                    if (answer := _read_answer(received)).code:
                        break
                await stream.send_all(TERMINATE)
        except (OSError, trio.BrokenResourceError):
            pass
    return answer


def _startup_message() -> bytes:
    words = b"".join(word.encode() + b"\0" for word in ("user", ROLE, "database", DATABASE, ""))
    return STARTUP.pack(STARTUP.size + len(words), 3 << 16) + words


def _read_answer(received: bytes) -> _Answer:
    for kind, payload in _messages(received):
        if kind == b"Z":
            return _Answer("00000")
        if kind == b"E":
            fields = {field[:1]: field[1:].decode(errors="replace") for field in payload.split(b"\0")}
            return _Answer(fields.get(b"C", "XX000"), fields.get(b"M", ""))
    return _Answer()


def _messages(received: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The complete messages, each a kind byte, a length that includes itself, and the payload."""
    while len(received) >= 5 and len(received) >= (size := 1 + int.from_bytes(received[1:5], "big")):
        yield received[:1], received[5:size]
        received = received[size:]
