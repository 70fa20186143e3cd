"""The rules of deduplication, pure: from an event and a moment to the key that it counts under.

Source of the rules: decisions, section 9 ("Dedup rule", "Privacy").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

from actors.clock import DAY_MS, HOUR_MS, day_of
from actors.events.messages import Bucket, Event, Kind, Row, Sealed
from actors.weeks import WEEK_MS, week_of

KEY_BYTES = 16
MAX_KEY_SIZE = blake2b.MAX_KEY_SIZE


@dataclass(frozen=True, slots=True)
class EventRules:
    """How wide a bucket is, and how long and how far ahead its keys have a partition."""

    bucket_hours: int = 24
    keep_days: int = 35
    ahead_days: int = 7

    def __post_init__(self) -> None:
        assert self.bucket_hours in range(1, 25)
        assert 24 % self.bucket_hours == 0, "a bucket lies within one UTC day"
        assert self.keep_days >= 1
        assert self.ahead_days >= 1


def bucket_of(now_ms: int, hours: int) -> Bucket:
    """The bucket of `hours` width that holds the moment; its first hour names it, whatever the width."""
    hour = now_ms % DAY_MS // HOUR_MS
    return Bucket(day_of(now_ms), hour - hour % hours)


class Seals:
    """Turns events into keys of 16 bytes: a keyed BLAKE2b over booking, kind, hour and visitor.

    The hash is keyed with the day's own key, so that a visitor can be followed neither from one day to the next nor from
    one booking to another, and nobody without the server's secret can ask whether a visitor was there. Keeps the keys
    of two days, since around midnight both are needed.
    """

    def __init__(self, secret: bytes) -> None:
        assert KEY_BYTES <= len(secret) <= MAX_KEY_SIZE, "the whole secret counts"
        self._secret = secret
        self._days: dict[int, bytes] = {}

    def key(self, bucket: Bucket, event: Event) -> bytes:
        """What the event counts under in the bucket; other events have others."""
        # A length before the first text, and fixed lengths after it: no two events can read alike.
        booking = event.booking_id.encode()
        kind = b"i" if event.kind is Kind.IMPRESSION else b"c"
        text = b"%d:%b%b%02d%b" % (len(booking), booking, kind, bucket.hour, event.visitor.encode())
        return blake2b(text, digest_size=KEY_BYTES, key=self._key_of(bucket.day)).digest()

    def seal(self, bucket: Bucket, events: Sequence[Event]) -> list[Sealed]:
        return [Sealed(event, bucket, self.key(bucket, event)) for event in events]

    def _key_of(self, day: int) -> bytes:
        key = self._days.get(day)
        if key is None:
            if len(self._days) > 1:
                del self._days[min(self._days)]
            key = self._days[day] = blake2b(b"day %d" % day, key=self._secret, digest_size=32).digest()
        return key

    def __repr__(self) -> str:
        return f"<Seals of the days {sorted(self._days)}>"


def rows_of(sealed: Iterable[Sealed]) -> list[Row]:
    """One row for each key, sorted as the primary key is: unsorted batches of several nodes would deadlock."""
    rows = {each.key: Row(each.event.booking_id, each.key, each.event.kind) for each in sealed}
    return sorted(rows.values())


def days_to_keep(now_ms: int, rules: EventRules) -> range:
    """The days that have a partition: from `keep_days` after the end of their week until `ahead_days` from now."""
    oldest_week_ms = week_of(now_ms - rules.keep_days * DAY_MS - WEEK_MS) + WEEK_MS
    return range(day_of(oldest_week_ms), day_of(now_ms) + rules.ahead_days + 1)


def shard_of(booking_id: str, shards: int) -> int:
    """Where a booking's events are kept: what is written together must lie together. Always 0 where there is one."""
    return crc32(booking_id.encode()) % shards if shards > 1 else 0
