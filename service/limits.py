"""From the configuration to the rules and limits of each concern. Pure."""

from actors.actor import ActorLimits
from actors.bookings.records import Mode
from actors.bookings.state import BookingRules
from actors.bookings.sweeper import SweeperLimits
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from actors.codes import CodeRules
from actors.devices.state import DeviceRules
from actors.keys.state import KeyRules
from actors.nodes.state import NodeRules
from actors.quota.state import Caps
from actors.sessions.state import SessionRules
from actors.values import Tier
from service.config import Config
from service.snapshots.catalog import CatalogLimits
from service.snapshots.placements import PlacementsLimits


def code_rules(config: Config) -> CodeRules:
    claim = config.claim
    return CodeRules(
        life_ms=claim.code_minutes * MINUTE_MS,
        attempts=claim.code_attempts,
        pause_ms=claim.code_pause_seconds * SECOND_MS,
        per_day=claim.codes_per_day,
    )


def session_rules(config: Config) -> SessionRules:
    sessions = config.sessions
    return SessionRules(
        life_ms=sessions.days * DAY_MS,
        touch_ms=sessions.touch_seconds * SECOND_MS,
        per_account=sessions.per_account,
        codes=code_rules(config),
    )


def booking_rules(config: Config) -> BookingRules:
    bookings = config.bookings
    return BookingRules(
        hold_ms=bookings.hold_minutes * MINUTE_MS,
        open_holds=bookings.open_holds,
        horizon_weeks=bookings.horizon_weeks,
        mode=Mode(config.billing.mode),
    )


def cashier_limits(config: Config) -> SweeperLimits:
    return SweeperLimits(config.bookings.sweep_seconds, config.billing.refund_retry_seconds)


def catalog_limits(config: Config) -> CatalogLimits:
    catalog = config.catalog
    return CatalogLimits(
        check_seconds=catalog.check_seconds,
        searches=catalog.searches,
        search_waiters=catalog.search_waiters,
        search_seconds=catalog.search_seconds,
    )


def placements_limits(config: Config) -> PlacementsLimits:
    bookings = config.bookings
    return PlacementsLimits(check_seconds=bookings.check_seconds, horizon_weeks=bookings.horizon_weeks)


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
        full_keys_per_account=config.keys.full_per_account,
        scoped_keys_per_account=config.keys.scoped_per_account,
    )


def node_rules(config: Config) -> NodeRules:
    nodes = config.nodes
    return NodeRules(nodes.beat_seconds, nodes.live_seconds, nodes.keep_seconds)


def device_rules(config: Config) -> DeviceRules:
    device = config.device
    return DeviceRules(
        life_ms=device.expires_seconds * SECOND_MS,
        interval_seconds=device.interval_seconds,
        wrong_codes=device.wrong_codes,
        lock_ms=device.lock_minutes * MINUTE_MS,
        full_keys_per_account=config.keys.full_per_account,
    )
