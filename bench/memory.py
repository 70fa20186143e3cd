"""Does memory stay flat? Sends single events for minutes and samples the service's resident memory."""

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.load import Measured, measure
from bench.stage import Stage, set_up, tell
from bench.usage import memory_bytes

CONNECTIONS = 128
ENTRIES = 2_000
"""A small catalog, because a large one would hide growth."""
WARM_UP_SECONDS = 30.0
REMEMBERED = 100_000
"""The default of `events.remember`. The warm-up records as many events, to fill the memory of keys."""
SAMPLE_SECONDS = 1.0
WINDOW = 30
"""Number of samples that are compared, at the start and at the end."""
MAX_GROWTH = 1.05


@dataclass(frozen=True, slots=True)
class Course:
    """Resident memory by second after the warm-up, divided by the median of the first `WINDOW` samples."""

    seconds: list[float]
    shares: list[float]
    answers: int
    failures: int
    kept_right: bool

    @property
    def growth(self) -> float:
        return median(self.shares[-WINDOW:])

    @property
    def long_enough(self) -> bool:
        """Whether the windows do not overlap and the load was enough to make memory grow."""
        return len(self.shares) >= 2 * WINDOW and self.answers >= REMEMBERED

    @property
    def flat(self) -> bool:
        return self.long_enough and self.growth <= MAX_GROWTH

    @property
    def verdict(self) -> str:
        if not self.long_enough:
            return f"**not shown**: it takes {2 * WINDOW} s and {REMEMBERED:,} answers"
        return "reached" if self.flat else f"**missed**: it grew by {self.growth - 1:.1%}"


async def follow(minutes: float, data_dir: Path | None) -> Course:
    """Send single events of unique visitors and sample the service's memory."""
    async with set_up(ENTRIES, data_dir, alone=True) as stage:
        tell(f"single events over {CONNECTIONS} connections: a warm-up, then {minutes:g} minutes")
        warm = 0
        while warm < REMEMBERED:
            warm += (await _loaded(stage, WARM_UP_SECONDS)).recorded
        before = await stage.ledger.recorded()
        samples: list[int] = []
        async with asyncio.TaskGroup() as tasks:
            sampling = tasks.create_task(_sample(stage.service.pid, samples))
            made = await _loaded(stage, minutes * 60)
            sampling.cancel()
        added = await stage.ledger.recorded() - before
    start = median(samples[:WINDOW])
    surplus = added.rows - made.recorded
    return Course(
        seconds=[place * SAMPLE_SECONDS for place in range(len(samples))],
        shares=[sample / start for sample in samples],
        answers=made.answers,
        failures=made.failures,
        kept_right=added.rows == added.counted and 0 <= surplus <= CONNECTIONS + made.failures,
    )


async def _loaded(stage: Stage, seconds: float) -> Measured:
    return await measure(stage.service.port, stage.events(1, 0), CONNECTIONS, math.ceil(seconds), stage.cores.load)


async def _sample(pid: int, samples: list[int]) -> None:
    while True:
        samples.append(memory_bytes(pid))
        await asyncio.sleep(SAMPLE_SECONDS)


def publish(course: Course, setting: str, directory: Path) -> str:
    """Write `memory.md`, the text around the plot `memory.svg`, and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    kept = "as many as answered, apart from those in flight at the end" if course.kept_right else "WRONG"
    words = (
        f"# Memory\n\n{setting}\n\nSingle events of unique visitors over {CONNECTIONS} connections for "
        f"{course.seconds[-1] / 60:.1f} minutes after a warm-up of at least {REMEMBERED:,} events: "
        f"{course.answers:,} responses, {course.failures:,} failures, events in Postgres: {kept}.\n\n"
        f"Resident memory in the last {WINDOW} s over the first {WINDOW} s: **{course.growth:.3f}**; highest: "
        f"{max(course.shares):.3f}; goal: at most {MAX_GROWTH:g}. Flat: {course.verdict}.\n\n"
        "![Resident memory over time](memory.svg)\n"
    )
    (directory / "memory.md").write_text(words)
    return words
