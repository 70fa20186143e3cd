"""Commands that are more than a row, and refusals, against the real application. For all commands see `test_formats`."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

from actors.bookings.transitions import CampaignMove
from actors.clock import day_of
from actors.shared.credentials import Kind
from actors.values import Agent, Filtered, Tier
from service.catalogctl.client import Asked, Reply
from service.catalogctl.failures import Unreachable
from service.terminal.layout import time_left
from tests.api.sponsors import add_slot, administrator
from tests.api.world import NOON_MS, SLUGS, World, open_world
from tests.catalogctl.stage import IDS, Stage
from tests.contract import BOT
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
        headers += [("if-match", asked.if_match)] if asked.if_match else []
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


async def test_the_catalog_is_listed_searched_and_read(desk: Desk) -> None:
    assert column(await desk.out("usecases", "zebra")) == ["case-04", "case-30"]
    assert await desk.out("usecases", "nothing like it") == "Nothing found.\n"
    assert column(await desk.out("usecases", "--limit", "9", "zebra", "submarine")) == ["case-04", "case-30"]
    assert desk.stage.err == "No entry has all of these words. Those shown have the most of them, or similar words.\n"
    assert "Steps        1. Begin\n             2. Go on\n" in await desk.out("usecases", "--slug", "case-04")
    assert column(await desk.out("usecases", "zebra", "--category", "finance")) == ["case-04"]
    assert await desk.out("usecases", "--category", "Unknown") == "Nothing found.\n"
    assert "catalogctl categories lists" in desk.stage.err


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


async def test_the_usage_of_the_key_is_that_of_a_month_or_of_its_life(desk: Desk) -> None:
    limit = (await desk.json("usage"))["requestLimit"]
    assert f"This month  0 of {limit:,} requests, {limit:,} left\n" in await desk.out("usage")
    desk.stage.environment["CATALOGCTL_KEY"] = desk.world.key()
    out = await desk.out("usage")
    assert "none: the key is not claimed" in out
    assert "Lifetime" in out
    assert "Expires   2026-11-18 13:00 UTC\n" in out


REFUSED = {
    # Commands, what the service says, and where another than 1, the exit code.
    "usecases --slug no-such-case": "There is no use case with this slug. (not_found)",
    "bots --slug ../usage": "(not_found)",
    "bots --cursor nonsense": "cursor",
    "report --from 2020-01-01": "at most 366 days",
    "sponsor booking bkg_unknown": "(not_found)",
    "keys rotate key_1 --grace 8d": "(invalid_request)",
    "keys expire key_1 2020-01-01": "must lie in the future",
    "webhooks create http://tools.example.com/ --events booking.paid": "must begin with https://",
    "admin accounts": "Only administrators can do this. (forbidden)",
}


@pytest.mark.parametrize("words", REFUSED)
async def test_a_refusal_is_printed_in_the_words_of_the_service(desk: Desk, words: str) -> None:
    line = REFUSED[words]
    code = 4 if "(not_found)" in line else 5 if "(forbidden)" in line else 1
    assert line in await desk.refused(*words.split(), code=code)


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


async def booked(desk: Desk) -> str:
    """A week that is reserved; returns the booking's id."""
    campaign = await a_campaign(desk)
    book = ("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    return str((await desk.json(*book))["booking"]["id"])


async def test_a_reserved_week_says_how_to_pay_and_its_page_is_opened(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    out = await desk.out("sponsor", "inventory", "--week", WEEK)
    assert out.startswith("Week of 2026-11-23, billing mode test\n\nSLOT")
    await desk.out("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    first, pay = desk.stage.err.splitlines()
    assert first == f"Idempotency key: {IDS}"
    [booking] = column(await desk.out("sponsor", "bookings"))
    assert pay == f"Pay before the hold runs out: catalogctl sponsor checkout {booking}"
    assert "not available" in await desk.out("sponsor", "inventory", "--week", WEEK)
    address = (await desk.json("sponsor", "checkout", booking, "--open"))["checkoutUrl"]
    assert desk.stage.opened == [address]
    desk.stage.has_browser = False
    assert f"Pay at      {address}\n" in await desk.out("sponsor", "checkout", booking, "--open")
    assert desk.stage.err == "No browser could be opened.\n"


async def test_an_edit_that_waits_for_review_is_shown_beside_the_approved_words(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    row = desk.world.memory.campaigns[campaign]
    await desk.world.services.ledger.move_campaign(None, row.id, CampaignMove.APPROVE, Agent("key", "key_1"))
    edited = await desk.out("sponsor", "edit-campaign", campaign, "--headline", "Ship now")
    assert f"Headline         {row.content.headline}\n" in edited
    assert "Edited headline  Ship now\n" in edited
    assert "Edited body" not in edited


async def test_a_payment_and_its_refund_have_documents(desk: Desk) -> None:
    booking = await booked(desk)
    assert await desk.out("sponsor", "invoice", booking) == "The booking has no invoice.\n"
    await desk.out("sponsor", "checkout", booking)
    await desk.world.services.ledger.record_payment("evt_1", booking, "pay_1", 12_000, "usd")
    await desk.world.services.ledger.settle_refund(booking, None)
    shown = await desk.out("sponsor", "invoice", booking)
    for line in (
        "Number   TEST-INV-000001\nKind     invoice\n",
        f"Buyer    Example Tools, https://tools.example.com/, {EMAIL}\n",
        "Amount   USD 120.00\nPayment  pay_1\nNote     Test mode: no money moved.\n\n",
        "Kind        credit note\nBelongs to  TEST-INV-000001\n",
    ):
        assert line in shown, shown
    assert column(await desk.out("sponsor", "invoices")) == ["TEST-INV-000001", "TEST-CN-000001"]


async def test_a_lost_response_says_how_to_go_on(desk: Desk) -> None:
    campaign = await a_campaign(desk)
    key = (await desk.json("sponsor", "create-key", "--name", "Report", "--scopes", "library:read"))["id"]
    book = ("sponsor", "book", "--campaign", campaign, "--slot", "left-top", "--week", WEEK)
    desk.loses_answers = True
    line = await desk.refused(*book, code=3)
    assert f"repeat the command with --idempotency-key {IDS} to find out; it never books twice" in line
    assert "rotate that one to see its text" in await desk.refused("keys", "rotate", key, code=3)
    desk.loses_answers = False
    found = await desk.json(*book, "--idempotency-key", IDS.upper())
    assert [found["booking"]["id"]] == column(await desk.out("sponsor", "bookings"))


async def test_a_full_key_is_found_on_the_dashboard_only(desk: Desk) -> None:
    full = desk.world.id_of(desk.key)
    for words in (("rename", full, "Other"), ("expire", full, "never"), ("rotate", full), ("revoke", full)):
        assert "changed on the dashboard" in await desk.refused("keys", *words, code=4)


async def test_lists_of_names_and_times_are_read_as_people_write_them(desk: Desk) -> None:
    scopes = "sponsor:read, library:read"
    made = await desk.json("sponsor", "create-key", "--name", "Report", "--scopes", scopes)
    assert made["scopes"] == ["sponsor:read", "library:read"]
    assert "Expires  2026-12-28 00:00 UTC\n" in await desk.out("keys", "expire", made["id"], "2026-12-28")
    rotated = await desk.json("keys", "rotate", made["id"], "--grace", "1h")
    assert rotated["previousEndsAt"] == desk.world.now_ms + 3_600_000


async def test_an_administrator_filters_and_refunds(desk: Desk) -> None:
    desk.world.memory.administrators[EMAIL] = desk.world.now_ms
    booking = await booked(desk)
    await desk.out("sponsor", "checkout", booking)
    await desk.world.services.ledger.record_payment("evt_1", booking, "pay_1", 12_000, "usd")
    for options in ((), ("--status", "paid"), ("--week", WEEK), ("--slot", "left-top"), ("example",)):
        assert column(await desk.out("admin", "bookings", *options)) == [booking], options
    assert await desk.out("admin", "bookings", "--trouble") == "No booking matches.\n"
    assert await desk.out("admin", "accounts", "--suspended") == "No account matches.\n"
    assert f"\n{booking}," in (await desk.out("admin", "bookings", "--csv", "--status", "paid")).replace("\r", "")
    own = desk.world.memory.accounts[EMAIL].tenant_id
    assert "Bookings       1 paid\n" in await desk.out("admin", "account", own)
    refunded = await desk.out("admin", "refund-account", own, "--reason", "Malware.")
    assert refunded == "refunds ordered: 1, USD 120.00 in test mode\n"


async def test_a_report_is_sums_or_a_file(desk: Desk) -> None:
    tenant = desk.world.memory.accounts[EMAIL].tenant_id
    desk.world.sponsorship_store.keep(slot(), booking("a", tenant_id=tenant, paid_ms=NOON_MS))
    desk.world.memory.delivery_days["a", day_of(NOON_MS)] = (1_000, 21)
    desk.world.memory.filtered_days["a", day_of(NOON_MS)] = Filtered(duplicate=1_234, inactive=5)
    out = await desk.out("report", "--from", "2026-11-17", "--to", "2026-11-18")
    assert out.startswith("2026-11-17 to 2026-11-18, UTC\n\nBy campaign:\nNAME")
    assert cells(out.splitlines()[4]) == ["Shown", "1,000", "21", "2.10%"]
    assert "By slot:" in out
    assert out.endswith("\n\nReported, but not counted: 1,234 duplicate, 5 inactive\n")
    assert (await desk.json("report"))["impressions"] == 1_000
    file = await desk.out("report", "--to", "2026-11-18", "--csv")
    assert (await desk.json("report", "--slot", "another"))["impressions"] == 0
    assert file.splitlines()[0].startswith("bookingId,campaign,slot,date,impressions,clicks,ctr,filteredDuplicate,")
    assert file.splitlines()[-1] == "a,Shown,Slot left-1,2026-11-18,1000,21,0.021,1234,0,0,0,5"


async def test_a_slot_that_is_not_sold_yet_has_no_free_week(desk: Desk) -> None:
    desk.world.sponsorship_store.keep(slot("left-2", coming_soon=True))
    await desk.world.settled()
    [line] = (await desk.out("sponsor", "rates")).splitlines()[1:]
    assert cells(line)[-1] == "coming soon"


def test_the_time_left_follows_the_clock_of_the_service() -> None:
    now = "Wed, 18 Nov 2026 12:00:00 GMT"
    assert time_left(NOON_MS + 22 * 60_000, now) == "2026-11-18 12:22 UTC, 22 minutes left"
    assert time_left(NOON_MS + 7 * 86_400_000 - 1_000, now) == "2026-11-25 11:59 UTC, 6 days 23 h left"
    assert time_left(NOON_MS - 1, now) == "2026-11-18 11:59 UTC"
    assert time_left(NOON_MS, "no date") == time_left(NOON_MS, None) == "2026-11-18 12:00 UTC"
    assert time_left(None, now) == ""


# Decisions on campaigns.


async def _waiting(desk: Desk) -> str:
    """A campaign that waits for review. The user administers, too."""
    desk.world.memory.administrators[EMAIL] = desk.world.now_ms
    return await a_campaign(desk)


@pytest.mark.parametrize(("command", "status"), [(["approve"], "approved"), (["reject", "--note", "No."], "rejected")])
async def test_a_decision_is_about_what_was_shown_and_confirmed(desk: Desk, command: list[str], status: str) -> None:
    campaign_id = await _waiting(desk)
    action, *more = command
    decide = ("admin", action, campaign_id, *more)
    assert "add --yes" in await desk.refused(*decide, code=2)
    desk.stage.confirms = False
    assert "nothing was decided" in await desk.refused(*decide, code=2)
    assert "Example Tools\n" in desk.stage.err
    assert "Ship today\n" in desk.stage.err
    assert desk.world.memory.campaigns[campaign_id].status == "pending"

    def renamed(asked: Asked) -> Reply:
        """The sponsor changes the words while the administrator reads them."""
        if asked.method == "POST":
            campaign = desk.world.memory.campaigns[campaign_id]
            content = replace(campaign.content, headline="Something else")
            desk.world.memory.campaigns[campaign_id] = replace(campaign, content=content)
        return desk._send(asked)

    desk.stage.confirms, desk.stage.send = True, renamed
    assert "has been edited since you read it" in await desk.refused(*decide)
    desk.stage.send = desk._send
    assert f"Status    {status}\n" in await desk.out(*decide)
    assert desk.stage.asked[-1] == f"{action.capitalize()} it as it is shown? [y/N] "
    assert "Something else\n" in desk.stage.err


async def test_a_script_decides_on_what_it_has_read_or_on_what_is_printed(desk: Desk) -> None:
    campaign_id = await _waiting(desk)
    [waiting] = (await desk.json("admin", "reviews"))["items"]
    changed = json.dumps(waiting["campaign"] | {"headline": "Something else"})
    assert "has been edited" in await desk.refused("admin", "approve", campaign_id, "--seen", changed)
    assert "it has no headline" in await desk.refused("admin", "approve", campaign_id, "--seen", "{}", code=2)
    read = json.dumps(waiting["campaign"])
    assert (await desk.json("admin", "approve", campaign_id, "--seen", read))["campaign"]["status"] == "approved"
    edit = ("sponsor", "edit-campaign", campaign_id, "--headline", "Ship tomorrow")
    await desk.out(*edit)
    assert "approved" in await desk.out("admin", "approve", campaign_id, "--yes")
    assert "Ship tomorrow\n" in desk.stage.err
    assert desk.world.memory.campaigns[campaign_id].content.headline == "Ship tomorrow"
    assert "lists what waits" in await desk.refused("admin", "approve", campaign_id, "--yes", code=4)
    assert "rejected" in await desk.out("admin", "reject", campaign_id, "--note", "No.", "--yes")
    assert desk.stage.asked == []


async def test_an_entry_is_put_over_the_version_that_was_read_or_over_any(desk: Desk, tmp_path: Path) -> None:
    desk.stage.environment["CATALOGCTL_KEY"] = administrator(desk.world).key
    file, put = tmp_path / "entry.json", ("admin", "put-bot", "made-here")
    file.write_text(json.dumps(BOT), encoding="utf-8")
    seen = (await desk.json(*put, f"@{file}"))["bot"]
    await desk.json(*put, json.dumps(seen | {"job": "Another."}))
    refused = await desk.refused(*put, json.dumps(seen | {"job": "A third."}))
    assert refused.startswith("the entry has changed since you read it")
    assert (await desk.json(*put, json.dumps(BOT | {"job": "A third."})))["bot"]["job"] == "A third."
    newest = (await desk.json("admin", "bot", "made-here"))["bot"]
    await desk.out("admin", "retire-bot", "made-here")
    assert "has changed" in await desk.refused(*put, json.dumps(newest))
    for wrong, words in (("[]", "must be a JSON object"), ("{", "is not JSON"), ("@/nowhere", "cannot read /nowhere")):
        assert words in await desk.refused(*put, wrong, code=2)
