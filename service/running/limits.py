"""Fills the rules and limits of each component from the configuration. Pure.

A setting fills the field of the same name, and `lock_minutes` fills `lock_ms`. Only what differs is written down here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from actors.accounts.state import AccountRules
from actors.backups.state import BackupRules
from actors.bookings.invoices import PERCENT, Seller
from actors.bookings.records import Mode
from actors.bookings.state import BookingRules
from actors.bookings.sweeper import SweeperLimits
from actors.catalog.submission_rules import SubmissionRules
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from actors.devices.state import DeviceRules
from actors.events.sites import SiteRules
from actors.events.state import EventRules
from actors.kernel.actor import ActorLimits
from actors.keys.state import KeyRules
from actors.mail.actor import MailLimits
from actors.mail.messages import About
from actors.nodes.state import NodeRules
from actors.quota.state import Caps
from actors.retention.state import RetentionRules
from actors.sessions.passkeys import PasskeyRules
from actors.sessions.state import SessionRules
from actors.shared.code_mails import CodeMailRules
from actors.shared.codes import CodeRules
from actors.values import Tier
from actors.webhooks.sender import SenderLimits
from actors.webhooks.sending import Retries
from actors.webhooks.state import WebhookRules
from service.config.bounds import Section
from service.config.model import Config
from service.http.limits import ServingLimits
from service.schemas.urls import public_address
from service.snapshots.catalog import CatalogLimits
from service.snapshots.placements import PlacementsLimits

R = TypeVar("R")

UNITS = {"days": DAY_MS, "hours": HOUR_MS, "minutes": MINUTE_MS, "seconds": SECOND_MS}

EVENT_LANES = 3
"""Batches of events under way at once in each section of a node. The database's ceiling is reached by three connections:
more are no faster (`bench.database`), and a node's other work needs the rest of `database.connections`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Rules and limits of one node. The simulation passes smaller ones than a configuration allows, to reach each limit."""

    actors: ActorLimits
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
    sites: SiteRules
    nodes: NodeRules
    accounts: AccountRules
    retention: RetentionRules
    catalog: CatalogLimits
    placements: PlacementsLimits
    webhooks: WebhookRules
    submissions: SubmissionRules
    webhook_sender: SenderLimits

    @classmethod
    def of(cls, config: Config) -> "Limits":
        events, keys = config.events, config.keys
        return cls(
            actors=actor_limits(config),
            drain_seconds=config.actors.drain_seconds,
            keys=key_rules(config),
            key_cache_seconds=keys.remember_seconds,
            key_cache_size=keys.remember_keys,
            key_uses_seconds=keys.uses_seconds,
            sessions=session_rules(config),
            devices=filled(
                DeviceRules,
                config.device,
                life_ms=config.device.expires_seconds * SECOND_MS,
                full_keys_per_account=keys.full_per_account,
                keys_per_day=keys.per_day,
            ),
            caps={tier: filled(Caps, getattr(config.tiers, tier)) for tier in Tier},
            per_minute={tier: getattr(config.tiers, tier).per_minute for tier in Tier},
            mail=mail_limits(config),
            bookings=booking_rules(config),
            sweeper=filled(SweeperLimits, config.bookings, config.billing),
            events=filled(ActorLimits, events, lanes=EVENT_LANES),
            event_rules=filled(EventRules, events),
            event_keys_remembered=events.remember,
            event_sweep_seconds=events.sweep_seconds,
            sites=SiteRules(events.count_sites, tuple(events.sites), events.site_networks),
            nodes=filled(NodeRules, config.nodes),
            accounts=account_rules(config),
            retention=filled(RetentionRules, config.retention),
            catalog=filled(CatalogLimits, config.catalog),
            placements=filled(PlacementsLimits, config.bookings),
            webhooks=filled(WebhookRules, config.webhooks),
            submissions=SubmissionRules(public_address),
            webhook_sender=sender_limits(config),
        )


def filled(kind: type[R], *sections: Section, **values: Any) -> R:
    """A rules class from the settings of some sections. `values` are those that no setting fills."""
    for section in sections:
        settings = dict(section)
        for field in fields(kind):  # type: ignore[arg-type]  # rules are dataclasses
            stem = field.name.removesuffix("_ms")
            names = [(field.name, 1)] + [(f"{stem}_{unit}", ms) for unit, ms in UNITS.items() if stem != field.name]
            for name, factor in names:
                if name in settings:
                    values.setdefault(field.name, settings[name] if factor == 1 else settings[name] * factor)
    return kind(**values)


def code_rules(config: Config) -> CodeRules:
    claim = config.claim
    return CodeRules(
        life_ms=claim.code_minutes * MINUTE_MS,
        attempts=claim.code_attempts,
        pause_ms=claim.code_pause_seconds * SECOND_MS,
        per_day=claim.codes_per_day,
    )


def account_rules(config: Config) -> AccountRules:
    return filled(AccountRules, config.account, codes=code_rules(config))


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
    claim = config.claim
    return filled(
        SessionRules,
        config.sessions,
        config.mail,
        terms_version=config.site.terms,
        life_ms=config.sessions.days * DAY_MS,
        codes=code_rules(config),
        passkeys=filled(PasskeyRules, config.passkeys),
        letters=code_mail_rules(config, per_network=claim.codes_per_day, pause_ms=claim.code_pause_seconds * SECOND_MS),
    )


def booking_rules(config: Config) -> BookingRules:
    billing = config.billing
    return filled(
        BookingRules,
        config.bookings,
        campaigns=config.campaigns.per_account,
        pending_campaigns=config.campaigns.pending_per_account,
        mode=Mode(billing.mode),
        seller=Seller(
            *(billing.seller_name, billing.seller_address, billing.seller_tax_id, billing.invoice_prefix),
            *(billing.tax_name, round(billing.tax_percent * PERCENT)),
        ),
    )


def actor_limits(config: Config) -> ActorLimits:
    return filled(ActorLimits, config.actors)


def key_rules(config: Config) -> KeyRules:
    return filled(
        KeyRules,
        config.mail,
        terms_version=config.site.terms,
        anonymous_life_ms=config.tiers.anonymous.expires_hours * HOUR_MS,
        codes=code_rules(config),
        letters=code_mail_rules(config, per_network=config.claim.letters_per_email),
        full_keys_per_account=config.keys.full_per_account,
        scoped_keys_per_account=config.keys.scoped_per_account,
        keys_per_day=config.keys.per_day,
    )


def mail_about(config: Config) -> About:
    """Who runs the service, for its mails."""
    return About(config.site.name, config.site.terms_url, tuple(config.site.footer))


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
    return filled(BackupRules, config.backup) if config.backup.every_hours else None


def serving_limits(config: Config) -> ServingLimits:
    # All clients behind a proxy share its address.
    exempt = (*config.events.exempt_networks, *config.server.trusted_proxies)
    return filled(ServingLimits, config.http, config.server, exempt_networks=exempt)
