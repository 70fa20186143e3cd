"""Sponsors: they reserve weeks under new and used idempotency keys, check out, pay in test mode, or cancel."""

import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit

from actors.times import WEEK_MS
from tests.acceptance.clients import Reply
from tests.chaos.caller import Caller
from tests.chaos.history import Status, Wish

BOOKINGS = "/api/v1/sponsors/bookings"
FORM = {"content-type": "application/x-www-form-urlencoded"}
AGAIN, REUSED, PAYS, CANCELS = 0.15, 0.05, 0.25, 0.7
"""Shares of repeated wishes, of keys reused for another body, of paid bookings, and of cancelled ones among the rest."""


@dataclass(frozen=True, slots=True)
class Account:
    """A sponsor: its key, its tenant, and its approved campaign."""

    key: str
    tenant: str
    campaign: str


def body_of(wish: Wish) -> dict[str, object]:
    """Return the body of a reservation."""
    return {
        "campaignId": wish.campaign,
        "slotId": wish.slot,
        "weekStart": wish.week_ms,
        "idempotencyKey": wish.idempotency_key,
    }


@dataclass(slots=True)
class Sponsor(Caller):
    """A member of an account who books."""

    name: ClassVar[str] = "sponsor"

    account: Account = field(default_factory=lambda: Account("", "", ""))
    slots: Sequence[str] = ()
    first_week_ms: int = 0
    weeks: int = 20
    past: deque[Wish] = field(default_factory=lambda: deque(maxlen=50))

    async def once(self) -> None:
        booking = await self._booked()
        if booking is None:
            return
        if self.chance.random() < PAYS:
            await self._pay(booking)
        elif self.chance.random() < CANCELS:
            reply = await self.insist("cancel", f"{BOOKINGS}/{booking}/cancel", {}, key=self.account.key)
            self._note(reply)
        self._note(await self.ask("read a booking", f"{BOOKINGS}/{booking}", key=self.account.key))

    async def _booked(self) -> str | None:
        """The id of a new booking, if one was answered."""
        wish = self._wish()
        self.answers.wishes.add(wish)
        reply = await self._reserve(wish)
        if reply is None or reply.status != 200:
            return None
        booking = self._note_status(reply)
        self.answers.booked[wish].add(booking)
        return booking

    async def _reserve(self, wish: Wish) -> Reply | None:
        return await self.insist("reserve", BOOKINGS, body_of(wish), key=self.account.key)

    async def _pay(self, booking: str) -> None:
        opened = await self.insist("check out", f"{BOOKINGS}/{booking}/checkout", {}, key=self.account.key)
        if opened is None or opened.status != 200:
            return
        page = urlsplit(opened.json()["checkoutUrl"]).path
        for _ in range(10):
            paid = await self.ask("pay", page, b"do=pay", headers=FORM)
            if paid is not None and paid.status == 200:
                if b"<h1>Paid" in paid.body:
                    self.answers.statuses.append(Status(booking, "paid"))
                break

    def _note(self, reply: Reply | None) -> None:
        if reply is not None and reply.status == 200:
            self._note_status(reply)

    def _note_status(self, reply: Reply) -> str:
        booking = reply.json()["booking"]
        self.answers.statuses.append(Status(booking["id"], booking["status"]))
        return str(booking["id"])

    def _wish(self) -> Wish:
        """Return a new wish, an earlier one, or an old key with another booking."""
        fresh = Wish(
            self.account.tenant,
            str(uuid.UUID(int=self.chance.getrandbits(128))),
            self.account.campaign,
            self.chance.choice(self.slots),
            self.first_week_ms + self.chance.randrange(self.weeks) * WEEK_MS,
        )
        kind = self.chance.random()
        if not self.past or kind > AGAIN + REUSED:
            self.past.append(fresh)
            return fresh
        old = self.chance.choice(self.past)
        return old if kind < AGAIN else Wish(old.account, old.idempotency_key, old.campaign, fresh.slot, fresh.week_ms)
