"""Configuration, secrets and limits of simulated nodes, passed to `assemble` in place of the real ones."""

from dataclasses import replace
from functools import cache
from ipaddress import ip_network

from actors.events.sites import SiteRules
from actors.events.state import EventRules
from service.config.loading import load
from service.config.model import Config
from service.running.limits import Limits
from service.running.server_secret import Secrets
from service.snapshots.placements import PlacementsLimits
from tests.simulation.rules import (
    BOOKINGS,
    CAPS,
    CHECK_SECONDS,
    DEVICES,
    DRAIN_SECONDS,
    EVENT_LIMITS,
    EVENTS_PER_BOOKING,
    EVENTS_PER_MINUTE,
    LIFE_SECONDS,
    LIMITS,
    MAIL,
    PER_MINUTE,
    REMEMBERED_KEYS,
    RULES,
    SECRET,
    SESSIONS,
    SUBMISSIONS,
    SWEEP_SECONDS,
    SWEEPER,
)

BASE_URL = "https://bots.example.com"
RELAYS = [ip_network("127.0.0.0/8")]
SECRETS = Secrets(codes=SECRET, cursors=SECRET, links=SECRET, visitors=SECRET, webhooks=SECRET)


@cache
def settings() -> Config:
    """The shipped configuration in live mode, with exempt relays, fewer events of others, and free reading."""
    config = load(None, {"CATALOG__SERVER__BASE_URL": BASE_URL})
    return config.model_copy(
        update={
            "events": config.events.model_copy(
                update={
                    "per_minute": EVENTS_PER_MINUTE,
                    "per_booking_per_hour": EVENTS_PER_BOOKING,
                    "exempt_networks": RELAYS,
                }
            ),
            # All callers share one address.
            "keys": config.keys.model_copy(update={"unknown_per_minute": 1_000_000}),
            "keyless": config.keyless.model_copy(update={"per_minute": 1_000_000}),
            "billing": config.billing.model_copy(update={"mode": "live"}),
        }
    )


def node_limits(event_rules: EventRules, sites: SiteRules, holds_per_day: int) -> Limits:
    """Limits so small that each is reached many times in a run."""
    return replace(
        Limits.of(settings()),
        actors=LIMITS,
        drain_seconds=DRAIN_SECONDS,
        keys=RULES,
        key_cache_seconds=LIFE_SECONDS,
        sessions=SESSIONS,
        devices=DEVICES,
        caps=CAPS,
        per_minute=PER_MINUTE,
        mail=MAIL,
        bookings=replace(BOOKINGS, holds_per_day=holds_per_day),
        submissions=SUBMISSIONS,
        sweeper=SWEEPER,
        events=EVENT_LIMITS,
        event_rules=event_rules,
        event_keys_remembered=REMEMBERED_KEYS,
        event_sweep_seconds=SWEEP_SECONDS,
        sites=sites,
        placements=PlacementsLimits(CHECK_SECONDS, BOOKINGS.horizon_weeks),
    )
