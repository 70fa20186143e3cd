"""The cap of a key is exact: under simultaneous requests, across a kill -9, and on two nodes."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import trio

from tests.acceptance.clients import Crowd, Tally
from tests.acceptance.postgres import ask, free_port
from tests.acceptance.processes import Service, serving
from tests.slow import smoke

CAP, REQUESTS, CONNECTIONS = 1_000, 3_000, 64
SETTINGS = {
    "tiers.anonymous.lifetime": CAP,
    "tiers.anonymous.daily": CAP,
    "tiers.anonymous.per_minute": 1_000_000,
    "tiers.anonymous.usecase_reads": CAP,
    "log.level": "warning",
}
BOT = "/api/v1/bots/invoice-chaser"


@smoke
async def test_a_kill_in_the_middle_of_the_volley_neither_loses_a_charge_nor_lets_one_too_many_through(
    data_dir: Path,
) -> None:
    bind = f"127.0.0.1:{free_port()}"
    with ExitStack() as services:
        first = services.enter_context(serving(data_dir, SETTINGS, bind=bind))
        minted = first.mint()
        key = minted["apiKey"]
        crowd = Crowd(first.url, BOT, key, requests=REQUESTS, on_answer=partial(_kill_in_the_middle, first))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crowd.run, CONNECTIONS)
            await trio.to_thread.run_sync(first.process.wait)
            second = services.enter_context(serving(data_dir, SETTINGS, bind=bind, wait=False))
            await trio.to_thread.run_sync(second.wait_ready)
        tally = crowd.tally
        assert set(tally.outcomes) == {"200", "403 quota_exhausted"}
        assert CAP // 3 <= tally.yes <= CAP
        assert charged(second, minted["tenantId"]) == CAP
        assert 0 < tally.lost <= 2 * CONNECTIONS
        assert CAP - tally.yes <= tally.lost, "only a request whose answer was lost may have been charged unseen"


def charged(service: Service, tenant_id: str) -> int:
    """The requests that were charged to a tenant. `GET /usage` refuses a key that is used up."""
    [tenant] = ask(service.sockets, f"select lifetime_used from tenants where id = '{tenant_id}'")
    return int(tenant["lifetime_used"])


def _kill_in_the_middle(service: Service, tally: Tally) -> None:
    if tally.yes == CAP // 3:
        service.process.kill()
