"""A worker process: one node that serves on sockets its parent has bound.

Run as `python -m service.process.worker_process DESCRIPTOR`. The parent sends the assignment over that socket, see
`service.process.worker`.
"""

import contextlib
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

import trio

from actors.clock import SystemClock
from service.http.listeners import adopted_listeners
from service.limits import serving_limits
from service.main import join, listen_addresses
from service.observability.logs import set_up
from service.process.exit_status import SUCCESS, outcome_of
from service.process.worker import LINE_BYTES, READY, REFUSED, Assignment
from service.signals import heed_signals, not_renewed

LAME_DUCK_SECONDS = 1.0
"""How long clients of a worker that ends may still ask: their next answer tells them to connect anew, to another one."""


def main(arguments: Sequence[str]) -> int:
    """Serve as told; returns the process's exit code."""
    with socket.socket(fileno=int(arguments[0])) as channel:
        line = _line_of(channel)
        if not line:
            return SUCCESS  # the parent has ended already
        return outcome_of(lambda: _serve(line, channel), lambda words: _say(channel, REFUSED + words.encode()))


def _line_of(channel: socket.socket) -> bytes:
    """What the parent says before it waits, or nothing where it has ended."""
    with channel.makefile("rb") as spoken:
        line = spoken.readline()
    return line if line.endswith(b"\n") else b""


def _say(channel: socket.socket, words: bytes) -> None:
    # A parent that has ended hears nothing, and the end of its socket stops this process.
    with contextlib.suppress(OSError):
        channel.send(words[: LINE_BYTES - 1] + b"\n")


def _serve(line: bytes, channel: socket.socket) -> int:
    assignment = Assignment.read(line)
    log = assignment.config.log
    set_up(log.level, log.format, worker=assignment.number)
    trio.run(_work, assignment, channel)
    return SUCCESS


async def _work(assignment: Assignment, channel: socket.socket) -> None:
    config, stop = assignment.config, trio.Event()
    limits = replace(serving_limits(config), lame_duck_seconds=LAME_DUCK_SECONDS)
    sockets = [[socket.socket(fileno=each) for each in place] for place in assignment.sockets]
    async with trio.open_nursery() as nursery:
        await nursery.start(heed_signals, stop, not_renewed)
        nursery.start_soon(_stop_without_parent, channel, stop)
        with adopted_listeners(listen_addresses(config), sockets, assignment.urls, limits, SystemClock()) as server:
            await join(config, assignment.data_dir, server, stop, lambda: _say(channel, READY))
        nursery.cancel_scope.cancel()


async def _stop_without_parent(channel: socket.socket, stop: trio.Event) -> None:
    """The parent says nothing more. When its end closes, it has ended, and nobody would ever end this process."""
    channel.setblocking(False)
    await trio.lowlevel.wait_readable(channel)
    stop.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
