"""After a payment or an approval: customers ask for refunds and edit running ads, administrators decide on both."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import httpx

from tests.acceptance.clients import Reply
from tests.acceptance.processes import Service
from tests.chaos.caller import Caller
from tests.chaos.history import Answers
from tests.chaos.setting import CAMPAIGN
from tests.chaos.sponsors import BOOKINGS, Account, Sponsor

CAMPAIGNS = "/api/v1/sponsors/campaigns"
ADMIN = "/api/v1/admin/sponsorships"
ASKS, EDITS, DECLINES, REJECTS = 0.6, 0.5, 0.5, 0.2
"""Shares of paid bookings whose refund is requested, of rounds with an edit, of declined requests, and of rejected edits."""


def approve(service: Service, accounts: Sequence[Account], answers: Answers) -> None:
    """Approve the campaigns of all accounts with the key of the first, which administers."""
    with httpx.Client(base_url=service.url, trust_env=False, timeout=30.0) as http:
        for account in accounts:
            path = f"{ADMIN}/campaigns/{account.campaign}/review"
            headers = {"authorization": f"Bearer {accounts[0].key}"}
            answer = http.post(path, json={"decision": "approve"}, headers=headers)
            assert answer.status_code == 200, answer.text
            answers.approved[account.campaign] = {CAMPAIGN["headline"]}


@dataclass(slots=True)
class Customer(Sponsor):
    """A member of an account who pays for everything, asks for some of the money back, and edits the account's ad."""

    name: ClassVar[str] = "customer"

    async def once(self) -> None:
        if self.chance.random() < EDITS:
            await self._edit()
        booking = await self._booked()
        if booking is None:
            return
        await self._pay(booking)
        if self.chance.random() < ASKS:
            await self._ask_back(booking)
        self._note(await self.ask("read a booking", f"{BOOKINGS}/{booking}", key=self.account.key))

    async def _ask_back(self, booking: str) -> None:
        self.answers.asked_back.add(booking)
        body = {"reason": "We booked the wrong week."}
        reply = await self.insist(
            "request a refund", f"{BOOKINGS}/{booking}/refund-request", body, key=self.account.key
        )
        if reply is not None and reply.status == 200:
            self.answers.requested.append(booking)
        self._note(reply)

    async def _edit(self) -> None:
        words = f"Edit {self.chance.getrandbits(32):08x}"
        path = f"{CAMPAIGNS}/{self.account.campaign}"
        reply = await self.insist("edit an ad", path, {"headline": words}, key=self.account.key, method="PATCH")
        if reply is not None and reply.status == 200:
            ad = reply.json()["campaign"]
            self.answers.visible.append((ad["id"], ad["headline"]))


@dataclass(slots=True)
class Administrator(Caller):
    """Declines requests for refunds or makes them, and approves or rejects edits after reading them."""

    name: ClassVar[str] = "administrator"

    key: str = ""
    campaigns: Sequence[str] = field(default_factory=tuple)

    async def once(self) -> None:
        if self.answers.requested and self.chance.random() < 0.5:
            await self._decide(self.chance.choice(self.answers.requested[-20:]))
        else:
            await self._review(self.chance.choice(self.campaigns))
        await self.think()

    async def _decide(self, booking: str) -> None:
        path = f"{ADMIN}/bookings/{booking}"
        if self.chance.random() < DECLINES:
            await self.insist("decline a refund", f"{path}/refund-decline", {"note": "It was shown."}, key=self.key)
        else:
            self.answers.refunded.add(booking)
            await self.insist("refund", f"{path}/refund", {"reason": "As requested."}, key=self.key)

    async def _review(self, campaign: str) -> None:
        listed = await self.ask("list ads to review", f"{ADMIN}/campaigns?status=pending&order=oldest", key=self.key)
        if listed is None or listed.status != 200:
            return
        for ad in listed.json()["items"]:
            if ad["id"] == campaign:
                await self._answer(ad)

    async def _answer(self, ad: dict[str, object]) -> None:
        newest = ad["pendingRevision"] or ad
        assert isinstance(newest, dict), "an edit has the fields of an ad"
        seen = {name: newest[name] for name in CAMPAIGN if name != "name"}
        reject = self.chance.random() < REJECTS
        body: dict[str, object] = {"decision": "approve", "seen": seen}
        if reject:
            body = {"decision": "reject", "seen": seen, "note": "Say it in other words."}
        else:
            self.answers.approved.setdefault(str(ad["id"]), set()).add(str(newest["headline"]))
        reply = await self.insist("review an edit", f"{ADMIN}/campaigns/{ad['id']}/review", body, key=self.key)
        self._note_ad(reply)

    def _note_ad(self, reply: Reply | None) -> None:
        if reply is not None and reply.status == 200:
            ad = reply.json()["campaign"]
            self.answers.visible.append((ad["id"], ad["headline"]))
