"""Carrying out an import: runs it again where another import or a broken connection came between."""

import trio

from actors.catalog.store import CatalogStore, Import, ImportCounts
from actors.values import Contended, OutcomeUnknown, StorageUnavailable

ATTEMPTS = 5
PAUSE_SECONDS = 0.2


async def carry_out(store: CatalogStore, batch: Import) -> ImportCounts:
    """What the import did. Raises `StorageUnavailable`; running an import again is harmless."""
    for attempt in range(ATTEMPTS):
        try:
            return await store.replace(batch)
        except (Contended, OutcomeUnknown):
            await trio.sleep(PAUSE_SECONDS * (attempt + 1))
    raise StorageUnavailable("other imports kept coming between")
