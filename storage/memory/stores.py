"""One store in memory for each concern, the counterpart of `storage.opening.Opened`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from actors.bookings.store import LedgerStore, SponsorshipStore
from actors.catalog.store import CatalogStore
from actors.devices.store import DeviceStore
from actors.events.shards import ShardMap
from actors.events.store import EventStore
from actors.keys.store import KeyStore
from actors.mail.store import Outbox
from actors.nodes.store import NodeStore
from actors.quota.store import QuotaStore
from actors.sessions.store import SessionStore
from storage.pool import PoolStatistics

IDLE = PoolStatistics(
    open=1, busy=0, waiting=0, transactions=0, contended=0, unavailable=0, unknown=0, refused=0, loop_errors=0
)


class Announcements(Protocol):
    """A source of announced changes, such as `storage.listener.Listener`."""

    def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> Awaitable[None]: ...


@dataclass(frozen=True, slots=True)
class MemoryDatabase:
    """Calls `before` on each ping, and reports an idle pool."""

    before: Callable[[], Awaitable[None]]

    async def ping(self) -> None:
        await self.before()

    def statistics(self) -> PoolStatistics:
        return IDLE


@dataclass(frozen=True, slots=True)
class MemoryStores:
    """The stores of one node. Nodes that share a database have stores over the same `Memory`."""

    database: MemoryDatabase
    announcements: Announcements
    keys: KeyStore
    quota: QuotaStore
    sessions: SessionStore
    devices: DeviceStore
    outbox: Outbox
    catalog: CatalogStore
    sponsorship: SponsorshipStore
    ledger: LedgerStore
    events: EventStore
    nodes: NodeStore
    shards: ShardMap | None = None
