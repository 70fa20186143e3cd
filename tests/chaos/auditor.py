"""The end of a run, when all is well: what clients were told is asked for once more, so that the history tells what became
of it."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

import trio

from actors.events.messages import Event, Unit
from tests.acceptance.clients import Reply
from tests.chaos.caller import Caller
from tests.chaos.history import OTHER, Answers, Key, Wish
from tests.chaos.setting import ADMIN, Setting
from tests.chaos.sponsors import BOOKINGS, body_of
from tests.chaos.websites import BATCH, client_of, note_events, unit_of
from tests.chaos.websites import body_of as event_body

ASKERS = 4
TRIES = 20
PAGE = 50
"""Bookings of a page."""
EVENTS, BATCH_SIZE = 20_000, 50
"""The most events that are reported again, and those of a request."""


@dataclass(slots=True)
class Auditor(Caller):
    """Uses keys, sessions and idempotency keys again, and reads bookings with their documents and days."""

    name = "auditor"

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of accounts by their tenants."""

    async def surely(
        self,
        what: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply | None:
        """Ask until there is an answer other than 503. Notes if there is none."""
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
        await self.surely("use a session", "/api/v1/auth/sessions", headers={"cookie": f"session={token}"})

    async def report_again(self, events: Sequence[Event], site: str) -> None:
        """Events of one unit: those that were recorded are dropped, unless one was lost."""
        headers = {} if site == OTHER else {"origin": f"https://{site}"}
        path = BATCH + ("?unit=day" if unit_of(events[0]) is Unit.DAY else "")
        body = {"events": [event_body(event) | client_of(event) for event in events]}
        note_events(self.answers, events, await self.surely("report again", path, body, headers=headers))

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
    jobs += [partial(Auditor.report_again, events=events, site=site) for events, site in _batches(answers)]
    await _all(auditors, jobs)
    await _all(auditors, [partial(Auditor.list_all, key=setting.accounts[0].key)])
    for _ in range(2):
        jobs = [partial(Auditor.read, booking=booking, key=key) for booking, key in answers.checked_out.items()]
        await _all(auditors, jobs)


def _batches(answers: Answers) -> Iterator[tuple[Sequence[Event], str]]:
    """The newest events that were sent, by website and unit; none of the unit day if some nodes counted it by another."""
    alike: defaultdict[tuple[str, Unit], list[Event]] = defaultdict(list)
    for event, site in [*answers.events.items()][-EVENTS:]:
        if unit_of(event) is Unit.DEVICE or not answers.unit_ignored:
            alike[site, unit_of(event)].append(event)
    for (site, _), events in alike.items():
        yield from ((events[at : at + BATCH_SIZE], site) for at in range(0, len(events), BATCH_SIZE))


async def _all(auditors: Sequence[Auditor], jobs: list[Job]) -> None:
    """Share the jobs among auditors, each of which asks one thing after another."""

    async def work(auditor: Auditor) -> None:
        with closing(auditor):
            while jobs:
                await jobs.pop()(auditor)

    async with trio.open_nursery() as nursery:
        for auditor in auditors:
            nursery.start_soon(work, auditor)
