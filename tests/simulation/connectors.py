"""Programs that people allow: each exchanges its code, refreshes its key's text and uses it, in good and in bad ways."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.clock import DAY_MS, SECOND_MS
from actors.keys import authorizations
from actors.keys.actor import Issued
from actors.keys.authorizer import Tokens
from actors.values import Refused, Scope
from tests.simulation import people
from tests.simulation.clients import Client, Holding
from tests.simulation.history import Exchange, Renewal
from tests.simulation.rules import LIFE_SECONDS, RULES

if TYPE_CHECKING:
    from tests.simulation.node import Node

CALLBACK, ELSEWHERE = "http://127.0.0.1:8123/callback", "https://elsewhere.example.com/mcp"
SCOPES = (Scope.LIBRARY_READ, Scope.KEYS_MANAGE)
CODE_SECONDS, TEXT_SECONDS, REPEAT_SECONDS = (
    life_ms / SECOND_MS for life_ms in (RULES.code_life_ms, RULES.access_life_ms, RULES.refresh_repeat_ms)
)
KEY_SECONDS = (8, 600, 600)
"""Seconds after which the key of a program ends, drawn at random."""


@dataclass(eq=False)
class Program:
    """A program with its code, what it proves, the browser of the person who allowed it, and its tokens, newest last."""

    about: Exchange
    browser: people.Browser
    tokens: list[Tokens] = field(default_factory=list)

    @property
    def now(self) -> Tokens:
        return self.tokens[-1]


def stranger(me: Client) -> authorizations.Client:
    """A program that nobody has met: one with a document or, until midnight, one that registered 30 days before it."""
    if me.node().clock.now_ms() < me.world.turn_ms and me.chance(0.4):
        client = registered(me, 30)
        me.world.board.registered.append(client)
        return client
    number = me.world.board.numbered()
    return authorizations.Client(f"https://program-{number}.example.com/client", f"Program {number}", CALLBACK)


def registered(me: Client, days: int) -> authorizations.Client:
    """A program that registered so many days before the midnight of the run."""
    number, issued_ms = me.world.board.numbered(), me.world.turn_ms - days * DAY_MS
    client_id = me.node().services.clients.registered.register(f"Program {number}", [CALLBACK], issued_ms, number)
    me.world.programs.registrations[client_id] = issued_ms
    return authorizations.Client(client_id, f"Program {number}", CALLBACK)


# Requests.


async def allow(
    me: Client,
    browser: people.Browser,
    scopes: tuple[Scope, ...] = SCOPES,
    client: authorizations.Client | None = None,
) -> Program | None:
    """Allow a program, by default one that nobody has met."""
    client = client or stranger(me)
    verifier = f"{me.random.getrandbits(256):064x}"
    challenge, seconds = hashlib.sha256(verifier.encode()).digest(), me.random.choice(KEY_SECONDS)
    code = await me.ask("allow", lambda node: node.identity.allow(browser.token, client, challenge, scopes, seconds))
    return Program(Exchange(code, client.id, verifier, CALLBACK), browser) if isinstance(code, str) else None


async def exchange(me: Client, program: Program, node: "Node | None" = None, **wrong: Any) -> Any:
    about = replace(program.about, **wrong)
    answer = await me.ask("exchange", lambda node: node.identity.exchange(about), node)
    if isinstance(answer, Tokens):
        program.tokens.append(answer)
    return answer


async def refresh(me: Client, program: Program, token: str, node: "Node | None" = None, **wrong: Any) -> Any:
    about = replace(Renewal(token, program.about.client_id), **wrong)
    answer = await me.ask("refresh", lambda node: node.identity.refresh(about), node)
    if isinstance(answer, Tokens) and answer.access_token not in [each.access_token for each in program.tokens]:
        program.tokens.append(answer)
    return answer


async def end(me: Client, program: Program, token: str, node: "Node | None" = None, client_id: str = "") -> Any:
    about = Renewal(token, client_id or program.about.client_id)
    return await me.ask("end token", lambda node: node.identity.end_token(about), node)


async def read(me: Client, program: Program, last: int = 2) -> None:
    """Use the last texts on all nodes at once."""
    texts = [each.access_token for each in program.tokens[-last:]]
    await me.at_once(*[partial(me.read, text, node) for text in texts for node in me.world.nodes])


async def renewed(me: Client, program: Program) -> bool:
    """Refresh until there is an answer. Returns whether there are new tokens."""
    token = program.now.refresh_token
    for _ in range(3):
        answer = await refresh(me, program, token)
        if isinstance(answer, Tokens | Refused):
            return isinstance(answer, Tokens)
        await me.think(0.1)
    return False


# Ways with a code.


async def _gives_proof(me: Client, program: Program) -> None:
    await exchange(me, program)


async def _gives_wrong_proofs(me: Client, program: Program) -> None:
    """At times the right one before or after, which the wrong ones do not change."""
    wrong: list[dict[str, Any]] = [
        {"verifier": "another"},
        {"client_id": "https://thief.example.com/client"},
        {"redirect_uri": f"{CALLBACK}/"},
        {"resource": ELSEWHERE},
        {"code": "aco_unknown"},
    ]
    for each in me.random.sample(wrong, 3):
        await exchange(me, program, **each)
    await exchange(me, program)
    if program.tokens:
        await exchange(me, program, client_id="https://thief.example.com/client")


async def _comes_twice(me: Client, program: Program) -> None:
    """On all nodes at once, or again later, and then again."""
    if me.chance(0.5):
        await me.at_once(*[partial(exchange, me, program, node) for node in me.world.nodes])
    else:
        await exchange(me, program)
        await read(me, program)
        await me.think(0.6)
        await exchange(me, program, verifier="another" if me.chance(0.3) else program.about.verifier)
    await _seen_to_end(me, program)


async def _comes_late(me: Client, program: Program) -> None:
    await trio.sleep(CODE_SECONDS + me.random.uniform(-1.0, 2.0))
    await exchange(me, program)


# Ways with a key.


async def _goes_on(me: Client, program: Program) -> None:
    """Refresh and use the last two texts, now and once no node may remember the older one."""
    for _ in range(me.random.randint(1, 4)):
        await read(me, program, 1)
        if not await renewed(me, program):
            return
        await read(me, program)
        await me.think(0.5)
    await trio.sleep(LIFE_SECONDS / 2 + 0.2)
    await read(me, program)


async def _rests(me: Client, program: Program) -> None:
    """Use a text around its end, and then the next one."""
    await read(me, program)
    await trio.sleep(TEXT_SECONDS + me.random.uniform(-1.0, 1.0))
    await read(me, program)
    if await renewed(me, program):
        await read(me, program)


async def _repeats(me: Client, program: Program) -> None:
    """The same refresh token on all nodes at once, again at the edge of its time, and then once more."""
    token = program.now.refresh_token
    await me.at_once(*[partial(refresh, me, program, token, node) for node in me.world.nodes])
    await trio.sleep(me.random.choice((0.2, 0.5, REPEAT_SECONDS + me.random.uniform(-1.0, 1.5))))
    await refresh(me, program, token)
    await read(me, program)
    await trio.sleep(REPEAT_SECONDS + people.SKEWS_SECONDS)
    await refresh(me, program, token)
    await _seen_to_end(me, program)


async def _goes_back(me: Client, program: Program) -> None:
    """An older refresh token, as a thief has it."""
    token = program.now.refresh_token
    if await renewed(me, program) and await renewed(me, program):
        await read(me, program, 3)
        await refresh(me, program, token)
        await _seen_to_end(me, program)


async def _asks_for_more(me: Client, program: Program) -> None:
    token = program.now.refresh_token
    await refresh(me, program, token, scopes=(Scope.LIBRARY_READ, Scope.BILLING_WRITE))
    await refresh(me, program, token, resource=ELSEWHERE)
    await refresh(me, program, token, client_id="https://thief.example.com/client")
    await refresh(me, program, token, scopes=(Scope.LIBRARY_READ,))
    await read(me, program)


async def _leaves(me: Client, program: Program) -> None:
    """End the key by any of its tokens; another client does not."""
    await read(me, program)
    node = me.node()
    tokens = program.now.access_token, program.now.refresh_token
    await end(me, program, me.random.choice(tokens), node, client_id="https://thief.example.com/client")
    await me.at_once(
        *[partial(end, me, program, me.random.choice(tokens), node)] * me.random.choice((1, 1, 2)),
        *[partial(me.resolve, program.now.access_token, node) for node in me.world.nodes],
    )
    await _seen_to_end(me, program)


async def _is_revoked(me: Client, program: Program) -> None:
    """By its owner, at times while it refreshes."""
    key_id, token = program.now.key.id, program.browser.token
    revoke = partial(me.ask, "revoke key", lambda node: node.identity.revoke_key(token, key_id))
    await me.at_once(revoke, *([partial(renewed, me, program)] if me.chance(0.6) else []))
    await renewed(me, program)
    await _move_end(me, program, 60)
    await _seen_to_end(me, program)


async def _gets_another_end(me: Client, program: Program) -> None:
    """Its owner moves its end, at times while it refreshes, and again after it."""
    await me.at_once(
        partial(_move_end, me, program, me.random.choice((1, 2, 3, 60, None))), partial(renewed, me, program)
    )
    for _ in range(3):
        await people.use(me, program.browser)
        await read(me, program)
        await me.think(0.7)
    await renewed(me, program)
    await _move_end(me, program, 60)


async def _move_end(me: Client, program: Program, seconds: int | None) -> None:
    node, key_id, token = me.node(), program.now.key.id, program.browser.token
    end_ms = None if seconds is None else node.clock.now_ms() + seconds * SECOND_MS
    await me.ask("move end", lambda node: node.identity.move_end(token, key_id, end_ms), node)


async def _grants(me: Client, program: Program) -> None:
    """Grant a key, which ends with the one that granted it, in any of the ways in which that ends."""
    name, key = f"granted-{me.world.board.numbered()}", program.now.key
    issued = await me.ask("issue", lambda node: node.identity.grant(key, program.browser.email, name))
    await me.random.choice((_leaves, _goes_back, _comes_again))(me, program)
    if isinstance(issued, Issued):
        await me.at_once(*[partial(me.resolve, issued.api_key, node) for node in me.world.nodes])


async def _comes_again(me: Client, program: Program) -> None:
    await exchange(me, program)


async def _seen_to_end(me: Client, program: Program) -> None:
    """Use the texts now, and once no node may remember them."""
    await read(me, program)
    await trio.sleep(LIFE_SECONDS + 0.1)
    texts = [each.access_token for each in program.tokens[-2:]]
    await me.at_once(*[partial(me.resolve, text, node) for text in texts for node in me.world.nodes])


Way = Callable[[Client, Program], Awaitable[None]]
CODES: tuple[Way, ...] = (*[_gives_proof] * 7, _gives_wrong_proofs, _comes_twice, _comes_late)
KEYS: tuple[Way, ...] = (
    _goes_on,
    _goes_on,
    _rests,
    _repeats,
    _repeats,
    _goes_back,
    _asks_for_more,
    _leaves,
    _is_revoked,
    _gets_another_end,
    _grants,
)


# Kinds.


async def connector(me: Client) -> None:
    """Allows a few programs, each of which goes its own way."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    if browser is not None:
        await me.at_once(*[partial(_connect, me, browser)] * me.random.randint(1, RULES.scoped_keys_per_account))


