"""The clients of the simulated world. Each has a kind and a random stream of its own.

A client draws only from its own stream and reaches nodes only through requests. What several clients share is on the
board.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import trio

from actors.keys.actor import Issued, Minted
from actors.keys.messages import Claimed, KeySaved
from actors.shared.credentials import digest
from actors.values import OutboxMessage, Refused, Tier
from tests.simulation.history import Complete
from tests.simulation.rules import LIFE_SECONDS, NETWORKS, RULES

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

WRONG_CODE = "no code"


@dataclass(eq=False)
class Holding:
    """A key that a client holds, with its claim token if it has one. The key may have changed its account since."""

    text: str
    key_id: str
    tenant_id: str
    token: str = ""
    email: str = ""


@dataclass(eq=False)
class Board:
    """Values that clients share with each other, newest last."""

    holdings: list[Holding] = field(default_factory=list)
    hot: list[Holding] = field(default_factory=list)
    emails: list[str] = field(default_factory=list)
    changed: list[Holding] = field(default_factory=list)
    # For sponsorship: full keys and campaigns by email, and other ids that may be used.
    sponsor_keys: dict[str, list[Holding]] = field(default_factory=dict)
    campaigns: dict[str, list[str]] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    bookings: list[str] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    wishes: list[tuple[Holding, Any]] = field(default_factory=list)
    scoped: list[Holding] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    named: int = 0
    # For websites: placements seen, visitors, and campaigns with their accounts.
    seen: list[str] = field(default_factory=list)
    visitors: list[str] = field(default_factory=list)
    advertised: list[tuple[str, str]] = field(default_factory=list)
    # For people: browsers that are or were signed in, and user codes shown by devices.
    browsers: list[Any] = field(default_factory=list)
    user_codes: list[str] = field(default_factory=list)
    # Programs that registered long ago, and that somebody has met.
    registered: list[Any] = field(default_factory=list)
    # Emails that somebody is signing in with.
    asking: list[str] = field(default_factory=list)

    def numbered(self) -> int:
        """Return a number that no other client has drawn."""
        self.named += 1
        return self.named


class Client:
    """One caller of the service."""

    def __init__(self, world: "World", name: str, live: Callable[["Client"], Awaitable[None]]) -> None:
        self.world = world
        self.name = name
        self.random = Random(f"{world.seed}-client-{name}")
        self._live = live
        self.network = self.random.choice(NETWORKS)
        self.browser: str | None = None
        """The token that the client's browser got with its first code."""

    @property
    def awake(self) -> bool:
        return trio.current_time() < self.world.seconds

    async def run(self) -> None:
        await self.think()
        while self.awake:
            await self._live(self)
            await self.think()
        # Every client ends with one served request, which the oracle requires. All at once may fill a mailbox.
        while await self.mint() is None and trio.current_time() < self.world.seconds + 3.0:
            await self.think()

    async def think(self, seconds: float = 0.3) -> None:
        await trio.sleep(self.random.uniform(0.0, 2 * seconds))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def node(self) -> "Node":
        return self.random.choice(self.world.nodes)

    async def ask(self, kind: str, serve: Callable[["Node"], Awaitable[Any]], node: "Node | None" = None) -> Any:
        """Send one request to `node`, or to a random one."""
        node = node or self.node()
        history = self.world.history
        return await history.request(self.name, node.name, kind, partial(self.world.request, node, serve))

    async def at_once(self, *work: Callable[[], Awaitable[Any]]) -> None:
        async with trio.open_nursery() as nursery:
            for each in work:
                nursery.start_soon(each)

    # Requests.

    async def mint(self) -> Holding | None:
        minted = await self.ask("mint", lambda node: node.mint())
        if not isinstance(minted, Minted):
            return None
        holding = Holding(minted.api_key, minted.key.id, minted.key.tenant_id, minted.claim_token)
        self.world.board.holdings.append(holding)
        return holding

    async def read(self, text: str, node: "Node | None" = None) -> Any:
        usecase, fails = self.chance(0.4), self.chance(0.2)
        return await self.ask("read", lambda node: node.read(text, usecase=usecase, fails=fails), node)

    async def resolve(self, text: str, node: "Node | None" = None) -> Any:
        return await self.ask("resolve", lambda node: node.resolve(text), node)

    async def start(self, token: str, email: str) -> Any:
        return await self.ask("start", lambda node: node.start_claim(token, email))

    async def complete(self, token: str, email: str, letter: OutboxMessage | None, node: "Node | None" = None) -> Any:
        code = WRONG_CODE if letter is None else self.world.code_of(letter)
        about = Complete(token, email, letter)
        return await self.ask("complete", lambda node: node.complete_claim(about, code), node)

    async def complete_until_answered(self, holding: Holding, email: str, letter: OutboxMessage) -> Any:
        """Repeat after each lost answer, as the service allows."""
        for _ in range(5):
            answer = await self.complete(holding.token, email, letter)
            if isinstance(answer, Claimed | Refused):
                break
            await self.think(0.1)
        if isinstance(answer, Claimed):
            holding.email = email
            self.world.board.changed.append(holding)
            self.world.board.emails.append(email)
        return answer

    async def mail(self, holding: Holding, email: str) -> OutboxMessage | None:
        """Ask for a code until one is in the mail, checking the mail in between."""
        for _ in range(3):
            await self.start(holding.token, email)
            for _ in range(5):
                await self.think(0.15)
                letter = self.world.letter_for(holding.token, email)
                if letter is not None:
                    return letter
            await self.think(0.3)
        return None

    async def issue(
        self, email: str, *, scoped: bool = False, admin: bool = False, node: "Node | None" = None
    ) -> Holding | None:
        issued = await self.ask("issue", lambda node: node.issue(email, scoped=scoped, admin=admin), node)
        if not isinstance(issued, Issued):
            return None
        self.world.board.emails.append(email)
        return Holding(issued.api_key, issued.key.id, issued.key.tenant_id, email=email)


