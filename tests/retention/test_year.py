"""Typical traffic, for ten weeks or a year: no table grows but those that are kept, and a forgotten pruning shows."""

from collections.abc import Collection, Mapping

import pytest
from trio.testing import MockClock

from actors.retention.state import RetentionRules
from actors.stores import Stores
from service.running.assembly import prunings
from storage.connection.pool import Database
from tests.doubles.tables import Memory
from tests.retention.year import GROWING, GROWING_IN_POSTGRES, PERIOD, RULES, open_year, stores_in
from tests.slow import SLOW, repeats

SLOWLY = 4
"""Rows by which a table may differ between two periods, because the first one begins without any rows. A table
that gets a row a week and loses none grows by five."""


def names() -> list[str]:
    stores: Stores = stores_in(Memory())
    return [*(pruning.what for pruning in prunings(stores, RULES)), "mails"]


async def growth(
    below: Memory | Database, *, periods: int = 0, rules: RetentionRules = RULES, without: Collection[str] = ()
) -> set[str]:
    """The tables that are larger in the last period than in the one before it."""
    async with open_year(below, rules=rules, without=without) as year:
        await year.pass_days(periods * PERIOD)
        before = await year.pass_days(PERIOD)
        after = await year.pass_days(PERIOD)
    return {table for table, size in after.items() if size > before[table] + SLOWLY}


A_YEAR = RetentionRules(
    unclaimed_keys_days=14,
    ended_keys_days=90,
    unpaid_bookings_days=100,
    payment_events_days=100,
    usage_days=120,
    audit_days=200,
    sessions_days=30,
    payment_reports_days=100,
    submissions_days=100,
)
"""Lives that a year shows, which takes nine periods before the two that are compared."""

PERIODS, LIVES = (9, A_YEAR) if SLOW else (0, RULES)


async def test_after_a_while_only_what_is_kept_grows_in_memory(autojump_clock: MockClock) -> None:
    assert await growth(Memory(), periods=PERIODS, rules=LIVES) == GROWING


@repeats("in memory, and tests/stores/test_retention_contract.py over both stores")
async def test_after_a_while_only_what_is_kept_grows_in_postgres(database: Database) -> None:
    """Lives are short here in `make thorough`, too: a year takes minutes and runs the same statements."""
    assert await growth(database) == GROWING_IN_POSTGRES


UNSEEN = {"journal", "unconfirmed emails", "deletions", "retired entries"}
"""The journal in memory has no times, emails are forgotten and not rows, an account has one deletion at most, and nobody
retires an entry. The contract tests show these four."""

GROWN = {
    "sign-in codes": {"sign_ins"},
    "counts of letters": {"letters"},
    "sign-in links": {"sign_in_links"},
    "pending sign-ins": {"pending_sign_ins"},
    "passkey challenges": {"passkey_challenges"},
    "ended sessions": {"sessions"},
    "device logins": {"devices"},
    "authorizations": {"authorizations"},
    "unclaimed keys": {"api_keys", "claims", "key_uses", "tenants"},
    "unpaid bookings": {"unpaid bookings"},
    "payment events": {"payment_events"},
    "payment reports": {"payment_reports"},
    "usage days": {"usage_days"},
    "key usage days": {"key_usage_days"},
    "audit": {"audit"},
    "webhook deliveries": {"webhook_deliveries"},
    "webhook events": {"webhook_events"},
    "submissions": {"catalog_submissions"},
    "mails": {"marks", "outbox"},
}
"""The tables that grow without a pruning."""

GROWN_TOO = {"ended keys": {"api_keys", "claims", "key_uses"}, "merged tenants": {"tenants"}}
"""The same for prunings of rows in tables that have another pruning as well."""


def test_every_pruning_has_its_tables() -> None:
    assert sorted([*GROWN, *GROWN_TOO, *UNSEEN]) == sorted(names())


@repeats("only that no table grows")
@pytest.mark.parametrize("forgotten", [GROWN, GROWN_TOO], ids=["alone in its table", "beside another"])
async def test_a_forgotten_pruning_shows(autojump_clock: MockClock, forgotten: Mapping[str, set[str]]) -> None:
    assert await growth(Memory(), without=forgotten) == GROWING.union(*forgotten.values())