async def _connect(me: Client, browser: people.Browser) -> None:
    program = await allow(me, browser)
    if program is None:
        return
    await me.random.choice(CODES)(me, program)
    if program.tokens:
        now = program.now
        me.world.board.holdings.append(Holding(now.access_token, now.key.id, now.key.tenant_id))
        await me.random.choice(KEYS)(me, program)


async def leaver(me: Client) -> None:
    """Allows a program, and ends the session before it comes or while it does; then another."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    program = None if browser is None else await allow(me, browser)
    if browser is None or program is None:
        return
    if me.chance(0.5):
        await people.end(me, browser)
        await exchange(me, program)
    else:
        nodes = me.world.nodes[:2]
        await me.at_once(
            partial(people.end, me, browser),
            *[partial(exchange, me, program, node) for node in nodes],
            *[partial(allow, me, browser)] * 4,
        )


async def suspect(me: Client) -> None:
    """Is suspended before its program has exchanged its code or while it does, and restored again."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    program = None if browser is None else await allow(me, browser)
    if browser is None or program is None:
        return
    email, node = browser.email, me.node()
    suspend = partial(me.ask, "suspend", lambda node: node.identity.suspend(email))
    exchanges = [partial(exchange, me, program, each) for each in me.world.nodes]
    if me.chance(0.5):
        await suspend()
        await me.at_once(*exchanges, partial(allow, me, browser))
    else:
        await me.at_once(partial(suspend, node), *exchanges, partial(allow, me, browser))
    await me.ask("suspend", lambda node: node.identity.suspend(email, restore=True))
    await exchange(me, program)
    another = await allow(me, browser)
    if another is not None:
        await exchange(me, another)


