"""People of a sponsor who share reports by links, open the links, and end them. All of them use the same account."""

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.bookings.reports import ALL, Days, SharedReport
from actors.shared.credentials import digest
from actors.values import Agent
from tests.simulation.buyers import SPONSOR_EMAILS, full_key
from tests.simulation.clients import Client, Holding
from tests.simulation.history import Change
from tests.simulation.sides import answering

if TYPE_CHECKING:
    from tests.simulation.node import Node

LINKS = 60
"""The newest links of which one is opened or ended."""


async def sharer(me: Client) -> None:
    """Share several reports at once until there are too many; open links, also ended ones, and end some."""
    key = await full_key(me, SPONSOR_EMAILS[0])
    if key is None:
        return
    if me.chance(0.4):
        await me.at_once(*[partial(share, me, key, me.node()) for _ in range(me.random.randint(1, 6))])
    links = me.world.board.links[-LINKS:]
    if links and me.chance(0.15):
        report_id, token = me.random.choice(links)
        await me.ask("end link", lambda node: end(node, key.tenant_id, report_id))
        if me.chance(0.5):
            await me.ask("open link", lambda node: open_link(node, token))
    if links:
        _, token = me.random.choice(links)
        await me.ask("open link", lambda node: open_link(node, token))
    await trio.sleep(0.2)


async def share(me: Client, key: Holding, node: "Node") -> None:
    made = await me.ask("share", lambda node: _share(node, key.tenant_id), node)
    if isinstance(made, tuple):
        report, token = made
        me.world.board.links.append((report.id, token))


async def _share(node: "Node", owner: str) -> Any:
    ledger, agent = node.sponsorship.ledger, Agent("session", "sim")
    share = partial(ledger.share_report, owner, Days(20_000, 20_006), ALL, agent, costs=False)
    return await node.intent("share", Change(owner, owner), share)


async def end(node: "Node", owner: str, report_id: str) -> Any:
    ledger, agent = node.sponsorship.ledger, Agent("session", "sim")
    return await node.intent(
        "end shared", Change(report_id, owner), lambda: ledger.end_shared_report(owner, report_id, agent)
    )


async def open_link(node: "Node", token: str) -> SharedReport | None:
    token_hash = digest(token)
    read = partial(node.services.sponsorship.shared_report, token_hash)
    return await node.intent("open shared", token_hash, lambda: answering(node, read))
