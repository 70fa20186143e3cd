"""The administrators' lists over HTTP: accounts, filtered bookings, the queue, counts, revenue, and all of it as CSV."""

import csv
from dataclasses import replace
from io import StringIO

from actors.values import Tier
from tests.api.asgi import Response
from tests.api.sponsors import ADMIN, CAMPAIGN, NEXT_WEEK, administrator, sponsor
from tests.api.world import World

ACCOUNTS = "/api/v1/admin/accounts"
EMAIL = "sponsor@example.com"


def rows_of(response: Response, filename: str) -> list[dict[str, str]]:
    """The rows of a CSV file by the names of its columns."""
    assert response.status == 200, response.body
    assert response.header("content-type") == "text/csv; charset=utf-8; header=present"
    assert response.header("content-disposition") == f'attachment; filename="{filename}"'
    assert response.header("cache-control") == "no-store"
    return list(csv.DictReader(StringIO(response.body.decode(), newline="")))


# Accounts.


async def test_accounts_are_searched_page_by_page_with_a_total_where_it_is_cheap(world: World) -> None:
    admin = administrator(world)
    for number in range(5):
        world.clock.at_ms += 1
        sponsor(world, f"person{number}@example.com")
    listed = (await admin.get(ACCOUNTS)).json
    assert [each["email"] for each in listed["items"][:2]] == ["person4@example.com", "person3@example.com"]
    assert (listed["total"], listed["hasMore"], listed["items"][-1]["isAdmin"]) == (6, False, True)
    first = (await admin.get(f"{ACCOUNTS}?limit=2&query=PERSON")).json
    assert "total" not in first
    second = (await admin.get(f"{ACCOUNTS}?limit=2&query=person&cursor={first['cursor']}")).json
    assert [each["email"] for each in (*first["items"], *second["items"])] == [
        f"person{number}@example.com" for number in (4, 3, 2, 1)
    ]
    for bad in (f"query=other&cursor={first['cursor']}", "cursor=x", "tier=emperor", "suspended=maybe", "limit=51"):
        assert (await admin.get(f"{ACCOUNTS}?{bad}")).words == "400 invalid_request", bad


