"""Placements and inventory in memory: an immutable snapshot, and the follower that keeps it current.

The start of a week and the end of a hold or offer do not change the store. They follow from the snapshot and the time,
so all nodes see them at once, even while the store is unavailable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import trio

from actors.bookings.decision import Week
from actors.bookings.prices import price
from actors.bookings.records import Side, Slot
from actors.bookings.reports import SlotReach
from actors.bookings.slots import sells
from actors.bookings.store import Overview, SoldPlacement, SponsorshipStore
from actors.clock import DAY_MS, HOUR_MS, Clock, Entropy, day_of
from actors.events.messages import Window
from actors.times import WEEK_MS, week_of, weeks_from
from actors.values import StorageUnavailable
from service.schemas.fields import BillingMode
from service.schemas.inventory import Inventory, PageAds, PlacementList, RateCard, placement_of, slot_of
from service.snapshots.etags import digest_of, etag_of
from service.snapshots.follower import SnapshotFollower
from service.snapshots.rate_card import rate_card, rate_card_change_ms
from service.snapshots.turns import Turns

WEEKS_BACK = 1
"""Past weeks whose inventory can be read (ADR 0023)."""

NEVER_MS = 2**63 - 1


class Outlook(NamedTuple):
    """Weeks of slots: all, those that are paid for, those that are held, and the prices of the others, in cents."""

    weeks: int
    sold: int
    held: int
    open_cents: int


@dataclass(frozen=True, slots=True)
class PlacementsSnapshot:
    """The public data of one revision: all weeks from `from_week_ms`, so it stays valid until the next change.

    `unavailable` maps a week of a slot to the time when it becomes free, `windows` a booking to the time when it is shown.
    """

    revision: int = -1
    from_week_ms: int = 0
    slots: Sequence[Slot] = ()
    sold: Sequence[SoldPlacement] = ()
    unavailable: Mapping[Week, int] = field(default_factory=lambda: MappingProxyType({}))
    windows: Mapping[str, Window] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, overview: Overview, from_week_ms: int) -> "PlacementsSnapshot":
        """The snapshot of an overview, independent of the order of its rows."""
        return cls(
            revision=overview.revision,
            from_week_ms=from_week_ms,
            slots=tuple(sorted(overview.slots, key=lambda slot: slot.id)),
            sold=tuple(sorted(overview.placements, key=_place)),
            unavailable=MappingProxyType(
                {
                    (week.slot_id, week.week_ms): NEVER_MS if week.until_ms is None else week.until_ms
                    for week in overview.taken
                }
            ),
            windows=MappingProxyType(
                {each.booking_id: Window(each.week_start_ms, each.week_end_ms) for each in overview.placements}
            ),
        )

    def placements(self, now_ms: int) -> list[SoldPlacement]:
        """The live placements: left side first, then by first week, then by booking."""
        return [each for each in self.sold if each.week_start_ms <= now_ms < each.week_end_ms]

    def placements_change_ms(self, now_ms: int) -> int:
        """The next time at which `placements` changes."""
        moments = (moment for each in self.sold for moment in (each.week_start_ms, each.week_end_ms))
        return min((moment for moment in moments if moment > now_ms), default=NEVER_MS)

    def inventory(self, week_ms: int, now_ms: int) -> list[tuple[Slot, bool]]:
        """Each slot, and whether it can be booked from that week on."""
        return [(slot, self.available(slot, week_ms, now_ms)) for slot in self.slots]

    def inventory_change_ms(self, week_ms: int, now_ms: int) -> int:
        """The next time at which `inventory` or a price in it changes."""
        turns = [self._turn_of(slot, week_ms, now_ms) for slot in self.slots]
        if turns and now_ms < week_ms + WEEK_MS:
            turns.append((max(day_of(now_ms), day_of(week_ms)) + 1) * DAY_MS)
        return min(turns, default=NEVER_MS)

    def available(self, slot: Slot, week_ms: int, now_ms: int) -> bool:
        """Whether the slot is for sale, the week is not over, and all weeks of a booking from there are free."""
        over = week_ms + WEEK_MS <= now_ms
        return (
            not over
            and sells(slot, now_ms)
            and all(until_ms <= now_ms for until_ms in self._unavailable_until(slot, week_ms))
        )

    def outlook(self, first_ms: int, weeks: int, now_ms: int) -> Outlook:
        """How much of some weeks is sold, over all slots that are for sale."""
        number = sold = held = open_cents = 0
        for slot in self.slots:
            for week_ms in weeks_from(first_ms, weeks) if sells(slot, now_ms) else ():
                until_ms = self.unavailable.get((slot.id, week_ms), 0)
                number, sold = number + 1, sold + (until_ms == NEVER_MS)
                held += now_ms < until_ms < NEVER_MS
                open_cents += slot.week_price_cents if until_ms <= now_ms else 0
        return Outlook(number, sold, held, open_cents)

    def _turn_of(self, slot: Slot, week_ms: int, now_ms: int) -> int:
        """The next time at which the slot's availability changes."""
        moments = [week_ms + WEEK_MS, *self._unavailable_until(slot, week_ms)]
        if slot.offer_ends_ms is not None:
            moments.append(slot.offer_ends_ms)
        now = self._availability(slot, week_ms, now_ms)
        turns = (each for each in moments if each > now_ms and self._availability(slot, week_ms, each) != now)
        return min(turns, default=NEVER_MS)

    def _availability(self, slot: Slot, week_ms: int, now_ms: int) -> tuple[bool, int | None]:
        return self.available(slot, week_ms, now_ms), self.held_until(slot, week_ms, now_ms)

    def held_until(self, slot: Slot, week_ms: int, now_ms: int) -> int | None:
        """The end of the last hold that alone keeps a booking from that week; None if there is none."""
        if week_ms + WEEK_MS <= now_ms or not sells(slot, now_ms):
            return None
        until_ms = max(self._unavailable_until(slot, week_ms))
        return until_ms if now_ms < until_ms < NEVER_MS else None

    def _unavailable_until(self, slot: Slot, week_ms: int) -> Iterator[int]:
        """For each week of a booking from `week_ms`: the time until which it is unavailable."""
        return (self.unavailable.get((slot.id, week), 0) for week in weeks_from(week_ms, slot.weeks))

    def __repr__(self) -> str:
        sizes = f"{len(self.slots)} slots, {len(self.unavailable)} unavailable weeks, {len(self.sold)} placements"
        return f"<PlacementsSnapshot revision {self.revision}: {sizes}>"


