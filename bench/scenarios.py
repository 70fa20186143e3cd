"""The scenarios: operations under a kind of load, with the programs that take part. Only data."""

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from bench.programs import BEFORE, CONSTANT, ENGINE, FASTAPI, HYPERCORN, IDIOMS, OURS

INSERT, RECORD = "INSERT alone", "record statement"
"""The database's ceilings, measured by `bench.database`."""
CEILING_SIZE = 500
"""Events per statement of the database's ceilings."""
KEYS = 64
SEARCH_CONNECTIONS = 16
REPEATS = 20
"""Percentage of duplicates in scenarios that have any."""


class Kind(Enum):
    """An operation by its name in the tables."""

    EVENT = "`POST /api/v1/sponsors/events`"
    BATCH = "`POST /api/v1/sponsors/events/batch`"
    PLACEMENTS = "`GET /api/v1/sponsors/placements`"
    INVENTORY = "`GET /api/v1/sponsors/inventory`"
    LIST = "`GET /api/v1/usecases?limit=20`"
    ITEM = "`GET /api/v1/usecases/{slug}`"
    SEARCH = "`GET /api/v1/usecases?q=...`"


EVENT_KINDS = (Kind.EVENT, Kind.BATCH)


@dataclass(frozen=True, slots=True)
class Scenario:
    """An operation under one kind of load. The service is the first of the programs."""

    kind: Kind
    connections: int
    programs: tuple[str, ...]
    keys: int = 0
    """0 is keyless."""
    size: int = 1
    """Events a request."""
    repeats: int = 0

    @property
    def load(self) -> str:
        """The column between operation and connections."""
        match self.kind:
            case Kind.EVENT | Kind.BATCH:
                visitors = f"{self.repeats} % duplicates" if self.repeats else "unique"
                return visitors if self.size == 1 else f"{self.size} a request, {visitors}"
            case _:
                return f"{self.keys} key{'s' * (self.keys > 1)}" if self.keys else "keyless"


@dataclass(frozen=True, slots=True)
class Plan:
    """The extent of a measurement."""

    entries: int
    seconds: float
    rounds: int
    connections: tuple[int, ...]
    audit: bool
    quick: bool = False
    """One scenario of each kind, without warm-ups, by the generator that waits for every response."""

    @property
    def middle(self) -> int:
        """The number of connections of scenarios that use only one."""
        return sorted(self.connections)[len(self.connections) // 2]

    other: Path | None = None
    """The directory of another checkout, a node of which takes part."""

    def scenarios(self) -> list[Scenario]:
        found = self._one_of_each() if self.quick else [*self._events(), *self._batches(), *self._reads()]
        return [replace(each, programs=(*each.programs, BEFORE)) for each in found] if self.other else found

    def _one_of_each(self) -> list[Scenario]:
        """Together they have every program, duplicates and keys."""
        reading = (OURS, *IDIOMS)
        return [
            Scenario(Kind.EVENT, self.middle, (OURS, HYPERCORN, *FASTAPI, ENGINE), repeats=REPEATS),
            Scenario(Kind.BATCH, self.middle, (OURS, INSERT, RECORD), size=500),
            Scenario(Kind.PLACEMENTS, self.middle, (OURS, HYPERCORN, *IDIOMS, *CONSTANT)),
            Scenario(Kind.INVENTORY, self.middle, reading),
            Scenario(Kind.LIST, self.middle, reading, keys=KEYS),
            Scenario(Kind.ITEM, self.middle, (*reading, *CONSTANT)),
            Scenario(Kind.SEARCH, self.middle, reading),
        ]

    def _events(self) -> list[Scenario]:
        recording = (OURS, HYPERCORN, *FASTAPI)
        # One connection shows what a commit costs that no other request shares.
        unique = [Scenario(Kind.EVENT, each, (*recording, ENGINE)) for each in sorted({1, *self.connections})]
        return [*unique, *(Scenario(Kind.EVENT, each, recording, repeats=REPEATS) for each in self.connections)]

    def _batches(self) -> list[Scenario]:
        programs = (OURS, INSERT, RECORD)
        # 500 connections with 500 events each would wait for one another for seconds, in any program.
        few = [each for each in self.connections if each <= self.middle]
        return [
            *(Scenario(Kind.BATCH, each, programs, size=50) for each in self.connections),
            *(Scenario(Kind.BATCH, each, programs, size=500) for each in few),
        ]

    def _reads(self) -> list[Scenario]:
        programs = (OURS, HYPERCORN, *IDIOMS)
        placements = [Scenario(Kind.PLACEMENTS, each, (*programs, *CONSTANT)) for each in self.connections]
        lists = [Scenario(Kind.LIST, each, programs) for each in self.connections]
        keyed = [
            Scenario(kind, self.middle, programs, keys=keys) for kind in (Kind.LIST, Kind.ITEM) for keys in (1, KEYS)
        ]
        return [
            *placements,
            *lists,
            Scenario(Kind.INVENTORY, self.middle, programs),
            Scenario(Kind.ITEM, self.middle, (*programs, *CONSTANT)),
            *keyed,
            Scenario(Kind.SEARCH, SEARCH_CONNECTIONS, programs),
        ]
