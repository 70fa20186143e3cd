"""No field of a record is lost: rows are written with every field filled, changed in each field that can change, and read."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

import pytest

from actors.accounts.messages import Deletion, MailChoices
from actors.accounts.state import Decision as AccountDecision
from actors.accounts.state import LockSet as AccountLocks
from actors.accounts.store import SECRET
from actors.bookings.records import BillingDetails, Booking, Campaign, IdempotencyRecord, PaymentReport, Slot, Sponsor
from actors.bookings.reports import SharedReport
from actors.bookings.state import Decision as LedgerDecision
from actors.bookings.state import LockSet as LedgerLocks
from actors.catalog.submissions import Submission, SubmissionStatus
from actors.devices.messages import Device
from actors.devices.state import Decision as DeviceDecision
from actors.devices.state import LockSet as DeviceLocks
from actors.keys.authorizations import Authorization
from actors.keys.messages import Claim, Key
from actors.keys.state import Decision as KeyDecision
from actors.keys.state import LockSet as KeyLocks
from actors.keys.state import Snapshot as KeyRows
from actors.mail.messages import QueuedMessage
from actors.sessions.messages import Session, SignIn, SignInLink
from actors.sessions.second_factor import Challenge, Passkey, PendingSignIn, SecondFactorRows
from actors.sessions.state import Decision as SessionDecision
from actors.sessions.state import LockSet as SessionLocks
from actors.sessions.state import Snapshot as SessionRows
from actors.shared.code_mails import CodeMailCount
from actors.values import Account, BatchId, Tenant
from actors.webhooks.messages import Delivery, DeliveryStatus, Webhook
from actors.webhooks.state import Decision as WebhookDecision
from actors.webhooks.state import LockSet as WebhookLocks
from storage.connection.pool import Connection, open_database
from storage.connection.target import Target
from storage.rows import tables
from storage.rows.columns import record_of, write
from storage.rows.tables import TABLES, Table
from tests.stores.conftest import Stores
from tests.stores.rows import changed, filled

NOW_MS = 500
"""Before every moment of the rows, so that nothing has ended."""

DONE: Mapping[type[Any], tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    QueuedMessage: ({"failed_ms": None}, {"failed_ms": None}),
    Submission: ({}, {"status": SubmissionStatus.ACCEPTED}),
    Delivery: ({"due_ms": None}, {"due_ms": None, "status": DeliveryStatus.DELIVERED}),
}
"""What a check of a table wants of the first values and of the others."""


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.name} of {table.kind.__name__}")
async def test_every_field_has_a_column_that_is_inserted_updated_and_read(
    table: Table, database_target: Target
) -> None:
    before, after = DONE.get(table.kind, ({}, {}))
    first = filled(table.kind, **before)
    other = changed(table, first, **after)

    async def read(connection: Connection) -> list[Any]:
        rows = await connection.fetch(f"select {table.names()} from {table.name}")
        return [record_of(table.kind, row) for row in rows]

    async def work(connection: Connection) -> None:
        await connection.execute("set local session_replication_role = replica")  # without foreign keys
        await write(connection, _with_sequence(table.inserting), [column.array([first]) for column in table.columns])
        found = await read(connection)
        assert found == [first]
        assert repr(found) == repr([first]), "a text is a member of its enumeration"
        if table.changing:
            await table.update(connection, [other])
            assert await read(connection) == [other]
            await write(connection, _with_sequence(table.saving), [column.array([first]) for column in table.columns])
            assert await read(connection) == [first]

    async with open_database(database_target) as database:
        await database.transact(work)


def _with_sequence(statement: str) -> str:
    """The statement, also for a key that Postgres would number by itself."""
    return statement.replace(") select ", ") overriding system value select ", 1)


class Batches:
    """Stores rows by decisions, and reads them as the next decision would."""

    def __init__(self) -> None:
        self.number = 0

    async def decide(self, store: Any, locks: Any, decision: Any, *now_ms: int) -> Any:
        self.number += 1
        seen: list[Any] = []

        def decide(snapshot: Any) -> Any:
            seen.append(snapshot)
            return decision

        await store.transact(BatchId("test", self.number), locks, decide, *now_ms)
        return seen[0]


async def test_the_stores_of_keys_and_accounts_lose_no_field(stores: Stores) -> None:
    batches = Batches()
    tenant = filled(Tenant, merged_into=None)
    account = filled(Account, tenant_id=tenant.id)
    key = filled(Key, tenant_id=tenant.id, revoked_ms=None)
    claim, letter = filled(Claim, key_id=key.id), filled(CodeMailCount)
    allowed = filled(Authorization, email=account.email, key_id=key.id)
    locks = KeyLocks(
        token_hashes=(claim.token_hash,),
        emails=(account.email,),
        key_ids=(key.id,),
        code_mail_ids=(letter.id,),
        code_hashes=(allowed.code_hash,),
    )
    for again in (False, True):
        if again:
            key = changed(tables.KEYS, key, tenant_id=tenant.id, revoked_ms=None)
            allowed = changed(tables.AUTHORIZATIONS, allowed, key_id=key.id)
            claim, letter = changed(tables.CLAIMS, claim), changed(tables.CODE_MAIL_COUNTS, letter)
            tenant, account = changed(tables.TENANTS, tenant, merged_into=None), changed(tables.ACCOUNTS, account)
        accounts = {account.email: account}
        rows = KeyRows(
            keys={key.id: key},
            claims={claim.token_hash: claim},
            accounts={} if again else accounts,
            tenants={tenant.id: tenant},
            letters={letter.id: letter},
            authorizations={allowed.id: allowed},
        )
        decision = KeyDecision(changed=rows, suspensions=accounts if again else {})
        await batches.decide(stores.keys, locks, decision, NOW_MS)
        found = await batches.decide(stores.keys, locks, KeyDecision(), NOW_MS)
        assert (found.keys, found.claims, found.letters) == (rows.keys, rows.claims, rows.letters)
        assert found.authorizations == rows.authorizations
        assert (found.accounts, found.tenants) == (accounts, rows.tenants)
    await _accounts(stores, batches, account)
    await _people(stores, batches, account)
    await _webhooks(stores, batches, account)
    rows_of_account = {tables.ACCOUNTS: account, tables.TENANTS: tenant, tables.KEYS: key, tables.CLAIMS: claim}
    await _exported(stores, account, {**rows_of_account, tables.AUTHORIZATIONS: allowed})


async def _exported(stores: Stores, account: Account, rows: Mapping[Table, Any]) -> None:
    """An export has every field of the rows, except secrets."""
    for table, record in rows.items():
        [exported] = await stores.accounts.export(account, table.name, "", 2)
        shown = [column for column in table.columns if column.name not in SECRET]
        expected = {column.name: attrgetter(column.attribute)(record) for column in shown}
        assert {name: exported.row.get(name) for name in expected} == json.loads(json.dumps(expected, default=asdict))


async def _accounts(stores: Stores, batches: Batches, account: Account) -> None:
    deletion = filled(Deletion, email=account.email, tenant_id=account.tenant_id, begun_ms=None)
    choices = filled(MailChoices, email=account.email)
    locks = AccountLocks((account.email,), ())
    for _ in range(2):
        decision = AccountDecision(deletions={account.email: deletion}, choices={account.email: choices})
        await batches.decide(stores.accounts, locks, decision)
        found = await batches.decide(stores.accounts, locks, AccountDecision())
        assert (found.deletions, found.choices) == (decision.deletions, decision.choices)
        assert found.accounts == {account.email: account}
        await _exported(stores, account, {tables.DELETIONS: deletion, tables.MAIL_CHOICES: choices})
        deletion = changed(tables.DELETIONS, deletion, begun_ms=None)
        choices = changed(tables.MAIL_CHOICES, choices)


async def _people(stores: Stores, batches: Batches, account: Account) -> None:
    email = account.email
    sign_in, link, letter = filled(SignIn, email=email), filled(SignInLink, email=email), filled(CodeMailCount)
    session, pending = filled(Session, email=email, revoked_ms=None), filled(PendingSignIn, email=email)
    passkey, challenge = filled(Passkey, email=email), filled(Challenge, holder_id=session.id)
    device = filled(Device, email=email, session_id=session.id, key_id=None)
    locks = SessionLocks(
        ((email, sign_in.browser),), (letter.id,), (link.token_hash,), (email,), (session.id,), (session.id, pending.id)
    )
    for _ in range(2):
        rows = SessionRows(
            sign_ins={sign_in.key: sign_in},
            letters={letter.id: letter},
            links={link.token_hash: link},
            sessions={session.id: session},
            second_factor=SecondFactorRows(
                {passkey.id: passkey}, {challenge.holder_id: challenge}, {pending.id: pending}
            ),
        )
        await batches.decide(stores.sessions, locks, SessionDecision(changed=rows), NOW_MS)
        found = await batches.decide(stores.sessions, locks, SessionDecision(), NOW_MS)
        rows.accounts = {email: account}
        assert found == rows
        made = DeviceDecision()
        made.changed.devices[device.id] = device
        asked = DeviceLocks(code_hashes=(device.code_hash,))
        await batches.decide(stores.devices, asked, made, NOW_MS)
        assert (await batches.decide(stores.devices, asked, DeviceDecision(), NOW_MS)).devices == {device.id: device}
        await _exported(
            stores,
            account,
            {
                tables.SIGN_INS: sign_in,
                tables.SIGN_IN_LINKS: link,
                tables.SESSIONS: session,
                tables.PENDING_SIGN_INS: pending,
                tables.PASSKEYS: passkey,
                tables.DEVICES: device,
            },
        )
        sign_in, link, letter = (
            changed(tables.SIGN_INS, sign_in),
            changed(tables.SIGN_IN_LINKS, link),
            changed(tables.CODE_MAIL_COUNTS, letter),
        )
        session, pending = (
            changed(tables.SESSIONS, session, revoked_ms=None),
            changed(tables.PENDING_SIGN_INS, pending),
        )
        passkey, challenge = changed(tables.PASSKEYS, passkey), changed(tables.CHALLENGES, challenge)
        device = changed(tables.DEVICES, device, email=email, session_id=session.id, key_id=None)


async def _webhooks(stores: Stores, batches: Batches, account: Account) -> None:
    webhook = filled(Webhook, tenant_id=account.tenant_id)
    locks = WebhookLocks((account.tenant_id,), ())
    for decision in (WebhookDecision(created={webhook.id: webhook}), None):
        if decision is None:
            webhook = changed(tables.WEBHOOKS, webhook)
            decision = WebhookDecision(enabled={webhook.id: webhook})
        await batches.decide(stores.webhooks, locks, decision, NOW_MS)
        assert (await batches.decide(stores.webhooks, locks, WebhookDecision(), NOW_MS)).webhooks == {
            webhook.id: webhook
        }
        await _exported(stores, account, {tables.WEBHOOKS: webhook})


async def test_the_ledger_loses_no_field(stores: Stores) -> None:
    batches = Batches()
    sponsor, slot = filled(Sponsor), filled(Slot, weeks=1)
    tenant = Tenant(sponsor.tenant_id, filled(Tenant).tier)
    await batches.decide(
        stores.keys, KeyLocks((), (), ()), KeyDecision(changed=KeyRows(tenants={tenant.id: tenant})), NOW_MS
    )
    campaign = filled(Campaign, tenant_id=tenant.id)
    booking = filled(Booking, tenant_id=tenant.id, campaign_id=campaign.id, slot_id=slot.id)
    record = filled(IdempotencyRecord, tenant_id=tenant.id, booking_id=booking.id)
    report, details = filled(PaymentReport), filled(BillingDetails, tenant_id=tenant.id)
    shared = filled(SharedReport, tenant_id=tenant.id, token_hash=bytes(32))
    place = (record.tenant_id, record.operation, record.key)
    for again in (False, True):
        decision = LedgerDecision(
            sponsors={tenant.id: sponsor},
            billing={tenant.id: details},
            shared={} if again else {shared.id: shared},
            slots={slot.id: slot},
            campaigns={campaign.id: campaign},
            bookings={booking.id: booking},
            remembered=[] if again else [record],
            reports={report.id: report},
        )
        locks = LedgerLocks(
            tenant_ids=(tenant.id,),
            campaign_ids=(campaign.id,),
            slot_ids=(slot.id,),
            booking_ids=(booking.id,),
            keys=(place,) if again else (),
            payment_ids=(report.payment_id,),
            shared_of=(tenant.id,),
        )
        await batches.decide(stores.ledger, locks, decision)
        found = await batches.decide(stores.ledger, locks, LedgerDecision())
        assert (found.sponsors, found.slots) == (decision.sponsors, decision.slots)
        assert (found.billing, found.shared) == (decision.billing, {tenant.id: [shared]})
        assert await stores.sponsorship.billing_details(tenant.id) == details
        assert (found.campaigns, found.bookings) == (decision.campaigns, decision.bookings)
        assert (found.remembered, found.reports) == ({place: record} if again else {}, decision.reports)
        owner = filled(Account, tenant_id=tenant.id)
        stored = {
            tables.SPONSORS: sponsor,
            tables.BILLING_DETAILS: details,
            tables.SHARED_REPORTS: shared,
            tables.CAMPAIGNS: campaign,
            tables.BOOKINGS: booking,
        }
        await _exported(stores, owner, {**stored, tables.BOOKING_KEYS: record})
        details = changed(tables.BILLING_DETAILS, details)
        sponsor, slot = changed(tables.SPONSORS, sponsor), changed(tables.SLOTS, slot, weeks=2)
        campaign, booking = changed(tables.CAMPAIGNS, campaign), changed(tables.BOOKINGS, booking)
        report = changed(tables.PAYMENT_REPORTS, report)
