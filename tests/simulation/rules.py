"""The numbers of the simulated world: the service's rules, made so small that each is reached many times in a run."""

from collections.abc import Mapping
from enum import StrEnum

from actors.bookings.invoices import Seller
from actors.bookings.records import Mode
from actors.bookings.state import BookingRules
from actors.bookings.sweeper import SweeperLimits
from actors.catalog.submission_rules import SubmissionRules
from actors.clock import SECOND_MS
from actors.devices.state import DeviceRules
from actors.events.sites import SiteRules
from actors.kernel.actor import ActorLimits
from actors.keys.state import KeyRules
from actors.mail.actor import MailLimits
from actors.mail.state import Retries
from actors.quota.state import Caps
from actors.sessions.state import SessionRules
from actors.shared.code_mails import CodeMailRules
from actors.shared.codes import CodeRules
from actors.values import Tier
from service.schemas.urls import public_address


class Scene(StrEnum):
    """The kinds of worlds. `scenes` defines their content and clients."""

    SPONSORS = "sponsors"
    KEYS = "keys"
    WEBSITES = "websites"
    PEOPLE = "people"
    CATALOG = "catalog"
    WHOLE = "whole"
    SUBMISSIONS = "submissions"


LIMITS = ActorLimits(mailbox=12, batch=6, answer_seconds=4.0, settle_pause_seconds=0.02, settle_pause_max_seconds=0.3)
LIFE_SECONDS = 4
"""How long a key cache remembers a key."""
DRAIN_SECONDS = 5.0
NOTICES_PER_HOUR = 1_000
"""More than any account gets, so that a mail which is missing is a fault."""
RULES = KeyRules(
    anonymous_life_ms=9 * SECOND_MS,
    codes=CodeRules(life_ms=5 * SECOND_MS, pause_ms=1 * SECOND_MS, per_day=3),
    repeat_ms=4 * SECOND_MS,
    letters=CodeMailRules(per_network=99, per_mailbox=99, last_resort=99, short_codes=3),
    full_keys_per_account=4,
    scoped_keys_per_account=3,
    keys_per_day=8,
    notices_per_hour=NOTICES_PER_HOUR,
    code_life_ms=3 * SECOND_MS,
    access_life_ms=5_500,
    refresh_repeat_ms=1_500,
)
CAPS: Mapping[Tier, Caps] = {
    Tier.ANONYMOUS: Caps(daily=7, lifetime=10, usecase_reads=4),
    Tier.CLAIMED: Caps(daily=25, monthly=40),
    Tier.UPGRADED: Caps(daily=60, monthly=90),
}
PER_MINUTE: Mapping[Tier, int] = {Tier.ANONYMOUS: 14, Tier.CLAIMED: 25, Tier.UPGRADED: 60}
SECRET = b"the server's secret"

QUIET_SECONDS = 6.0
"""Faults stop this long before the clients do; by the end every client has to be served again."""
HEALED_SECONDS = 2.5
"""How long after the last fault every client has to be served."""
LONGEST_SECONDS = 120.0
"""How long after its end a world may take to come to rest."""
REST_SECONDS = 6.0
"""How long a world that sells rests after its end: holds expire and due refunds are made."""
MIDNIGHTS_MS = (1_795_824_000_000, 1_796_083_200_000)
"""2026-11-28 00:00 UTC begins a day; 2026-12-01 00:00 UTC begins a month, too."""
MONDAY_MS = 1_795_996_800_000
"""2026-11-30 00:00 UTC, the beginning of a week."""
TURNS_MS: Mapping[int, tuple[int, ...]] = {
    MIDNIGHTS_MS[0]: (1_830_297_600_000,),
    MIDNIGHTS_MS[1]: (1_893_456_000_000,),
    MONDAY_MS: (1_801_440_000_000, 1_861_920_000_000),
}
"""Other midnights of the same days of the week: 2028-01-01 and 2030-01-01, which begin a year; and two Mondays, 2027-02-01,
which begins a month, and 2029-01-01, which begins a year."""