async def test_one_account_shows_its_use_and_what_it_has(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.buys()
    account = (await admin.get(f"{ACCOUNTS}/{world.memory.accounts[EMAIL].tenant_id}")).json["account"]
    assert [account[name] for name in ("keys", "sessions", "campaigns", "sponsorName")] == [1, 0, 1, "Example Tools"]
    assert account["bookings"] == dict.fromkeys(account["bookings"], 0) | {"paid": 1}
    used = world.tenant_of(person.key)
    assert account["usage"] == {
        "requestsUsed": used.month_used,
        "requestLimit": 100_000,
        "dailyRequestsUsed": used.day_used,
        "dailyRequestLimit": 10_000,
    }
    assert "deletesAt" not in account
    for unknown in ("ten_unknown", "no%20id"):
        assert (await admin.get(f"{ACCOUNTS}/{unknown}")).words == "404 not_found"


# Bookings.


async def test_bookings_are_filtered_and_a_cursor_belongs_to_its_filter(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    first = await person.buys()
    world.clock.at_ms += 1
    second = await person.buys("right-top")
    cases = {
        "": [second, first],
        f"status=paid&week={NEXT_WEEK + 5}": [second, first],
        "slot=right-top": [second],
        f"sponsor={world.memory.accounts[EMAIL].tenant_id}&query={first}": [first],
        "trouble=true": [],
        "trouble=false&status=&week=": [second, first],
    }
    for query, expected in cases.items():
        assert [each["id"] for each in await admin.walk(f"{ADMIN}/bookings?{query}", 1)] == expected, query
    cursor = (await admin.get(f"{ADMIN}/bookings?status=paid&limit=1")).json["cursor"]
    for query in ("", "status=reserved&", "status=paid&slot=right-top&"):
        assert (await admin.get(f"{ADMIN}/bookings?{query}cursor={cursor}")).words == "400 invalid_request"
    for bad in ("status=live", "week=monday", "week=-1", "trouble=yes", "sponsor=%00"):
        assert (await admin.get(f"{ADMIN}/bookings?{bad}")).words == "400 invalid_request", bad


# The queue and the counts.


async def test_the_queue_says_what_is_paid_when_it_begins_and_whose_it_is(world: World) -> None:
    admin, person, other = administrator(world), sponsor(world), sponsor(world, "other@example.com")
    await other.profile()
    unbooked = await other.campaign()
    booking = await person.buys()
    items = (await admin.get(f"{ADMIN}/reviews")).json["items"]
    assert [item["campaign"]["id"] for item in items] == [world.memory.bookings[booking].campaign_id, unbooked]
    assert [(item["paid"], item.get("beginsAt"), item["email"]) for item in items] == [
        (True, NEXT_WEEK, EMAIL),
        (False, None, "other@example.com"),
    ]
    assert [(item["approvedBefore"], item["rejectedBefore"]) for item in items] == [(0, 0), (0, 0)]
    rejection = {"decision": "reject", "note": "Where does it lead?"}
    await admin.post(f"{ADMIN}/campaigns/{unbooked}/review", rejection)
    await other.campaign()
    assert (await admin.get(f"{ADMIN}/reviews")).json["items"][1]["rejectedBefore"] == 1
    assert len(await admin.walk(f"{ADMIN}/reviews", 1)) == 2
    assert (await admin.get(f"{ADMIN}/reviews?cursor=x")).words == "400 invalid_request"


async def test_counts_are_remembered_for_seconds_and_dropped_by_a_decision(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.buys()
    counts = (await admin.get(f"{ADMIN}/counts")).json
    assert (counts["campaigns"]["pending"], counts["bookings"]["paid"], counts["sponsors"]) == (1, 1, 1)
    assert counts["bookingsInTrouble"] == 0
    second = await person.campaign()
    assert (await admin.get(f"{ADMIN}/counts")).json["campaigns"]["pending"] == 1
    await world.pass_for_memory(5)
    assert (await admin.get(f"{ADMIN}/counts")).json["campaigns"]["pending"] == 2
    await admin.post(f"{ADMIN}/campaigns/{second}/review", {"decision": "approve"})
    counts = (await admin.get(f"{ADMIN}/counts")).json["campaigns"]
    assert counts == {"draft": 0, "pending": 1, "approved": 1, "rejected": 0, "paused": 0}


# Revenue.


async def test_revenue_is_what_was_paid_less_what_was_refunded(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    first, second = await person.buys(), await person.buys("right-top")
    await admin.post(f"{ADMIN}/bookings/{second}/refund")
    await world.settled()
    expected = {
        "month": "2026-11",
        "currency": "usd",
        "mode": "test",
        "payments": 2,
        "paidCents": 24_000,
        "refundedCents": 12_000,
        "netCents": 12_000,
    }
    assert (await admin.get(f"{ADMIN}/revenue")).json == {"items": [expected]}
    assert (await admin.get(f"{ADMIN}/revenue?from=2026-11&to=2026-11")).json["items"] == [expected]
    for outside in ("from=2026-01&to=2026-10", "from=2026-12&to=2027-01"):
        assert (await admin.get(f"{ADMIN}/revenue?{outside}")).json == {"items": []}
    months = (
        "from=2026-13",
        "from=2026",
        "from=2026-12&to=2026-11",
        "from=2019-01&to=2026-01",
        "to=1000-01&from=2026-01",
    )
    for bad in months:
        assert (await admin.get(f"{ADMIN}/revenue?{bad}")).words == "400 invalid_request", bad
    assert world.memory.bookings[first].paid_cents == 12_000
    for each in (first, second):  # the bank returns what was refunded as well
        paid = world.memory.bookings[each]
        world.memory.bookings[each] = replace(paid, refunded_cents=24_000, excess_cents=12_000)
    [month] = (await admin.get(f"{ADMIN}/revenue")).json["items"]
    assert (month["refundedCents"], month["netCents"]) == (48_000, -24_000)


# CSV.


async def test_each_list_is_a_spreadsheet_of_all_its_pages(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    booking = await person.buys()
    [paid] = rows_of(await admin.get(f"{ADMIN}/bookings?format=csv&limit=1"), "bookings.csv")
    assert (paid["id"], paid["status"], paid["amountCents"], paid["currency"]) == (booking, "paid", "12000", "usd")
    assert (paid["weekStart"], paid["sponsor"]) == ("2026-11-23T00:00:00Z", "Example Tools")
    assert rows_of(await admin.get(f"{ADMIN}/bookings?format=csv&status=refunded"), "bookings.csv") == []
    [campaign] = rows_of(await admin.get(f"{ADMIN}/campaigns?format=csv"), "campaigns.csv")
    assert (campaign["headline"], campaign["status"]) == (CAMPAIGN["headline"], "pending")
    [brand] = rows_of(await admin.get(f"{ADMIN}/sponsors?format=csv"), "sponsors.csv")
    assert (brand["name"], brand["accountId"]) == ("Example Tools", world.memory.accounts[EMAIL].tenant_id)
    [slot] = rows_of(await admin.get(f"{ADMIN}/slots?format=csv"), "slots.csv")
    assert (slot["id"], slot["weekPriceCents"], slot["active"]) == ("left-top", "12000", "yes")
    [month] = rows_of(await admin.get(f"{ADMIN}/revenue?format=csv"), "revenue.csv")
    assert (month["month"], month["netCents"]) == ("2026-11", "12000")
    audit = rows_of(await admin.get(f"{ADMIN}/audit?format=csv"), "audit.csv")
    assert len(audit) == len(world.memory.audits)
    assert {row["actorEmail"] for row in audit} == {EMAIL, ""}
    accounts = rows_of(await admin.get(f"{ACCOUNTS}?format=csv&query=sponsor@"), "accounts.csv")
    assert [(row["email"], row["tier"], row["suspendedAt"]) for row in accounts] == [(EMAIL, "claimed", "")]


async def test_a_spreadsheet_of_accounts_has_more_than_one_page_of_them(world: World) -> None:
    admin = administrator(world)
    for number in range(1_003):
        world.key(tier=Tier.CLAIMED, email=f"person{number}@example.com")
    rows = rows_of(await admin.get(f"{ACCOUNTS}?format=csv&query=person"), "accounts.csv")
    assert len({row["email"] for row in rows}) == len(rows) == 1_003
