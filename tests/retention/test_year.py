"""Typical traffic, for ten weeks or a year: no table grows but those that are kept, and a forgotten pruning shows."""

import pytest
from trio.testing import MockClock

from actors.retention.state import RetentionRules
from actors.stores import Stores
from service.assembly import prunings
from storage.memory.tables import Memory
from storage.pool import Database
from tests.retention.year import GROWING, GROWING_IN_POSTGRES, PERIOD, RULES, open_year, stores_in
from tests.slow import repeats

SLOWLY = 4
"""Rows by which a table may differ between two periods, because the first one begins without any rows. A table
that gets a row a week and loses none grows by five."""


def names() -> list[str]:
    stores: Stores = stores_in(Memory())
    return [*(pruning.what for pruning in prunings(stores, RULES)), "mails"]


async def growth(
    below: Memory | Database, *, periods: int = 0, rules: RetentionRules = RULES, without: str | None = None
) -> set[str]:
    """The tables that are larger in the last period than in the one before it."""
    async with open_year(below, rules=rules, without=without) as year:
        await year.pass_days(periods * PERIOD)
        before = await year.pass_days(PERIOD)
        after = await year.pass_days(PERIOD)
    return {table for table, size in after.items() if size > before[table] + SLOWLY}


async def test_after_a_while_only_what_is_kept_grows_in_memory(autojump_clock: MockClock) -> None:
    assert await growth(Memory()) == GROWING


async def test_after_a_while_only_what_is_kept_grows_in_postgres(database: Database) -> None:
    assert await growth(database) == GROWING_IN_POSTGRES


LONGER = RetentionRules(
    unclaimed_keys_days=14,
    ended_keys_days=90,
    unpaid_bookings_days=100,
    payment_events_days=100,
    usage_days=120,
    audit_days=200,
    sessions_days=30,
    payment_reports_days=100,
)


@repeats("two periods with shorter lives show the same")
async def test_after_a_year_only_what_is_kept_grows_in_memory(autojump_clock: MockClock) -> None:
    assert await growth(Memory(), periods=9, rules=LONGER) == GROWING


@repeats("two periods with shorter lives show the same")
async def test_after_a_year_only_what_is_kept_grows_in_postgres(database: Database) -> None:
    assert await growth(database, periods=9, rules=LONGER) == GROWING_IN_POSTGRES


UNSEEN = {"journal", "unconfirmed emails", "deletions"}
"""The journal in memory has no times, emails are forgotten and not rows, and an account has one deletion at most. The
contract tests show these three."""

QUICK = {"unclaimed keys", "audit", "merged tenants"}


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(name, marks=() if name in QUICK else (repeats("three other prunings are forgotten"),))
        for name in names()
        if name not in UNSEEN
    ],
)
async def test_a_forgotten_pruning_shows(autojump_clock: MockClock, what: str) -> None:
    assert await growth(Memory(), without=what) > GROWING
