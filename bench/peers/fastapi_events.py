"""Placement events of the FastAPI program: one transaction per event, in the same tables, with the response after the commit.

`models` inserts, then counts a new event in a second statement of the transaction. `raw` does both in one statement and
one round trip. `grouped` (`fastapi_grouped`) commits the events of many requests together. All read the live bookings
once at their start. That favours them: the service follows every change.
"""

import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench.peers.pool import Pool

DAY_SECONDS = 86_400
SECRET = b"the secret of the peer, which hashes visitors as the service does"

WINDOWS = """
    select bookings.id, number, week_start_ms as start_ms, week_start_ms + weeks * 604800000::bigint as end_ms
    from bookings join campaigns on campaigns.id = bookings.campaign_id join event_bookings on event_bookings.id = bookings.id
    where bookings.status = 'paid' and campaigns.status = 'approved'
"""

NUMBERS = "insert into event_bookings (id) select id from bookings order by id on conflict do nothing"

INSERT = """
    insert into event_keys (booking, day, key, click, place) values ($1, $2, $3, $4, get_byte($3, 0))
    on conflict do nothing returning true
"""

COUNT = """
    insert into event_counts as counts (place, booking, day, impressions, clicks) values (0, $1, $2, $3, $4)
    on conflict (place, booking, day) do update
        set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
"""

INSERT_AND_COUNT = """
    with added as (
        insert into event_keys (booking, day, key, click, place) values ($1, $2, $3, $4, get_byte($3, 0))
        on conflict do nothing returning click::int
    ), counted as (
        insert into event_counts as counts (place, booking, day, impressions, clicks)
        select 0, $1, $2, 1 - click, click from added
        on conflict (place, booking, day) do update
            set impressions = counts.impressions + excluded.impressions, clicks = counts.clicks + excluded.clicks
    )
    select exists (select from added)
"""

RECORDED, DROPPED = b'{"recorded":true}', b'{"recorded":false}'


class Event(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    bookingId: Annotated[str, Field(min_length=1, max_length=100)]  # noqa: N815 - fields are named as on the wire
    kind: Literal["impression", "click"]
    visitorId: Annotated[UUID, Field(strict=False)]  # noqa: N815


class Result(BaseModel):
    recorded: bool


Windows = Mapping[str, tuple[int, int, int]]
"""The number of each booking, and the times between which its placement is shown."""


async def load_windows(pool: Any) -> Windows:
    """All live bookings."""
    await pool.execute(NUMBERS)
    return {row["id"]: (row["number"], row["start_ms"], row["end_ms"]) for row in await pool.fetch(WINDOWS)}


def windows_of(request: Request) -> Windows:
    windows: Windows = request.app.state.windows
    return windows


Shown = Annotated[Windows, Depends(windows_of)]


def is_live(windows: Windows, booking_id: str, now: float) -> bool:
    window = windows.get(booking_id)
    if window is None:
        raise HTTPException(404, "There is no booking with this id.")
    return window[1] <= now * 1000 < window[2]


def row_of(windows: Windows, event: Event, now: float) -> tuple[int, int, bytes, bool]:
    """The stored event: booking, day, key, and whether it is a click."""
    day, click = int(now // DAY_SECONDS), event.kind == "click"
    text = b"%d:%d:%b%b" % (day, click, event.bookingId.encode(), event.visitorId.bytes)
    return windows[event.bookingId][0], day, blake2b(text, digest_size=16, key=SECRET[:64]).digest(), click


def add_models(app: FastAPI) -> None:
    @app.post("/api/v1/sponsors/events")
    async def record_event(event: Event, pool: Pool, windows: Shown) -> Result:
        now = time.time()
        if not is_live(windows, event.bookingId, now):
            return Result(recorded=False)
        booking, day, key, click = row_of(windows, event, now)
        async with pool.acquire() as connection, connection.transaction():
            added = await connection.fetchval(INSERT, booking, day, key, click)
            if added:
                # Last, because the row of the counts stays locked until the commit.
                await connection.execute(COUNT, booking, day, int(not click), int(click))
        return Result(recorded=added is not None)


def add_raw(app: FastAPI) -> None:
    @app.post("/api/v1/sponsors/events")
    async def record_event(request: Request, pool: Pool, windows: Shown) -> Response:
        try:
            event = Event.model_validate_json(await request.body())
        except ValidationError as error:
            raise HTTPException(400, str(error)) from None
        now = time.time()
        live = is_live(windows, event.bookingId, now)
        added = live and await pool.fetchval(INSERT_AND_COUNT, *row_of(windows, event, now))
        return Response(RECORDED if added else DROPPED, media_type="application/json")
