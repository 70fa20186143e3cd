"""`catalogctl admin` against the real application."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.bookings.transitions import CampaignMove
from actors.values import Agent
from tests.api.sponsors import add_slot, sponsor
from tests.api.world import open_world
from tests.catalogctl.stage import Stage
from tests.catalogctl.test_commands import EMAIL as BOSS
from tests.catalogctl.test_commands import Desk, cells

EMAIL = "person@example.com"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """An administrator's terminal."""
    async with open_world() as world:
        opened = Desk(Stage(tmp_path / "config"), world)
        world.memory.administrators[BOSS] = world.now_ms
        yield opened


async def _paid(desk: Desk) -> str:
    person = sponsor(desk.world, EMAIL)
    add_slot(desk.world)
    await person.profile()
    booking = (await person.booking(await person.campaign()))["id"]
    await person.pay(booking)
    return str(booking)


def id_of(desk: Desk) -> str:
    return desk.world.memory.accounts[EMAIL].tenant_id


async def test_accounts_are_listed_searched_and_shown(desk: Desk) -> None:
    await _paid(desk)
    listed = (await desk.out("admin", "accounts")).splitlines()
    assert {cells(line)[1]: cells(line)[3] for line in listed[1:]} == {BOSS: "administrator", EMAIL: "active"}
    [found] = (await desk.out("admin", "accounts", "PERSON@")).splitlines()[1:]
    assert cells(found)[:5] == [id_of(desk), EMAIL, "claimed", "active", "Example Tools"]
    assert await desk.out("admin", "accounts", "--suspended") == "No account matches.\n"
    shown = await desk.out("admin", "account", id_of(desk))
    assert "Bookings       1 paid" in shown
    assert "Keys           1" in shown
    assert (await desk.json("admin", "account", id_of(desk)))["account"]["email"] == EMAIL


async def test_an_account_is_suspended_refunded_and_restored(desk: Desk) -> None:
    booking = await _paid(desk)
    suspended = await desk.out("admin", "suspend", id_of(desk), "--reason", "Malware.")
    assert "Reason         Malware." in suspended
    assert cells((await desk.out("admin", "accounts", "--suspended")).splitlines()[1])[3] == "suspended"
    refunded = await desk.out("admin", "refund-account", id_of(desk), "--reason", "Malware.")
    assert refunded == "refunds ordered: 1, USD 120.00 in test mode\n"
    assert await desk.out("admin", "refund-account", id_of(desk)) == "There is nothing to refund.\n"
    await desk.world.settled()
    assert desk.world.memory.bookings[booking].status == "refunded"
    assert "Suspended" not in await desk.out("admin", "unsuspend", id_of(desk))
    own = desk.world.memory.accounts[BOSS].tenant_id
    assert "your own account" in await desk.refused("admin", "suspend", own, "--reason", "x")


async def test_bookings_reviews_and_revenue_are_read(desk: Desk) -> None:
    booking = await _paid(desk)
    for options in ((), ("--status", "paid"), ("--week", "2026-11-23"), ("--slot", "left-top"), ("example",)):
        [row] = (await desk.out("admin", "bookings", *options)).splitlines()[1:]
        assert cells(row)[0] == booking, options
    assert await desk.out("admin", "bookings", "--trouble") == "No booking matches.\n"
    [waiting] = (await desk.out("admin", "reviews")).splitlines()[1:]
    assert cells(waiting)[1:3] == ["2026-11-23", "yes"]
    [month] = (await desk.out("admin", "revenue", "--from", "2026-01")).splitlines()[1:]
    assert cells(month) == ["2026-11", "test", "1", "USD 120.00", "USD 0.00", "USD 120.00"]
    assert await desk.out("admin", "revenue", "--to", "2020-01") == "Nothing was paid in these months.\n"
    document = json.loads(await desk.out("admin", "revenue", "--json"))
    assert document["items"][0]["netCents"] == 12_000


async def test_a_campaign_is_reviewed_and_a_refund_is_decided(desk: Desk) -> None:
    booking = await _paid(desk)
    row = desk.world.memory.bookings[booking]
    rejected = await desk.out("admin", "reject", row.campaign_id, "--note", "The link is broken.")
    assert "Note      The link is broken." in rejected
    assert "(invalid_state)" in await desk.refused("admin", "approve", row.campaign_id)
    ledger, agent = desk.world.services.ledger, Agent("key", "key_1")
    await ledger.move_campaign(row.tenant_id, row.campaign_id, CampaignMove.SUBMIT, agent)
    assert "Status    approved" in await desk.out("admin", "approve", row.campaign_id)
    await ledger.edit_campaign(row.tenant_id, row.campaign_id, agent, headline="A newer headline")
    assert "A newer headline" in await desk.out("admin", "reviews")
    await ledger.request_refund(row.tenant_id, booking, "The wrong week", agent)
    listed = await desk.out("admin", "bookings", "--trouble")
    assert cells(listed.splitlines()[1])[-2:] == ["Example Tools", "decide refund"]
    declined = await desk.out("admin", "decline-refund", booking, "--note", "It is the week that you chose.")
    assert "Declined     It is the week that you chose." in declined
    assert "No refund of this booking is requested." in await desk.refused(
        "admin", "decline-refund", booking, "--note", "x"
    )
    assert "Status       refunding" in await desk.out("admin", "refund", booking, "--reason", "Goodwill.")
    await desk.world.settled()
    assert desk.world.memory.bookings[booking].status == "refunded"


async def test_lists_are_printed_as_files(desk: Desk) -> None:
    booking = await _paid(desk)
    assert f"\n{booking}," in (await desk.out("admin", "bookings", "--csv", "--status", "paid")).replace("\r", "")
    assert EMAIL in await desk.out("admin", "accounts", "--csv")
    assert "2026-11" in await desk.out("admin", "revenue", "--csv")
    assert "--csv and --all cannot be combined" in await desk.refused("admin", "accounts", "--csv", "--all", code=2)


async def test_websites_are_read_by_days(desk: Desk) -> None:
    assert await desk.out("admin", "sites") == "events.count_sites is off.\n"
    document = await desk.json("admin", "sites", "--from", "2026-11-01", "--to", "2026-11-18")
    assert (document["from"], document["to"]) == (1_793_491_200_000, 1_794_960_000_000)
    assert "must be a date such as" in await desk.refused("admin", "sites", "--from", "November")


async def test_a_key_without_administration_is_refused_in_one_line(desk: Desk) -> None:
    del desk.world.memory.administrators[BOSS]
    assert "Only administrators can do this." in await desk.refused("admin", "accounts", code=5)
