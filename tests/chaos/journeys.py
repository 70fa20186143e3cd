"""After a payment or an approval: customers ask for refunds and edit running ads, administrators decide on both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.acceptance.clients import Reply
from tests.chaos.caller import Caller
from tests.chaos.setting import ADMIN, CAMPAIGN, CAMPAIGNS
from tests.chaos.sponsors import BOOKINGS, Sponsor

ASKS, EDITS, DECLINES, REJECTS, AFRESH = 0.6, 0.5, 0.5, 0.2, 0.1
"""Shares of paid bookings whose refund is requested, of rounds with an edit, of declined requests, of rejected edits, and of
reads of the feed from its beginning."""


@dataclass(slots=True)
class Customer(Sponsor):
    """A member of an account who pays for everything, asks for some of the money back, and edits the account's ad."""

    name: ClassVar[str] = "customer"

    async def once(self) -> None:
        if self.chance.random() < EDITS:
            await self._edit()
        booking = await self.booked(self._wish(), self.account.key)
        if booking is None:
            return
        await self.pay(booking, self.account.key)
        if self.chance.random() < ASKS:
            await self._ask_back(booking)
        await self.ask("read a booking", f"{BOOKINGS}/{booking}", key=self.account.key)

    async def _ask_back(self, booking: str) -> None:
        self.answers.asked_back.add(booking)
        body = {"reason": "We booked the wrong week."}
        reply = await self.insist(
            "request a refund", f"{BOOKINGS}/{booking}/refund-request", body, key=self.account.key
        )
        if reply is not None and reply.status == 200:
            self.answers.requested.append(booking)

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
    campaigns: Sequence[str] = ()
    cursor: str = ""

    async def once(self) -> None:
        if self.answers.requested and self.chance.random() < 0.5:
            await self._decide(self.chance.choice(self.answers.requested[-20:]))
        else:
            await self._review(self.chance.choice(self.campaigns))
        await self.ask("read the audit", f"{ADMIN}/audit?limit=50", key=self.key)
        await self._read_the_feed()
        await self.think()

    async def _read_the_feed(self) -> None:
        """Go on from the last cursor, and at times from the beginning."""
        if self.chance.random() < AFRESH:
            self.cursor = ""
        path = "/api/v1/sponsors/webhook-events?limit=50" + (f"&cursor={self.cursor}" if self.cursor else "")
        reply = await self.ask("read the feed", path, key=self.key)
        if reply is not None and reply.status == 200:
            self.cursor = reply.json()["cursor"] or ""

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
