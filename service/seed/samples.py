"""Loads the sample catalog and the demo on the first start. They name no real person."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from actors.bookings.demo import DemoCounts
from actors.bookings.messages import Origin
from actors.bookings.store import DemoStore
from actors.catalog.store import CatalogStore, Import
from actors.clock import Clock, Entropy
from actors.shared.credentials import ID_BYTES, new_id
from actors.values import Agent, TransientStorageError
from service.seed.catalog_file import parse
from service.seed.demo import demo_data

FILE = Path(__file__).parent / "catalog.jsonl"

log = logging.getLogger(__name__)

ATTEMPTS = 5
PAUSE_SECONDS = 0.2

T = TypeVar("T")


async def load_samples(store: CatalogStore, clock: Clock) -> None:
    """Import the sample catalog, unless the database has ever held a catalog."""
    if await store.revision() > 0:
        return
    with FILE.open("rb") as stream:
        parsed = parse(stream)
    assert not parsed.errors, f"the sample catalog is not valid: {parsed.errors[0]}"
    counts = await retried(partial(store.replace, Import(parsed.entries, clock.now_ms())))
    log.info("loaded the sample catalog: %d entries", counts.writes)


async def load_demo(store: DemoStore, clock: Clock, entropy: Entropy) -> None:
    """Write the demo, unless the sponsorship area has been used or the demo was removed from it."""
    if not await store.is_untouched():
        return
    counts = await replace_demo(store, clock, entropy, Agent("system", "start"), first=True)
    if counts is not None:
        log.info("seeded the demo: %d slots, %d bookings", counts.slots, counts.bookings)


async def replace_demo(
    store: DemoStore, clock: Clock, entropy: Entropy, agent: Agent, *, remove: bool = False, first: bool = False
) -> DemoCounts | None:
    """Replace the demo of the store, or `remove` it. Returns what was done. Raises `TransientStorageError`.

    With `first`, a store that has been used before stays as it is, and None is returned.
    """

    async def replace() -> DemoCounts | None:
        now_ms = clock.now_ms()
        origin = Origin(agent, "", new_id("aud", entropy.token(ID_BYTES)))
        return await store.replace_demo(None if remove else demo_data(now_ms), origin, now_ms, first=first)

    return await retried(replace)


async def retried(change: Callable[[], Awaitable[T]]) -> T:
    """The result of `change`, which may run up to 5 times. Raises `TransientStorageError` if none of them is kept."""
    attempt = 0
    while True:
        try:
            return await change()
        except TransientStorageError:
            attempt += 1
            if attempt == ATTEMPTS:
                raise
        await trio.sleep(PAUSE_SECONDS * attempt)