async def registrant(me: Client) -> None:
    """Asks with programs that registered long ago: used ones, and one that was not. At midnight, that one is forgotten."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    known = [*me.world.board.registered[-4:], registered(me, me.random.choice((30, 29, 0)))]
    for client in me.random.sample(known, min(3, len(known))) if browser is not None else ():
        assert browser is not None
        program = await allow(me, browser, client=client)
        if program is not None:
            await exchange(me, program)
        await me.think(0.4)


async def collector(me: Client) -> None:
    """Allows more programs than may wait or than an account may have keys, and as many as it may create in a day."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    if browser is None:
        return
    if me.chance(0.4):
        for _ in range(8):
            await me.at_once(*[partial(allow, me, browser)] * 3)
        return
    rounds = me.random.choice((1, 4))
    for _ in range(rounds):
        programs = [await allow(me, browser) for _ in range(RULES.scoped_keys_per_account + 1)]
        live = [each for each in programs if each is not None]
        await me.at_once(*[partial(exchange, me, each) for each in live])
        await allow(me, browser)
        for each in live if rounds > 1 else ():
            if each.tokens:
                await end(me, each, each.now.refresh_token)


CROWD: tuple[tuple[Callable[[Client], Awaitable[None]], int], ...] = (
    (connector, 3),
    (leaver, 1),
    (suspect, 1),
    (registrant, 2),
    (collector, 1),
)
