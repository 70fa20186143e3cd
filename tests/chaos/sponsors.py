"""Sponsors: they reserve weeks under new and used idempotency keys, check out, pay in test mode, or cancel."""

import uuid
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit

from actors.times import WEEK_MS
from tests.chaos.caller import Caller
from tests.chaos.history import Wish

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
class Payer(Caller):
    """A client that books and pays in test mode."""

    async def booked(self, wish: Wish, key: str) -> str | None:
        """The id of the booking, if one was answered."""
        self.answers.wishes.add(wish)
        reply = await self.insist("reserve", BOOKINGS, body_of(wish), key=key)
        if reply is None or reply.status != 200:
            return None
        booking = str(reply.json()["booking"]["id"])
        self.answers.booked[wish].add(booking)
        return booking

    async def pay(self, booking: str, key: str) -> None:
        self.answers.checked_out[booking] = key
        opened = await self.insist("check out", f"{BOOKINGS}/{booking}/checkout", {}, key=key)
        if opened is None or opened.status != 200:
            return
        page = urlsplit(opened.json()["checkoutUrl"]).path
        for _ in range(10):
            paid = await self.ask("pay", page, b"do=pay", headers=FORM)
            if paid is not None and paid.status == 200:
                if b"<h1>Paid" in paid.body:
                    self.answers.paid.add(booking)
                break


@dataclass(slots=True)
class Sponsor(Payer):
    """A member of an account who books."""

    name: ClassVar[str] = "sponsor"

    account: Account = field(default_factory=lambda: Account("", "", ""))
    slots: Sequence[str] = ()
    first_week_ms: int = 0
    weeks: int = 20
    past: deque[Wish] = field(default_factory=lambda: deque(maxlen=50))

    async def once(self) -> None:
        booking = await self.booked(self._wish(), self.account.key)
        if booking is None:
            return
        path, key = f"{BOOKINGS}/{booking}", self.account.key
        if self.chance.random() < PAYS:
            await self.pay(booking, key)
        elif self.chance.random() < CANCELS:
            await self.insist("cancel", f"{path}/cancel", {}, key=key)
        await self.ask("read a booking", path, key=key)

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
