"""The rate card: what slots cost, when they are free, and what past sponsors reached. Rendered from a snapshot in memory."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Protocol

from actors.bookings.decision import Week
from actors.bookings.prices import price
from actors.bookings.records import Slot
from actors.bookings.reports import SlotReach
from actors.bookings.slots import sells
from actors.times import DAY_MS, WEEK_MS, day_of, week_of, weeks_from
from service.schemas.fields import BillingMode
from service.schemas.inventory import FreeWeek, RateCard, RateCardSlot, Reach
from service.schemas.rows import filled

FREE_WEEKS = 3
"""The next free weeks that the card names of each slot."""

MIN_BOOKINGS = 5
"""Sums over fewer bookings are not shown: they would tell what a single sponsor reached, and say little."""


class Offers(Protocol):
    """The slots of a snapshot, when they are free, and until when a week of one is not."""

    @property
    def slots(self) -> Sequence[Slot]: ...
    @property
    def unavailable(self) -> Mapping[Week, int]: ...
    def available(self, slot: Slot, week_ms: int, now_ms: int) -> bool: ...


def rate_card(
    snapshot: Offers, reach: Mapping[str, SlotReach], horizon_weeks: int, mode: BillingMode, now_ms: int
) -> RateCard:
    """The card of the slots that are sold now or soon. `reach` has the sums of each slot's ended bookings."""
    weeks = weeks_from(week_of(now_ms), horizon_weeks + 1)
    shown = [slot for slot in snapshot.slots if sells(slot, now_ms) or slot.coming_soon]
    slots = [_slot(snapshot, slot, weeks, reach.get(slot.id), now_ms) for slot in shown]
    return RateCard(currency="usd", billingMode=mode, slots=slots, reach=_reach(list(reach.values())))


def rate_card_change_ms(snapshot: Offers, now_ms: int) -> int:
    """The next time at which the card changes, or earlier: a hold or an offer ends, or a day, after which the running week
    costs less."""
    offers = (slot.offer_ends_ms or 0 for slot in snapshot.slots)
    moments = (*snapshot.unavailable.values(), *offers, (day_of(now_ms) + 1) * DAY_MS)
    return min(moment for moment in moments if moment > now_ms)


def _slot(snapshot: Offers, slot: Slot, weeks: Sequence[int], reach: SlotReach | None, now_ms: int) -> RateCardSlot:
    free = islice((week_ms for week_ms in weeks if snapshot.available(slot, week_ms, now_ms)), FREE_WEEKS)
    return filled(
        RateCardSlot,
        slot,
        durationWeeks=slot.weeks,
        nextWeeks=[
            FreeWeek(weekStart=week_ms, weekEnd=week_ms + slot.weeks * WEEK_MS, priceCents=price(slot, week_ms, now_ms))
            for week_ms in free
        ],
        reach=None if reach is None else _reach([reach]),
    )


def _reach(parts: Sequence[SlotReach]) -> Reach | None:
    bookings = sum(part.bookings for part in parts)
    if bookings < MIN_BOOKINGS:
        return None
    impressions, clicks = sum(part.impressions for part in parts), sum(part.clicks for part in parts)
    return Reach(
        bookings=bookings,
        weeks=sum(part.weeks for part in parts),
        impressions=impressions,
        clicks=clicks,
        ctr=clicks / impressions if impressions else None,
    )
