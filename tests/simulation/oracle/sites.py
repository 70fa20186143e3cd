"""Counts by website: they add up to the counts, rows count for a website that sent their event, and places have a limit."""

from collections.abc import Iterator

from tests.simulation.oracle.case import Case
from tests.simulation.oracle.events import Rows
from tests.simulation.rules import ORIGINS, SITES


def websites_add_up_to_the_counts(case: Case, rows: Rows) -> Iterator[str]:
    """In a world that counts by website, what was added to a booking and a day is what was added to its websites."""
    sums: dict[tuple[str, int], list[int]] = {}
    for (booking_id, day, _), counts in case.memory.site_days.items():
        place = sums.setdefault((booking_id, day), [0, 0])
        place[0] += counts[0]
        place[1] += counts[1]
    added = case.world.tally.added if case.world.counts_sites else {}
    for at in sorted({*sums, *added}):
        if tuple(sums.get(at, (0, 0))) != added.get(at, (0, 0)):
            yield f"of {at} were added {added.get(at)}, and by website {sums.get(at)}"


def rows_count_for_a_website_that_sent_them(case: Case, rows: Rows) -> Iterator[str]:
    hosts = {number: host for host, (number, _) in case.memory.sites.items()}
    senders: dict[object, set[str]] = {}
    for operation in case.of("report"):
        post = operation.about.post
        for event in post.named:
            senders.setdefault(event, set()).add(ORIGINS[post.origin])
    for event, found in rows.of_event.items():
        for stored in found:
            if stored.row.site and hosts.get(stored.row.site) not in senders.get(event, set()):
                yield f"{event} counts for {hosts.get(stored.row.site)}, and came from {senders.get(event)}"


def no_more_websites_have_a_place_than_may(case: Case, rows: Rows) -> Iterator[str]:
    if len(case.memory.sites) > SITES.most:
        yield f"{len(case.memory.sites)} websites have a place: {sorted(case.memory.sites)}"
    for host in case.memory.sites:
        if host not in ORIGINS.values():
            yield f"{host} has a place, and is no website"
