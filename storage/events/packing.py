"""Events as parameters of the functions that record them. Pure.

Arrays with an element per event would cost the driver more than everything else, so the keys of a booking and kind are
concatenated in one bytea.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from actors.events.messages import Kind, Row
from actors.events.state import KEY_BYTES

Packed = tuple[list[int], list[bool], list[bytes]]
"""The groups of a batch: booking numbers, whether they are clicks, and their concatenated keys."""


def packed(rows: Sequence[Row], numbers: Mapping[str, int]) -> Packed:
    """Sorted rows in groups of the same booking and kind; within a group, keys stay sorted."""
    bookings: list[int] = []
    clicks: list[bool] = []
    keys: list[bytes] = []
    for booking_id, some in groupby(rows, itemgetter(0)):
        of_booking = list(some)
        of_kinds = [
            (False, [row.key for row in of_booking if row.kind is Kind.IMPRESSION]),
            (True, [row.key for row in of_booking if row.kind is Kind.CLICK]),
        ]
        for click, of_kind in of_kinds:
            if of_kind:
                bookings.append(numbers[booking_id])
                clicks.append(click)
                keys.append(b"".join(of_kind))
    return bookings, clicks, keys


SiteCounts = tuple[list[int], list[int], list[int], list[int]]
"""Booking numbers, websites, impressions and clicks."""


def counted_by_site(rows: Iterable[Row], numbers: Mapping[str, int]) -> SiteCounts:
    """The counts of rows by booking and website, sorted."""
    counts = Counter([(numbers[booking_id], site or 0, kind) for booking_id, _, kind, site in rows])
    places = sorted({(booking, site) for booking, site, _ in counts})
    return (
        [booking for booking, _ in places],
        [site for _, site in places],
        [counts[*place, Kind.IMPRESSION] for place in places],
        [counts[*place, Kind.CLICK] for place in places],
    )


def keys_in(piece: bytes) -> list[bytes]:
    """The keys that were concatenated."""
    return [piece[at : at + KEY_BYTES] for at in range(0, len(piece), KEY_BYTES)]