def _place(each: SoldPlacement) -> tuple[bool, int, str]:
    return each.side is not Side.LEFT, each.week_start_ms, each.booking_id


@dataclass(frozen=True, slots=True)
class Rendered:
    """A response as JSON with its strong ETag, valid from `from_ms` until before `until_ms`."""

    body: bytes
    etag: str
    from_ms: int
    until_ms: int

    def holds(self, now_ms: int) -> bool:
        return self.from_ms <= now_ms < self.until_ms


def render_placements(snapshot: PlacementsSnapshot, now_ms: int) -> Rendered:
    shown = PlacementList(placements=[placement_of(each) for each in snapshot.placements(now_ms)])
    return _rendered(shown, now_ms, snapshot.placements_change_ms(now_ms))


def render_inventory(snapshot: PlacementsSnapshot, week_ms: int, now_ms: int, mode: BillingMode) -> Rendered:
    shown = Inventory(
        weekStart=week_ms,
        weekEnd=week_ms + WEEK_MS,
        billingMode=mode,
        slots=[
            slot_of(
                slot,
                available,
                None if week_ms + WEEK_MS <= now_ms else price(slot, week_ms, now_ms),
                snapshot.held_until(slot, week_ms, now_ms),
            )
            for slot, available in snapshot.inventory(week_ms, now_ms)
        ],
    )
    return _rendered(shown, now_ms, snapshot.inventory_change_ms(week_ms, now_ms))


def _rendered(shown: PlacementList | Inventory | RateCard, now_ms: int, change_ms: int) -> Rendered:
    body = shown.model_dump_json().encode()
    # The next week moves the range of weeks that can be read.
    until_ms = min(change_ms, week_of(now_ms) + WEEK_MS)
    return Rendered(body, etag_of(digest_of(body)), now_ms, until_ms)


@dataclass(frozen=True, slots=True)
class PlacementsLimits:
    """The interval of checks for changes, and the future weeks whose inventory can be read."""

    check_seconds: float = 0.5
    horizon_weeks: int = 26


@dataclass(frozen=True, slots=True)
class PlacementsStatistics:
    """`loads` counts since the process started. `away` is true while the store is unavailable."""

    revision: int
    sold: int
    live: int
    loads: int
    away: bool
    rendered: int


