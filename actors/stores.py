"""The stores of one node: one for each concern, and the database behind them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from actors.accounts.store import AccountStore
from actors.bookings.store import LedgerStore, SponsorshipStore
from actors.catalog.store import CatalogStore
from actors.catalog.submission_store import SubmissionStore
from actors.devices.store import DeviceStore
from actors.events.secrets import SecretStore
from actors.events.servers import AskServers
from actors.events.sites import SiteStore
from actors.events.store import EventStore, Sections
from actors.keys.store import KeyStore
from actors.mail.store import Outbox
from actors.nodes.store import NodeStore
from actors.quota.store import QuotaStore
from actors.retention.store import RetentionStore
from actors.sessions.store import SessionStore
from actors.webhooks.store import WebhookStore


@dataclass(slots=True)
class PoolStatistics:
    """The connections of a pool now, and its counts since it was opened."""

    open: int = 0
    busy: int = 0
    waiting: int = 0
    transactions: int = 0
    contended: int = 0
    unavailable: int = 0
    unknown: int = 0
    refused: int = 0
    loop_errors: int = 0


class Database(Protocol):
    """The database, as health checks and metrics see it."""

    async def ping(self) -> None: ...
    def statistics(self) -> PoolStatistics: ...


class Announcements(Protocol):
    """Changes that other nodes and commands announce."""

    def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> Awaitable[None]: ...


class ClockStore(Protocol):
    """By how much the clock of a database is ahead, and what is due. Methods raise `StorageUnavailable`."""

    async def ahead_ms(self) -> int:
        """Milliseconds by which the clock was moved; 0 for a database whose clock never was."""
        ...

    async def set_ahead(self, ahead_ms: int) -> None:
        """Store it. A smaller value than the stored one changes nothing."""
        ...

    async def next_due(self, after_ms: int, digest_ms: int) -> int | None:
        """The first time after `after_ms` at which a task has work: a hold, step, refund, deletion, or a mail or webhook to
        send. The digest of reviews is due `digest_ms` after the last one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Nodes of one service have stores over the same database. `sections` are those of its events and
    `ask_servers` asks the servers that hold them, if they are distributed."""

    database: Database
    announcements: Announcements
    keys: KeyStore
    quota: QuotaStore
    sessions: SessionStore
    devices: DeviceStore
    outbox: Outbox
    catalog: CatalogStore
    submissions: SubmissionStore
    sponsorship: SponsorshipStore
    ledger: LedgerStore
    events: EventStore
    sites: SiteStore
    visitor_secrets: SecretStore
    nodes: NodeStore
    accounts: AccountStore
    retention: RetentionStore
    webhooks: WebhookStore
    clock: ClockStore
    sections: Sections | None = None
    ask_servers: AskServers | None = None
