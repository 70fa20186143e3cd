"""A distributed database: checks its engine, and reads which worker holds which places of the events.

`docs/scaling.md` says what is distributed and why.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storage.connection.pool import Database
from storage.events.store import PLACES
from storage.rows.statements import statements

SQL = statements("distribution")

OLDEST_ENGINE = 12
"""The oldest supported major version of Citus: the first that accepts all our statements and partitions."""

COORDINATOR = 0
"""The number of the coordinator among the servers. It may hold shards, like a worker."""

_VERSION = re.compile(r"Citus (\d+)\.", re.ASCII)


class DistributionError(Exception):
    """The database cannot be distributed as this program needs. The text completes a line that begins with its name."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A server that holds places, and where the service reaches it. `number` is the engine's."""

    number: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class PlaceMap:
    """The number of each place's worker, at the time when this map was read. `since` is the first day whose events are on
    the workers: those of earlier days are on the coordinator."""

    of: Sequence[int]
    workers: Mapping[int, Worker]
    since: int = 0
    _ranks: Mapping[int, int] = field(init=False)
    """The position of each worker among all."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ranks", {number: rank for rank, number in enumerate(sorted(self.workers))})

    def places_of(self, worker: int) -> Sequence[int]:
        return [place for place, holder in enumerate(self.of) if holder == worker]

    def section_of(self, place: int, count: int) -> int:
        """The one of `count` sections that a place belongs to: those of a worker share one."""
        return self._ranks[self.of[place]] % count

    def __repr__(self) -> str:
        return f"<PlaceMap of {len(self.workers)} workers>"


async def check_engine(database: Database) -> None:
    """Raise `DistributionError` unless the database has a supported Citus."""
    if not await database.fetchval(SQL.engine):
        raise DistributionError(
            "has no Citus extension, which database.distributed needs: preload citus and create the extension, "
            "or set database.distributed to false"
        )
    version: str = await database.fetchval(SQL.version)
    match = _VERSION.match(version)
    if match is None or int(match[1]) < OLDEST_ENGINE:
        raise DistributionError(f"has {' '.join(version.split()[:2])}; Citus {OLDEST_ENGINE} or newer is needed")


async def read_places(database: Database) -> PlaceMap:
    """Read where the places are now. Raises `DistributionError` if the events are not distributed, or their shards are kept
    several times by Citus itself."""
    if not await database.fetchval(SQL.is_distributed):
        raise DistributionError(
            "has migrations that distribute events, but its event tables are not distributed: "
            "it was restored from a dump, which does not hold the distribution"
        )
    rows = await database.fetch(SQL.places)
    if [row["place"] for row in rows] != list(range(PLACES)):
        raise DistributionError("has shards without a server or with several: citus.shard_replication_factor must be 1")
    workers = {row["worker"]: Worker(row["worker"], row["host"], row["port"]) for row in rows}
    return PlaceMap([row["worker"] for row in rows], workers, await database.fetchval(SQL.since))
