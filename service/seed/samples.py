"""Loads the sample catalog and the demo on the first start. They name no real person."""

import logging
from functools import partial
from pathlib import Path

from actors.bookings.store import DemoStore
from actors.catalog.store import CatalogStore, Import
from actors.clock import Clock, Entropy
from actors.values import Agent
from service.seed.catalog_file import parse
from service.seed.demo_seeding import replace_demo
from service.seed.retries import retried

FILE = Path(__file__).parent / "catalog.jsonl"

log = logging.getLogger(__name__)


async def load_samples(store: CatalogStore) -> None:
    """Import the sample catalog, unless the database has ever held a catalog."""
    if await store.revision() > 0:
        return
    with FILE.open("rb") as stream:
        parsed = parse(stream)
    assert not parsed.errors, f"the sample catalog is not valid: {parsed.errors[0]}"
    counts = await retried(partial(store.replace, Import(parsed.entries)))
    log.info("loaded the sample catalog: %d entries", counts.writes)


async def load_demo(store: DemoStore, clock: Clock, entropy: Entropy) -> None:
    """Write the demo, unless the sponsorship area has been used or the demo was removed from it."""
    if not await store.is_untouched():
        return
    counts = await replace_demo(store, clock, entropy, Agent("system", "start"), first=True)
    if counts is not None:
        log.info("seeded the demo: %d slots, %d bookings", counts.slots, counts.bookings)
