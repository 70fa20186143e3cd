"""The initial data: slots, sponsors with approved campaigns, and bookings of this week that are shown."""

import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import trio

from actors.clock import SystemClock
from actors.times import week_of
from tests.acceptance.processes import Service
from tests.chaos.history import Answers, Wish
from tests.chaos.sponsors import Account, Payer

ADMIN = "/api/v1/admin/sponsorships"
CAMPAIGNS = "/api/v1/sponsors/campaigns"
ACCOUNTS = 3
SLOTS = tuple(f"chaos-{number}" for number in range(12))
LIVE = tuple(f"live-{number}" for number in range(4))
"""Slots of the bookings that are shown: for two weeks, so that a run may go on past a Sunday."""
PROBED = "chaos-probed"
"""The slot of the one booking that probes request repeatedly."""
CAMPAIGN = {
    "name": "Chaos",
    "headline": "All goes wrong",
    "body": "And nothing is lost.",
    "cta": "Go",
    "targetUrl": "https://example.com/",
    "logoText": "C",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """The bookings that are shown, and the accounts, the first of which owns them and administers."""

    bookings: Sequence[str]
    accounts: Sequence[Account]


@dataclass(slots=True)
class Founder(Payer):
    """Makes the setting, before anything goes wrong."""

    name = "founder"

    async def sent(self, path: str, body: object = None, *, key: str | None = None, method: str = "") -> Any:
        reply = await self.ask("found", path, body, key=key, method=method)
        assert reply is not None, path
        assert reply.status == 200, reply.body
        return reply.json()

    async def account(self, key: str, number: int) -> Account:
        tenant = (await self.sent("/api/v1/usage", key=key))["tenantId"]
        profile = {"name": f"Example {number}", "website": "https://sponsor.example.com/"}
        await self.sent("/api/v1/sponsors/profile", profile, key=key, method="PATCH")
        return Account(key, tenant, (await self.sent(CAMPAIGNS, CAMPAIGN, key=key))["campaign"]["id"])

    async def slots(self, key: str) -> None:
        for slot in (*SLOTS, PROBED, *LIVE):
            made = {"id": slot, "name": slot, "side": "left", "weekPriceCents": 1_000}
            await self.sent(f"{ADMIN}/slots", {**made, "durationWeeks": 2} if slot in LIVE else made, key=key)

    async def live(self, account: Account) -> Sequence[str]:
        """Buy this week in the live slots for a campaign that nobody edits."""
        campaign = (await self.sent(CAMPAIGNS, CAMPAIGN, key=account.key))["campaign"]["id"]
        week, booked = week_of(SystemClock().now_ms()), []
        for slot in LIVE:
            wish = Wish(account.tenant, str(uuid.uuid4()), campaign, slot, week)
            booking = await self.booked(wish, account.key)
            assert booking is not None
            await self.pay(booking, account.key)
            booked.append(booking)
        await self.approve(campaign, account.key)
        await self.shown(booked)
        return booked

    async def shown(self, bookings: Sequence[str]) -> None:
        """Wait until the node shows all of them."""
        placements = ""
        while not all(each in placements for each in bookings):
            placements = str(await self.sent("/api/v1/sponsors/placements"))
            await trio.sleep(0.1)

    async def approve(self, campaign: str, key: str) -> None:
        await self.sent(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"}, key=key)
        self.answers.approved[campaign] = {CAMPAIGN["headline"]}


async def founded(service: Service, answers: Answers) -> Setting:
    """Remove the demo, whose counts no client sent, and create accounts that may book."""
    emails = [f"sponsor-{number}@example.com" for number in range(ACCOUNTS)]

    def command(*words: str) -> str:
        return service.command(*words).strip()

    def keys_of_accounts() -> list[str]:
        command("seed-demo", "--remove")
        command("grant-admin", emails[0])
        own = command("issue-key", "--email", emails[0], "--admin")
        return [own, *(command("issue-key", "--email", email) for email in emails[1:])]

    keys = await trio.to_thread.run_sync(keys_of_accounts)
    with closing(Founder({0: service.url}, answers)) as founder:
        accounts = [await founder.account(key, number) for number, key in enumerate(keys)]
        await founder.slots(keys[0])
        live = await founder.live(accounts[0])
        for account in accounts:
            await founder.approve(account.campaign, keys[0])
    return Setting(live, accounts)
