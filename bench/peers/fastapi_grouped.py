"""Placement events of the FastAPI program with the service's own idea: one asyncio task gathers events and commits them.

While a commit is under way the next batch gathers. Every response follows its commit.
"""

import asyncio
import time
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import ValidationError

from bench.peers.fastapi_events import DROPPED, RECORDED, Event, Shown, is_live, row_of

MOST = 2_000
"""Events of one transaction, as many as the service's."""

INSERT_AND_COUNT_ALL = """
    with added as (
        insert into event_keys (booking, day, key, click, place)
        select booking, day, key, click, get_byte(key, 0)
        from unnest($1::int[], $2::int[], $3::bytea[], $4::bool[]) as offered (booking, day, key, click)
        on conflict do nothing returning booking, day, key, click
    ), counted as (
        insert into event_counts as counts (place, booking, day, impressions, clicks)
        select 0, booking, day, count(*) filter (where not click), count(*) filter (where click)
        from added group by booking, day order by booking, day
        on conflict (place, booking, day) do update
            set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
    )
    select key from added
"""

Row = tuple[int, int, bytes, bool]


class Grouping:
    """The queue of events, and the task that commits it."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._queue: asyncio.Queue[tuple[Row, asyncio.Future[bool]]] = asyncio.Queue()

    async def record(self, row: Row) -> bool:
        """Whether the event was new, after its commit."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((row, answer))
        return await answer

    async def run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < MOST and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            try:
                await self._commit(batch)
            except Exception as error:
                for _, answer in batch:
                    if not answer.done():
                        answer.set_exception(error)

    async def _commit(self, batch: list[tuple[Row, asyncio.Future[bool]]]) -> None:
        # Sorted like the primary key, so that batches of other programs cannot deadlock with it.
        columns = zip(*sorted({row for row, _ in batch}), strict=True)
        added = {record[0] for record in await self._pool.fetch(INSERT_AND_COUNT_ALL, *map(list, columns))}
        for (_, _, key, _), answer in batch:
            if not answer.done():
                answer.set_result(key in added)
            added.discard(key)


def add_grouped(app: FastAPI) -> None:
    @app.post("/api/v1/sponsors/events")
    async def record_event(request: Request, windows: Shown) -> Response:
        try:
            event = Event.model_validate_json(await request.body())
        except ValidationError as error:
            raise HTTPException(400, str(error)) from None
        now = time.time()
        grouping: Grouping = request.app.state.grouping
        added = is_live(windows, event.bookingId, now) and await grouping.record(row_of(windows, event, now))
        return Response(RECORDED if added else DROPPED, media_type="application/json")
