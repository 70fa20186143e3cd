"""The actors, snapshots, clock and settings of one node, shared by operations and pages."""

from dataclasses import dataclass
from typing import Any

from actors.accounts.actor import AccountActor
from actors.accounts.sweeper import AccountEraser
from actors.bookings.actor import BookingLedger
from actors.bookings.payments import Payments
from actors.bookings.store import SponsorshipStore
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.catalog.actor import CatalogEditor
from actors.catalog.submission_actor import SubmissionActor
from actors.clock import Clock, Entropy
from actors.devices.actor import DeviceAuthorizer
from actors.events.router import EventRouter
from actors.events.secrets import VisitorSecrets
from actors.events.servers import ServerWatch
from actors.events.sites import SiteBook
from actors.events.windows import WindowReader
from actors.kernel.actor import Actor
from actors.kernel.clock_mover import ClockMover
from actors.kernel.statistics import ActorStatistics
from actors.keys.actor import KeyActor
from actors.keys.cache import KeyCache
from actors.keys.last_uses import KeyUses
from actors.mail.actor import MailSender
from actors.nodes.heartbeat import Heartbeat
from actors.quota.actor import QuotaAccountant
from actors.sessions.actor import SessionActor
from actors.sessions.passkey_actor import PasskeyActor
from actors.sessions.reader import SessionReader
from actors.webhooks.actor import WebhookActor
from actors.webhooks.sender import WebhookSender
from service.api.list_counts import CachedCounts
from service.api.oauth.documents import Clients
from service.api.rate_limits import Budgets
from service.config.model import Config
from service.observability.client_address import Proxies
from service.observability.health import Health
from service.observability.refusal_log import RefusalLog
from service.observability.request_counts import AnswerCounts
from service.outside.webhook_client import WebhookSigner
from service.payments.gateway import Webhook
from service.snapshots.catalog import Catalog
from service.snapshots.placements import Placements
from service.tokens.links import Links
from service.tokens.signing import Cursors


@dataclass(slots=True)
class Services:
    """The first argument of every handler."""

    config: Config
    base_url: str
    clock: Clock
    entropy: Entropy
    keys: KeyActor
    key_cache: KeyCache
    key_uses: KeyUses
    session_reader: SessionReader
    devices: DeviceAuthorizer
    sessions: SessionActor
    passkeys: PasskeyActor
    quota: QuotaAccountant
    mail: MailSender
    catalog: Catalog
    submissions: SubmissionActor
    editor: CatalogEditor
    placements: Placements
    ledger: BookingLedger
    sponsorship: SponsorshipStore
    counts: CachedCounts
    sweeper: HoldAndRefundSweeper
    accounts: AccountActor
    eraser: AccountEraser
    events: EventRouter
    windows: WindowReader
    sites: SiteBook
    visitor_secrets: VisitorSecrets
    event_servers: ServerWatch
    nodes: Heartbeat
    cursors: Cursors
    budgets: Budgets
    health: Health
    answers: AnswerCounts
    refusal_log: RefusalLog
    proxies: Proxies
    links: Links
    clients: Clients
    payments: Payments
    webhook: Webhook | None
    webhooks: WebhookActor
    webhook_sender: WebhookSender
    webhook_signer: WebhookSigner
    clock_mover: ClockMover | None = None
    """None unless the service is for developers."""

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        """All actors, in start order."""
        people = (self.session_reader, self.devices, self.sessions, self.passkeys, self.accounts)
        sales = (self.ledger, self.webhooks, self.editor, self.submissions)
        return [self.keys, self.key_cache, *people, self.quota, *sales, *self.events.dedupers, self.windows]

    def announce(self) -> None:
        """Send the mails and webhooks of a change now, instead of at the next poll."""
        self.mail.wake()
        self.webhook_sender.wake()

    def actor_statistics(self) -> list[ActorStatistics]:
        senders = (self.mail.statistics(), self.webhook_sender.statistics())
        return [*(actor.statistics() for actor in self.actors), *senders]
