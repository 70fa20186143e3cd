"""The rules of deduplication: from an event and a moment to the key that it counts under. Pure.

Source of the rules: ADR 0033.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import repeat

from actors.events.messages import Bucket, Event, Kind, Row
from actors.shared.weeks import WEEK_MS, week_of
from actors.times import DAY_MS, HOUR_MS, day_of

KEY_BYTES = 16
MAX_KEY_SIZE = blake2b.MAX_KEY_SIZE
REMEMBERED_PREFIXES = 1_024
"""Partial hashes cached per day, about 400 bytes each."""


@dataclass(frozen=True, slots=True)
class EventRules:
    """The width of a bucket, and how long past and future days have a partition."""

    bucket_hours: int = 24
    keep_days: int = 35
    ahead_days: int = 7

    def __post_init__(self) -> None:
        assert self.bucket_hours in range(1, 25)
        assert 24 % self.bucket_hours == 0, "a bucket lies within one UTC day"
        assert self.keep_days >= 1
        assert self.ahead_days >= 1


def bucket_of(now_ms: int, hours: int) -> Bucket:
    """The bucket of `hours` width that contains the moment, named by its first hour."""
    return _bucket_of(now_ms // HOUR_MS, hours)


@lru_cache(4)
def _bucket_of(hours_since_epoch: int, hours: int) -> Bucket:
    day, hour = divmod(hours_since_epoch, 24)
    return Bucket(day, hour - hour % hours)


class VisitorHasher:
    """Turns events into keys of 16 bytes: a keyed BLAKE2b over booking, kind, hour and visitor.

    Each day has its own key, so visitors cannot be followed across days or bookings, and without the server's secret
    nobody can test whether a visitor was there. Caches two days, because both are needed around midnight.
    """

    def __init__(self, secret: bytes) -> None:
        assert KEY_BYTES <= len(secret) <= MAX_KEY_SIZE, "the whole secret counts"
        self._secret = secret
        # By day, then by hour, kind and booking: the partial hash that all visitors share.
        self._days: dict[int, dict[tuple[int, str, str], blake2b]] = {}

    def key(self, bucket: Bucket, event: Event) -> bytes:
        """The key that the event counts under in the bucket."""
        return self.keys(bucket, (event,))[0]

    def keys(self, bucket: Bucket, events: Sequence[Event]) -> list[bytes]:
        """The key of each event in the bucket, in order."""
        day, hour = bucket
        begun = self._days.get(day)
        if begun is None:
            begun = self._begin_day(day)
        keys = []
        for booking_id, kind, visitor in events:
            prefix = begun.get((hour, kind, booking_id)) or self._begin(bucket, booking_id, kind)
            hashed = prefix.copy()
            hashed.update(visitor.encode())
            keys.append(hashed.digest())
        return keys

    def _begin_day(self, day: int) -> dict[tuple[int, str, str], blake2b]:
        if len(self._days) > 1:
            del self._days[min(self._days)]
        self._days[day] = {}
        return self._days[day]

    def _begin(self, bucket: Bucket, booking_id: str, kind: Kind) -> blake2b:
        begun = self._days[bucket.day]
        if len(begun) >= REMEMBERED_PREFIXES:
            begun.clear()
        day_key = blake2b(b"day %d" % bucket.day, key=self._secret, digest_size=32).digest()
        # A length before the first text and fixed lengths after it, so that no two events have the same input.
        booking, letter = booking_id.encode(), b"i" if kind is Kind.IMPRESSION else b"c"
        prefix = b"%d:%b%b%02d" % (len(booking), booking, letter, bucket.hour)
        hashed = begun[bucket.hour, kind, booking_id] = blake2b(prefix, digest_size=KEY_BYTES, key=day_key)
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
