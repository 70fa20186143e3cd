"""The commands against the real application."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

from actors.bookings.transitions import CampaignMove
from actors.clock import day_of
from actors.shared.credentials import Kind
from actors.values import Agent, Tier
from service.catalogctl.client import Asked, Reply
from service.catalogctl.failures import Unreachable
from service.catalogctl.texts import time_left
from tests.api.sponsors import add_slot
from tests.api.world import NOON_MS, SLUGS, World, open_world
from tests.catalogctl.stage import IDS, Stage
from tests.snapshots.rows import booking, slot

URL = "https://catalog.test"
EMAIL = "sponsor@example.com"


class Desk:
    """A user at a terminal, logged in by an environment variable. Requests go directly to the application."""

    def __init__(self, stage: Stage, world: World) -> None:
        self.stage, self.world = stage, world
        self.asked: list[Asked] = []
        self.loses_answers = False
        self.key = world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=EMAIL)
        stage.environment = {"CATALOGCTL_URL": URL, "CATALOGCTL_KEY": self.key}
        stage.columns = None
        stage.send = self._send

    def _send(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        reply = trio.from_thread.run(self._answer, asked)
        if self.loses_answers:
            raise Unreachable("cannot reach catalog.test: the connection was lost")
        return reply

    async def _answer(self, asked: Asked) -> Reply:
        parts = urlsplit(asked.url)
        assert f"{parts.scheme}://{parts.netloc}" == URL
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        headers = [("content-type", asked.content_type)] if asked.body is not None else []
        response = await self.world.client.request(
            asked.method, target, asked.key, headers=headers, body=asked.body or b""
        )
        return Reply(response.status, dict(response.headers), response.body)

    async def run(self, *arguments: str) -> int:
        return await trio.to_thread.run_sync(self.stage.run, *arguments)

    async def out(self, *arguments: str) -> str:
        """The output of a command that must succeed."""
        assert await self.run(*arguments) == 0, self.stage.err
        return self.stage.out

    async def json(self, *arguments: str) -> Any:
        return json.loads(await self.out(*arguments, "--json"))

    async def refused(self, *arguments: str, code: int = 1) -> str:
        """The error of a command that must fail: its line, and one for each field that is wrong."""
        assert await self.run(*arguments) == code, self.stage.out
        _, prefix, error = self.stage.err.rpartition("catalogctl: ")
        assert prefix, self.stage.err
        assert all(line.startswith("  ") for line in error.splitlines()[1:])
        return error


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_world() as world:
        yield Desk(Stage(tmp_path / "config"), world)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell]


def column(out: str, place: int = 0) -> list[str]:
    """The cells of a table's column, without its header."""
    return [cells(row)[place] for row in out.splitlines()[1:]]


# The catalog and the key.


async def test_the_catalog_is_listed_searched_and_read(desk: Desk) -> None:
    listed = await desk.json("usecases")
    out = await desk.out("usecases")
    assert out.split("\n")[0].split() == ["SLUG", "TITLE", "WHO", "OUTCOME", "ADDED"]
    assert column(out) == [entry["slug"] for entry in listed["data"]]
    assert column(await desk.out("usecases", "zebra")) == ["case-04", "case-30"]
    assert await desk.out("usecases", "nothing like it") == "Nothing found.\n"
    assert column(await desk.out("usecases", "zebra submarine")) == ["case-04", "case-30"]
    assert column(await desk.out("usecases", "--limit", "9", "zebra", "submarine")) == ["case-04", "case-30"]
    assert desk.stage.err == "No entry has all of these words. Those shown have the most of them, or similar words.\n"
    shown = await desk.out("usecases", "--slug", "case-04")
    assert "Title        Zebra counting\n" in shown
    assert "Steps        1. Begin\n             2. Go on\n" in shown
    assert (await desk.json("usecases", "--slug", "case-04"))["guide"]["botSlugs"] == ["bot-00"]
    assert column(await desk.out("bots", "--limit", "2"), 1) == ["Bot bot-00", "Bot bot-01"]
    assert "Job       Sorts receipts\n" in await desk.out("bots", "--slug", "bot-07")


async def test_entries_are_filtered_by_category_and_categories_are_counted(desk: Desk) -> None:
    assert [cells(line) for line in (await desk.out("categories")).splitlines()] == [
        ["CATEGORY", "USE CASES", "BOTS"],
        ["Finance", "1", "23"],
    ]
    assert (await desk.json("categories"))["data"] == [{"name": "Finance", "useCases": 1, "bots": 23}]
    assert await desk.out("categories", "--quiet") == "Finance\n"
    assert column(await desk.out("usecases", "--category", "finance")) == ["case-04"]
    assert column(await desk.out("usecases", "zebra", "--category", "Finance")) == ["case-04"]
    assert await desk.out("usecases", "--category", "Unknown") == "Nothing found.\n"
    assert "catalogctl categories lists" in desk.stage.err
    assert len(column(await desk.out("bots", "--category", "Finance", "--limit", "20", "--all"))) == 23


