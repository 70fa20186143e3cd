"""What handlers may use: actors' intents, the snapshots, clocks and settings. Made once by `service/main.py`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from actors.bookings.actor import BookingLedger
from actors.bookings.payments import Payments
from actors.bookings.store import SponsorshipStore
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.clock import DAY_MS, HOUR_MS, SECOND_MS, Clock, Entropy
from actors.devices.actor import DeviceAuthorizer
from actors.events.router import EventRouter
from actors.events.windows import WindowReader
from actors.keys.actor import KeyKeeper
from actors.keys.cache import KeyCache
from actors.keys.uses import KeyUses
from actors.limits import Allowance, WindowLimiter, single_node
from actors.mail.actor import MailSender
from actors.nodes.heartbeat import Heartbeat
from actors.quota.actor import QuotaAccountant
from actors.sessions.actor import SessionKeeper
from actors.sessions.reader import SessionReader
from service.api.authentication import Network, is_in, limited_as
from service.api.operation import Budget
from service.config import Config
from service.observability.health import Health
from service.observability.refusal_log import RefusalLog
from service.payments.gateway import Webhook
from service.snapshots.catalog import Catalog
from service.snapshots.placements import Placements
from service.tokens.cursors import Cursors
from service.tokens.links import Links


@dataclass(slots=True)
class Budgets:
    """Limits per client address in memory: readers without a key, events, polls and pages by the minute, minting, claiming,
    signing in and device logins by the hour. Each is shared by as many nodes as `nodes()` says."""

    config: Config
    clock: Clock
    nodes: Callable[[], int] = single_node
    _minutes: WindowLimiter = field(init=False)
    _events: WindowLimiter = field(init=False)
    _pages: WindowLimiter = field(init=False)
    _hours: WindowLimiter = field(init=False)
    _days: WindowLimiter = field(init=False)
    _exempt: tuple[Network, ...] = field(init=False)
    _unlimited: Allowance = field(init=False)

    def __post_init__(self) -> None:
        self._minutes, self._events, self._pages = (WindowLimiter(60, nodes=self.nodes) for _ in range(3))
        self._hours = WindowLimiter(HOUR_MS // SECOND_MS, nodes=self.nodes)
        self._days = WindowLimiter(DAY_MS // SECOND_MS, nodes=self.nodes)
        limit = self.config.events.per_minute
        self._exempt = tuple(self.config.events.exempt_networks)
        self._unlimited = Allowance(True, limit, limit, 60)

    def read(self, address: str) -> Allowance:
        """One request without a key."""
        return self._minutes.hit(limited_as(address), self.config.keyless.per_minute, self.clock.now_ms())

    def page(self, address: str) -> Allowance:
        """One look at a page, whatever it asks for."""
        return self._pages.hit(limited_as(address), self.config.pages.per_minute, self.clock.now_ms())

    def spend(self, budget: Budget, address: str) -> Allowance:
        """One request of an operation with a budget of its own."""
        if budget is Budget.EVENTS:
            return self.events(address, 1)
        now_ms = self.clock.now_ms()
        if budget is Budget.DEVICE_POLL:
            pace = self._polls_at_pace()
            return self._minutes.hit(f"{budget.value} {limited_as(address)}", 4 * pace, now_ms, least=2 * pace)
        allowance = self._hours.hit(f"{budget.value} {limited_as(address)}", self._per_hour(budget), now_ms)
        if allowance.allowed and budget is Budget.MINT:
            return self._hours.hit("mint, all addresses", self.config.mint.per_hour_total, now_ms)
        return allowance

    def email(self, budget: Budget, email: str) -> Allowance:
        """One letter to, or one guess at a code of, this email: nobody's mailbox is flooded by way of many tokens.
        Claims and sign-ins are counted apart."""
        claim = self.config.claim
        starts = budget in (Budget.CLAIM_START, Budget.SIGN_IN_START)
        most = claim.letters_per_email if starts else claim.guesses_per_email
        return self._days.hit(f"{budget.value} {email}", most, self.clock.now_ms())

    def events(self, address: str, count: int) -> Allowance:
        """So many events at once: all of them, or none. Relays, in `events.exempt_networks`, are let through."""
        if is_in(address, self._exempt):
            return self._unlimited
        return self._events.hit(limited_as(address), self.config.events.per_minute, self.clock.now_ms(), count)

    def more_events(self, address: str, count: int) -> Allowance:
        """As many events beside the one that the request was counted as; where there are too many, that one is no longer
        counted either. They are counted as one, since a batch may be more than this node's share of a minute."""
        self._events.give_back(limited_as(address), self.clock.now_ms())
        return self.events(address, 1 + count)

    def _per_hour(self, budget: Budget) -> int:
        match budget:
            case Budget.MINT:
                return self.config.mint.per_hour
            case Budget.CLAIM_START:
                return self.config.claim.starts_per_hour
            case Budget.CLAIM_COMPLETE:
                return self.config.claim.completions_per_hour
            case Budget.SIGN_IN_START:
                return self.config.sessions.starts_per_hour
            case Budget.SIGN_IN_COMPLETE:
                return self.config.sessions.completions_per_hour
            case Budget.DEVICE_START:
                return self.config.device.starts_per_hour
            case Budget.EVENTS | Budget.DEVICE_POLL:
                raise AssertionError("these are limited by the minute")

    def _polls_at_pace(self) -> int:
        """What all devices poll in a minute that an address may start in an hour. Four times that is allowed, on each node at
        least twice: no device that keeps its pace meets it, whoever else is behind the same address, also where two windows
        of starts meet and all devices ask one node."""
        device = self.config.device
        return device.starts_per_hour * -(-60 // device.interval_seconds)


@dataclass(slots=True)
class Services:
    """The one argument that every handler shares."""

    config: Config
    base_url: str
    clock: Clock
    entropy: Entropy
    keys: KeyKeeper
    directory: KeyCache
    key_uses: KeyUses
    session_reader: SessionReader
    devices: DeviceAuthorizer
    sessions: SessionKeeper
    quota: QuotaAccountant
    mail: MailSender
    catalog: Catalog
    placements: Placements
    ledger: BookingLedger
    sponsorship: SponsorshipStore
    cashier: HoldAndRefundSweeper
    events: EventRouter
    windows: WindowReader
    nodes: Heartbeat
    cursors: Cursors
    budgets: Budgets
    health: Health
    watch: RefusalLog
    links: Links
    payments: Payments
    webhook: Webhook | None
