"""The clocks of nodes: each is ahead or behind, some are stepped or run slower or faster for a while, and all are right to a
second until the faults are over.

`LEAD_MS` is the judge's bound (`--clock-ms`). Everything is drawn from streams of its own, so that no other draw changes.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import floor
from random import Random

import trio

from actors.clock import SECOND_MS
from tests.simulation.rules import TURNS_MS, Scene

LEAD_MS = 900
"""How far a clock may be ahead or behind. Two nodes differ by up to twice as much."""
DRIFT_SECONDS = (2.5, 4.0)
"""How long a clock takes to drift to another lead. It never stands still."""
STEADY, STEPPED, DRIFTS = "steady", "stepped", "drifts"


@dataclass(frozen=True, slots=True)
class Lead:
    """From `since` on, a clock is ahead by `lead_ms` (negative: behind), and by `drift` ms more each second."""

    since: float
    lead_ms: float
    drift: float = 0.0

    def at(self, seconds: float) -> float:
        return self.lead_ms + (seconds - self.since) * self.drift


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock of one node. All times are seconds of the world."""

    base_ms: int
    leads: tuple[Lead, ...]

    def now_ms(self) -> int:
        return self.at(trio.current_time())

    def at(self, seconds: float) -> int:
        place = bisect_right(self.leads, seconds, key=lambda lead: lead.since)
        return self._read(self.leads[max(0, place - 1)], seconds)

    def span(self, start: float, end: float) -> tuple[int, int]:
        """The least and the greatest time that the clock shows from `start` to `end`."""
        shown = [self.at(start), self.at(end), *self._turns(start, end)]
        return min(shown), max(shown)

    def leads_ms(self) -> tuple[float, float]:
        """The least and the greatest lead that the clock ever has."""
        ends = [lead.at(after.since) for lead, after in zip(self.leads, self.leads[1:], strict=False)]
        every = [*(lead.lead_ms for lead in self.leads), *ends]
        return min(every), max(every)

    def _turns(self, start: float, end: float) -> Iterator[int]:
        for before, after in zip(self.leads, self.leads[1:], strict=False):
            if start < after.since <= end:
                yield from (self._read(before, after.since), self._read(after, after.since))

    def _read(self, lead: Lead, seconds: float) -> int:
        return self.base_ms + floor(seconds * SECOND_MS + lead.at(seconds))


def are_moved(seed: int) -> bool:
    """Whether clocks are set or drift. In every other round of the scenes, clocks differ and stay as they are."""
    return seed // len(Scene) % 2 == 1


def turn_of(seed: int, drawn_ms: int) -> int:
    """The midnight of a world: the one that was drawn or, where clocks are moved, perhaps another of that day of the week."""
    return Random(f"{seed}-turn").choice((drawn_ms, *TURNS_MS[drawn_ms])) if are_moved(seed) else drawn_ms


def clocks_of(seed: int, base_ms: int, turn_ms: int, drawn_ms: list[int], heal_at: float) -> list[WallClock]:
    """The clocks of all nodes. Each begins with the lead that was drawn for it."""
    chance, turn = Random(f"{seed}-clocks"), (turn_ms - base_ms) / SECOND_MS
    if not are_moved(seed):
        return [WallClock(base_ms + lead_ms, (Lead(0.0, 0.0),)) for lead_ms in drawn_ms]
    return [WallClock(base_ms, _leads(chance, lead_ms, turn, heal_at)) for lead_ms in drawn_ms]


def _leads(chance: Random, first_ms: int, turn: float, heal_at: float) -> tuple[Lead, ...]:
    kind, other_ms = chance.choice((STEADY, STEPPED, DRIFTS)), chance.randint(-LEAD_MS, LEAD_MS)
    # Half of the steps and drifts are about midnight: some nodes see it twice, and others skip its first moments.
    about = turn + chance.uniform(-0.9, 0.9) if chance.random() < 0.5 else chance.uniform(0.0, heal_at)
    seconds = chance.uniform(*DRIFT_SECONDS)
    since = min(max(about, 0.1), heal_at - seconds)
    match kind:
        case "stepped":
            return Lead(0.0, first_ms), Lead(since, other_ms)
        case "drifts":
            drift = Lead(since, first_ms, (other_ms - first_ms) / seconds)
            return Lead(0.0, first_ms), drift, Lead(since + seconds, other_ms)
        case _:
            return (Lead(0.0, first_ms),)
