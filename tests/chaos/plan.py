"""The plan of faults: a list derived from a seed. Pure."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A kind of fault."""

    NODE_KILLED = "kill -9 of a node"
    NODE_FROZEN = "SIGSTOP of a node"
    NODE_RESTARTED = "SIGTERM and restart of a node"
    POSTGRES_KILLED = "kill -9 of Postgres"
    POSTGRES_FROZEN = "SIGSTOP of Postgres"
    POSTGRES_RESTARTED = "restart of Postgres"
    BACKENDS_TERMINATED = "backends terminated"
    NETWORK_DELAYS = "the network delays"
    NETWORK_HOLDS = "the network holds"
    NETWORK_SILENT = "the network drops silently"
    NETWORK_RESETS = "the network resets"
    CUT_BEFORE_COMMIT = "cut before the commit"
    CUT_AFTER_COMMIT = "cut at the commit's answer"
    DISK_FULL = "the disk is full"
    CLOCK_STEPPED = "a node's clock is stepped"


LASTS: dict[Kind, tuple[float, float]] = {
    Kind.NODE_KILLED: (0.0, 0.3),
    Kind.NODE_FROZEN: (0.5, 4.0),
    Kind.NODE_RESTARTED: (0.0, 0.3),
    Kind.POSTGRES_KILLED: (0.1, 1.0),
    Kind.POSTGRES_FROZEN: (0.5, 4.0),
    Kind.POSTGRES_RESTARTED: (0.1, 0.5),
    Kind.BACKENDS_TERMINATED: (0.1, 0.6),
    Kind.NETWORK_DELAYS: (1.0, 2.5),
    Kind.NETWORK_HOLDS: (0.5, 4.0),
    Kind.NETWORK_SILENT: (0.5, 2.0),
    Kind.NETWORK_RESETS: (0.2, 0.8),
    Kind.CUT_BEFORE_COMMIT: (0.3, 1.0),
    Kind.CUT_AFTER_COMMIT: (0.3, 1.0),
    Kind.DISK_FULL: (0.5, 2.0),
    Kind.CLOCK_STEPPED: (1.0, 2.0),
}
"""The shortest and longest duration of a fault in seconds, without the time to restart."""

WEIGHT = {Kind.NODE_KILLED: 4, Kind.NODE_RESTARTED: 2, Kind.CUT_AFTER_COMMIT: 2, Kind.CUT_BEFORE_COMMIT: 2}
"""How often a kind occurs relative to the others; once by default."""

BREATH_SECONDS = (0.1, 0.6)
"""The shortest and longest pause between two faults."""

SECONDS_A_FAULT = 3.0
"""The average time of a fault with its pause, restart and recovery."""

STEP_SECONDS = (-600, -90, -20, 20, 90, 600)
"""Steps of a clock in seconds. Codes last for ten minutes, holds for thirty."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `place` is a number that selects a node, `step_seconds` applies to clocks."""

    kind: Kind
    breath_seconds: float
    lasting_seconds: float
    place: int
    step_seconds: int = 0

    def __str__(self) -> str:
        step = f" by {self.step_seconds:+d} s" if self.kind is Kind.CLOCK_STEPPED else ""
        return f"{self.kind}{step}, {self.lasting_seconds:.2f} s"


def plan(seed: int, seconds: float, without: Collection[Kind] = ()) -> list[Fault]:
    """Plan faults for about `seconds`, each kind at least once. Equal arguments give equal plans."""
    chance = random.Random(f"faults of {seed}")
    kinds = [kind for kind in Kind if kind not in without]
    weights = [WEIGHT.get(kind, 1) for kind in kinds]
    more = max(0, round(seconds / SECONDS_A_FAULT) - len(kinds))
    chosen = kinds + chance.choices(kinds, weights, k=more)
    chance.shuffle(chosen)
    return [_fault(kind, chance) for kind in chosen]


def _fault(kind: Kind, chance: random.Random) -> Fault:
    breath, lasting = chance.uniform(*BREATH_SECONDS), chance.uniform(*LASTS[kind])
    return Fault(kind, breath, lasting, chance.randrange(1_000), chance.choice(STEP_SECONDS))
