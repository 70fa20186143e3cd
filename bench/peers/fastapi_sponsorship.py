"""Placements and inventory of the FastAPI program, read from Postgres: as pydantic models, or as JSON made by Postgres."""

import time
from typing import Literal

from fastapi import FastAPI, Response
from pydantic import BaseModel

from bench.peers.pool import Pool

WEEK_MS = 7 * 86_400_000
MONDAY_MS = 4 * 86_400_000
"""The first Monday after the epoch, which began on a Thursday."""

PLACEMENTS = """
    select headline, body, cta, target_url as "targetUrl", logo_text as "logoText", bookings.id as "bookingId",
        coalesce(shown_as, sponsors.name) as "sponsorName", side, bookings.demo,
        bookings.slot_id as "slotId"
    from bookings join slots on slots.id = bookings.slot_id
    join campaigns on campaigns.id = bookings.campaign_id
    join sponsors on sponsors.tenant_id = bookings.tenant_id
    where bookings.status = 'paid' and campaigns.status = 'approved'
        and week_start_ms <= $1 and week_start_ms + bookings.weeks * 604800000::bigint > $1
        and bookings.weeks = (select count(*) from slot_weeks where booking_id = bookings.id)
    order by side <> 'left', week_start_ms, bookings.id collate "C"
"""

SLOTS = """
    select id, name, side, week_price_cents as "weekPriceCents", active,
        active and not coming_soon and coalesce(offer_ends_ms > $1::bigint, true) and $2::bigint + 604800000 > $1
        and not exists (
            select from slot_weeks join bookings on bookings.id = booking_id
            where slot_weeks.slot_id = slots.id and week_ms >= $2 and week_ms < $2 + slots.weeks * 604800000::bigint
                and (bookings.status not in ('reserved', 'checkout') or hold_ms > $1)
        ) as available,
        weeks as "durationWeeks", coming_soon as "comingSoon", offer_ends_ms as "offerEndsAt",
        package_kind as "packageKind", description,
        case when $2 + 604800000 > $1 then
            greatest(1, week_price_cents * least(7, 7 - ($1 / 86400000 - $2 / 86400000)) / 7) + (weeks - 1) * week_price_cents
        end as "priceCents"
    from slots where retired_ms is null order by id
"""

PLACEMENTS_TEXT = f"""
    select json_build_object('placements', coalesce(json_agg(shown), '[]'))::text from ({PLACEMENTS}) as shown
"""

INVENTORY_TEXT = f"""
    select json_build_object('weekStart', $2::bigint, 'weekEnd', $2::bigint + 604800000, 'billingMode', 'test', 'slots',
        coalesce(json_agg(json_strip_nulls(row_to_json(offered))), '[]'))::text from ({SLOTS}) as offered
"""


class Placement(BaseModel):
    headline: str
    body: str
    cta: str
    targetUrl: str  # noqa: N815 - fields are named as on the wire
    logoText: str  # noqa: N815
    bookingId: str  # noqa: N815
    sponsorName: str  # noqa: N815
    side: Literal["left", "right"]
    demo: bool
    slotId: str  # noqa: N815


class Placements(BaseModel):
    placements: list[Placement]


class Slot(BaseModel):
    id: str
    name: str
    side: Literal["left", "right"]
    weekPriceCents: int  # noqa: N815
    active: bool
    available: bool
    durationWeeks: int  # noqa: N815
    comingSoon: bool  # noqa: N815
    offerEndsAt: int | None = None  # noqa: N815
    packageKind: Literal["website", "youtube", "bundle"] | None = None  # noqa: N815
    description: str | None = None
    priceCents: int | None = None  # noqa: N815


class Inventory(BaseModel):
    weekStart: int  # noqa: N815
    weekEnd: int  # noqa: N815
    billingMode: Literal["test", "live"]  # noqa: N815
    slots: list[Slot]


def moment_and_week(week_start_ms: int | None) -> tuple[int, int]:
    """Now, and the start of the requested week, by default the current one."""
    now_ms = int(time.time() * 1000)
    moment_ms = now_ms if week_start_ms is None else week_start_ms
    return now_ms, moment_ms - (moment_ms - MONDAY_MS) % WEEK_MS


def add_models(app: FastAPI) -> None:
    @app.get("/api/v1/sponsors/placements")
    async def list_placements(pool: Pool) -> Placements:
        rows = await pool.fetch(PLACEMENTS, int(time.time() * 1000))
        return Placements(placements=[Placement(**row) for row in rows])

    @app.get("/api/v1/sponsors/inventory", response_model_exclude_none=True)
    async def get_inventory(pool: Pool, weekStart: int | None = None) -> Inventory:  # noqa: N803
        now_ms, week_ms = moment_and_week(weekStart)
        rows = await pool.fetch(SLOTS, now_ms, week_ms)
        return Inventory(
            weekStart=week_ms, weekEnd=week_ms + WEEK_MS, billingMode="test", slots=[Slot(**row) for row in rows]
        )


def add_raw(app: FastAPI) -> None:
    @app.get("/api/v1/sponsors/placements")
    async def list_placements(pool: Pool) -> Response:
        text = await pool.fetchval(PLACEMENTS_TEXT, int(time.time() * 1000))
        return Response(text, media_type="application/json")

    @app.get("/api/v1/sponsors/inventory")
    async def get_inventory(pool: Pool, weekStart: int | None = None) -> Response:  # noqa: N803
        text = await pool.fetchval(INVENTORY_TEXT, *moment_and_week(weekStart))
        return Response(text, media_type="application/json")
