"""Delivery reports: what each booking of an account was shown and clicked, day by day. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple, TypeVar

from actors.bookings.records import Booking, DayDelivered, Mode
from actors.times import day_of
from actors.values import NOT_FILTERED, Filtered

EPOCH = date(1970, 1, 1)

LATE_DAYS = 1
"""Events can be counted on so many days after a run ends."""


@dataclass(frozen=True, slots=True)
class Sale:
    """The payments in a currency and mode for a slot or, `of_sponsors`, of an account, with its name of now, None without a
    profile. Those of all others together have no id, and `number` is how many these are."""

    currency: str
    mode: str
    of_sponsors: bool
    id: str | None
    name: str | None
    number: int
    payments: int
    paid_cents: int
    refunded_cents: int


@dataclass(frozen=True, slots=True)
class Days:
    """Days since the epoch, UTC, both included."""

    first: int
    last: int

    def __contains__(self, day: int) -> bool:
        return self.first <= day <= self.last


@dataclass(frozen=True, slots=True)
class Only:
    """Which bookings a report is about; None means any."""

    campaign_id: str | None = None
    slot_id: str | None = None

    def has(self, campaign_id: str, slot_id: str) -> bool:
        return self.campaign_id in (None, campaign_id) and self.slot_id in (None, slot_id)


ALL = Only()


@dataclass(frozen=True, slots=True)
class SharedReport:
    """A link to a report of the days from `first_day` to `last_day` (since the epoch): of all bookings of an account, or of
    those of a campaign or slot. `token_hash` is that of the token in the link, and `costs` says whether it shows what was
    paid."""

    id: str
    tenant_id: str
    token_hash: bytes
    first_day: int
    last_day: int
    campaign_id: str | None
    slot_id: str | None
    costs: bool
    created_ms: int


@dataclass(frozen=True, slots=True)
class BookingDelivered:
    """A paid booking with its counts on some days, in order."""

    booking: Booking
    campaign_name: str
    counted: tuple[DayDelivered, ...]


def days_of(delivered: BookingDelivered, now_ms: int, within: Days | None = None) -> Iterator[DayDelivered]:
    """Every day that was bought up to today, and other days on which something was counted or filtered."""
    booking = delivered.booking
    run = range(0)
    if booking.paid_ms is not None:
        run = range(day_of(booking.period_start_ms), min(day_of(booking.week_end_ms), day_of(now_ms) + 1))
    counted = {each.day: each for each in delivered.counted}
    for day in sorted({*run, *counted}):
        if within is None or day in within:
            yield counted.get(day) or DayDelivered(day, 0, 0)


class Run(NamedTuple):
    """A paid booking, the first and the last day that it bought, what was counted for it, what was paid for it and not
    refunded, and in which mode."""

    booking_id: str
    campaign_id: str
    campaign: str
    slot_id: str
    slot: str
    first: int
    last: int
    impressions: int = 0
    clicks: int = 0
    currency: str = ""
    net_cents: int = 0
    mode: str = Mode.LIVE

    def bought(self, within: Days, today: int) -> range:
        """The days of a report on which it runs up to today."""
        return range(max(self.first, within.first), min(self.last, within.last, today) + 1)

    def cost_cents(self, within: Days, today: int) -> int:
        """The cents that were paid for these days up to today. Each day that was bought costs the same, and the costs of
        adjoining days add up to the cent."""
        bought, whole = self.bought(within, today), self.last - self.first + 1
        until = [self.net_cents * (day - self.first) // whole for day in (bought.start, bought.stop)]
        return until[1] - until[0] if bought else 0

    def plus(self, other: "Run") -> "Run":
        """Both together, under the names of `other`, which is newer."""
        first, last = min(self.first, other.first), max(self.last, other.last)
        return Run(*other[:5], first, last, self.impressions + other.impressions, self.clicks + other.clicks)


class DayCounted(NamedTuple):
    """The impressions and clicks of a booking on a day, and what was filtered."""

    booking_id: str
    day: int
    impressions: int
    clicks: int
    filtered: Filtered = NOT_FILTERED

    @property
    def of_day(self) -> DayDelivered:
        return DayDelivered(self.day, self.impressions, self.clicks, self.filtered)


def counted_runs(
    runs: Iterable[Run], counted: Iterable[DayCounted], within: Days, today: int
) -> tuple[list[Run], list[DayDelivered]]:
    """The bookings of a report, each with its days there and its counts on them, and all of them by day. A report has every
    day that was bought up to today, and other days with impressions or clicks."""
    sums: dict[str, list[int]] = {}
    of_days: dict[int, tuple[int, int]] = {}
    for booking_id, day, impressions, clicks, _ in counted:
        if not (impressions or clicks):
            continue
        one = sums.setdefault(booking_id, [day, day, 0, 0])
        one[1:] = day, one[2] + impressions, one[3] + clicks
        seen, clicked = of_days.get(day, (0, 0))
        of_days[day] = seen + impressions, clicked + clicks
    found = []
    for run in runs:
        bought = run.bought(within, today)
        for day in bought:
            of_days.setdefault(day, (0, 0))
        first, last, seen, clicked = sums.get(run.booking_id, [within.last + 1, -1, 0, 0])
        first, last = min([first, *bought[:1]]), max([last, *bought[-1:]])
        if first <= last:
            found.append(run._replace(first=first, last=last, impressions=seen, clicks=clicked))
    return found, [DayDelivered(day, *of_days[day]) for day in sorted(of_days)]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cents that were paid in a currency for the days of a report and not refunded, and the counts of these bookings."""

    currency: str
    cents: int
    impressions: int
    clicks: int


