"""The workers of a distributed database, as an operator sees them: reached by the role and the way that events take."""

from collections.abc import Sequence
from dataclasses import dataclass

import trio

from actors.values import TransientStorageError
from storage.distribution import PlaceMap, Worker
from storage.pool import Database
from storage.postgres.distributed_events import DistributedEvents
from storage.schema import unsafe_settings
from storage.statements import statements

SQL = statements("distribution")


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's answers. `error` says why it could not be asked; the other values are then empty."""

    worker: Worker
    places: int
    error: str = ""
    unsafe: Sequence[str] = ()
    """Settings with which a crash can lose a write after its response was sent, as `name=value`."""
    lacks: str = ""
    """The function for recording that it does not have, or that the role may not call."""
    prepared_seconds: float = 0.0
    """The age of its oldest prepared transaction."""


async def ask_workers(events: DistributedEvents) -> Sequence[WorkerReport]:
    """A report of each worker, all asked at once. Each is bounded by the time limits of the pool."""
    reports: dict[int, WorkerReport] = {}

    async def ask(worker: Worker) -> None:
        reports[worker.number] = await _report(events.pool(worker), worker, events.places)

    async with trio.open_nursery() as nursery:
        for worker in events.places.workers.values():
            nursery.start_soon(ask, worker)
    return [reports[number] for number in sorted(reports)]


async def _report(database: Database, worker: Worker, places: PlaceMap) -> WorkerReport:
    held = len(places.places_of(worker.number))
    try:
        unsafe = await unsafe_settings(database)
        lacks = await database.fetchval(SQL.lacks)
        prepared_seconds = await database.fetchval(SQL.prepared_seconds)
    except TransientStorageError as error:
        return WorkerReport(worker, held, error=str(error))
    return WorkerReport(worker, held, unsafe=unsafe, lacks=lacks or "", prepared_seconds=prepared_seconds)
