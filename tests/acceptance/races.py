"""Sponsors that race for the same weeks on any number of nodes, with repeated and reused idempotency keys.

A client repeats a request until it gets a response. Afterwards every response is compared with the stored bookings.
"""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import trio

from tests.acceptance.clients import Reply, Torn, Unanswered, Wire
from tests.acceptance.processes import Service

ACCOUNTS, CLIENTS, SLOTS = 4, 64, 8
HELD = {"reserved", "checkout", "paid", "refunding"}
ANSWERED = {"200", "409 slot_unavailable", "409 idempotency_conflict"}
NOT_ANSWERED = {"503 service_unavailable", "lost"}
AGAIN_SECONDS = 0.02


@dataclass(slots=True)
class Account:
    """A sponsor with its campaign and the bodies its clients have sent."""

    key: str
    campaign: str = ""
    sent: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Race:
    """State shared by all clients. `answers` are pairs of a body and its response, None if that was lost."""

    urls: Sequence[str]
    weeks: Sequence[int]
    accounts: Sequence[Account]
    attempts: int = 30
    seed: int = 0
    on_answer: Callable[[], None] = lambda: None
    answers: list[tuple[Account, dict[str, Any], Reply | None]] = field(default_factory=list)

    async def run(self) -> None:
        """Run all clients to their end."""
        async with trio.open_nursery() as nursery:
            for number in range(CLIENTS):
                account = self.accounts[number % len(self.accounts)]
                nursery.start_soon(_Client(self, account, random.Random(f"client {number} of {self.seed}")).run)

    def note(self, account: Account, body: dict[str, Any], reply: Reply | None) -> None:
        self.answers.append((account, body, reply))
        if reply is not None:
            self.on_answer()


@dataclass(slots=True)
class _Client:
    """Switches to another node when its connection breaks."""

    race: Race
    account: Account
    chance: random.Random
    wire: Wire | None = None

    async def run(self) -> None:
        for _ in range(self.race.attempts):
            body = self._body()
            with trio.fail_after(60):
                while (reply := await self._asked(body)) is None or reply.status == 503:
                    await trio.sleep(AGAIN_SECONDS)
        if self.wire is not None:
            self.wire.close()

    def _body(self) -> dict[str, Any]:
        """A new body, a repeated one, or an old key with a new body."""
        sent, chance = self.account.sent, self.chance
        fresh = {
            "campaignId": self.account.campaign,
            "slotId": f"slot-{chance.randrange(SLOTS)}",
            "weekStart": chance.choice(self.race.weeks),
            "idempotencyKey": str(uuid.UUID(int=chance.getrandbits(128))),
        }
        kind = chance.random()
        if not sent or kind < 0.6:
            sent.append(fresh)
            return fresh
        old = chance.choice(sent)
        return old if kind < 0.9 else fresh | {"idempotencyKey": old["idempotencyKey"]}

    async def _asked(self, body: dict[str, Any]) -> Reply | None:
        reply = None
        self.wire = self.wire or await self._connected()
        try:
            reply = await self.wire.post("/api/v1/sponsors/bookings", body, self.account.key)
        except (Unanswered, Torn):
            self.wire.close()
            self.wire = None
        self.race.note(self.account, body, reply)
        return reply

    async def _connected(self) -> Wire:
        while True:
            with suppress(OSError):
                return await Wire.open(self.chance.choice(self.race.urls))
            await trio.sleep(AGAIN_SECONDS)


def accounts(service: Service) -> list[Account]:
    """Create sponsors, each with a profile and a campaign, and slots. The first sponsor is an administrator."""
    emails = [f"sponsor-{number}@example.com" for number in range(ACCOUNTS)]
    service.command("grant-admin", emails[0])
    with ThreadPoolExecutor(len(emails)) as pool:
        options = [("--admin",), *[()] * (len(emails) - 1)]
        issue = partial(service.command, "issue-key", "--email")
        keys = list(pool.map(lambda email, more: issue(email, *more).strip(), emails, options))
    racing = [Account(key) for key in keys]
    with httpx.Client(base_url=service.url, trust_env=False) as http:
        for number in range(SLOTS):
            slot = {"id": f"slot-{number}", "name": f"Slot {number}", "side": "left", "weekPriceCents": 1_000}
            _sent(http, racing[0], "POST", "/api/v1/admin/sponsorships/slots", slot)
        for number, account in enumerate(racing):
            profile = {"name": f"Example {number}", "website": "https://example.com/"}
            _sent(http, account, "PATCH", "/api/v1/sponsors/profile", profile)
            campaign = {
                "name": "Race",
                "headline": "A race",
                "body": "For weeks.",
                "cta": "Go",
                "targetUrl": "https://example.com/",
                "logoText": "R",
            }
            created = _sent(http, account, "POST", "/api/v1/sponsors/campaigns", campaign)
            account.campaign = created["campaign"]["id"]
    return racing


def _sent(http: httpx.Client, account: Account, method: str, path: str, body: object = None) -> Any:
    answer = http.request(method, path, json=body, headers={"authorization": f"Bearer {account.key}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def bookings_of(url: str, racing: Sequence[Account]) -> list[dict[str, Any]]:
    """All bookings of the race, as an administrator sees them."""
    campaigns = {account.campaign for account in racing}
    return [each for each in _pages(url, racing[0]) if each["campaignId"] in campaigns]


def _pages(url: str, admin: Account) -> Iterator[dict[str, Any]]:
    with httpx.Client(base_url=url, trust_env=False, timeout=15.0) as http:
        cursor = None
        while True:
            query = "?limit=50" + (f"&cursor={cursor}" if cursor else "")
            page = _sent(http, admin, "GET", f"/api/v1/admin/sponsorships/bookings{query}")
            yield from page["items"]
            cursor = page["cursor"]
            if cursor is None:
                return


def judge(race: Race, bookings: Sequence[dict[str, Any]]) -> Counter[str]:
    """Compare every response with the stored bookings. Returns the number of responses by code."""
    sold = Counter((each["slotName"], each["weekStart"]) for each in bookings if each["status"] in HELD)
    assert len(sold) > SLOTS * len(race.weeks) * 0.8, "the race hardly took place"
    assert sold.most_common(1)[0][1] == 1, f"sold twice: {sold.most_common(3)}"
    there = {each["id"]: each for each in bookings}
    outcomes: dict[tuple[str, str], set[str]] = {}
    answers: dict[tuple[str, ...], set[str]] = {}
    codes: Counter[str] = Counter()
    for account, body, reply in race.answers:
        code = "lost" if reply is None else f"{reply.status} {reply.error}".strip()
        codes[code] += 1
        answers.setdefault((account.key, *map(str, body.values())), set()).add(code)
        if reply is not None and reply.status == 200:
            booking = reply.json()["booking"]
            stored = there[booking["id"]]
            assert (stored["weekStart"], stored["campaignId"]) == (body["weekStart"], body["campaignId"])
            assert stored["slotName"] == body["slotId"].replace("slot-", "Slot ")
            outcomes.setdefault((account.key, body["idempotencyKey"]), set()).add(booking["id"])
    assert all(len(ids) == 1 for ids in outcomes.values()), "a key with two outcomes"
    assert there.keys() == {next(iter(ids)) for ids in outcomes.values()}, "there is what nobody was answered"
    assert not [each for each in answers.values() if "200" in each and each & ANSWERED != {"200"}], (
        "one request, two answers"
    )
    assert set(codes) <= ANSWERED | NOT_ANSWERED
    assert min(codes["200"], codes["409 slot_unavailable"], codes["409 idempotency_conflict"]) > 0, codes
    return codes
