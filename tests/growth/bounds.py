"""What a request may read, whatever the size of the service."""

from collections.abc import Mapping

from tests.growth.node import Statistics

BOUNDED: Mapping[str, str] = {
    "administrators": "people whom administrators appoint",
    "bots": "imported, and kept in memory",
    "catalog": "imported or edited by administrators, and kept in memory",
    "catalog_changes": "a row for an entry that exists or was removed in the last year, and kept in memory",
    "catalog_forgotten": "one row",
    "catalog_revision": "one row",
    "catalog_vocabulary": "imported by 1.1, and read by it alone",
    "delivery_days": "empty",
    "event_journal": "a row for a node",
    "event_sites": "at most 200, and those that the configuration names",
    "event_switch": "one row",
    "events": "empty",
    "forms": "empty",
    "identity": "one row",
    "invoice_numbers": "a row for a series",
    "journal": "a row for a batch of a node of the last day",
    "nodes": "a row for a node",
    "revenue_months": "a row for a month",
    "review_digest": "one row",
    "schema_migrations": "a row for a migration",
    "sign_ins": "empty",
    "site_sightings": "at most 2,000",
    "slots": "made by hand",
    "sponsorship_revision": "one row",
    "usecases": "imported, and kept in memory",
    "visitor_secrets": "a row for a day, deleted after two",
}
"""Tables that do not grow with use, and why. All others do."""

USUAL = 1_200
"""Rows and entries of indexes of one table that a request reads at most."""

REPORTED, COUNTED, SEARCHED, SUMMED = 10_000, 50_000, 25_000, 100_000
MORE: Mapping[str, int] = {
    "page /sponsor of": REPORTED,
    "page /sponsor/reports": REPORTED,
    "page /shared/": REPORTED,
    "page /sponsor/campaigns of": REPORTED,
    "listDeliveries": REPORTED,
    "page /admin/accounts/": COUNTED,
    "getAccount of": COUNTED,
    "exportAccount": SEARCHED,
    "countLists": COUNTED,
    "page /admin of": COUNTED,
    "page /admin/reviews": COUNTED,
    "page /admin/accounts of": COUNTED,
    "page /admin/bookings": COUNTED,
    "page /admin/revenue": SUMMED,
    "page /admin/sponsors": COUNTED,
    "listAccounts": COUNTED,
    "listAllBookings query": SEARCHED,
    "listAllCampaigns query": SEARCHED,
    "listAllSubmissions query": SEARCHED,
    "listReviews query": SEARCHED,
    "listSponsors query": SEARCHED,
    "listSites": COUNTED,
    "page /admin/sites": COUNTED,
}
"""The same for requests with a bound of their own, by the beginning of their name: counts of at most 10,000 rows in each
state, searches for a part of a name among the newest 20,000, sums by website over the days that were asked for, reports of at
most 5,000 rows, sums over the newest 1,000 bookings of a sponsor, all bookings of the account that is exported, and all
payments of a year, of which a slot has about one a week."""

LONGER_MS: Mapping[str, float] = {"page /admin/revenue": 300.0}
"""Milliseconds that a request may take besides, by the beginning of its name: it sums up 77,000 payments (ADR 0096)."""


def excess(name: str, read: Statistics) -> str:
    """What a request has read too much of, or nothing. A file is as long as what it reads."""
    most = next((bound for start, bound in MORE.items() if name.startswith(start)), USUAL)
    scans = [f"{table} as a whole" for table in read.scans if table not in BOUNDED]
    many = [f"{rows:,} of {table}" for table, rows in read.rows.items() if rows > most and table not in BOUNDED]
    return ", ".join(scans + ([] if "format=csv" in name else many))
