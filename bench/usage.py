"""What a run costs beside time: CPU seconds and memory of processes, read from /proc (Linux; elsewhere all is 0)."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
RESET_PEAK = "5"
"""Written to `clear_refs`, it makes the kernel begin anew with the peak."""


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds of the program and of Postgres in a run, and the program's highest resident memory in bytes."""

    server_cpu: float
    postgres_cpu: float
    peak_bytes: int


class Meter:
    """Measures one run of a program; made at its start."""

    def __init__(self, pid: int, postmaster: int) -> None:
        self._pid, self._postmaster = pid, postmaster
        with suppress(OSError):
            (PROC / str(pid) / "clear_refs").write_text(RESET_PEAK)
        self._server, self._postgres = cpu_seconds(pid), family_cpu_seconds(postmaster)

    def read(self) -> Usage:
        return Usage(
            cpu_seconds(self._pid) - self._server,
            family_cpu_seconds(self._postmaster) - self._postgres,
            memory_bytes(self._pid, "VmHWM"),
        )


def cpu_seconds(pid: int, *, reaped: bool = False) -> float:
    """Of a process with all its threads; `reaped` adds the children that it has waited for."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    return sum(int(ticks) for ticks in fields[11 : 15 if reaped else 13]) / TICKS


def family_cpu_seconds(pid: int) -> float:
    """Of a process and its children, dead ones too: Postgres has a process for each connection."""
    children = [int(path.name) for path in PROC.glob("[0-9]*") if (_stat(int(path.name)) or ["", "0"])[1] == str(pid)]
    return cpu_seconds(pid, reaped=True) + sum(cpu_seconds(child) for child in children)


def memory_bytes(pid: int, what: str = "VmRSS") -> int:
    """Resident memory now (`VmRSS`) or at its highest (`VmHWM`)."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) * 1024
    return 0


def _stat(pid: int) -> list[str]:
    """The fields of `stat` from the state on, which comes third; empty for a process that is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
