"""The counts by website of a database in memory."""

from tests.doubles.tables import Memory

SiteTable = dict[tuple[str, int, str], tuple[int, int]]


def sums_by_site(memory: Memory) -> SiteTable:
    """Impressions and clicks by booking, day and host; `other` for numbers without a host."""
    hosts = {number: host for host, (number, _) in memory.sites.items()}
    sums: SiteTable = {}
    for (booking_id, day, site), counts in memory.site_days.items():
        place = booking_id, day, hosts.get(site, "other")
        before = sums.get(place, (0, 0))
        sums[place] = before[0] + counts[0], before[1] + counts[1]
    return sums
