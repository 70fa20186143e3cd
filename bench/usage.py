"""CPU seconds and memory of processes in a run, from /proc (Linux; 0 elsewhere)."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
RESET_PEAK = "5"
"""Written to `clear_refs`, it resets the kernel's peak."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds of the program and of Postgres in a run, and the peak resident memory of all the program's processes in
    bytes. `machine_cpu` covers everything on the machine, `seconds` is the measured time."""

    server_cpu: float
    postgres_cpu: float
    peak_bytes: int
    machine_cpu: float = 0.0
    seconds: float = 0.0


class Meter:
    """Measures one run of a program's processes, from the moment it is created."""

    def __init__(self, pids: Sequence[int], postmaster: int) -> None:
        self._pids, self._postmaster = pids, postmaster
        for pid in pids:
            with suppress(OSError):
                (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)
        self._server, self._postgres = self._cpu_seconds(), family_cpu_seconds(postmaster)
        self._machine, self._began = machine_cpu_seconds(), time.perf_counter()

    def read(self) -> Usage:
        return Usage(
            self._cpu_seconds() - self._server,
            family_cpu_seconds(self._postmaster) - self._postgres,
            sum(memory_bytes(pid, "VmHWM") for pid in self._pids),
            machine_cpu_seconds() - self._machine,
            time.perf_counter() - self._began,
        )

    def _cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self._pids))


def calculation_seconds(rounds: int) -> float:
    """CPU time of a fixed calculation. A virtual machine may be half as fast from one minute to the next."""
    began = time.thread_time()
    found: dict[int, int] = {}
    for number in range(rounds):
        found[number * 7919 % 65_521] = len(str(number))
    return time.thread_time() - began


def cpu_seconds(pid: int, *, reaped: bool = False) -> float:
    """CPU seconds of a process with all its threads. `reaped` adds the children that it has waited for."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    return sum(int(ticks) for ticks in fields[11 : 15 if reaped else 13]) / TICKS


def family_cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and its children, including ended ones: Postgres has a process per connection."""
    children = [int(path.name) for path in PROC.glob("[0-9]*") if (_stat(int(path.name)) or ["", "0"])[1] == str(pid)]
    return cpu_seconds(pid, reaped=True) + sum(cpu_seconds(child) for child in children)


def parent_of(pid: int) -> int:
    """The parent of a process: of a backend, its postmaster."""
    return int(_stat(pid)[1])


def machine_cpu_seconds() -> float:
    """CPU seconds of all processes and the kernel since boot, without idle time and disk waits."""
    try:
        user, nice, system, _, _, *interrupts = (PROC / "stat").read_text().split("\n", 1)[0].split()[1:8]
    except OSError:
        return 0.0
    return sum(map(int, (user, nice, system, *interrupts))) / TICKS


def memory_bytes(pid: int, what: str = "VmRSS") -> int:
    """Resident memory in bytes: current (`VmRSS`) or peak (`VmHWM`)."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024
    return 0


def _stat(pid: int) -> list[str]:
    """The fields of `stat` from the third, the state; empty if the process has ended."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
