"""Handles announcements of other nodes and commands: changed keys, tenants, catalog and placements."""

import logging

import trio

from actors.keys.cache import KeyCache
from actors.stores import Announcements
from service.snapshots.catalog import Catalog
from service.snapshots.placements import Placements

CHANNEL = "catalog"

log = logging.getLogger(__name__)


class CacheInvalidator:
    """Invalidates caches and snapshots on announcements.

    Announcements may be lost while the connection is down. Everything is then invalidated, and the caches' time limits
    bound how long stale data is used before that.
    """

    def __init__(
        self, announcements: Announcements, key_cache: KeyCache, catalog: Catalog, placements: Placements
    ) -> None:
        self.name = "changes"
        self._announcements = announcements
        self._key_cache = key_cache
        self._catalog = catalog
        self._placements = placements
        self._scope = trio.CancelScope()
        self._closed = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until closed."""
        task_status.started()
        self._scope = trio.CancelScope()
        if self._closed:
            return
        with self._scope:
            await self._announcements.listen(CHANNEL, self.on_topic, self.on_gap)

    def close(self) -> None:
        self._closed = True
        self._scope.cancel()

    def abandon(self) -> None:
        self.close()

    def on_topic(self, topic: str) -> None:
        """Handle `key:<hash in hex>`, `tenant:<id>`, `catalog` or `sponsorship`. Newer versions may send others."""
        kind, _, name = topic.partition(":")
        match kind:
            case "key":
                self._key_cache.forget(hashes=[_hash(name)])
            case "tenant":
                self._key_cache.forget(tenants=[name])
            case "catalog":
                self._catalog.refresh_soon()
            case "sponsorship":
                self._placements.refresh_soon()
            case _:
                log.debug("ignoring an announcement of unknown kind: %s", kind[:20])

    def on_gap(self) -> None:
        """Announcements may have been lost."""
        self._key_cache.forget_all()
        self._catalog.refresh_soon()
        self._placements.refresh_soon()

    def __repr__(self) -> str:
        return f"<CacheInvalidator on {CHANNEL!r}>"


def _hash(name: str) -> bytes:
    try:
        return bytes.fromhex(name)
    except ValueError:
        return b""
