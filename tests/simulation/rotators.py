"""Clients that rotate keys and move their ends, with the old key, the new one and all nodes."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from actors.clock import SECOND_MS
from actors.keys.actor import Issued
from actors.keys.messages import KeySaved, Rotated
from actors.values import Refused
from tests.simulation.clients import Client, Holding
from tests.simulation.history import EndAt, Rotate
from tests.simulation.rules import LIFE_SECONDS

if TYPE_CHECKING:
    from tests.simulation.node import Node

GRACES = (0, 1, 1, 2)
"""Seconds that the old key works, drawn at random."""


async def _issued(me: Client) -> Holding | None:
    """A full key of an account of its own."""
    email = f"rotor-{me.world.board.numbered()}@example.org"
    issued = await me.ask("issue", lambda node: node.issue(email, scoped=False))
    return (
        Holding(issued.api_key, issued.key.id, issued.key.tenant_id, email=email)
        if isinstance(issued, Issued)
        else None
    )


async def rotator(me: Client) -> None:
    """Rotate a key again and again, on any node, while it is used everywhere; at times twice at once, or revoke the first."""
    first = holding = await _issued(me)
    while holding is not None and me.awake:
        await me.at_once(*[partial(me.read, holding.text, node) for node in me.world.nodes])
        about = Rotate(holding.key_id, holding.email, me.random.choice(GRACES), f"{me.world.board.numbered()}")
        fresh: list[Holding] = []

        async def turn(about: Rotate = about, old: Holding = holding, fresh: list[Holding] = fresh) -> None:
            answer = await me.ask("rotate", partial(_rotate, about))
            if isinstance(answer, tuple) and isinstance(answer[1], Rotated):
                fresh.append(replace(old, text=answer[0], key_id=answer[1].key.id))

        # A second rotation under the same idempotency key, or under another.
        other = about if me.chance(0.5) else replace(about, key=f"{me.world.board.numbered()}")
        await me.at_once(turn, *([partial(turn, other)] if me.chance(0.3) else []))
        users = [holding, *fresh]
        for _ in range(me.random.randint(1, 3)):
            await me.at_once(*[partial(me.read, user.text, node) for user in users for node in me.world.nodes[:2]])
            await me.think(0.4)
        if first is not None and me.chance(0.15):
            await me.ask("revoke", lambda node: node.revoke(first.key_id))
            await trio.sleep(LIFE_SECONDS / 2)
            await me.at_once(*[partial(me.resolve, user.text, node) for user in users for node in me.world.nodes])
            return
        holding = fresh[0] if fresh else None


async def mover(me: Client) -> None:
    """Give a key an end, use it until then, and ask for a later end, which a key never gets for itself."""
    holding = await _issued(me)
    if holding is None:
        return
    node = me.node()
    for seconds in (me.random.randint(2, 4), 1, 30, None):
        end_ms = None if seconds is None else node.clock.now_ms() + seconds * SECOND_MS
        about = EndAt(holding.key_id, holding.email, end_ms)
        answer = await me.ask("edit", partial(_edit, about), node if me.chance(0.5) else None)
        if not isinstance(answer, KeySaved | Refused):
            return
        await me.at_once(*[partial(me.read, holding.text, each) for each in me.world.nodes])
        await me.think(0.4)
    await trio.sleep(2.0)
    await me.at_once(*[partial(me.read, holding.text, each) for each in me.world.nodes])


async def night_reader(me: Client) -> None:
    """Read just before midnight, so that some requests fail after it, and again once every clock is past it."""
    turn = (me.world.turn_ms - me.world.base_ms) / SECOND_MS
    if trio.current_time() > turn - 0.4:
        await me.think(3.0)
        return
    await trio.sleep_until(turn - 0.4)
    holding = await _issued(me)
    if holding is None:
        return
    text = holding.text

    async def read(node: "Node", seconds: float, *, fails: bool) -> None:
        await trio.sleep_until(turn + seconds)
        await me.ask("read", lambda node: node.read(text, usecase=False, fails=fails), node)

    failing = [partial(read, node, -0.1, fails=True) for node in me.world.nodes for _ in range(3)]
    await me.at_once(*failing, *[partial(read, node, 1.01, fails=False) for node in me.world.nodes])


async def _edit(about: EndAt, node: "Node") -> object:
    return await node.edit(about)


async def _rotate(about: Rotate, node: "Node") -> object:
    return await node.rotate(about)
