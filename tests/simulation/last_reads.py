"""Reads after the clients of a run are done, so that its history has all that it leaves: people and the catalog."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from actors.bookings.invoices import Invoice
from actors.bookings.records import Booking
from actors.clock import SECOND_MS
from actors.devices.actor import RedeemedKey, StartedLogin
from actors.keys.actor import Issued, Minted
from actors.keys.authorizer import Tokens
from actors.keys.messages import Rotated
from actors.sessions.actor import StartedSession
from service.snapshots.change_log import ChangePage
from tests.doubles.invoices import of_booking
from tests.doubles.tables import Memory
from tests.simulation import gadgets, people
from tests.simulation.clients import Client
from tests.simulation.history import Exchange, Renewal
from tests.simulation.rules import DEVICES, RULES, SESSIONS

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

OVER_SECONDS = 8.2
"""After that, sessions, device logins and the texts of programs have ended on each node."""
MOST = 1_000
"""Bookings that the last reads show, and documents of each."""
GRACE_SECONDS = 10
"""How long a program's key works after its account has rotated it: longer than one of its texts."""
PROGRAMS = 12
"""How many programs try what must not work."""
LEAVERS = 6
"""How many sessions end while they are used."""

Chain = tuple[Exchange, list[Tokens]]
"""A code that a program exchanged, with its tokens, oldest first."""


class Glance(NamedTuple):
    """A booking with its documents, as they were at a tick."""

    tick: int
    seconds: float
    booking: Booking
    invoices: Sequence[Invoice]


@dataclass(slots=True, eq=False)
class Glances:
    """A reader without a network, who looks after each transaction of the ledger at the bookings that it has changed."""

    seen: list[Glance] = field(default_factory=list)
    _known: dict[str, Booking] = field(default_factory=dict)

    def note(self, memory: Memory, tick: int, seconds: float) -> None:
        for booking in memory.bookings.values():
            if self._known.get(booking.id) is not booking:
                self._known[booking.id] = booking
                documents = of_booking(memory, booking.tenant_id, booking.id, MOST)
                self.seen.append(Glance(tick, seconds, booking, tuple(documents)))


async def of_people(world: "World", reader: Client) -> None:
    """Try ended sessions, logins and tokens on all nodes."""
    for number, chain in enumerate(_chains(world)[-PROGRAMS:]):
        await _come_again(world, reader, chain, number)
    await _last_login(world, reader)
    await _last_visit(world, reader)
    await _leave_at_the_end(world, reader)
    await reader.at_once(*[partial(_leave_while_used, world, reader, number) for number in range(LEAVERS)])
    await trio.sleep(OVER_SECONDS)
    for request in tuple(world.history.requests):
        match request.result:
            case StartedLogin(device_code=code):
                await gadgets.poll_with(reader, code)
            case StartedSession(token=token, session=session):
                await people.use(reader, people.Browser(token, session.id, session.email))
            case Tokens(access_token=text):
                await reader.read(text)


def _chains(world: "World") -> list[Chain]:
    """The programs that have tokens."""
    found: dict[str, Chain] = {}
    chains: list[Chain] = []
    told = sorted([*world.history.of("exchange"), *world.history.of("refresh")], key=lambda each: each.began)
    for operation in told:
        match operation.about, operation.result:
            case Exchange() as about, Tokens() as tokens:
                chains.append((about, [tokens]))
                found[tokens.refresh_token] = chains[-1]
            case Renewal(token=token), Tokens() as tokens if token in found and tokens.refresh_token not in found:
                found[token][1].append(tokens)
                found[tokens.refresh_token] = found[token]
    return chains


async def _come_again(world: "World", reader: Client, chain: Chain, number: int) -> None:
    """End a key: by a token that is given up, with a key that it granted, or by an older token or a code that comes again, at
    times after its account has rotated it. Then refresh it."""
    about, tokens = chain
    while len(tokens) < 3 and isinstance(newer := await _refresh(reader, tokens[-1], about), Tokens):
        tokens.append(newer)
    newest = Renewal(tokens[-1].refresh_token, about.client_id)
    match number % 4:
        case 0:
            key = tokens[0].key
            email = next(each.email for each in world.memory.accounts.values() if each.tenant_id == key.tenant_id)
            await reader.ask("issue", lambda node: node.identity.grant(key, email, f"last-{number}"))
            await reader.ask("end token", lambda node: node.identity.end_token(newest))
        case 1:
            await reader.ask("exchange", lambda node: node.identity.exchange(about))
        case 2:
            await _refresh(reader, tokens[0], about)
        case _:
            await _rotate_and_come_again(world, reader, chain)
    await _refresh(reader, tokens[-1], about)


