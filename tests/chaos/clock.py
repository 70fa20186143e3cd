"""A wall clock that another process may step: a file of eight bytes that both processes map."""

import mmap
import os
from pathlib import Path

from actors.clock import SystemClock

VARIABLE = "CHAOS_CLOCK"
"""The environment variable that tells a node the path of the file."""

BYTES = 8


class Steps:
    """Milliseconds by which a clock is ahead of the machine's."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), BYTES)

    @classmethod
    def make(cls, path: Path) -> "Steps":
        """Create a clock's file with no step."""
        path.write_bytes(bytes(BYTES))
        path.chmod(0o666)  # a node that gives up root maps it, too
        return cls(path)

    @property
    def ahead_ms(self) -> int:
        return int.from_bytes(self._memory[:BYTES], "little", signed=True)

    @ahead_ms.setter
    def ahead_ms(self, ahead_ms: int) -> None:
        self._memory[:BYTES] = ahead_ms.to_bytes(BYTES, "little", signed=True)


class SteppedClock:
    """The clock of a node that runs under `tests.chaos.node`."""

    def __init__(self) -> None:
        self._machine, self._steps = SystemClock(), Steps(Path(os.environ[VARIABLE]))

    def now_ms(self) -> int:
        return self._machine.now_ms() + self._steps.ahead_ms