# Kinds.


async def agent(me: Client) -> None:
    """Mint a key and read with it until it is used up, expired or revoked."""
    holding = await me.mint()
    refusals = 0
    while holding is not None and me.awake and refusals < 4:
        answer = await me.read(holding.text)
        refusals += isinstance(answer, Refused)
        await me.think(0.15)


async def hot_reader(me: Client) -> None:
    """Read in bursts with a shared key. Create a new shared account when there is none or it is used up."""
    hot = me.world.board.hot
    if not hot:
        await _heat(me)
        return
    key = me.random.choice(hot[-2:])
    answers: list[Any] = []

    async def read() -> None:
        answers.append(await me.read(key.text))

    await me.at_once(*[read] * me.random.randint(1, 4))
    if any(isinstance(answer, Refused) for answer in answers) and me.chance(0.15):
        await _heat(me)


async def _heat(me: Client) -> None:
    holding = await me.issue(f"hot-{len(me.world.board.hot)}@example.org")
    if holding is not None:
        me.world.board.hot.append(holding)
        me.world.board.holdings.append(holding)


async def claimer(me: Client) -> None:
    """Read a little, claim the key in one of several ways, and read on."""
    holding = await me.mint()
    if holding is None:
        return
    for _ in range(me.random.randint(0, 5)):
        await me.read(holding.text)
    email = f"{me.random.choice(('ann', 'bob', 'cleo'))}-{me.random.randint(0, 2)}@example.org"
    letter = await me.mail(holding, email)
    if letter is None:
        return
    way = me.random.choice((_honest, _honest, _twice_at_once, _guessing, _guessing_at_once, _other_email, _too_late))
    await way(me, holding, email, letter)
    for _ in range(me.random.randint(0, 4)):
        await me.think(0.2)
        await me.read(holding.text)


