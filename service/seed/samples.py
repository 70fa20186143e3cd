"""The sample catalog and the demo, so that the first start has something to show. They name no real person."""

import logging
from pathlib import Path

from actors.bookings.store import DemoStore
from actors.catalog.store import CatalogStore, Import
from actors.clock import Clock, Entropy
from actors.values import Agent
from service.seed.catalog_file import parse
from service.seed.catalog_import import carry_out
from service.seed.demo_seeding import replace_demo

FILE = Path(__file__).parent / "catalog.jsonl"

log = logging.getLogger(__name__)


async def load_samples(store: CatalogStore) -> None:
    """Import the sample catalog into a database that has never held a catalog."""
    if await store.revision() > 0:
        return
    with FILE.open("rb") as stream:
        parsed = parse(stream)
    assert not parsed.errors, f"the sample catalog is not valid: {parsed.errors[0]}"
    counts = await carry_out(store, Import(parsed.entries))
    log.info("loaded the sample catalog: %d entries", counts.writes)


async def load_demo(store: DemoStore, clock: Clock, entropy: Entropy) -> None:
    """Seed the demo into a sponsorship area that nobody has used, and from which nobody has taken it away."""
    if not await store.is_untouched():
        return
    counts = await replace_demo(store, clock, entropy, Agent("system", "start"), first=True)
    if counts is not None:
        log.info("seeded the demo: %d slots, %d bookings", counts.slots, counts.bookings)
