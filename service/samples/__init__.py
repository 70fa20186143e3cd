"""The sample catalog, so that the first start has something to show. It names no real person."""

import logging
from pathlib import Path

from actors.catalog.store import CatalogStore, Import
from service.importing import parse
from service.replacing import carry_out

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
