"""One life of a Postgres server process: its settings, its launch, what it says, whether it answers, its stop.

Must not know what follows a death: that is for the supervisor.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import struct
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import trio

from storage.children import complaint, spawn, wait_exit
from storage.cluster import DATABASE, PORT, QUIT_SECONDS, ROLE, Cluster

LINE_BYTES = 2_000
LAST_LINES = 20
LAST_LINES_SECONDS = 1.0
KNOCK_SECONDS = 2.0
PROGRESS_SECONDS = 5.0

# Given on the command line, so that neither a file nor ALTER SYSTEM can take a promise back.
FIXED = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "unix_socket_directories": "",  # filled in at the start
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%e ",
}
DEFAULTS = {
    "max_connections": "50",
    "shared_buffers": "128MB",
    # Its pglz costs more than the writing it saves: with it, batches of events take more than twice as long.
    "wal_compression": "off",
    "deadlock_timeout": "200ms",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    # Details and statements would carry the values of rows, such as addresses, into the log.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}

STARTUP = struct.Struct("!ii")
STARTING_UP = "57P03"
TERMINATE = b"X\0\0\0\4"
ORPHANS_HOLD_MEMORY = "pre-existing shared memory block"

_LINE = re.compile(r"(?P<code>[0-9A-Z]{5}) (?P<severity>[A-Z]+)\d?:  (?P<text>.*)")
_LEVELS = {"WARNING": logging.WARNING, "ERROR": logging.ERROR, "FATAL": logging.ERROR, "PANIC": logging.CRITICAL}
# FATAL to Postgres, nothing to a person: a knock during a start, a connection that a stop ends, a start that the
# supervisor will repeat because backends of a killed postmaster still live; an ERROR, and expected: a row that another
# node has made first.
_QUIET_CODES = {STARTING_UP, "57P01", "F0001", "23505"}

log = logging.getLogger("storage.embedded")


@dataclass(frozen=True, slots=True)
class End:
    """How a life ended: by itself (`died`), or because it could not begin, maybe only for now (`orphans`)."""

    why: str
    died: bool = False
    orphans: bool = False


class Postmaster:
    """A launched server. `listen` must run as a task until `stop` has returned."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, str]) -> None:
        self._socket = cluster.socket
        read_end, write_end = os.pipe()
        self.voice = Voice(read_end)
        try:
            self.process = spawn(_command(cluster, settings), cluster.account, signal.SIGINT, write_end)
        finally:
            os.close(write_end)

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process.returncode is None else None

    async def until_ready(self, start_seconds: float) -> End | None:
        """Knock until the server lets the service in; None then, else why it never will."""
        began = reported = trio.current_time()
        pause_seconds = 0.01
        while self.process.poll() is None:
            answer = await _knock(self._socket)
            if answer.ready:
                return None
            if answer.refused:
                return End(f"Postgres refuses the service: {answer.text}")
            now = trio.current_time()
            if now - began > start_seconds:
                return End(f"Postgres is not ready after {now - began:.0f} s; last: {self.voice.last_line()}")
            if now - reported >= PROGRESS_SECONDS:
                reported = now
                log.info("waiting for Postgres since %.0f s; it says: %s", now - began, self.voice.last_line())
            await trio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 1.5, 0.25)
        await self.voice.finish()
        words = complaint(self.voice.lines)
        return End(f"Postgres does not start: {words}", died=True, orphans=ORPHANS_HOLD_MEMORY in words)

    async def until_dead(self) -> End:
        code = await wait_exit(self.process)
        await self.voice.finish()
        return End(f"it ended with code {code}; its last line: {self.voice.last_line()}", died=True)

    async def stop(self, stop_seconds: float) -> None:
        """Fast shutdown, then immediate, then kill: shielded, bounded, and the process is reaped."""
        orders = ((signal.SIGINT, stop_seconds), (signal.SIGQUIT, QUIT_SECONDS), (signal.SIGKILL, QUIT_SECONDS))
        with trio.CancelScope(shield=True):
            for order, seconds in orders:
                if self.process.poll() is None:
                    self.process.send_signal(order)
                    with trio.move_on_after(seconds):
                        await wait_exit(self.process)
            if self.process.poll() is None:
                log.critical("Postgres (pid %d) does not end, not even by SIGKILL", self.process.pid)
            await self.voice.finish()


def _command(cluster: Cluster, settings: Mapping[str, str]) -> list[str | Path]:
    sockets = '"' + str(cluster.sockets).replace('"', '""') + '"'
    all_settings = {**DEFAULTS, **settings, **FIXED, "unix_socket_directories": sockets}
    options = [option for name, value in all_settings.items() for option in ("-c", f"{name}={value}")]
    return [cluster.binaries / "postgres", "-D", cluster.directory, *options]


class Voice:
    """Reads the log of one postmaster and its backends, so that their pipe never fills up; keeps the last lines."""

    def __init__(self, descriptor: int) -> None:
        self.lines: deque[str] = deque(maxlen=LAST_LINES)
        self._stream = trio.lowlevel.FdStream(descriptor)
        self._silent = trio.Event()
        self._listening = trio.CancelScope(shield=True)

    async def listen(self) -> None:
        pending = b""
        with self._listening:
            async with self._stream:
                async for chunk in self._stream:
                    *lines, pending = (pending + chunk).split(b"\n")
                    pending = pending[:LINE_BYTES]
                    for line in lines:
                        self._hear(line[:LINE_BYTES].decode(errors="replace").rstrip())
        self._silent.set()

    def _hear(self, line: str) -> None:
        match = _LINE.fullmatch(line)
        code, severity, text = match.groups() if match else ("", "LOG", line)
        level = logging.DEBUG if code in _QUIET_CODES else _LEVELS.get(severity, logging.INFO)
        log.log(level, "%s", text)
        if code != STARTING_UP:  # our own knocks would push out what matters
            self.lines.append(f"{severity}: {text}")

    def last_line(self) -> str:
        return self.lines[-1] if self.lines else "it said nothing"

    async def finish(self) -> None:
        """Hear out what was written; orphaned backends may hold the pipe open, so not for ever."""
        with trio.move_on_after(LAST_LINES_SECONDS):
            await self._silent.wait()
        self._listening.cancel()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a knock brought: a SQLSTATE ("" when nobody answered in full, 00000 when let in) and the server's words."""

    code: str = ""
    text: str = ""

    @property
    def refused(self) -> bool:
        return self.code.startswith(("28", "3D"))

    @property
    def ready(self) -> bool:
        # Any other error, such as too many connections, comes from a server that is up.
        return not self.refused and self.code not in ("", STARTING_UP)


async def _knock(socket: Path) -> _Answer:
    """Connect as the service does, by peer authentication and without a driver, and leave again."""
    answer = _Answer()
    with trio.move_on_after(KNOCK_SECONDS):
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
    """The whole messages: a kind byte, a length that counts itself, the payload."""
    while len(received) >= 5 and len(received) >= (size := 1 + int.from_bytes(received[1:5], "big")):
        yield received[:1], received[5:size]
        received = received[size:]
