"""The contract of the account store, over Postgres and in memory, with the rows of some days: exports and erasures."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import pytest
import trio

from actors.accounts.messages import Deletion, MailChoices, MailsChosen, Scheduled
from actors.accounts.state import SETTLED_MS
from actors.accounts.store import EXPORTED, SECRET
from actors.accounts.sweeper import AccountEraser, EraserLimits
from actors.bookings.records import CampaignStatus
from actors.clock import DAY_MS, HOUR_MS
from actors.shared.announcements import Topic
from actors.values import Account, Agent, Code, Done, Refused, StorageUnavailable
from storage.connection.pool import Database, open_database
from storage.connection.target import Target
from tests.conftest import Server
from tests.doubles.tables import Memory
from tests.retention.year import CAREFUL, OPERATOR, PEOPLE, TABLES, Year, open_year, sizes
from tests.slow import SLOW, repeats

SPONSOR, READER = PEOPLE[0], PEOPLE[1]
ALL = 100_000


@pytest.fixture(scope="module")
def lived_in_memory() -> Year:
    """A service that ended after eight days."""
    return trio.run(lived, Memory())


@pytest.fixture(scope="module")
def lived_in_postgres(postgres_server: Server) -> Iterator[Year]:
    """The same over Postgres."""
    with postgres_server.copy() as target:
        yield trio.run(lived, target)


async def lived(place: Memory | Target) -> Year:
    async with rows_of(place) as below, open_year(below) as year:
        await year.pass_days(8)
        return year


@asynccontextmanager
async def rows_of(place: Memory | Target) -> AsyncIterator[Memory | Database]:
    if isinstance(place, Memory):
        yield place
        return
    async with open_database(place) as database:
        yield database


@asynccontextmanager
async def going_on(earlier: Year, server: Server) -> AsyncIterator[Year]:
    """A service over a copy of the rows that an earlier one has left."""
    with ExitStack() as stack:
        if isinstance(earlier.below, Memory):
            place: Memory | Target = deepcopy(earlier.below)
        else:
            place = stack.enter_context(server.copy(earlier.below.target.database or ""))
        async with rows_of(place) as below, open_year(below, earlier=earlier) as year:
            yield year


@pytest.fixture(params=["memory", "postgres"])
def earlier(request: pytest.FixtureRequest) -> Year:
    found: Year = request.getfixturevalue(f"lived_in_{request.param}")
    return found


@pytest.fixture
async def year(earlier: Year, postgres_server: Server) -> AsyncIterator[Year]:
    """A service after eight days."""
    async with going_on(earlier, postgres_server) as opened:
        yield opened


async def account_of(year: Year, email: str) -> Account:
    found = await year.stores.accounts.account(email)
    assert found is not None
    return found


async def exported(year: Year, email: str, limit: int = ALL) -> dict[str, list[dict[str, Any]]]:
    """All pages of an export."""
    account, rows, place = await account_of(year, email), dict[str, list[dict[str, Any]]](), None
    while True:
        page, place = await year.node.services.accounts.export(account, place, limit)
        assert sum(map(len, page.values())) <= limit
        for table, found in page.items():
            rows.setdefault(table, []).extend(dict(each.row) for each in found)
        if place is None:
            return rows


async def mentions(year: Year, email: str) -> dict[str, int]:
    """The rows of each table that hold a text."""
    if isinstance(year.below, Memory):
        tables = {name: getattr(year.below, name) for name in Memory.__slots__}
        rows = {name: each.items() if isinstance(each, dict) else each for name, each in tables.items()}
        counts = {
            name: sum(email in repr(row) for row in each) for name, each in rows.items() if isinstance(each, Iterable)
        }
        # Texts of the delivery and of the message of one mail.
        counts["outbox"] = counts.pop("messages")
    else:
        counts = {}
        for row in await year.below.fetch(TABLES):
            query = f'select count(*) from "{row["relname"]}" as each where position($1 in to_jsonb(each)::text) > 0'
            counts[row["relname"]] = int(await year.below.fetchval(query, email))
    return {table: count for table, count in counts.items() if count}


async def due(year: Year, email: str) -> Deletion:
    """Confirm the deletion of an account, and wait until it is due."""
    year.clock.at_ms += 20 * DAY_MS
    await year.node.services.sweeper._round()
    await year.node.services.accounts.start_deletion(email)
    agent = Agent("session", "ses_leaver", email)
    scheduled = await year.node.services.accounts.confirm_deletion(email, await year.code_to(email), agent)
    assert isinstance(scheduled, Scheduled), scheduled
    year.clock.at_ms += 3 * DAY_MS
    return scheduled.deletion


def eraser(year: Year, **limits: Any) -> AccountEraser:
    return AccountEraser(year.node.services.accounts, EraserLimits(**{"pause_seconds": 0.0, "steps": ALL, **limits}))


async def erase(year: Year, **limits: Any) -> None:
    """End the accounts that are due, and erase their rows once requests from before have ended."""
    await eraser(year).sweep()
    year.clock.at_ms += SETTLED_MS
    await eraser(year, **limits).sweep()


@pytest.mark.parametrize(
    "earlier", ["memory", pytest.param("postgres", marks=repeats("both stores export the same"))], indirect=True
)
async def test_an_export_has_rows_of_every_table_and_no_secret(year: Year) -> None:
    services = year.node.services
    await services.keys.grant_admin(SPONSOR, OPERATOR)
    await services.keys.grant_admin(READER, OPERATOR)
    session_id = await year.sign_in(SPONSOR)
    await services.sessions.issue_link(SPONSOR, OPERATOR)
    await services.devices.decide("BCDF-GHJK", Agent("session", session_id, SPONSOR), approve=True)
    year.clock.at_ms += 20 * DAY_MS
    await services.accounts.start_deletion(SPONSOR)
    rows = await exported(year, SPONSOR)
    assert list(rows) == list(EXPORTED)
    # Device logins of the sponsor are over, and somebody else has a passkey.
    factors = {"passkeys", "pending_sign_ins"}
    assert {table for table in EXPORTED if not rows[table]} <= {"devices"} | factors
    assert factors <= {table for table, found in (await exported(year, CAREFUL)).items() if found}
    assert [row for table in rows.values() for row in table if SECRET & row.keys()] == []
    assert rows["accounts"][0]["email"] == SPONSOR
    assert {row["tenant_id"] for row in rows["bookings"]} == {(await account_of(year, SPONSOR)).tenant_id}
    assert {row["actor_email"] for row in rows["audit"]} <= {SPONSOR, None}


async def test_both_stores_export_the_same_without_rows_of_others_whole_and_in_pages(
    lived_in_memory: Year, lived_in_postgres: Year, postgres_server: Server
) -> None:
    found = []
    for earlier in (lived_in_memory, lived_in_postgres):
        async with going_on(earlier, postgres_server) as year:
            exports = {email: await exported(year, email) for email in (*PEOPLE, CAREFUL)}
            for limit in (1, 7) if SLOW else (7,):
                assert await exported(year, SPONSOR, limit) == exports[SPONSOR]
            found.append(exports)
    assert found[0] == found[1]
    text = json.dumps(found[0][READER])
    for email in PEOPLE:
        assert (email in text) == (email == READER)


@pytest.mark.parametrize("rows", [3, 500])
async def test_after_the_erasure_no_table_names_the_person(year: Year, rows: int) -> None:
    before = await sizes(year.below)
    await due(year, READER)
    await erase(year, rows=rows)
    assert await mentions(year, READER) == {"outbox": 1}, "the mail that says that it is done"
    after = await sizes(year.below)
    assert after["accounts"] == before["accounts"] - 1
    assert after["tenants"] < before["tenants"]
    assert await year.stores.accounts.due(year.clock.at_ms, 10) == []


async def test_what_was_paid_stays_without_the_words_of_the_campaign(year: Year) -> None:
    tenant_id = (await account_of(year, SPONSOR)).tenant_id
    before = await sizes(year.below)
    assert before["bookings"] > before["bookings"] - before["unpaid bookings"] > 0
    await due(year, SPONSOR)
    await erase(year, rows=2)
    assert await mentions(year, SPONSOR) == {"outbox": 1}
    after = await sizes(year.below)
    assert (after["unpaid bookings"], after["bookings"]) == (0, before["bookings"] - before["unpaid bookings"])
    for table in ("delivery_days", "event_filtered"):
        assert after[table] == before[table]
    sponsor = await year.stores.sponsorship.sponsor(tenant_id)
    assert sponsor is not None
    assert (sponsor.name, sponsor.website) == ("Acme", "")
    invoices = await year.stores.sponsorship.invoices(tenant_id, None, 100)
    assert {(each.buyer_name, each.buyer_website, each.buyer_email) for each in invoices} == {("Acme", "", "")}
    assert {(each.buyer_legal_name, each.buyer_country) for each in invoices} == {("Acme Ltd", "CH")}
    assert await year.stores.sponsorship.billing_details(tenant_id) is None
    [view] = await year.stores.sponsorship.campaigns(tenant_id, None, 10)
    assert view.campaign.status is CampaignStatus.PAUSED
    assert set(asdict(view.campaign.content).values()) == {"Deleted", ""}


async def test_an_account_that_ended_lets_nobody_in_and_its_email_is_free(year: Year) -> None:
    old = await account_of(year, READER)
    session_id = await year.sign_in(READER)
    deletion = await due(year, READER)
    begun = await year.node.services.accounts.begin_erasure(deletion)
    assert begun.begun_ms == year.clock.at_ms
    assert await year.stores.accounts.account(READER) is None
    assert await year.stores.keys.live_keys(old.tenant_id, year.clock.at_ms) == []
    assert await year.stores.sessions.of_email(READER, year.clock.at_ms) == []
    # A sign-in before the erasure is over opens a fresh account, which the erasure leaves alone.
    fresh_session = await year.sign_in(READER)
    fresh = await account_of(year, READER)
    assert fresh.tenant_id != old.tenant_id
    await erase(year, rows=1)
    assert [row.id for row in await year.stores.sessions.of_email(READER, year.clock.at_ms)] == [fresh_session]
    assert session_id not in {row["target_id"] for row in (await exported(year, READER))["audit"]}
    assert fresh == await account_of(year, READER)


async def test_what_a_request_from_before_the_end_writes_is_erased_too(year: Year) -> None:
    """A request that was let in before the end may write after it. Nothing is erased until all such requests have ended."""
    tenant_id = (await account_of(year, READER)).tenant_id
    await due(year, READER)
    await eraser(year).sweep()
    year.clock.at_ms += SETTLED_MS - 1
    late = Agent("session", "ses_late", READER)
    await year.node.services.ledger.save_profile(tenant_id, READER, "https://example.com", late)
    await eraser(year).sweep()
    assert await year.stores.sponsorship.sponsor(tenant_id) is not None
    year.clock.at_ms += 1
    await eraser(year).sweep()
    assert await mentions(year, READER) == {"outbox": 1}


async def test_a_deletion_that_is_undone_deletes_nothing(year: Year) -> None:
    accounts = year.node.services.accounts
    await due(year, READER)
    whole = await sizes(year.below)
    assert isinstance(await accounts.undo_deletion(READER, OPERATOR), Done)
    await eraser(year).sweep()
    after = await sizes(year.below)
    # The tenants of others, whose accounts ended before, are erased in this sweep.
    assert {table: after[table] for table in ("accounts", "api_keys", "sessions")} == {
        table: whole[table] for table in ("accounts", "api_keys", "sessions")
    }


async def test_a_step_that_fails_is_made_up_for_by_the_next_sweep(year: Year) -> None:
    """Steps of one row each, every second of which ends before or after its commit in an error."""
    await due(year, READER)
    store, calls = year.stores.accounts, 0

    class Failing(type(store)):  # type: ignore[misc]
        async def erase(self, deletion: Deletion, limit: int) -> bool:
            nonlocal calls
            calls += 1
            if calls % 4 == 1:
                raise StorageUnavailable("before the commit")
            more: bool = await super().erase(deletion, limit)
            if calls % 4 == 3:
                raise StorageUnavailable("after the commit")
            return more

    year.node.services.accounts._store = Failing(year.below)
    for _ in range(200):
        try:
            year.clock.at_ms += SETTLED_MS
            await eraser(year, rows=1, steps=3).sweep()
        except StorageUnavailable:
            continue
        if not await store.due(year.clock.at_ms, 10):
            break
    assert calls > 8
    assert await mentions(year, READER) == {"outbox": 1}


async def test_two_nodes_erase_one_account_once(lived_in_postgres: Year, postgres_server: Server) -> None:
    async with going_on(lived_in_postgres, postgres_server) as year:
        await due(year, READER)
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(eraser(year).sweep)
        year.clock.at_ms += SETTLED_MS
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(eraser(year, rows=2).sweep)
        assert await mentions(year, READER) == {"outbox": 1}
        deleted = [row for row in await year.stores.sponsorship.audit(None, 500) if row.action == "account.deleted"]
        assert len({row.target_id for row in deleted}) == len(deleted)


async def test_paid_weeks_ahead_and_a_last_administrator_are_refused(year: Year) -> None:
    accounts, agent = year.node.services.accounts, Agent("session", "ses_1", SPONSOR)
    paid = await accounts.start_deletion(SPONSOR)
    assert isinstance(paid, Refused)
    assert paid.code is Code.INVALID_STATE
    assert "Paid weeks" in paid.message
    await year.node.services.keys.grant_admin(READER, OPERATOR)
    last = await accounts.start_deletion(READER)
    assert isinstance(last, Refused)
    assert "last administrator" in last.message
    await year.node.services.keys.grant_admin(SPONSOR, OPERATOR)
    assert not isinstance(await accounts.order_deletion(READER, OPERATOR), Refused)
    assert isinstance(await accounts.undo_deletion(SPONSOR, agent), Done)


async def test_one_who_is_the_last_administrator_when_the_day_comes_stays(year: Year) -> None:
    keys = year.node.services.keys
    await keys.grant_admin(READER, OPERATOR)
    await keys.grant_admin(PEOPLE[2], OPERATOR)
    deletion = await due(year, READER)
    await keys.revoke_admin(PEOPLE[2], OPERATOR)
    await eraser(year).sweep()
    waiting = await year.stores.accounts.deletion(deletion.tenant_id)
    assert waiting is not None
    assert (waiting.begun_ms, waiting.due_ms) == (None, year.clock.at_ms + HOUR_MS)


async def test_choices_of_mails_are_kept_until_the_account_ends(year: Year) -> None:
    accounts, agent = year.node.services.accounts, Agent("session", "ses_1", READER)
    await accounts.choose_mails(READER, dict.fromkeys(Topic, True), agent)
    assert await year.stores.accounts.mail_choices(READER) == MailChoices(READER)
    for _ in range(2):
        done = await accounts.choose_mails(READER, {Topic.REVIEWS: False, Topic.BOOKINGS: False}, agent)
        assert done == MailsChosen(MailChoices(READER, reviews=False, bookings=False))
    await accounts.choose_mails(READER, {Topic.BOOKINGS: True}, agent)
    assert await year.stores.accounts.mail_choices(READER) == MailChoices(READER, reviews=False)
    assert (await exported(year, READER))["mail_choices"] == [asdict(MailChoices(READER, reviews=False))]
    assert await year.stores.accounts.mail_choices("nobody@example.com") == MailChoices("nobody@example.com")
    deletion = await due(year, READER)
    async with trio.open_nursery() as nursery:  # in one batch
        nursery.start_soon(accounts.choose_mails, READER, {Topic.REPORTS: False}, agent)
        nursery.start_soon(accounts.begin_erasure, deletion)
    await erase(year)
    assert await year.stores.accounts.mail_choices(READER) == MailChoices(READER)