async def _rotate_and_come_again(world: "World", reader: Client, chain: Chain) -> None:
    """Refresh a key, rotate it in a session, so that its newest text still works, and send an older token. Use the text
    until it ends."""
    about, tokens = chain
    tenant_id = tokens[0].key.tenant_id
    email = next(each.email for each in world.memory.accounts.values() if each.tenant_id == tenant_id)
    browser = await people.sign_in(reader, email)
    fresh = await _refresh(reader, tokens[-1], about)
    if browser is None or not isinstance(fresh, Tokens):
        return
    tokens.append(fresh)
    token, key = browser.token, fresh.key
    await reader.ask("rotate", lambda node: node.identity.rotate(token, key, GRACE_SECONDS, f"last-{key.id}"))
    await _refresh(reader, tokens[0], about)
    ended = trio.current_time()
    while trio.current_time() < ended + RULES.access_life_ms / SECOND_MS:
        await trio.sleep(0.3)
        await reader.at_once(*[partial(reader.read, fresh.access_token, node) for node in world.nodes])


async def _refresh(reader: Client, tokens: Tokens, about: Exchange) -> Any:
    renewal = Renewal(tokens.refresh_token, about.client_id)
    return await reader.ask("refresh", lambda node: node.identity.refresh(renewal))


async def _last_login(world: "World", reader: Client) -> None:
    """Poll a login on all nodes at once, and around its end on one after the other."""
    login, began = await gadgets.begin(reader), trio.current_time()
    if login is None:
        return
    for _ in range(4):
        await reader.at_once(*[partial(gadgets.poll, reader, login, node) for node in world.nodes])
    await trio.sleep_until(began + DEVICES.life_ms / SECOND_MS - 1.0)
    while trio.current_time() < began + DEVICES.life_ms / SECOND_MS + 1.0:
        for node in world.nodes:
            await gadgets.poll(reader, login, node)
        await trio.sleep(0.1)


async def _last_visit(world: "World", reader: Client) -> None:
    """Sign in, sign out where the clock is ahead while the session is used, and use it on all nodes, now and later."""
    browser = await people.sign_in(reader, "last@example.org")
    if browser is None:
        return
    by_clock = sorted(world.nodes, key=lambda node: node.clock.now_ms())
    uses = [partial(people.use, reader, browser, node) for node in by_clock]
    await reader.at_once(partial(people.end, reader, browser, node=by_clock[-1]), *uses * 4)
    for _ in range(2):
        for use in uses:
            await use()
        await trio.sleep(0.5)


async def _leave_while_used(world: "World", reader: Client, number: int) -> None:
    """Sign in, sign out where the clock is behind while the session is used where it is ahead, and use it again."""
    browser = await people.sign_in(reader, f"last-{number}@example.org")
    if browser is None:
        return
    # A use is noted only so long after the one before.
    await trio.sleep(SESSIONS.touch_ms / SECOND_MS)
    by_clock = sorted(world.nodes, key=lambda node: node.clock.now_ms())

    async def use() -> None:
        await trio.sleep(number / 200)
        await people.use(reader, browser, by_clock[-1])

    await reader.at_once(partial(people.end, reader, browser, node=by_clock[0]), use)
    await trio.sleep(0.1)
    await people.use(reader, browser, by_clock[-1])


async def _leave_at_the_end(world: "World", reader: Client) -> None:
    """Sign in twice, end the first session where it is over by the clock, and use it where the clock is behind."""
    first = await people.sign_in(reader, "end@example.org")
    await trio.sleep(people.PAUSE_SECONDS)
    second = await people.sign_in(reader, "end@example.org")
    if first is None or second is None:
        return
    by_clock = sorted(world.nodes, key=lambda node: node.clock.now_ms())
    ends_ms = world.memory.sessions[first.session_id].expires_ms
    await trio.sleep(max(ends_ms - by_clock[-1].clock.now_ms(), 0) / SECOND_MS)
    await people.end(reader, second, first.session_id, by_clock[-1])
    await people.use(reader, first, by_clock[0])


async def of_catalog(world: "World", reader: Client) -> None:
    """Read all changes on each node, and all entries as they are stored."""
    for node in world.nodes:
        after, page = 0, None
        while page is None or (isinstance(page, ChangePage) and page.more):
            page = await reader.ask("changes", partial(_changes, after), node)
            after = page.last if isinstance(page, ChangePage) else after
    world.looks.note(world.memory.catalog, world.history.tick(), trio.current_time(), all=True)


async def _changes(after: int, node: "Node") -> Any:
    return await node.desk.changes(after)


def told_keys(world: "World") -> Iterator[tuple[str, str, str | None]]:
    """The keys that clients were told: the id and the text of each, and the id of the one that it replaces."""
    for request in world.history.requests:
        match request.result:
            case Minted(api_key=text, key=key) | Issued(api_key=text, key=key) | RedeemedKey(api_key=text, key=key):
                yield key.id, text, None
            case Tokens(access_token=text, key=key):
                yield key.id, text, None
            case (str() as text, Rotated(key=key, old=old)):
                yield key.id, text, old.id