async def test_all_pages_are_followed_and_one_page_says_that_there_are_more(desk: Desk) -> None:
    assert column(await desk.out("usecases", "--limit", "20", "--all")) == SLUGS
    assert desk.stage.err == ""
    pages = (await desk.out("--json", "usecases", "--limit", "20", "--all")).splitlines()
    assert [len(json.loads(page)["data"]) for page in pages] == [20, 20, 5]
    assert len((await desk.json("usecases", "--all"))["data"]) == len(SLUGS)
    await desk.out("usecases", "--limit", "2")
    [more] = desk.stage.err.splitlines()
    cursor = more.partition("--cursor ")[2].split()[0]
    assert column(await desk.out("usecases", "--limit", "2", "--cursor", cursor)) == SLUGS[2:4]


async def test_the_usage_and_the_owner_of_the_key(desk: Desk) -> None:
    limit = (await desk.json("usage"))["requestLimit"]
    out = await desk.out("usage")
    assert f"Account     {EMAIL}\n" in out
    assert f"This month  0 of {limit:,} requests, {limit:,} left\n" in out
    assert "Service  https://catalog.test\n" in await desk.out("whoami")


async def test_mails_are_shown_and_chosen_by_topic(desk: Desk) -> None:
    assert await desk.out("notifications") == "Reviews   on\nBookings  on\nReports   on\n"
    changed = await desk.out("notifications", "--reports", "off", "--bookings", "on")
    assert changed == "Reviews   on\nBookings  on\nReports   off\n"
    assert await desk.json("notifications") == {"reviews": True, "bookings": True, "reports": False}
    assert [record.action for record in desk.world.memory.audits].count("account.mails_chosen") == 1


async def test_an_anonymous_key_sees_its_lifetime_limit_and_is_refused_sponsoring(desk: Desk) -> None:
    desk.stage.environment["CATALOGCTL_KEY"] = desk.world.key()
    out = await desk.out("usage")
    assert "none: the key is not claimed" in out
    assert "Lifetime" in out
    assert "Expires   2026-11-18 13:00 UTC\n" in out
    assert "(claim_required)" in await desk.refused("sponsor", "me", code=5)


async def test_without_a_key_public_data_is_shown_and_nothing_else_is_requested(desk: Desk) -> None:
    del desk.stage.environment["CATALOGCTL_KEY"]
    assert column(await desk.out("bots", "--limit", "1")) == ["bot-00"]
    assert "There are no slots." in await desk.out("sponsor", "inventory")
    assert await desk.out("sponsor", "placements") == "There are no placements now.\n"
    asked = len(desk.asked)
    for words in (
        "usage",
        "whoami",
        "notifications",
        "sponsor me",
        "sponsor campaigns",
        "sponsor bookings",
        "sponsor keys",
    ):
        assert "you are not logged in to https://catalog.test" in await desk.refused(*words.split(), code=5)
    assert len(desk.asked) == asked


REFUSED = {
    "usecases --slug no-such-case": "There is no use case with this slug. (not_found)",
    "bots --slug ../usage": "(not_found)",
    "usecases --limit 1000": "limit",
    "bots --cursor nonsense": "cursor",
    "sponsor booking bkg_unknown": "(not_found)",
    "sponsor invoice bkg_unknown": "(not_found)",
    "sponsor edit-campaign cmp_unknown --name A": "(not_found)",
    "sponsor revoke-key key_unknown": "(not_found)",
    "sponsor create-key --name A --scopes everything": "(invalid_request)",
    "sponsor inventory --week 2036-12-29": "weekStart",
}


async def test_a_refusal_is_printed_in_the_words_of_the_service(desk: Desk) -> None:
    for words, line in REFUSED.items():
        assert line in await desk.refused(*words.split(), code=4 if "(not_found)" in line else 1)


# The sponsorship area.


CREATIVE = {
    "--name": "Launch",
    "--headline": "Ship today",
    "--body": "A prompt becomes a bot.",
    "--cta": "Try it",
    "--target-url": "https://tools.example.com/start",
    "--logo-text": "ET",
}
WEEK = "2026-11-23"


async def a_campaign(desk: Desk) -> str:
    """A sponsor with a slot to book and a campaign; returns the campaign's id."""
    add_slot(desk.world, "left-top", name="Top of the left")
    await desk.out("sponsor", "profile", "--name", "Example Tools", "--website", "https://tools.example.com/")
    made = await desk.json("sponsor", "create-campaign", *(part for pair in CREATIVE.items() for part in pair))
    return str(made["campaign"]["id"])


