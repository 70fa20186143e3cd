"""The devices of the simulated world: programs that ask for a key, show a user code and poll, each at its own pace."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.clock import SECOND_MS
from actors.devices.actor import RedeemedKey, StartedLogin
from actors.devices.codes import format_code
from actors.keys.actor import Issued
from actors.values import Code, Refused
from tests.simulation import people
from tests.simulation.clients import Client, Holding, watcher
from tests.simulation.rules import DEVICES

if TYPE_CHECKING:
    from tests.simulation.node import Node

LIFE_SECONDS = DEVICES.life_ms / SECOND_MS
WAITING = (Code.AUTHORIZATION_PENDING, Code.SLOW_DOWN)


async def begin(me: Client) -> StartedLogin | None:
    """A login whose user code is visible to all clients."""
    started = await me.ask("begin device", lambda node: node.identity.begin_device(f"{me.name}/1.0"))
    if not isinstance(started, StartedLogin):
        return None
    me.world.board.user_codes.append(format_code(started.device.user_code))
    return started


async def poll(me: Client, login: StartedLogin, node: "Node | None" = None) -> Any:
    return await poll_with(me, login.device_code, node)


async def poll_with(me: Client, device_code: str, node: "Node | None" = None) -> Any:
    answer = await me.ask("poll", lambda node: node.identity.poll(device_code), node)
    if isinstance(answer, RedeemedKey):
        me.world.board.holdings.append(Holding(answer.api_key, answer.key.id, answer.key.tenant_id))
    return answer


def is_over(answer: Any) -> bool:
    """Return whether polling has ended."""
    return isinstance(answer, RedeemedKey) or (isinstance(answer, Refused) and answer.code not in WAITING)


async def steady(me: Client) -> None:
    """Poll as instructed until there is a key or a refusal; share the key, and poll once more."""
    login = await begin(me)
    seconds, answer = float(DEVICES.interval_seconds), None
    while login is not None and me.awake and not is_over(answer):
        await trio.sleep(seconds + me.random.uniform(0.0, 0.3))
        answer = await poll(me, login)
        if isinstance(answer, Refused) and answer.interval_seconds is not None:
            # A longer wait would not end within the short run.
            seconds = min(float(answer.interval_seconds), 1.5)
    if isinstance(answer, RedeemedKey):
        await me.at_once(*[partial(me.resolve, answer.api_key, node) for node in me.world.nodes])
        await me.read(answer.api_key)
    if login is not None:
        await poll(me, login)


async def twin(me: Client) -> None:
    """Poll on all nodes at once."""
    login = await begin(me)
    for _ in range(8):
        if login is None or not me.awake:
            return
        await me.think(0.8)
        await me.at_once(*[partial(poll, me, login, node) for node in me.world.nodes])


async def hasty(me: Client) -> None:
    """Poll as fast as possible until the interval has reached its maximum, and a little longer."""
    login = await begin(me)
    if login is None:
        return
    for _ in range(18):
        await poll(me, login)
    await trio.sleep(DEVICES.interval_seconds)
    await poll(me, login)


async def forgetful(me: Client) -> None:
    """Poll once or never, and return just before or after the login expires."""
    login = await begin(me)
    if login is None:
        return
    if me.chance(0.5):
        await poll(me, login)
    await trio.sleep(LIFE_SECONDS - me.random.uniform(-0.3, 1.2))
    await me.at_once(*[partial(poll, me, login, node) for node in me.world.nodes])
    await poll_with(me, f"{login.device_code[:-2]}00")
    await poll_with(me, "no code at all")


async def lapsing(me: Client) -> None:
    """Approve a login, let it expire on all but the slowest clock, give its place to another key, then poll."""
    browser = await people.sign_in(me, f"{me.name}-{me.world.board.numbered()}@example.org")
    if browser is None:
        return
    keys: list[Holding] = []
    for _ in range(DEVICES.full_keys_per_account - 1):
        await _one_more_key(me, browser, keys)
    login, began = await begin(me), trio.current_time()
    if login is None:
        return
    by_clock = sorted(me.world.nodes, key=lambda node: node.clock.now_ms())
    await people.decide(me, browser, login.device.user_code, approve=True)
    while trio.current_time() < began + LIFE_SECONDS - 1.0:
        await trio.sleep(1.0)
        await people.use(me, browser)
    while trio.current_time() < began + LIFE_SECONDS + 1.0 and len(keys) < DEVICES.full_keys_per_account:
        await me.think(0.1)
        if not await _one_more_key(me, browser, keys, by_clock[-1]):
            return
    await poll(me, login, by_clock[0])


async def _one_more_key(me: Client, browser: people.Browser, keys: list[Holding], node: "Node | None" = None) -> bool:
    """Create a key. Returns False if the session has ended."""
    name, key = f"key-{me.world.board.numbered()}", f"{me.random.getrandbits(128):032x}"
    issued = await me.ask("create key", lambda node: node.identity.create_key(browser.token, key, name), node)
    if isinstance(issued, Issued):
        keys.append(Holding(issued.api_key, issued.key.id, issued.key.tenant_id, email=browser.email))
    return not (isinstance(issued, Refused) and issued.code is Code.UNAUTHORIZED)


CROWD: tuple[tuple[Callable[[Client], Awaitable[None]], int], ...] = (
    (people.visitor, 3),
    (people.guesser, 1),
    (people.hurried, 1),
    (people.late, 1),
    (people.hoarder, 1),
    (people.flooder, 1),
    (people.stranger, 2),
    (people.clerk, 2),
    (people.decider, 3),
    (people.mistyper, 1),
    (steady, 2),
    (twin, 1),
    (hasty, 1),
    (forgetful, 1),
    (lapsing, 1),
    (watcher, 1),
)