BOOKINGS = BookingRules(
    hold_ms=2_500,
    open_holds=2,
    holds_per_day=14,
    cooldown_ms=800,
    horizon_weeks=2,
    campaigns=40,
    pending_campaigns=9,
    mode=Mode.LIVE,
    settle_ms=1_900,
    digest_ms=2_000,
    seller=Seller("Example Media", tax_name="VAT", tax_rate=8_100),
)
FEW_HOLDS = 4
"""Reservations per account and day in worlds whose clocks are moved: so few that a day is used up."""
SUBMISSIONS = SubmissionRules(public_address, pending=3, mail_every_ms=2_000)
SHORTEST_PAGE_MS, LONGEST_PAGE_MS, PAGE_MARGIN_MS = 1_500, 9_000, 2_500
"""How long the processor's page of a booking may accept money, and the gateway's allowance for clocks and the network. A page
closes 1.5 s after its hold or, if it was asked for late, 4 s after it."""
PENDING_ROUNDS = 3
"""After how many pauses of the sweeper the processor is asked again about a refund in progress."""
CALL_SECONDS = 1.6
"""How long a node waits for the processor."""
SWEEPER = SweeperLimits(sweep_seconds=0.5, refund_retry_seconds=0.3, timeout_seconds=CALL_SECONDS)
KEY_MS = 1_000
"""How long the last idempotency key of a refund is used."""
LEAST_CENTS = 50
"""The processor takes no smaller amount."""

MAIL = MailLimits(
    sends=3,
    send_seconds=0.8,
    lease_seconds=3.0,
    poll_seconds=0.5,
    poll_min_seconds=0.05,
    storage_pause_seconds=0.1,
    close_seconds=2.0,
    retries=Retries(attempts=3, pause_ms=150, pause_max_ms=1_000),
)

EVENT_LIMITS = ActorLimits(
    mailbox=9, batch=7, answer_seconds=1.0, settle_pause_seconds=0.02, settle_pause_max_seconds=0.3, lanes=2, gather=6
)
"""Counts events, not messages: one batch of a relay makes up most of a transaction."""
EVENTS_PER_MINUTE = 30
EVENTS_PER_BOOKING = 5
REMEMBERED_KEYS = 14
"""So few that old keys are forgotten, and the store has to decide."""
ORIGINS = {
    "": "",
    "null": "",
    "https://a.example.com": "a.example.com",
    "https://A.example.com:8443": "a.example.com",
    "http://b.example.com": "b.example.com",
    "https://c.example.com": "c.example.com",
    "https://d.example.com": "d.example.com",
}
"""The origins of pages, each with its website, if it is one."""
SITES = SiteRules(count=True, networks=2, most=2)
"""For worlds that count by website. There are more websites than places."""
SWEEP_SECONDS = 0.7
AHEAD_DAYS = 2
KEEP_DAYS = (1, 7)
"""Chosen at random.

At the turn of a week the longer time ends for a week of keys; at that of the month, the shorter.
"""
OLD_DAYS = 24
"""How many days before the first day have partitions when a world begins."""
STALE_SECONDS = 1.0
"""How outdated a node's placements may be while its store answers (ADR 0033)."""
CHECK_SECONDS = 0.5
OLDEST_DECISION_SECONDS = 4.0
"""The longest time from the decision of a transaction, or the reading of a clock for it, to its commit."""
PROMPT_SECONDS = 0.15
"""A read of the store within this time is prompt: two reads and the pause between them fit the bound."""

SESSIONS = SessionRules(
    life_ms=4 * SECOND_MS,
    touch_ms=700,
    per_account=3,
    notices_per_hour=NOTICES_PER_HOUR,
    codes=CodeRules(life_ms=4 * SECOND_MS, attempts=3),
    letters=CodeMailRules(
        per_network=7, pause_ms=500, per_mailbox=9, last_resort=11, short_codes=5, known_ms=9 * SECOND_MS
    ),
)
BLOCKS = {
    "203.0.113.1": "203.0.113.0/24",
    "203.0.113.2": "203.0.113.0/24",
    "198.51.100.1": "198.51.100.0/24",
    "2001:db8::/64": "2001:db8::/48",
    "2001:db8:0:1::/64": "2001:db8::/48",
}
"""The networks that people ask for codes from, each with its block."""
NETWORKS = tuple(BLOCKS)
DEVICES = DeviceRules(
    life_ms=6 * SECOND_MS,
    interval_seconds=1,
    wrong_codes=3,
    lock_ms=2_500,
    repeat_ms=1_500,
    full_keys_per_account=RULES.full_keys_per_account,
    keys_per_day=4,  # so few that approvals meet them
)