async def test_a_sponsor_sees_its_identity(desk: Desk) -> None:
    assert "Sponsor        none yet\n" in await desk.out("sponsor", "me")
    await a_campaign(desk)
    out = await desk.out("sponsor", "me")
    assert "Sponsor        Example Tools\n" in out
    assert "Administrator  no\n" in out


async def test_a_campaign_goes_through_its_states(desk: Desk) -> None:
    assert await desk.out("sponsor", "campaigns") == "No campaigns yet.\n"
    campaign = await a_campaign(desk)
    assert "pending" in await desk.out("sponsor", "campaigns")
    assert "Status    draft\n" in await desk.out("sponsor", "withdraw", campaign)
    assert "Headline  Ship now\n" in await desk.out("sponsor", "edit-campaign", campaign, "--headline", "Ship now")
    assert "Status    pending\n" in await desk.out("sponsor", "submit", campaign)
    assert "(invalid_state)" in await desk.refused("sponsor", "pause", campaign)


async def test_weeks_are_booked_paid_for_watched_and_cancelled(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    out = await desk.out("sponsor", "inventory", "--week", WEEK)
    assert out.startswith("Week of 2026-11-23, billing mode test\n\nSLOT")
    assert cells(out.splitlines()[3])[:4] == ["left-top", "Top of the left", "left", "USD 120.00"]
    assert out.endswith("available\n")
    booked = await desk.out("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    assert "Status       reserved\n" in booked
    first, pay = desk.stage.err.splitlines()
    assert first == f"Idempotency key: {IDS}"
    [booking] = column(await desk.out("sponsor", "bookings"))
    assert pay == f"Pay before the hold runs out: catalogctl sponsor checkout {booking}"
    assert "not available" in await desk.out("sponsor", "inventory", "--week", WEEK)
    address = (await desk.json("sponsor", "checkout", booking, "--open"))["checkoutUrl"]
    assert desk.stage.opened == [address]
    assert f"Pay at      {address}\n" in await desk.out("sponsor", "checkout", booking)
    for words in ((booking,), ()):
        assert column(await desk.out("sponsor", "delivery", *words)) == [booking]
    assert "Status       checkout\n" in await desk.out("sponsor", "booking", booking)
    assert "Status       cancelled\n" in await desk.out("sponsor", "cancel", booking)
    assert "(invalid_state)" in await desk.refused("sponsor", "checkout", booking)


async def test_an_edit_that_waits_for_review_is_shown_beside_the_approved_words(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    row = desk.world.memory.campaigns[campaign]
    await desk.world.services.ledger.move_campaign(None, row.id, CampaignMove.APPROVE, Agent("key", "key_1"))
    edited = await desk.out("sponsor", "edit-campaign", campaign, "--headline", "Ship now")
    assert f"Headline         {row.content.headline}\n" in edited
    assert "Edited headline  Ship now\n" in edited
    assert "Edited body" not in edited


async def test_a_refund_of_a_paid_booking_is_requested_once(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    await desk.out("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    [booking] = column(await desk.out("sponsor", "bookings"))
    ask = ("sponsor", "request-refund", booking, "--reason", "The wrong week")
    assert "The status of this booking is reserved. Only a paid booking can be refunded." in await desk.refused(*ask)
    await desk.out("sponsor", "checkout", booking)
    row = desk.world.memory.bookings[booking]
    await desk.world.services.ledger.record_payment("evt_1", booking, "pay_1", row.amount_cents, row.currency)
    out = await desk.out(*ask)
    assert "wait for decision\n" in out
    assert "Refund asked" in out
    assert "already requested" in await desk.refused(*ask)


async def test_a_payment_and_its_refund_have_documents(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    await desk.out("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    [booking] = column(await desk.out("sponsor", "bookings"))
    assert await desk.out("sponsor", "invoice", booking) == "The booking has no invoice.\n"
    assert await desk.out("sponsor", "invoices") == "No invoices yet.\n"
    await desk.out("sponsor", "checkout", booking)
    ledger = desk.world.services.ledger
    await ledger.record_payment("evt_1", booking, "pay_1", 12_000, "usd")
    await ledger.settle_refund(booking, None)
    shown = await desk.out("sponsor", "invoice", booking)
    for line in (
        "Number   TEST-INV-000001\nKind     invoice\n",
        f"Buyer    Example Tools, https://tools.example.com/, {EMAIL}\n",
        "Amount   USD 120.00\nPayment  pay_1\nNote     Test mode: no money moved.\n\n",
        "Kind        credit note\nBelongs to  TEST-INV-000001\n",
    ):
        assert line in shown, shown
    assert column(await desk.out("sponsor", "invoices")) == ["TEST-INV-000001", "TEST-CN-000001"]
    assert len((await desk.json("sponsor", "invoice", booking))["invoices"]) == 2


async def test_a_booking_whose_response_was_lost_is_found_by_its_idempotency_key(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    book = ("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    desk.loses_answers = True
    line = await desk.refused(*book, code=3)
    assert f"repeat the command with --idempotency-key {IDS} to find out; it never books twice" in line
    desk.loses_answers = False
    found = await desk.json(*book, "--idempotency-key", IDS.upper())
    assert [found["booking"]["id"]] == column(await desk.out("sponsor", "bookings"))


async def test_brand_campaign_and_booking_are_created_in_one_command(desk: Desk) -> None:
    add_slot(desk.world, "left-top")
    brand = (
        "--name",
        "Example Tools",
        "--website",
        "https://tools.example.com/",
        "--headline",
        "Ship",
        "--body",
        "A bot.",
    )
    out = await desk.out("sponsor", "start", *brand, "--slot", "left-top", "--week", WEEK)
    assert "Campaign     Example Tools (cmp_" in out
    assert "From         2026-11-23\nTo           2026-11-30, 00:00 UTC\n" in out


async def test_scoped_keys_are_created_listed_and_revoked(desk: Desk) -> None:
    assert await desk.out("sponsor", "keys") == "No scoped keys.\n"
    made = await desk.json("sponsor", "create-key", "--name", "Reporting", "--scopes", "sponsor:read, library:read")
    assert made["scopes"] == ["sponsor:read", "library:read"]
    assert column(await desk.out("sponsor", "keys"), 1) == ["Reporting"]
    desk.stage.environment["CATALOGCTL_KEY"] = made["apiKey"]
    assert "(insufficient_scope)" in await desk.refused("sponsor", "keys", code=5)
    desk.stage.environment["CATALOGCTL_KEY"] = desk.key
    assert await desk.out("sponsor", "revoke-key", made["id"]) == f"{made['id']} is revoked.\n"
    assert "Key     cs_scoped_" in await desk.out("sponsor", "create-key", "--name", "A", "--scopes", "sponsor:read")
    assert "shown only once" in desk.stage.err


async def test_a_report_is_sums_or_a_file(desk: Desk) -> None:
    assert "None of your bookings ran on these days." in await desk.out("report")
    tenant = desk.world.memory.accounts[EMAIL].tenant_id
    desk.world.sponsorship_store.keep(slot(), booking("a", tenant_id=tenant, paid_ms=NOON_MS))
    desk.world.memory.delivery_days["a", day_of(NOON_MS)] = (1_000, 21)
    out = await desk.out("report", "--from", "2026-11-17", "--to", "2026-11-18")
    assert out.startswith("2026-11-17 to 2026-11-18, UTC\n\nBy campaign:\nNAME")
    assert cells(out.splitlines()[4]) == ["Shown", "1,000", "21", "2.10%"]
    assert "By slot:" in out
    assert (await desk.json("report"))["impressions"] == 1_000
    file = await desk.out("report", "--to", "2026-11-18", "--csv")
    assert file.splitlines()[0] == "bookingId,campaign,slot,date,impressions,clicks,ctr"
    assert file.splitlines()[-1] == "a,Shown,Slot left-1,2026-11-18,1000,21,0.021"
    assert "at most 366 days" in await desk.refused("report", "--from", "2020-01-01")
    assert await desk.run("report", "--csv", "--json") == 2
    assert json.loads(desk.stage.err)["message"] == "--csv and --json cannot be combined"


async def test_rates_are_read_without_a_key(desk: Desk) -> None:
    desk.world.sponsorship_store.keep(slot(name="Left, top"), slot("left-2", coming_soon=True))
    await desk.world.settled()
    del desk.stage.environment["CATALOGCTL_KEY"]
    lines = (await desk.out("sponsor", "rates")).splitlines()
    row = ["left-1", "Left, top", "USD 250.00", "1", "2026-11-16", "USD 178.57"]
    assert [cells(line) for line in lines if line.startswith("left-1")] == [row]
    assert "coming soon" in lines[-1]


def test_the_time_left_is_told_by_the_services_clock() -> None:
    now = "Wed, 18 Nov 2026 12:00:00 GMT"
    assert time_left(NOON_MS + 22 * 60_000, now) == "2026-11-18 12:22 UTC, 22 minutes left"
    assert time_left(NOON_MS + 7 * 86_400_000 - 1_000, now) == "2026-11-25 11:59 UTC, 6 days 23 h left"
    assert time_left(NOON_MS - 1, now) == "2026-11-18 11:59 UTC"
    assert time_left(NOON_MS, "no date") == time_left(NOON_MS, None) == "2026-11-18 12:00 UTC"
    assert time_left(None, now) == ""