class Placements(SnapshotFollower):
    """Holds the newest snapshot and caches the responses rendered from it."""

    name = "placements"

    def __init__(
        self, store: SponsorshipStore, clock: Clock, mode: BillingMode, limits: PlacementsLimits | None = None
    ) -> None:
        self._limits = limits or PlacementsLimits()
        super().__init__(self._limits.check_seconds)
        self.snapshot = PlacementsSnapshot()
        self._store = store
        self._clock = clock
        self._mode = mode
        # By week, None for the placements; oldest first. Each snapshot has a new dict.
        self._rendered: dict[int | None, Rendered] = {}
        self._card: Rendered | None = None
        self._reach: Mapping[str, SlotReach] = {}
        self._reach_ms = -NEVER_MS
        self._turns = Turns()

    # Reads.

    def placements(self, now_ms: int) -> Rendered:
        """The live placements."""
        return self._recent(None, now_ms) or self._remember(None, render_placements(self.snapshot, now_ms))

    def page_view(self, at_once: int, now_ms: int, entropy: Entropy) -> PageAds:
        """The live placements of a page view, at most `at_once` on each side. Others have their turn on other views."""
        live = self.snapshot.placements(now_ms)
        sides = {side: [each for each in live if each.side is side] for side in Side}
        shown = {side: self._turns.next(side, ads, at_once, entropy) for side, ads in sides.items()}
        return PageAds(**{side.value: [placement_of(each) for each in ads] for side, ads in shown.items()})

    def inventory(self, week_ms: int, now_ms: int) -> Rendered:
        """The inventory of a week returned by `week_for`."""
        return self._recent(week_ms, now_ms) or self._remember(
            week_ms, render_inventory(self.snapshot, week_ms, now_ms, self._mode)
        )

    async def calendar(self, first_ms: int, weeks: int, now_ms: int) -> Rendered:
        """The inventories of `weeks` weeks from one returned by `week_for`, up to the horizon. Other requests go on before
        each that is rendered anew: with 300 slots, 26 weeks take 0.14 s."""
        latest_ms = week_of(now_ms) + self._limits.horizon_weeks * WEEK_MS
        shown: list[Rendered] = []
        for each in weeks_from(first_ms, weeks):
            if each <= latest_ms:
                if self._recent(each, now_ms) is None:
                    await trio.lowlevel.checkpoint()
                shown.append(self.inventory(each, now_ms))
        body = b'{"weeks":[' + b",".join(each.body for each in shown) + b"]}"
        return Rendered(body, etag_of(digest_of(body)), now_ms, min(each.until_ms for each in shown))

    def rate_card(self, now_ms: int) -> Rendered:
        """The rate card."""
        if self._card is None or not self._card.holds(now_ms):
            card = rate_card(self.snapshot, self._reach, self._limits.horizon_weeks, self._mode, now_ms)
            self._card = _rendered(card, now_ms, rate_card_change_ms(self.snapshot, now_ms))
        return self._card

    def week_for(self, moment_ms: int | None, now_ms: int) -> int | None:
        """The week that contains `moment_ms` (default: now), or None if its inventory cannot be read."""
        this_week = week_of(now_ms)
        week_ms = this_week if moment_ms is None else week_of(moment_ms)
        earliest_ms, latest_ms = this_week - WEEKS_BACK * WEEK_MS, this_week + self._limits.horizon_weeks * WEEK_MS
        return week_ms if earliest_ms <= week_ms <= latest_ms else None

    def _recent(self, key: int | None, now_ms: int) -> Rendered | None:
        known = self._rendered.get(key)
        return known if known is not None and known.holds(now_ms) else None

    def _remember(self, key: int | None, rendered: Rendered) -> Rendered:
        self._rendered.pop(key, None)
        self._rendered[key] = rendered
        # Room for each readable week and the placements.
        if len(self._rendered) > WEEKS_BACK + 1 + self._limits.horizon_weeks + 1:
            del self._rendered[next(iter(self._rendered))]
        return rendered

    def statistics(self) -> PlacementsStatistics:
        return PlacementsStatistics(
            revision=self.revision,
            sold=len(self.snapshot.sold),
            live=len(self.snapshot.placements(self._clock.now_ms())),
            loads=self._loads,
            away=self._failing,
            rendered=len(self._rendered),
        )

    def __repr__(self) -> str:
        return f"<Placements {self.snapshot!r}{' away' if self._failing else ''}{' closed' if self._closed else ''}>"

    # Following.

    @property
    def revision(self) -> int:
        return self.snapshot.revision

    async def _is_current(self) -> bool:
        # Each new week also loads a snapshot, to drop the week before the earliest.
        return self._from_week_ms() == self.snapshot.from_week_ms and await self._store.revision() == self.revision

    async def _load(self) -> None:
        from_week_ms = self._from_week_ms()
        overview = await self._store.overview(from_week_ms)
        await self._read_reach(new_week=from_week_ms != self.snapshot.from_week_ms)
        self.snapshot = PlacementsSnapshot.of(overview, from_week_ms)
        self._rendered, self._card = {}, None
        self._log.debug("loaded %r", self.snapshot)

    async def _read_reach(self, *, new_week: bool) -> None:
        """Read what past bookings reached, after a week's turn else at most hourly. If that fails, the old sums stay."""
        now_ms = self._clock.now_ms()
        if not new_week and now_ms - self._reach_ms < HOUR_MS:
            return
        try:
            reach = await self._store.reach(now_ms, self._mode)
        except StorageUnavailable as error:
            self._log.warning(
                "the rate card shows older sums of past bookings, because new ones cannot be read: %s", error
            )
            return
        self._reach, self._reach_ms = {each.slot_id: each for each in reach}, now_ms

    def _from_week_ms(self) -> int:
        return week_of(self._clock.now_ms()) - WEEKS_BACK * WEEK_MS
