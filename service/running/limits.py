"""Converts the configuration to the rules and limits of each component. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from actors.accounts.state import AccountRules
from actors.backups.state import BackupRules
from actors.bookings.invoices import Seller
from actors.bookings.records import Mode
from actors.bookings.state import BookingRules
from actors.bookings.sweeper import SweeperLimits
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from actors.devices.state import DeviceRules
from actors.events.sites import SiteRules
from actors.events.state import EventRules
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import Intensity
from actors.keys.state import KeyRules
from actors.mail.actor import MailLimits
from actors.nodes.state import NodeRules
from actors.quota.state import Caps
from actors.retention.state import RetentionRules
from actors.sessions.passkey_rules import PasskeyRules
from actors.sessions.state import SessionRules
from actors.shared.code_mails import CodeMailRules
from actors.shared.codes import CodeRules
from actors.values import Tier
from actors.webhooks.sender import SenderLimits
from actors.webhooks.sending import Retries
from actors.webhooks.state import WebhookRules
from service.config.model import Config
from service.http.limits import ServingLimits
from service.snapshots.catalog import CatalogLimits
from service.snapshots.placements import PlacementsLimits

EVENT_LANES = 3
"""Batches of events under way at once in each section of a node. The database's ceiling is reached by three connections:
more are no faster (`bench.database`), and a node's other work needs the rest of `database.connections`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Rules and limits of one node. The simulation passes smaller ones than a configuration allows, to reach each limit."""

    actors: ActorLimits
    intensity: Intensity
    drain_seconds: float
    keys: KeyRules
    key_cache_seconds: int
    key_cache_size: int
    key_uses_seconds: float
    sessions: SessionRules
    devices: DeviceRules
    caps: Mapping[Tier, Caps]
    per_minute: Mapping[Tier, int]
    mail: MailLimits
    bookings: BookingRules
    sweeper: SweeperLimits
    events: ActorLimits
    event_rules: EventRules
    event_keys_remembered: int
    event_sweep_seconds: float
    event_shards: int
    sites: SiteRules
    nodes: NodeRules
    accounts: AccountRules
    retention: RetentionRules
    catalog: CatalogLimits
    placements: PlacementsLimits
    webhooks: WebhookRules
    webhook_sender: SenderLimits

    @classmethod
    def of(cls, config: Config) -> "Limits":
        events, keys = config.events, config.keys
        return cls(
            actors=actor_limits(config),
            intensity=Intensity(config.actors.failures, config.actors.failure_window_seconds),
            drain_seconds=config.actors.drain_seconds,
            keys=key_rules(config),
            key_cache_seconds=keys.remember_seconds,
            key_cache_size=keys.remember_keys,
            key_uses_seconds=keys.uses_seconds,
            sessions=session_rules(config),
            devices=device_rules(config),
            caps=caps(config),
            per_minute=per_minute(config),
            mail=mail_limits(config),
            bookings=booking_rules(config),
            sweeper=SweeperLimits(config.bookings.sweep_seconds, config.billing.refund_retry_seconds),
            events=ActorLimits(events.mailbox, events.batch, events.answer_seconds, lanes=EVENT_LANES),
            event_rules=EventRules(events.bucket_hours, events.keep_days, events.ahead_days),
            event_keys_remembered=events.remember,
            event_sweep_seconds=events.sweep_seconds,
            event_shards=events.shards,
            sites=SiteRules(events.count_sites, tuple(events.sites), events.site_networks),
            nodes=NodeRules(config.nodes.beat_seconds, config.nodes.live_seconds, config.nodes.keep_seconds),
            accounts=account_rules(config),
            retention=retention_rules(config),
            catalog=catalog_limits(config),
            placements=PlacementsLimits(config.bookings.check_seconds, config.bookings.horizon_weeks),
            webhooks=WebhookRules(config.webhooks.per_account),
            webhook_sender=sender_limits(config),
        )


def code_rules(config: Config) -> CodeRules:
    claim = config.claim
    return CodeRules(
        life_ms=claim.code_minutes * MINUTE_MS,
        attempts=claim.code_attempts,
        pause_ms=claim.code_pause_seconds * SECOND_MS,
        per_day=claim.codes_per_day,
    )


def account_rules(config: Config) -> AccountRules:
    return AccountRules(undo_ms=config.account.undo_days * DAY_MS, codes=code_rules(config))


def retention_rules(config: Config) -> RetentionRules:
    retention = config.retention
    return RetentionRules(
        unclaimed_keys_days=retention.unclaimed_keys_days,
        ended_keys_days=retention.ended_keys_days,
        unpaid_bookings_days=retention.unpaid_bookings_days,
        payment_events_days=retention.payment_events_days,
        usage_days=retention.usage_days,
        audit_days=retention.audit_days,
        sessions_days=retention.sessions_days,
        webhook_deliveries_days=retention.webhook_deliveries_days,
    )


def code_mail_rules(config: Config, *, per_network: int, pause_ms: int = 0) -> CodeMailRules:
    claim = config.claim
    return CodeMailRules(
        per_network=per_network,
        pause_ms=pause_ms,
        per_mailbox=claim.letters_per_email,
        last_resort=10 * claim.letters_per_email,
        short_codes=claim.guesses_per_email // claim.code_attempts,
    )


