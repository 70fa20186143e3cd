"""How long nodes, or their clients, are ready to run and have no core: stalls of the machine, not of the service."""

from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

import trio

from tests.chaos.history import Waits

CHECK_SECONDS = 0.1
"""Seconds between two samples of the time that processes had no core."""


async def watch_cores(pids: Callable[[], Mapping[int, int]], waits: MutableMapping[int, Waits]) -> None:
    """Record continuously how long each node, or this process with its proxy and clients, had no core. `pids` are the
    processes of the nodes now, by their numbers.

    A sample cannot exceed the time since the previous one, since both may have waited at once.
    """
    known, waited = dict[int, int](), dict[int, float]()
    looked, own = trio.current_time(), waited_seconds(0)
    while True:
        await trio.sleep(CHECK_SECONDS)
        now, own_now = trio.current_time(), waited_seconds(0)
        for number, pid in pids().items():
            with suppress(OSError, ValueError, IndexError):
                waited_now = waited_seconds(pid)
                # Waiting of another process during its start delayed no request.
                since = waited[number] if known.get(number) == pid else waited_now
                lacked = min(now - looked, max(0.0, waited_now - since) + own_now - own)
                waits[number].note(now, lacked)
                known[number], waited[number] = pid, waited_now
        looked, own = now, own_now


def waited_seconds(pid: int) -> float:
    """Return how long the threads of a process, 0 being this one, have been ready to run without a core.

    Threads count, because a node loads its pages in one. Those that have ended meanwhile do not.
    """
    waited = 0
    for thread in Path(f"/proc/{pid or 'self'}/task").iterdir():
        with suppress(OSError):
            waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e9
