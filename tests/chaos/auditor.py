"""The end of a run, when all is well: what clients were told is asked for once more, so that the history tells what became
of it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import trio

from tests.acceptance.clients import Reply
from tests.chaos.caller import Caller
from tests.chaos.history import Answers, Key, Wish
from tests.chaos.setting import ADMIN, Setting
from tests.chaos.sponsors import BOOKINGS, body_of

ASKERS = 4
TRIES = 20
PAGE = 50
"""Bookings of a page."""


@dataclass(slots=True)
class Auditor(Caller):
    """Uses keys, sessions and idempotency keys again, and reads bookings with their documents and days."""

    name = "auditor"

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of accounts by their tenants."""

    async def surely(
        self, what: str, path: str, body: object = None, *, key: str | None = None, session: str = ""
    ) -> Reply | None:
        """Ask until there is an answer other than 503. Notes if there is none."""
        headers = {"cookie": f"session={session}"} if session else {}
        for _ in range(TRIES):
            reply = await self.ask(what, path, body, key=key, headers=headers)
            if reply is not None and reply.status != 503:
                return reply
            await self.think()
        self.answers.unanswered.append(f"{what}: {path}")
        return None

    async def use_key(self, key: Key) -> None:
        reply = await self.surely("use a key", "/api/v1/usage", key=key.text)
        key.owner = reply.json().get("email", "") if reply is not None and reply.status == 200 else ""

    async def use_session(self, token: str) -> None:
        await self.surely("use a session", "/api/v1/auth/sessions", session=token)

    async def wish_again(self, wish: Wish) -> None:
        """The same request has the same outcome, as it is now."""
        await self.surely("reserve again", BOOKINGS, body_of(wish), key=self.keys[wish.account])

    async def list_all(self, key: str) -> None:
        """Read all bookings, also those that nobody was told of."""
        path: str | None = f"{ADMIN}/bookings?limit={PAGE}"
        while path is not None:
            reply = await self.surely("list all bookings", path, key=key)
            page = reply.json() if reply is not None and reply.status == 200 else {"hasMore": False}
            path = f"{ADMIN}/bookings?limit={PAGE}&cursor={page['cursor']}" if page["hasMore"] else None

    async def read(self, booking: str, key: str) -> None:
        """Only between two equal answers about its money, the documents of a booking are compared with it."""
        path = f"{BOOKINGS}/{booking}"
        for each in ("", "/invoice", "/delivery", ""):
            await self.surely("read a booking to its end", path + each, key=key)


Job = Callable[[Auditor], Awaitable[object]]


async def audit(nodes: Mapping[int, str], answers: Answers, setting: Setting) -> None:
    """Ask for everything, and twice for bookings with documents: only then a missing number is proven."""
    keys = {account.tenant: account.key for account in setting.accounts}
    auditors = [Auditor(nodes, answers, keys=keys) for _ in range(ASKERS)]
    jobs: list[Job] = [partial(Auditor.use_key, key=key) for key in answers.keys.values()]
    jobs += [partial(Auditor.use_session, token=token) for token in answers.sessions]
    jobs += [partial(Auditor.wish_again, wish=wish) for wish in answers.booked]
    await _all(auditors, jobs)
    await _all(auditors, [partial(Auditor.list_all, key=setting.accounts[0].key)])
    for _ in range(2):
        jobs = [partial(Auditor.read, booking=booking, key=key) for booking, key in answers.checked_out.items()]
        await _all(auditors, jobs)


async def _all(auditors: Sequence[Auditor], jobs: list[Job]) -> None:
    """Share the jobs among auditors, each of which asks one thing after another."""

    async def work(auditor: Auditor) -> None:
        with closing(auditor):
            while jobs:
                await jobs.pop()(auditor)

    async with trio.open_nursery() as nursery:
        for auditor in auditors:
            nursery.start_soon(work, auditor)