def session_rules(config: Config) -> SessionRules:
    sessions, passkeys = config.sessions, config.passkeys
    return SessionRules(
        life_ms=sessions.days * DAY_MS,
        touch_ms=sessions.touch_seconds * SECOND_MS,
        per_account=sessions.per_account,
        notices_per_hour=config.mail.notices_per_hour,
        codes=code_rules(config),
        passkeys=PasskeyRules(
            per_account=passkeys.per_account,
            challenge_ms=passkeys.challenge_seconds * SECOND_MS,
            sign_in_ms=passkeys.sign_in_seconds * SECOND_MS,
            fresh_ms=passkeys.fresh_seconds * SECOND_MS,
        ),
        letters=code_mail_rules(
            config,
            per_network=config.claim.codes_per_day,
            pause_ms=config.claim.code_pause_seconds * SECOND_MS,
        ),
    )


def booking_rules(config: Config) -> BookingRules:
    bookings = config.bookings
    return BookingRules(
        hold_ms=bookings.hold_minutes * MINUTE_MS,
        open_holds=bookings.open_holds,
        holds_per_day=bookings.holds_per_day,
        cooldown_ms=bookings.cooldown_minutes * MINUTE_MS,
        horizon_weeks=bookings.horizon_weeks,
        refund_unshown=bookings.refund_unshown,
        campaigns=config.campaigns.per_account,
        pending_campaigns=config.campaigns.pending_per_account,
        mode=Mode(config.billing.mode),
        seller=seller(config),
    )


def seller(config: Config) -> Seller:
    billing = config.billing
    return Seller(billing.seller_name, billing.seller_address, billing.seller_tax_id, billing.invoice_prefix)


def catalog_limits(config: Config) -> CatalogLimits:
    catalog = config.catalog
    return CatalogLimits(
        check_seconds=catalog.check_seconds,
        # Searches are the slowest reads, and anyone may start and abandon them. They get half of the pool.
        searches=min(catalog.searches, max(1, config.database.connections // 2)),
        search_waiters=catalog.search_waiters,
        waiters_per_caller=catalog.waiters_per_caller,
        search_seconds=catalog.search_seconds,
    )


def actor_limits(config: Config) -> ActorLimits:
    actors = config.actors
    return ActorLimits(mailbox=actors.mailbox, batch=actors.batch, answer_seconds=actors.answer_seconds)


def caps(config: Config) -> dict[Tier, Caps]:
    tiers = config.tiers
    return {
        Tier.ANONYMOUS: Caps(
            daily=tiers.anonymous.daily,
            lifetime=tiers.anonymous.lifetime,
            usecase_reads=tiers.anonymous.usecase_reads,
        ),
        Tier.CLAIMED: Caps(daily=tiers.claimed.daily, monthly=tiers.claimed.monthly),
        Tier.UPGRADED: Caps(daily=tiers.upgraded.daily, monthly=tiers.upgraded.monthly),
    }


def per_minute(config: Config) -> dict[Tier, int]:
    tiers = config.tiers
    return {
        Tier.ANONYMOUS: tiers.anonymous.per_minute,
        Tier.CLAIMED: tiers.claimed.per_minute,
        Tier.UPGRADED: tiers.upgraded.per_minute,
    }


def key_rules(config: Config) -> KeyRules:
    return KeyRules(
        anonymous_life_ms=config.tiers.anonymous.expires_hours * HOUR_MS,
        codes=code_rules(config),
        letters=code_mail_rules(config, per_network=config.claim.letters_per_email),
        full_keys_per_account=config.keys.full_per_account,
        scoped_keys_per_account=config.keys.scoped_per_account,
        notices_per_hour=config.mail.notices_per_hour,
    )


def device_rules(config: Config) -> DeviceRules:
    device = config.device
    return DeviceRules(
        life_ms=device.expires_seconds * SECOND_MS,
        interval_seconds=device.interval_seconds,
        wrong_codes=device.wrong_codes,
        lock_ms=device.lock_minutes * MINUTE_MS,
        full_keys_per_account=config.keys.full_per_account,
    )


def mail_limits(config: Config) -> MailLimits:
    send_seconds = config.mail.timeout_seconds + 5.0
    return MailLimits(
        send_seconds=send_seconds,
        lease_seconds=max(60.0, 3 * send_seconds),
        close_seconds=0.8 * config.actors.drain_seconds,
        keep_days=config.retention.mails_days,
    )


def sender_limits(config: Config) -> SenderLimits:
    webhooks = config.webhooks
    return SenderLimits(
        sends=webhooks.sends,
        send_seconds=webhooks.timeout_seconds,
        lease_seconds=max(60.0, 3 * webhooks.timeout_seconds),
        close_seconds=0.8 * config.actors.drain_seconds,
        retries=Retries(
            pause_ms=webhooks.retry_seconds * SECOND_MS,
            pause_max_ms=webhooks.retry_max_minutes * MINUTE_MS,
            give_up_ms=webhooks.retry_days * DAY_MS,
            keep_ms=config.retention.webhook_deliveries_days * DAY_MS,
        ),
    )


def backup_rules(config: Config) -> BackupRules | None:
    """The rules of scheduled backups; None if they are off."""
    backup = config.backup
    return BackupRules(every_ms=backup.every_hours * HOUR_MS, keep=backup.keep) if backup.every_hours else None


def serving_limits(config: Config) -> ServingLimits:
    http = config.http
    return ServingLimits(
        head_seconds=http.head_seconds,
        request_seconds=http.request_seconds,
        stall_seconds=http.stall_seconds,
        connections=http.connections,
        connections_per_address=http.connections_per_address,
        graceful_seconds=config.server.graceful_seconds,
        drain_seconds=config.server.drain_seconds,
        # All clients behind a proxy share its address.
        exempt_networks=(*config.events.exempt_networks, *config.server.trusted_proxies),
    )
