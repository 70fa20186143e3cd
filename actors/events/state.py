"""The rules of deduplication: from an event and a moment to the key that it counts under. Pure.

Source of the rules: ADR 0033, and ADR 0100 for the unit day.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import repeat
from operator import itemgetter

from actors.events.messages import Event, Kind, Row, Unit
from actors.times import DAY_MS, HOUR_MS, WEEK_MS, day_of, week_of
from actors.values import StorageUnavailable

KEY_BYTES = 16
MAX_KEY_SIZE = blake2b.MAX_KEY_SIZE
REMEMBERED_PREFIXES = 1_024
"""Partial hashes cached per unit and day, about 400 bytes each."""

SECRET_BYTES = 32
AHEAD_MS = 6 * HOUR_MS
"""The time before its day at which a secret is made."""
LATE_MS = 12 * HOUR_MS
"""The time after its day at which a secret is deleted, 42 hours after it was made."""


@dataclass(frozen=True, slots=True)
class EventRules:
    """How long past and future days have a partition."""

    keep_days: int = 35
    ahead_days: int = 7

    def __post_init__(self) -> None:
        assert self.keep_days >= 1
        assert self.ahead_days >= 1


class VisitorHasher:
    """Turns events into keys of 16 bytes: a keyed BLAKE2b over booking, kind and visitor.

    Each day has its own key, so visitors cannot be followed across days or bookings, and without the server's secret
    nobody can test whether a visitor was there. For the unit day, nobody can test it without the random secret of the day
    either, which is deleted. Caches two days of each unit, because both are needed around midnight.
    """

    def __init__(self, secret: bytes) -> None:
        assert KEY_BYTES <= len(secret) <= MAX_KEY_SIZE, "the whole secret counts"
        self._secret = secret
        # By unit and day, then by kind and booking: the partial hash that all visitors share.
        self._days: dict[Unit, dict[int, dict[tuple[str, str], blake2b]]] = {unit: {} for unit in Unit}
        self._secrets: dict[int, bytes] = {}

    def key(self, day: int, event: Event, unit: Unit = Unit.DEVICE) -> bytes:
        """The key that the event counts under on the day."""
        return self.keys(day, (event,), unit)[0]

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        """The key of each event on the day, in order. Raises `StorageUnavailable` if they need a secret that is not known."""
        begun = self._days[unit].get(day)
        if begun is None:
            begun = self._begin_day(day, unit)
        keys = []
        for booking_id, kind, visitor in events:
            prefix = begun.get((kind, booking_id)) or self._begin(day, booking_id, kind, unit)
            hashed = prefix.copy()
            hashed.update(visitor.encode())
            keys.append(hashed.digest())
        return keys

    # The secrets of days.

    def secret_of(self, day: int) -> bytes | None:
        """The random secret of a day, if it is known."""
        return self._secrets.get(day)

    def learn(self, secrets: Mapping[int, bytes], first_day: int) -> None:
        """Use the secrets of these days, and forget those of days before `first_day`, with what was made of them."""
        known = {day: secret for day, secret in secrets.items() if day >= first_day}
        if known != self._secrets:
            self._secrets = known
            self._days[Unit.DAY].clear()

    def _begin_day(self, day: int, unit: Unit) -> dict[tuple[str, str], blake2b]:
        if unit is Unit.DAY and day not in self._secrets:
            raise StorageUnavailable("the secret of the day is not read from the database yet")
        days = self._days[unit]
        if len(days) > 1:
            del days[min(days)]
        days[day] = {}
        return days[day]

    def _begin(self, day: int, booking_id: str, kind: Kind, unit: Unit) -> blake2b:
        begun = self._days[unit][day]
        if len(begun) >= REMEMBERED_PREFIXES:
            begun.clear()
        part = b"day %d" % day if unit is Unit.DEVICE else b"unit " + self._secrets[day]
        day_key = blake2b(part, key=self._secret, digest_size=32).digest()
        # A length before the first text and fixed lengths after it, so that no two events have the same input.
        booking, letter = booking_id.encode(), b"i" if kind is Kind.IMPRESSION else b"c"
        # The zeros are in every key that is stored: without them, the day of an upgrade would count twice.
        prefix = b"%d:%b%b00" % (len(booking), booking, letter)
        hashed = begun[kind, booking_id] = blake2b(prefix, digest_size=KEY_BYTES, key=day_key)
        return hashed

    def __repr__(self) -> str:
        return f"<VisitorHasher of the days {sorted(set().union(*self._days.values()))}>"


def visitor_of_day(address: str, agent: str) -> str:
    """The visitor of the unit day: the address as limits count it, and the user agent. An address has no line break."""
    return f"{address}\n{agent}"


def secret_days(now_ms: int, ahead_ms: int = AHEAD_MS) -> range:
    """The days whose secrets a node needs now."""
    return range(day_of(now_ms), day_of(now_ms + ahead_ms) + 1)


def first_secret_day(now_ms: int) -> int:
    """The secrets of days before this one are deleted. Before noon it is yesterday, for nodes whose clocks are late."""
    return day_of(now_ms - LATE_MS)


NO_SITES = repeat(None)
"""The websites of events that are not counted by website."""

_BOOKING, _KEY = itemgetter(0), itemgetter(1)
_row = partial(tuple.__new__, Row)
"""`Row._make` without its check of the length, which costs as much as the rest."""


def rows_of(events: Iterable[Event], keys: Iterable[bytes], sites: Iterable[int | None] = NO_SITES) -> list[Row]:
    """One row per key, sorted like the primary key: unsorted batches of several nodes would deadlock. `sites` are those of
    the events."""
    offered = zip(zip(events, keys, strict=True), sites, strict=False)
    rows = {key: (booking_id, key, kind, site) for ((booking_id, kind, _), key), site in offered}
    # Two sorts by one field take two thirds of the time of one by both.
    in_order = sorted(rows.values(), key=_KEY)
    in_order.sort(key=_BOOKING)
    return list(map(_row, in_order))


def days_to_keep(now_ms: int, rules: EventRules) -> range:
    """The days that have a partition: from `keep_days` after the end of their week until `ahead_days` from now."""
    oldest_week_ms = week_of(now_ms - rules.keep_days * DAY_MS - WEEK_MS) + WEEK_MS
    return range(day_of(oldest_week_ms), day_of(now_ms) + rules.ahead_days + 1)
