"""How long nodes, or their clients, have no core or a slow one: delays of the machine, not of the service."""

from collections.abc import Callable, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path

import trio

from bench.usage import calculation_seconds
from tests.chaos.history import Waits

CHECK_SECONDS = 0.1
"""Seconds between two samples of the time that processes had no core."""
ROUNDS = 1_000
USUAL_SECONDS = 0.0003
"""CPU time that a calculation of so many rounds takes on the machines for which the limits of chaos are."""


async def watch_cores(pids: Callable[[], Mapping[int, int]], waits: MutableMapping[int, Waits]) -> None:
    """Record continuously how long each node, or this process with its proxy and clients, had no core, or how much longer
    than usual a core took. `pids` are the processes of the nodes now, by their numbers."""
    known, waited = dict[int, int](), dict[int, float]()
    looked, own = trio.current_time(), waited_seconds(0)
    while True:
        await trio.sleep(CHECK_SECONDS)
        now, own_now = trio.current_time(), waited_seconds(0)
        slower = (now - looked) * slowness(calculation_seconds(ROUNDS))
        for number, pid in pids().items():
            with suppress(OSError, ValueError, IndexError):
                waited_now = waited_seconds(pid)
                # Waiting of another process during its start delayed no request.
                since = waited[number] if known.get(number) == pid else waited_now
                waits[number].note(now, lacked(now - looked, waited_now - since, own_now - own, slower))
                known[number], waited[number] = pid, waited_now
        looked, own = now, own_now


def lacked(seconds: float, *grown: float) -> float:
    """For how many of the `seconds` since the last sample there was no core, of processes whose waits have `grown`: no longer
    than that, because they may have waited at once. A sum that shrinks has lost threads that have ended."""
    return min(seconds, sum(max(0.0, each) for each in grown))


def slowness(seconds: float) -> float:
    """The part of its time that the machine would have saved at the usual speed, if the calculation took so long."""
    return max(0.0, 1.0 - USUAL_SECONDS / seconds)


def waited_seconds(pid: int) -> float:
    """Return how long the threads of a process, 0 being this one, have been ready to run without a core.

    Threads count, because a node loads its pages in one. Those that have ended meanwhile do not.
    """
    waited = 0
    for thread in Path(f"/proc/{pid or 'self'}/task").iterdir():
        with suppress(OSError):
            waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e9