def costs_of(runs: Iterable[Run], found: Iterable[Run], within: Days, today: int) -> list[Cost]:
    """The cost of a report in each currency. `runs` are its bookings, `found` those of `counted_runs`."""
    reached = {run.booking_id: run for run in found}
    sums: dict[str, Cost] = {}
    for run in live_ones([run for run in runs if run.booking_id in reached]):
        cents, counts = run.cost_cents(within, today), reached[run.booking_id]
        one = sums.get(run.currency, Cost(run.currency, 0, 0, 0))
        sums[run.currency] = Cost(
            run.currency, one.cents + cents, one.impressions + counts.impressions, one.clicks + counts.clicks
        )
    return [sums[currency] for currency in sorted(sums)]


M = TypeVar("M", bound="Run | MoneyOf")


def live_ones(paid: Sequence[M]) -> Sequence[M]:
    """The bookings whose money counts: the live ones, or those of test mode, which moved no money, if there are no others."""
    return [each for each in paid if each.mode == Mode.LIVE] or paid


def ranked(runs: Iterable[Run], group_of: Callable[[Run], tuple[str, str]]) -> list[Run]:
    """The bookings added up by the id and the name of a group, most impressions first."""
    sums: dict[str, Run] = {}
    for run in runs:
        group, _ = group_of(run)
        sums[group] = sums[group].plus(run) if group in sums else run
    return sorted(sums.values(), key=lambda run: (-run.impressions, *group_of(run)[::-1]))


@lru_cache(1_024)
def day_text(day: int) -> str:
    """`2026-11-18`."""
    return (EPOCH + timedelta(days=day)).isoformat()


MAX_ENDED = 1_000
"""The newest ended bookings that count as past ones."""


@dataclass(frozen=True, slots=True)
class SlotReach:
    """Sums over the ended bookings of a slot."""

    slot_id: str
    bookings: int
    weeks: int
    impressions: int
    clicks: int


def reach_of(ended: Iterable[tuple[str, int, int, int]]) -> list[SlotReach]:
    """The sums of ended bookings by slot, each given as its slot, weeks, impressions and clicks."""
    sums: dict[str, SlotReach] = {}
    for slot_id, weeks, impressions, clicks in ended:
        one = sums.get(slot_id, SlotReach(slot_id, 0, 0, 0, 0))
        sums[slot_id] = SlotReach(
            slot_id, one.bookings + 1, one.weeks + weeks, one.impressions + impressions, one.clicks + clicks
        )
    return [sums[slot_id] for slot_id in sorted(sums)]


class MoneyOf(NamedTuple):
    """The money of a booking: paid and refunded cents. `paid_ms` is None if it was never paid."""

    currency: str
    paid_cents: int
    refunded_cents: int
    paid_ms: int | None
    mode: str


@dataclass(slots=True)
class CurrencySpent:
    """The sums of a currency: paid and refunded cents, and the number of bookings that were refunded at least in part."""

    paid_cents: int = 0
    refunded_cents: int = 0
    refunds: int = 0


@dataclass(frozen=True, slots=True)
class BookingTotals:
    """Sums over bookings. `since_ms` is the first payment among them."""

    bookings: int
    since_ms: int | None
    impressions: int
    clicks: int
    spent: Mapping[str, CurrencySpent]


def totals_of(bookings: Iterable[MoneyOf], impressions: int, clicks: int) -> BookingTotals:
    """The sums over bookings that were shown and clicked so often, by currency in order."""
    every, spent = list(bookings), defaultdict[str, CurrencySpent](CurrencySpent)
    since_ms = min((each.paid_ms for each in every if each.paid_ms is not None), default=None)
    for each in live_ones([each for each in every if each.paid_ms is not None]):
        sums = spent[each.currency]
        sums.paid_cents += each.paid_cents
        sums.refunded_cents += each.refunded_cents
        sums.refunds += each.refunded_cents > 0
    return BookingTotals(len(every), since_ms, impressions, clicks, dict(sorted(spent.items())))
