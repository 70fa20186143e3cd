"""The rules of deduplication: from an event and a moment to the key that it counts under. Pure.

Source of the rules: ADR 0033.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import repeat

from actors.events.messages import Event, Kind, Row
from actors.times import DAY_MS, WEEK_MS, day_of, week_of

KEY_BYTES = 16
MAX_KEY_SIZE = blake2b.MAX_KEY_SIZE
REMEMBERED_PREFIXES = 1_024
"""Partial hashes cached per day, about 400 bytes each."""


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
    nobody can test whether a visitor was there. Caches two days, because both are needed around midnight.
    """

    def __init__(self, secret: bytes) -> None:
        assert KEY_BYTES <= len(secret) <= MAX_KEY_SIZE, "the whole secret counts"
        self._secret = secret
        # By day, then by kind and booking: the partial hash that all visitors share.
        self._days: dict[int, dict[tuple[str, str], blake2b]] = {}

    def key(self, day: int, event: Event) -> bytes:
        """The key that the event counts under on the day."""
        return self.keys(day, (event,))[0]

    def keys(self, day: int, events: Sequence[Event]) -> list[bytes]:
        """The key of each event on the day, in order."""
        begun = self._days.get(day)
        if begun is None:
            begun = self._begin_day(day)
        keys = []
        for booking_id, kind, visitor in events:
            prefix = begun.get((kind, booking_id)) or self._begin(day, booking_id, kind)
            hashed = prefix.copy()
            hashed.update(visitor.encode())
            keys.append(hashed.digest())
        return keys

    def _begin_day(self, day: int) -> dict[tuple[str, str], blake2b]:
        if len(self._days) > 1:
            del self._days[min(self._days)]
        self._days[day] = {}
        return self._days[day]

    def _begin(self, day: int, booking_id: str, kind: Kind) -> blake2b:
        begun = self._days[day]
        if len(begun) >= REMEMBERED_PREFIXES:
            begun.clear()
        day_key = blake2b(b"day %d" % day, key=self._secret, digest_size=32).digest()
        # A length before the first text and fixed lengths after it, so that no two events have the same input.
        booking, letter = booking_id.encode(), b"i" if kind is Kind.IMPRESSION else b"c"
        # The zeros are in every key that is stored: without them, the day of an upgrade would count twice.
        prefix = b"%d:%b%b00" % (len(booking), booking, letter)
        hashed = begun[kind, booking_id] = blake2b(prefix, digest_size=KEY_BYTES, key=day_key)
        return hashed

    def __repr__(self) -> str:
        return f"<VisitorHasher of the days {sorted(self._days)}>"


NO_SITES = repeat(None)
"""The websites of events that are not counted by website."""

_row = partial(tuple.__new__, Row)
"""`Row._make` without its check of the length, which costs as much as the rest."""


def rows_of(events: Iterable[Event], keys: Iterable[bytes], sites: Iterable[int | None] = NO_SITES) -> list[Row]:
    """One row per key, sorted like the primary key: unsorted batches of several nodes would deadlock. `sites` are those of
    the events."""
    offered = zip(zip(events, keys, strict=True), sites, strict=False)
    rows = {key: (booking_id, key, kind, site) for ((booking_id, kind, _), key), site in offered}
    return list(map(_row, sorted(rows.values())))


def days_to_keep(now_ms: int, rules: EventRules) -> range:
    """The days that have a partition: from `keep_days` after the end of their week until `ahead_days` from now."""
    oldest_week_ms = week_of(now_ms - rules.keep_days * DAY_MS - WEEK_MS) + WEEK_MS
    return range(day_of(oldest_week_ms), day_of(now_ms) + rules.ahead_days + 1)
