"""Events as parameters of the functions that record them. Pure.

Arrays with an element per event would cost the driver more than everything else, so the keys of a booking and kind are
concatenated in one bytea.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from actors.events.messages import Kind, Row

Packed = tuple[list[int], list[bool], list[bytes]]
"""The groups of a batch: booking numbers, whether they are clicks, and their concatenated keys."""


def packed(rows: Iterable[Row], numbers: Mapping[str, int]) -> Packed:
    """Sorted rows in groups of the same booking and kind; within a group, keys stay sorted."""
    groups: dict[tuple[str, Kind], list[bytes]] = {}
    for booking_id, key, kind, _ in rows:
        if (group := groups.get((booking_id, kind))) is None:
            group = groups[booking_id, kind] = []
        group.append(key)
    order = sorted(groups, key=_impressions_first)
    return (
        [numbers[booking_id] for booking_id, _ in order],
        [kind is Kind.CLICK for _, kind in order],
        [b"".join(groups[group]) for group in order],
    )


def _impressions_first(group: tuple[str, Kind]) -> tuple[str, bool]:
    booking_id, kind = group
    return booking_id, kind is Kind.CLICK


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


def rows_in_order(rows: Iterable[Row]) -> list[Row]:
    """Sorted rows in the order of `packed`."""
    return sorted(rows, key=lambda row: _impressions_first((row.booking_id, row.kind)))


def keys_without(rows: Iterable[Row], positions: Collection[int]) -> list[bytes]:
    """The keys of rows without those at these positions, which begin with 1."""
    left_out = set(positions)
    return [row.key for position, row in enumerate(rows, 1) if position not in left_out]