async def _honest(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    answer = await me.complete_until_answered(holding, email, letter)
    if isinstance(answer, Claimed) and me.chance(0.5):
        await me.complete(holding.token, email, letter)
        await me.start(holding.token, email)
        await me.complete(holding.token, "thief@example.org", None)


async def _twice_at_once(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    twice = [partial(me.complete, holding.token, email, letter, node) for node in me.world.nodes]
    looks = [partial(me.resolve, holding.text, node) for node in me.world.nodes]
    await me.at_once(*twice, *looks)
    await me.complete_until_answered(holding, email, letter)


async def _guessing(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    for _ in range(me.random.randint(3, 6)):
        await me.complete(holding.token, email, None)
    await me.complete_until_answered(holding, email, letter)


async def _guessing_at_once(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    guesses = [partial(me.complete, holding.token, email, None) for _ in range(me.random.randint(3, 9))]
    await me.at_once(*guesses)
    await me.complete_until_answered(holding, email, letter)


async def _other_email(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    """Try the code of one email with another, then request a code for the other, which invalidates the first."""
    other = f"other-{email}"
    await me.complete(holding.token, other, letter)
    newer = await me.mail(holding, other)
    await me.complete(holding.token, email, letter)
    if newer is not None:
        await me.complete_until_answered(holding, other, newer)


async def _too_late(me: Client, holding: Holding, email: str, letter: OutboxMessage) -> None:
    """Request more codes than a day allows, and use the last one after it has expired."""
    for _ in range(4):
        await me.start(holding.token, email)
        await trio.sleep(RULES.codes.pause_ms / 1_000 + 0.1)
    letter = me.world.letter_for(holding.token, email) or letter
    await trio.sleep(RULES.codes.life_ms / 1_000)
    await me.complete(holding.token, email, letter)


async def family(me: Client) -> None:
    """Claim several keys with one email at once on all nodes: covers merges and the limit on keys."""
    email = f"{me.name}-{me.random.randint(0, 1)}@example.org"
    members = [each for each in [await me.mint() for _ in range(me.random.randint(2, 4))] if each is not None]
    for member in members:
        for _ in range(me.random.randint(1, 3)):
            await me.read(member.text)
    letters = [(member, await me.mail(member, email)) for member in members]
    claims = [partial(me.complete_until_answered, member, email, letter) for member, letter in letters if letter]
    readers = [partial(me.read, member.text) for member in members]
    await me.at_once(*claims, *readers)
    for member in members:
        await me.read(member.text)


async def revoker(me: Client) -> None:
    """Revoke keys while others look them up on the same node; check at once and later that they are gone."""
    node = me.node()
    holdings = [each for each in [await me.mint() for _ in range(4)] if each is not None]
    if me.world.board.holdings:
        holdings.append(me.random.choice(me.world.board.holdings[-8:]))
    await me.at_once(*[partial(_overtake, me, holding, node) for holding in holdings])
    await me.think(0.3)
    await me.at_once(*[partial(me.resolve, holding.text, node) for holding in holdings])
    if me.chance(0.1):
        await me.ask("revoke", lambda node: node.revoke("key_of_nobody"))


async def _overtake(me: Client, holding: Holding, node: "Node") -> None:
    async def look() -> None:
        await me.think(0.01)
        await me.resolve(holding.text, node)

    async def revoke() -> None:
        await me.think(0.02)
        answer = await me.ask("revoke", partial(_revoke, holding), node)
        if isinstance(answer, KeySaved):
            me.world.board.changed.append(holding)
            # Rarely: a look-up now would repair what an older look-up, still in flight, leaves behind.
            if me.chance(0.2):
                await me.resolve(holding.text, node)

    await me.at_once(look, revoke)


async def patient(me: Client) -> None:
    """Show keys to all nodes, revoke them on one, and check again once no node may remember them."""
    holdings = [each for each in [await me.mint() for _ in range(5)] if each is not None]
    for holding in holdings:
        await me.at_once(*[partial(me.resolve, holding.text, node) for node in me.world.nodes])
    for holding in holdings:
        await me.ask("revoke", partial(_revoke, holding))
    await trio.sleep(LIFE_SECONDS + 0.1)
    for holding in holdings:
        await me.at_once(*[partial(me.resolve, holding.text, node) for node in me.world.nodes])


async def _revoke(holding: Holding, node: "Node") -> Any:
    """Revoke a key, or report its text as found in public."""
    return await (node.report(holding) if digest(holding.text)[0] % 2 else node.revoke(holding.key_id))


async def tierer(me: Client) -> None:
    """Upgrade and downgrade accounts."""
    await me.think()
    email = me.random.choice(me.world.board.emails[-6:] or ["nobody@example.org"])
    if me.chance(0.1):
        email = "nobody@example.org"
    tier = me.random.choice((Tier.CLAIMED, Tier.UPGRADED))
    await me.ask("tier", lambda node: node.set_tier(email, tier))


async def issuer(me: Client) -> None:
    """Ask for more full and scoped keys at once than an account may have."""
    email = me.random.choice(("ann-0@example.org", "bob-1@example.org", f"firm-{me.random.randint(0, 99)}@example.org"))
    scoped, node = me.chance(0.5), me.node()

    async def one() -> None:
        holding = await me.issue(email, scoped=scoped, node=node)
        if holding is not None:
            me.world.board.holdings.append(holding)

    await me.at_once(*[one] * me.random.randint(1, 6))
    await me.think(0.5)


async def watcher(me: Client) -> None:
    """Look up new keys and keys changed a while ago: each answer has to be fresh enough."""
    board = me.world.board
    candidates = board.changed[-12:] if me.chance(0.3) else board.holdings[-15:]
    if candidates:
        await me.resolve(me.random.choice(candidates).text)


async def stranger(me: Client) -> None:
    """Ask for things that do not exist."""
    await me.start("clm_unknown", "thief@example.org")
    holding = await me.mint()
    if holding is not None:
        await me.complete(holding.token, "thief@example.org", None)
        await me.read(holding.text)
    await me.read("cs_anon_nonsense")
    await me.think(1.0)


CROWD: tuple[tuple[Callable[[Client], Awaitable[None]], int], ...] = (
    (agent, 3),
    (hot_reader, 3),
    (claimer, 4),
    (family, 1),
    (revoker, 1),
    (patient, 2),
    (tierer, 1),
    (issuer, 1),
    (watcher, 1),
    (stranger, 1),
)
