"""Bugs to plant in what counts by day, week or month, and in what has to hold while clocks differ, are set or drift, one at a
time, for one run.

The oracle has to find each; product code knows of none.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from actors.bookings import reservations
from actors.clock import DAY_MS, day_of, month_of
from actors.events.messages import FilteredRow
from actors.quota import actor as quota_actor
from actors.quota import state as quota_state
from actors.shared import code_mails
from actors.values import NOT_FILTERED, BatchId, Filtered, Tenant
from service.snapshots.placements import Rendered
from tests.doubles import keys as key_store
from tests.simulation.intake import CountedFiltered, CountedPlacements
from tests.simulation.planting import Bugs
from tests.simulation.rules import Scene

BUGS = Bugs()

_made_today = key_store.made_today


# Quota, and usage by day.


@BUGS.function(quota_state, "rolled_over")
def day_of_quota_goes_back(tenant: Tenant, now_ms: int) -> Tenant:
    """A node whose clock is behind opens the day before again, with nothing used."""
    day, month = day_of(now_ms), month_of(now_ms)
    tenant = tenant if day == tenant.day else replace(tenant, day=day, day_used=0)
    return tenant if month == tenant.month else replace(tenant, month=month, month_used=0)


@BUGS.around(quota_state, "rolled_over")
def month_begins_with_each_day(right: Any, tenant: Tenant, now_ms: int) -> Any:
    """The requests of the month begin again each day."""
    now = right(tenant, now_ms)
    return now if now.day == tenant.day else replace(now, month_used=0)


@BUGS.around(quota_state, "rolled_over")
def month_never_turned(right: Any, tenant: Tenant, now_ms: int) -> Any:
    """A new month does not begin."""
    now = right(tenant, now_ms)
    return replace(now, month=tenant.month, month_used=tenant.month_used) if tenant.month else now


@BUGS.around(quota_actor, "decide")
def use_of_a_key_on_the_nodes_own_day(right: Any, tenants: Any, messages: Any, now_ms: int, caps: Any) -> Any:
    """A request that counts in the day of a node whose clock is ahead counts for its key on the day before."""
    decision, today = right(tenants, messages, now_ms, caps), day_of(now_ms)
    by_key: dict[tuple[str, str, int], int] = {}
    for (tenant_id, key_id, day), step in decision.by_key.items():
        place = (tenant_id, key_id, min(day, today))
        by_key[place] = by_key.get(place, 0) + step
    decision.by_key = by_key
    return decision


@BUGS.around(quota_state, "refunded")
def refund_of_yesterday_lowers_today(right: Any, tenant: Tenant, refund: Any) -> Any:
    """A charge from before midnight is given back to the new day."""
    return right(tenant, replace(refund, day=tenant.day, month=tenant.month))


# Keys and codes of a day.


@BUGS.function(key_store, "made_today", Scene.PEOPLE)
def keys_of_yesterday_count(tables: Any, tenant_ids: Collection[str], now_ms: int) -> dict[str, int]:
    """Keys that an account made yesterday count for today."""
    return _made_today(tables, tenant_ids, now_ms - DAY_MS)


@BUGS.around(code_mails, "send", Scene.PEOPLE)
def day_of_codes_goes_back(right: Any, row: Any, now_ms: int, *to: str, **limits: int) -> Any:
    """A node whose clock is behind counts the codes of its day anew."""
    if row.sent_day > day_of(now_ms):
        row = replace(row, sent_day=day_of(now_ms), sent_today=0)
    return right(row, now_ms, *to, **limits)


# Weeks and days of bookings.


@BUGS.function(reservations, "_today_ms", Scene.SPONSORS)
def reservations_of_yesterday_count(unit: Any) -> int:
    """Reservations of yesterday count for today."""
    return (day_of(unit.now_ms) - 1) * DAY_MS


@BUGS.around(reservations, "_held_too_often", Scene.SPONSORS)
def reservations_of_a_day_unlimited(right: Any, unit: Any, message: Any, slot: Any) -> Any:
    """An account reserves any number of times a day."""
    refused = right(unit, message, slot)
    return refused if refused is None or "times today" not in refused.message else None


@BUGS.around(reservations, "_not_bookable_week", Scene.SPONSORS)
def week_sold_after_its_end(right: Any, unit: Any, week_ms: int) -> Any:
    """A week is sold that is over by the clock of its node, and was not when its sponsor asked for it."""
    refused = right(unit, week_ms)
    return refused if refused is None or "is over" not in refused.message else None


@BUGS.around(reservations, "price", Scene.SPONSORS)
def begun_week_at_its_full_price(right: Any, slot: Any, week_start_ms: int, now_ms: int) -> Any:
    """A week that has begun costs as much as a whole one."""
    return right(slot, week_start_ms, min(week_start_ms, now_ms))


@BUGS.part("placements", Scene.WEBSITES)
class WeekShownUntilTheNextChange(CountedPlacements):
    """A week begins or ends on a node when something else changes."""

    async def _is_current(self) -> bool:
        return await self._store.revision() == self.revision

    async def _load(self) -> None:
        await super()._load()
        self._loaded_ms = self._clock.now_ms()

    def placements(self, now_ms: int) -> Rendered:
        return super().placements(self._loaded_ms)

    _loaded_ms = 0


# Events.


@BUGS.part("filtered", Scene.WEBSITES)
class FilteredOnTheDayOfTheWrite(CountedFiltered):
    """Filtered events count on the day on which they are written."""

    def _next_batch(self) -> tuple[BatchId, list[FilteredRow]] | None:
        batch = super()._next_batch()
        if batch is None:
            return None
        self._batch = batch[0], _on(day_of(self._clock.now_ms()), batch[1])
        return self._batch


def _on(day: int, rows: Sequence[FilteredRow]) -> list[FilteredRow]:
    sums: dict[str, Filtered] = {}
    for row in rows:
        both = zip(row.filtered, sums.get(row.booking_id, NOT_FILTERED), strict=True)
        sums[row.booking_id] = Filtered(*map(sum, both))
    return [FilteredRow(booking_id, day, counts) for booking_id, counts in sums.items()]
