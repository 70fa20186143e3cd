"""A worker process: one node on sockets bound by its parent. See `service.process.worker` for the protocol.

Run as `python -m service.process.worker_process DESCRIPTOR`, with the descriptor of the socket to the parent.
"""

import contextlib
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import trio

from actors.clock import SystemClock
from service.http.listeners import adopted_listeners
from service.http.server import Server
from service.observability.logs import set_up
from service.process.exit_status import outcome_of
from service.process.worker import LINE_BYTES, READY, REFUSED, Assignment
from service.running.assembly import Assembly
from service.running.foundation import listen_addresses, open_files_for
from service.running.limits import serving_limits
from service.running.node import join, report_of
from service.running.signals import handle_signals, warn_no_reload
from service.terminal.output import SUCCESS

LAME_DUCK_SECONDS = 1.0
"""Time for clients of a stopping worker to send another request, whose response tells them to reconnect elsewhere."""


def main(arguments: Sequence[str]) -> int:
    """Serve as assigned. Returns the exit code."""
    with socket.socket(fileno=int(arguments[0])) as channel:
        line = _line_of(channel)
        if not line:
            return SUCCESS  # the parent has ended already
        return outcome_of(lambda: _serve(line, channel), lambda text: _reply(channel, REFUSED + text.encode()))


def _line_of(channel: socket.socket) -> bytes:
    """The parent's line, or nothing if it has ended."""
    with channel.makefile("rb") as file:
        line = file.readline()
    return line if line.endswith(b"\n") else b""


def _reply(channel: socket.socket, text: bytes) -> None:
    with contextlib.suppress(OSError):  # if the parent has ended, its closed socket stops this process
        channel.send(text[: LINE_BYTES - 1] + b"\n")


def _serve(line: bytes, channel: socket.socket) -> int:
    assignment = Assignment.read(line)
    log = assignment.config.log
    set_up(log.level, log.format, worker=assignment.number)
    trio.run(_work, assignment, channel)
    return SUCCESS


async def _work(assignment: Assignment, channel: socket.socket) -> None:
    config, stop = assignment.config, trio.Event()
    room = open_files_for(config)
    limits = replace(serving_limits(config), lame_duck_seconds=LAME_DUCK_SECONDS, connections=room)
    sockets = [[socket.socket(fileno=each) for each in group] for group in assignment.sockets]
    addresses, engine = listen_addresses(config), config.server.engine
    with adopted_listeners(addresses, sockets, assignment.urls, limits, SystemClock(), engine) as server:
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(handle_signals, stop, warn_no_reload, on_retire=server.skip_drain))
            parent = _Parent(channel)
            nursery.start_soon(parent.watch, stop)
            await join(config, assignment.data_dir, server, stop, partial(parent.report_ready, server, stop))
            nursery.cancel_scope.cancel()


class _Parent:
    """The worker's side of the socket to its parent, after the assignment."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(channel))
        self._starting = trio.CancelScope()

    async def watch(self, stop: trio.Event) -> None:
        """Set `stop` if the parent ends before the worker is ready. Until then it sends nothing."""
        with self._starting:
            await trio.lowlevel.wait_readable(self._channel)
            stop.set()

    def report_ready(self, server: Server, stop: trio.Event, node: Assembly, tasks: trio.Nursery) -> None:
        self._starting.cancel()
        tasks.start_soon(self._attend, server, stop, node)
        _reply(self._channel, READY)

    async def _attend(self, server: Server, stop: trio.Event, node: Assembly) -> None:
        """Report the node for each number that the parent sends. Set `stop` when the parent's end closes. If the parent was
        killed, the next one needs the ports, so nothing drains."""
        received = b""
        with contextlib.suppress(trio.BrokenResourceError):
            while more := await self._stream.receive_some():
                *numbers, received = (received + more).split(b"\n")
                for number in numbers:
                    await self._stream.send_all(number + b" " + (await report_of(node)).line())
        if not stop.is_set():
            server.skip_drain()
        stop.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
