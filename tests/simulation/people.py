"""The people of the simulated world. They sign in with codes from their mailbox, repeat requests, mistype and give up."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.clock import SECOND_MS
from actors.keys.actor import Issued
from actors.keys.messages import KeySaved as KeptKey
from actors.sessions.actor import StartedSession, StartedSignIn
from actors.shared.credentials import BROWSER_TOKEN, ENTROPY_BYTES
from actors.values import Code, OutboxMessage, Refused
from tests.simulation.clients import Client, Holding
from tests.simulation.rules import DEVICES, NETWORKS, SESSIONS

if TYPE_CHECKING:
    from tests.simulation.node import Node

SKEWS_SECONDS = 2.0
"""More than the difference between any two clocks."""
PAUSE_SECONDS = SESSIONS.letters.pause_ms / SECOND_MS
LIFE_SECONDS = SESSIONS.life_ms / SECOND_MS


@dataclass(frozen=True, slots=True, eq=False)
class Browser:
    """A browser with a session."""

    token: str
    session_id: str
    email: str


# Signing in.


async def ask_code(me: Client, email: str, node: "Node | None" = None) -> Any:
    browser = me.browser
    answer = await me.ask("ask code", lambda node: node.identity.ask_code(email, browser, me.network), node)
    if isinstance(answer, StartedSignIn):
        me.browser = answer.browser
    return answer


async def try_code(me: Client, email: str, code: str, node: "Node | None" = None) -> Any:
    return await try_code_in(me, me.browser, email, code, node)


async def try_code_in(me: Client, browser: str | None, email: str, code: str, node: "Node | None" = None) -> Any:
    return await me.ask("sign in", lambda node: node.identity.sign_in(email, code, browser, me.network), node)


def letters_to(me: Client, email: str) -> Sequence[OutboxMessage]:
    """The letters in a mailbox, newest last."""
    return me.world.post.letters(email)


async def code_for(me: Client, email: str) -> str | None:
    """Ask for codes until a letter arrives. It may be an older one that was late."""
    before = len(letters_to(me, email))
    me.world.board.asking.append(email)
    for _ in range(3):
        await ask_code(me, email)
        for _ in range(8):
            await me.think(0.08)
            if len(letters_to(me, email)) > before:
                return me.world.code_of(letters_to(me, email)[-1])
        await trio.sleep(PAUSE_SECONDS)
    return None


async def sign_in(me: Client, email: str) -> Browser | None:
    """Sign in with a code from the mailbox. Retry with the same code if the answer was lost."""
    code = await code_for(me, email)
    for attempt in range(3 if code is not None else 0):
        answer = await try_code(me, email, code or "")
        if isinstance(answer, StartedSession | Refused):
            kind = "refused" if isinstance(answer, Refused) else "begun"
            me.world.count(f"signed in again after a lost answer: {kind}", attempt > 0)
            return begun(me, answer)
        await me.think(0.1)
    return None


def begun(me: Client, answer: Any) -> Browser | None:
    if not isinstance(answer, StartedSession):
        return None
    browser = Browser(answer.token, answer.session.id, answer.session.email)
    me.world.board.browsers.append(browser)
    return browser


def wrong(me: Client, code: str) -> str:
    """Another code."""
    return f"{(int(code) + me.random.randint(1, 999_999)) % 1_000_000:06d}"


async def use(me: Client, browser: Browser, node: "Node | None" = None) -> Any:
    return await me.ask("list sessions", lambda node: node.identity.list_sessions(browser.token), node)


async def end(me: Client, browser: Browser, session_id: str | None = None, node: "Node | None" = None) -> Any:
    return await me.ask("end session", lambda node: node.identity.end_session(browser.token, session_id), node)


# Kinds.


async def visitor(me: Client) -> None:
    """Signs in, keeps a session alive by using it, and leaves in one of several ways."""
    browser = await sign_in(me, f"reader-{me.random.randint(0, 2)}@example.org")
    if browser is None:
        return
    for _ in range(me.random.randint(2, 9)):
        await me.think(0.5)
        if isinstance(await use(me, browser), Refused):
            return
    way = me.random.choice((_stays_away, _signs_out, _ends_another, _ends_another, _meddles))
    await way(me, browser)
    await me.at_once(*[partial(use, me, browser, node) for node in me.world.nodes])


async def _stays_away(me: Client, browser: Browser) -> None:
    await trio.sleep(LIFE_SECONDS + me.random.uniform(-0.5, SKEWS_SECONDS))


async def _signs_out(me: Client, browser: Browser) -> None:
    await me.at_once(*[partial(end, me, browser, None, node) for node in me.world.nodes])


async def _ends_another(me: Client, browser: Browser) -> None:
    others = [each for each in me.world.board.browsers if each.email == browser.email and each is not browser]
    for other in others[-2:]:
        await end(me, browser, other.session_id)
        await use(me, other)


async def _meddles(me: Client, browser: Browser) -> None:
    for other in me.world.board.browsers[-4:]:
        if other.email != browser.email:
            await end(me, browser, other.session_id)
    await end(me, browser, "ses_of_nobody")
    await me.ask("enter", lambda node: node.identity.enter(browser.token[:-1] + "?"))
    await me.ask("enter", lambda node: node.identity.enter(browser.token[:-2] + "00"))


async def guesser(me: Client) -> None:
    """Guesses in turn or at once, fewer or more times than allowed; then gives the right code."""
    email = f"{me.name}-{me.random.randint(0, 4)}@example.org"
    code = await code_for(me, email)
    if code is None:
        await try_code(me, "nobody@example.org", "000000")
        return
    guesses = [partial(try_code, me, email, wrong(me, code)) for _ in range(me.random.randint(1, 5))]
    if me.chance(0.5):
        await me.at_once(*guesses)
    else:
        for guess in guesses:
            await guess()
    begun(me, await try_code(me, email, code))
    if me.chance(0.3):
        await trio.sleep(SESSIONS.codes.life_ms / SECOND_MS)
        await try_code(me, email, code)


async def stranger(me: Client) -> None:
    """Asks for codes of other people and guesses at them: in the own browser, without one, and with an invented one."""
    email = me.random.choice(me.world.board.asking[-4:] or ["nobody@example.org"])
    for _ in range(me.random.randint(1, 3)):
        await ask_code(me, email)
        tokens = [me.browser, None, BROWSER_TOKEN.new(me.random.randbytes(ENTROPY_BYTES))]
        guesses = [partial(try_code_in, me, me.random.choice(tokens), email, "000000") for _ in range(6)]
        await me.at_once(*guesses)
        for letter in letters_to(me, email)[-1:]:
            # Even the right code is of no use in another browser.
            await try_code_in(me, tokens[-1], email, me.world.code_of(letter))
        await me.think(0.4)


async def hurried(me: Client) -> None:
    """Sends the right code several times at once, and then asks for two codes and gives the first."""
    email = f"{me.name}-{me.random.randint(0, 3)}@example.org"
    code = await code_for(me, email)
    if code is not None:
        await me.at_once(*[partial(try_code, me, email, code, node) for node in me.world.nodes] * 2)
    first = await code_for(me, email)
    second = await code_for(me, email)
    for each in (first, second):
        if each is not None:
            await try_code(me, email, each)


async def late(me: Client) -> None:
    """Gives a code around the time it expires."""
    email = f"{me.name}-{me.random.randint(0, 3)}@example.org"
    code = await code_for(me, email)
    if code is not None:
        await trio.sleep(SESSIONS.codes.life_ms / SECOND_MS - me.random.uniform(0.0, 1.6))
        begun(me, await try_code(me, email, code))


async def hoarder(me: Client) -> None:
    """Exceeds the number of sessions per account, using the first ones in between."""
    email = f"{me.name}-{me.world.board.numbered()}@example.org"
    browsers: list[Browser] = []
    for _ in range(SESSIONS.per_account + 3):
        browser = await sign_in(me, email)
        if browser is not None:
            browsers.append(browser)
            await use(me, me.random.choice(browsers[:2]))
    for browser in browsers:
        await use(me, browser)


async def flooder(me: Client) -> None:
    """Asks for more codes than allowed per day, some too soon, and at times from a network that used a code before."""
    email = f"{me.name}-{me.random.randint(0, 9)}@example.org"
    networks = [me.network] if me.chance(0.5) else NETWORKS
    known = me.chance(0.5) and await sign_in(me, email) is not None
    for _ in range(SESSIONS.letters.per_network + (6 if known else 2)):
        me.network = me.random.choice(networks)
        await me.at_once(*[partial(ask_code, me, email)] * me.random.choice((1, 1, 2)))
        await trio.sleep(PAUSE_SECONDS)
    for letter in letters_to(me, email)[-2:]:
        await try_code(me, email, me.world.code_of(letter))


async def clerk(me: Client) -> None:
    """Creates keys, repeating the request at times, up to the maximum; shows them and revokes some."""
    browser = await sign_in(me, f"clerk-{me.random.randint(0, 2)}@example.org")
    if browser is None:
        return
    count = me.random.randint(1, 4)
    wanted = [(f"{me.random.getrandbits(128):032x}", f"key-{me.world.board.numbered()}") for _ in range(count)]
    mine: list[Holding] = []
    for key, name in wanted:
        await _create(me, browser, key, name, mine)
    await me.at_once(*[partial(me.resolve, holding.text, node) for holding in mine for node in me.world.nodes])
    for key in await _keys(me, browser):
        if me.chance(0.6):
            await _revoke(me, browser, key.id, mine)
    for key, name in wanted:
        await me.think(0.1)
        await _create(me, browser, key, name, mine)
    for holding in mine:
        await me.read(holding.text)
    for other in me.world.board.holdings[-3:]:
        if mine and other.tenant_id != mine[0].tenant_id:
            await me.ask("revoke another's", partial(_revoke_another, browser.token, other.key_id))
    late = [(f"{me.random.getrandbits(128):032x}", f"key-{me.world.board.numbered()}") for _ in range(4)]
    await me.at_once(
        partial(me.ask, "end session", lambda node: node.identity.end_session(browser.token)),
        *[partial(_create, me, browser, key, name, mine) for key, name in late],
    )


async def _create(me: Client, browser: Browser, key: str, name: str, mine: list[Holding]) -> None:
    """Create a key under an idempotency key: once, several times at once, or once more after a while."""

    async def create() -> None:
        issued = await me.ask("create key", lambda node: node.identity.create_key(browser.token, key, name))
        if isinstance(issued, Issued):
            holding = Holding(issued.api_key, issued.key.id, issued.key.tenant_id, email=browser.email)
            mine.append(holding)
            me.world.board.holdings.append(holding)

    await me.at_once(*[create] * me.random.choice((1, 2, 2, 3)))
    if me.chance(0.4):
        await me.think(0.3)
        await create()


async def _keys(me: Client, browser: Browser) -> Any:
    keys = await me.ask("list keys", lambda node: node.identity.list_keys(browser.token))
    return keys if isinstance(keys, list) else []


async def _revoke(me: Client, browser: Browser, key_id: str, mine: list[Holding]) -> None:
    answer = await me.ask("revoke", lambda node: node.identity.revoke_key(browser.token, key_id))
    if isinstance(answer, KeptKey):
        for holding in (each for each in mine if each.key_id == key_id):
            me.world.board.changed.append(holding)
            await me.at_once(*[partial(me.resolve, holding.text, node) for node in me.world.nodes])


async def _revoke_another(token: str, key_id: str, node: "Node") -> Any:
    return await node.identity.revoke_key(token, key_id, own=False)


async def decider(me: Client) -> None:
    """Views and decides device logins, at times twice at once or against an earlier decision."""
    browser = await sign_in(me, f"clerk-{me.random.randint(0, 2)}@example.org")
    for _ in range(6):
        await me.think(0.3)
        codes = me.world.board.user_codes[-6:]
        if browser is None or not codes or not me.awake:
            return
        typed = me.random.choice(codes)
        await look(me, browser, typed.lower())
        approve = me.chance(0.75)
        decisions = [partial(decide, me, browser, typed, node, approve=approve) for node in me.world.nodes]
        answers = await _all(me, decisions[: me.random.choice((1, 1, 3))])
        if any(isinstance(answer, Refused) and answer.code is Code.UNAUTHORIZED for answer in answers):
            return
        if me.chance(0.3):
            await decide(me, browser, typed.replace("-", " "), approve=not approve)


async def _all(me: Client, asks: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    answers: list[Any] = []

    async def one(ask: Callable[[], Awaitable[Any]]) -> None:
        answers.append(await ask())

    await me.at_once(*[partial(one, ask) for ask in asks])
    return answers


async def mistyper(me: Client) -> None:
    """Types wrong user codes until the form is locked, views a right one in between, and tries again."""
    browser = await sign_in(me, f"{me.name}-{me.random.randint(0, 2)}@example.org")
    if browser is None or not me.world.board.user_codes:
        return
    wrong_ones = [f"BBBB-BB{letters}" for letters in ("BB", "BC", "BD", "CB", "CC", "CD")]
    if me.chance(0.4):
        await me.at_once(*[partial(look, me, browser, typed) for typed in wrong_ones])
    else:
        for typed in wrong_ones[: DEVICES.wrong_codes - me.random.choice((0, 0, 1))]:
            await look(me, browser, me.world.board.user_codes[-1])
            if me.chance(0.3):
                await decide(me, browser, typed, approve=True)
            else:
                await look(me, browser, typed)
            if me.chance(0.15):
                await decide(me, browser, me.world.board.user_codes[-1], approve=False)
    await look(me, browser, me.world.board.user_codes[-1])
    await decide(me, browser, me.world.board.user_codes[-1], approve=True)
    for _ in range(4):
        await trio.sleep(DEVICES.lock_ms / SECOND_MS / 3)
        await look(me, browser, me.world.board.user_codes[-1])


async def look(me: Client, browser: Browser, typed: str) -> Any:
    return await me.ask("look at device", lambda node: node.identity.look_at_device(browser.token, typed))


async def decide(me: Client, browser: Browser, typed: str, node: "Node | None" = None, *, approve: bool) -> Any:
    return await me.ask(
        "decide device", lambda node: node.identity.decide_device(browser.token, typed, approve=approve), node
    )
