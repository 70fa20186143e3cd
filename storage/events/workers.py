"""Asks the workers of a distributed database for what operators see: by the role and the way that events take."""

from collections.abc import Sequence

import trio

from actors.events.servers import ServerReport
from actors.values import TransientStorageError
from storage.events.distributed_store import DistributedEvents
from storage.events.distribution import Worker
from storage.rows.statements import statements
from storage.schema import unsafe_settings

SQL = statements("distribution")


async def ask_workers(events: DistributedEvents) -> Sequence[ServerReport]:
    """A report of each worker, all asked at once. Each is bounded by the time limits of the pool."""
    reports: dict[int, ServerReport] = {}

    async def ask(worker: Worker) -> None:
        reports[worker.number] = await _report(events, worker)

    async with trio.open_nursery() as nursery:
        for worker in events.places.workers.values():
            nursery.start_soon(ask, worker)
    return [reports[number] for number in sorted(reports)]


async def _report(events: DistributedEvents, worker: Worker) -> ServerReport:
    name, places = f"worker {worker.host}:{worker.port}", len(events.places.places_of(worker.number))
    database = events.pool(worker)
    try:
        unsafe = await unsafe_settings(database)
        lacks = await database.fetchval(SQL.lacks)
        prepared_seconds = await database.fetchval(SQL.prepared_seconds)
    except TransientStorageError as error:
        return ServerReport(worker.number, name, places, error=str(error))
    return ServerReport(worker.number, name, places, "", unsafe, lacks or "", prepared_seconds)
