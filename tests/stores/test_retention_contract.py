"""The contract of the retention store, over Postgres and in memory: what goes at which moment, and what stays."""

from dataclasses import asdict, replace
from typing import Any

import pytest

from actors.accounts.messages import Deletion
from actors.bookings.records import (
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    IdempotencyRecord,
    Mode,
    PaymentReport,
    PaymentState,
    Side,
    Slot,
)
from actors.catalog.messages import Kind as EntryKind
from actors.catalog.submissions import Submission, SubmissionStatus
from actors.clock import DAY_MS, HOUR_MS
from actors.keys.messages import Claim, Key
from actors.retention.state import RetentionRules, retention_ms
from actors.retention.store import Rows
from actors.shared.credentials import Kind
from actors.times import WEEK_MS, week_of
from actors.values import Account, AuditRecord, Tenant, Tier
from actors.webhooks.messages import Delivery, DeliveryStatus, EventType, Webhook, WebhookStatus
from storage.connection.pool import Connection, Database
from storage.postgres.retention import PRUNING
from storage.rows.tables import AUDIT
from tests.doubles.tables import Memory
from tests.stores.conftest import Stores

NOW = 20_000 * DAY_MS
EDGE = NOW - 10 * DAY_MS
OLD, YOUNG = EDGE - 1, EDGE
EMAIL = "ann@example.com"


class Base:
    """Rows of several tables, put where the stores of a test look."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.below = stores.below

    async def run(self, statement: str, *values: Any) -> list[Any]:
        assert isinstance(self.below, Database)

        async def work(connection: Connection) -> list[Any]:
            return list(await connection.fetch(statement, *values))

        return await self.below.transact(work)

    async def put(self, table: str, name: str, key: Any, row: Any, /, **columns: Any) -> None:
        """A row: `table[key] = row` in memory, and its columns in Postgres."""
        if isinstance(self.below, Memory):
            rows = getattr(self.below, table)
            if isinstance(rows, list):
                rows.append(row)
            else:
                rows[key] = row
            return
        values = columns or {field: value for field, value in asdict(row).items() if value is not None}
        places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        await self.run(f"insert into {name} ({', '.join(values)}) values ({places})", *values.values())

    async def left(self, table: str, name: str, column: str = "id") -> list[str]:
        """The ids that are left in a table."""
        if isinstance(self.below, Memory):
            rows = getattr(self.below, table)
            return sorted(row.id for row in rows) if isinstance(rows, list) else sorted(str(key) for key in rows)
        return sorted(str(row[0]) for row in await self.run(f"select {column} from {name}"))

    async def prune(self, rows: Rows, limit: int = 100) -> int:
        return await self.stores.retention.prune(rows, EDGE, limit)

    async def tenant(self, name: str, tier: Tier = Tier.CLAIMED, **fields: Any) -> None:
        tenant = Tenant(f"ten_{name}", tier, **fields)
        await self.put("tenants", "tenants", tenant.id, tenant)

    async def key(self, name: str, tenant: str, kind: Kind, **fields: Any) -> None:
        """A key with a claim and a use."""
        number = sum(map(ord, name))
        key = Key(f"key_{name}", number.to_bytes(32), name, kind, f"ten_{tenant}", 1, **fields)
        await self.put("keys", "api_keys", key.id, key)
        claim = Claim((number + 1_000).to_bytes(32), key.id, 1)
        await self.put("claims", "claims", claim.token_hash, claim)
        await self.put("key_uses", "key_uses", key.id, 5, key_id=key.id, used_ms=5)

    async def keys_left(self) -> list[list[str]]:
        places = (("keys", "api_keys", "id"), ("key_uses", "key_uses", "key_id"), ("tenants", "tenants", "id"))
        return [await self.left(*place) for place in places]


@pytest.fixture
def base(stores: Stores) -> Base:
    return Base(stores)


async def test_a_key_that_expired_unclaimed_goes_with_its_tenant_claim_usage_and_use(base: Base) -> None:
    for name, expires_ms in (("old", OLD), ("young", YOUNG)):
        await base.tenant(name, Tier.ANONYMOUS)
        await base.key(name, name, Kind.ANONYMOUS, expires_ms=expires_ms)
        place = f"ten_{name}", 5
        await base.put("usage_days", "usage_days", place, 3, tenant_id=place[0], day=5, used=3)
        of_key = {"tenant_id": place[0], "key_id": f"key_{name}", "day": 5, "used": 3}
        await base.put("key_usage_days", "key_usage_days", tuple(of_key.values())[:3], 3, **of_key)
    # A claimed key keeps its kind, and may have an end that its owner chose.
    await base.tenant("claimed")
    await base.key("claimed", "claimed", Kind.ANONYMOUS, expires_ms=OLD)
    assert await base.prune(Rows.UNCLAIMED_KEYS) == 1
    stayed = ["claimed", "young"]
    assert await base.keys_left() == [[f"key_{n}" for n in stayed]] * 2 + [[f"ten_{n}" for n in stayed]]
    assert len(await base.left("claims", "claims", "key_id")) == 2
    assert len(await base.left("usage_days", "usage_days", "tenant_id")) == 1
    assert len(await base.left("key_usage_days", "key_usage_days", "tenant_id")) == 1
    assert await base.prune(Rows.UNCLAIMED_KEYS) == 0


async def test_a_key_of_an_account_goes_some_time_after_its_end(base: Base) -> None:
    await base.tenant("ann")
    await base.key("revoked_old", "ann", Kind.USER, revoked_ms=OLD)
    await base.key("revoked", "ann", Kind.USER, revoked_ms=YOUNG)
    await base.key("expired_old", "ann", Kind.USER, expires_ms=OLD)
    await base.key("live", "ann", Kind.USER)
    await base.tenant("nobody", Tier.ANONYMOUS)
    await base.key("anonymous", "nobody", Kind.ANONYMOUS, expires_ms=OLD)
    assert await base.prune(Rows.ENDED_KEYS) == 2
    assert (await base.keys_left())[0] == ["key_anonymous", "key_live", "key_revoked"]


async def test_a_merged_tenant_goes_on_the_day_after_its_last_charge(base: Base) -> None:
    await base.tenant("ann")
    await base.tenant("old", merged_into="ten_ann", day=EDGE // DAY_MS - 1)
    await base.tenant("charged", merged_into="ten_ann", day=EDGE // DAY_MS)
    assert await base.prune(Rows.MERGED_TENANTS) == 1
    assert await base.left("tenants", "tenants") == ["ten_ann", "ten_charged"]


async def test_an_email_that_nobody_confirmed_is_forgotten_and_its_claim_stays(base: Base) -> None:
    await base.tenant("nobody", Tier.ANONYMOUS)
    cases = {"old": (OLD, None), "young": (YOUNG, None), "done": (OLD, NOW)}
    for number, (name, (sent_ms, completed_ms)) in enumerate(cases.items(), 1):
        key = Key(f"key_{name}", number.to_bytes(32), name, Kind.ANONYMOUS, "ten_nobody", 1, expires_ms=NOW)
        await base.put("keys", "api_keys", key.id, key)
        claim = Claim(
            number.to_bytes(32), key.id, 1, EMAIL, completed_ms, proof=b"proof", sent_ms=sent_ms, sent_today=2
        )
        await base.put("claims", "claims", claim.token_hash, claim)
    assert await base.prune(Rows.UNCONFIRMED_EMAILS) == 1
    if isinstance(base.below, Memory):
        found = {c.key_id: (c.email, c.proof, c.sent_today) for c in base.below.claims.values()}
    else:
        rows = await base.run("select key_id, email, proof, sent_today from claims")
        found = {row[0]: (row[1], row[2], row[3]) for row in rows}
    told = (EMAIL, b"proof", 2)
    assert found == {"key_old": (None, None, 2), "key_young": told, "key_done": told}


BOOKING = Booking(
    "bok_1", "ten_ann", "cmp_1", "left", "Left", week_of(NOW), 1, 100, "usd", BookingStatus.EXPIRED, Mode.TEST, 1, OLD
)


async def test_only_bookings_go_that_ended_without_money_and_their_keys_with_them(base: Base) -> None:
    await base.tenant("ann")
    slot = Slot("left", "Left", Side.LEFT, 100, 1)
    await base.put("slots", "slots", slot.id, slot)
    content = Content("Headline", "Body", "Go", "https://example.com", "A")
    campaign = Campaign("cmp_1", "ten_ann", "Autumn", content, CampaignStatus.APPROVED, 1)
    columns = {**asdict(campaign), **asdict(content), "content": None}
    flat = {name: value for name, value in columns.items() if value is not None}
    await base.put("campaigns", "campaigns", campaign.id, campaign, **flat)
    cases: dict[str, dict[str, Any]] = {
        "expired": {},
        "cancelled": {"status": BookingStatus.CANCELLED},
        "young": {"hold_ms": YOUNG},
        "open": {"status": BookingStatus.CHECKOUT},
        "paid": {"status": BookingStatus.PAID, "paid_ms": OLD, "paid_cents": 100, "payment_id": "pay_1"},
        "refunded": {"status": BookingStatus.REFUNDED, "paid_ms": OLD, "paid_cents": 100, "refunded_cents": 100},
        "strange": {"status": BookingStatus.CANCELLED, "payment_issue": "a payment of another amount"},
        "holding": {"status": BookingStatus.CANCELLED},
    }
    for name, fields in cases.items():
        booking = replace(BOOKING, id=name, **fields)
        await base.put("bookings", "bookings", name, booking)
        known = IdempotencyRecord("ten_ann", "bookings", name, b"print", name, 1)
        await base.put("booking_keys", "booking_keys", ("ten_ann", "bookings", name), known)
    week = {"slot_id": "left", "week_ms": week_of(NOW) + WEEK_MS, "booking_id": "holding"}
    await base.put("slot_weeks", "slot_weeks", ("left", week["week_ms"]), "holding", **week)
    assert await base.prune(Rows.UNPAID_BOOKINGS, limit=1) == 1
    assert await base.prune(Rows.UNPAID_BOOKINGS) == 1
    stayed = sorted(cases.keys() - {"expired", "cancelled"})
    assert await base.left("bookings", "bookings") == stayed
    if isinstance(base.below, Memory):
        assert sorted(row.booking_id for row in base.below.booking_keys.values()) == stayed
    else:
        assert await base.left("booking_keys", "booking_keys", "booking_id") == stayed


async def test_old_payment_events_reports_usage_and_audit_go(base: Base) -> None:
    for name, at_ms in (("old", OLD), ("young", YOUNG)):
        row = {"id": name, "booking_id": "bok_1", "handled_ms": at_ms}
        await base.put("payment_events", "payment_events", name, ("bok_1", at_ms), **row)
        report = PaymentReport(name, "pay_1", PaymentState.DISPUTED, at_ms)
        await base.put("payment_reports", "payment_reports", name, report)
        day = at_ms // DAY_MS
        await base.put("usage_days", "usage_days", ("ten_1", day), 1, tenant_id="ten_1", day=day, used=1)
        of_key = {"tenant_id": "ten_1", "key_id": "key_1", "day": day, "used": 1}
        await base.put("key_usage_days", "key_usage_days", tuple(of_key.values())[:3], 1, **of_key)
        record = AuditRecord(name, at_ms, "key", "key_1", "key.issued", "key", "key_1")
        await base.put("audits", "audit", name, record)
    for rows in (Rows.PAYMENT_EVENTS, Rows.PAYMENT_REPORTS, Rows.USAGE_DAYS, Rows.KEY_USAGE_DAYS, Rows.AUDIT):
        assert await base.prune(rows) == 1
        assert await base.prune(rows) == 0
    assert await base.left("payment_events", "payment_events") == ["young"]
    assert await base.left("payment_reports", "payment_reports") == ["young"]
    assert await base.left("audits", "audit") == ["young"]
    assert len(await base.left("usage_days", "usage_days", "day")) == 1
    assert len(await base.left("key_usage_days", "key_usage_days", "day")) == 1


async def test_a_deletion_goes_that_was_not_confirmed(base: Base) -> None:
    await base.tenant("ann")
    await base.put("accounts", "accounts", EMAIL, Account(EMAIL, "ten_ann", 1))
    cases: dict[str, dict[str, Any]] = {
        "old": {},
        "young": {"sent_ms": YOUNG},
        "due": {"confirmed_ms": OLD, "due_ms": OLD},
    }
    for name, fields in cases.items():
        row = replace(Deletion(tenant_id=name, email=EMAIL, requested_ms=1, sent_ms=OLD), **fields)
        await base.put("account_deletions", "account_deletions", name, row)
    assert await base.prune(Rows.DELETIONS) == 1
    assert await base.left("account_deletions", "account_deletions", "tenant_id") == ["due", "young"]


async def test_the_journal_of_ended_nodes_goes_and_that_of_quiet_actors_of_today_stays(database: Database) -> None:
    async def work(connection: Connection) -> tuple[int, list[str]]:
        await connection.execute(
            "insert into journal (owner, seq, written_at) values ('gone/keys', 1, now() - interval '25 hours'), "
            "('quiet/keys', 1, now() - interval '23 hours')"
        )
        gone = await connection.fetchval(PRUNING[Rows.JOURNAL], 2**45, 10)
        return gone, [row["owner"] for row in await connection.fetch("select owner from journal")]

    assert await database.transact(work) == (1, ["quiet/keys"])


async def test_nothing_but_the_two_functions_changes_the_audit(database: Database) -> None:
    record = AuditRecord("aud_1", OLD, "key", "key_1", "key.issued", "key", "key_1", EMAIL, changes='{"name": "Ann"}')

    async def tried(statement: str) -> str:
        async def work(connection: Connection) -> str:
            try:
                await connection.execute(statement)
            except Exception as error:
                await connection.execute("rollback; begin")
                return str(error)
            return "done"

        return await database.transact(work)

    await database.transact(lambda connection: AUDIT.insert(connection, [record]))
    for statement in ("delete from audit", "update audit set actor_email = null", "truncate audit"):
        assert await tried(statement) == "audit is append-only"
        # Nor after one of them has run in the same transaction.
        assert await tried(f"select prune_audit(0, 1); {statement}") == "audit is append-only"
    assert await database.fetchval("select forget_in_audit($1, 'ten_1', '{}', $2, 10)", EMAIL, NOW) == 1
    assert await database.fetchval("select actor_email from audit") is None
    assert await database.fetchval("select prune_audit($1, 10)", NOW) == 1


def test_every_kind_of_rows_has_a_life_of_whole_hours() -> None:
    lives = retention_ms(RetentionRules())
    assert lives.keys() == set(Rows)
    assert all(life_ms >= HOUR_MS and life_ms % HOUR_MS == 0 for life_ms in lives.values())


def test_the_audit_of_a_booking_outlives_it() -> None:
    with pytest.raises(AssertionError, match="outlive"):
        RetentionRules(unpaid_bookings_days=10, audit_days=9)


async def test_an_old_delivery_goes_unless_it_waits_for_a_webhook_that_is_on(base: Base) -> None:
    await base.tenant("ann")
    for number, status in ((1, WebhookStatus.ENABLED), (2, WebhookStatus.DISABLED)):
        hook = Webhook(f"whk_{number}", "ten_ann", f"https://{number}.example.com/", "", (EventType.TEST,), 1, status)
        await base.put("webhooks", "webhooks", hook.id, hook)
        for name, created_ms, done_ms in (("done", OLD, NOW), ("young", YOUNG, NOW), ("waiting", OLD, None)):
            standing = DeliveryStatus.WAITING if done_ms is None else DeliveryStatus.DELIVERED
            row = Delivery(0, f"dlv_{name}{number}", hook.id, "evt_1", "bok_1", "", "", created_ms)
            row = replace(row, done_ms=done_ms, status=standing)
            columns = {field: value for field, value in asdict(row).items() if value is not None and field != "seq"}
            await base.put("webhook_deliveries", "webhook_deliveries", row.id, row, **columns)
    assert await base.prune(Rows.WEBHOOK_DELIVERIES, 2) == 2
    assert await base.prune(Rows.WEBHOOK_DELIVERIES) == 1
    left = await base.left("webhook_deliveries", "webhook_deliveries")
    assert left == ["dlv_waiting1", "dlv_young1", "dlv_young2"]
    assert await base.prune(Rows.WEBHOOK_DELIVERIES) == 0


async def test_a_submission_goes_long_after_its_review(base: Base) -> None:
    await base.tenant("ann")
    for name, decided_ms in (("waits", None), ("old", OLD), ("young", YOUNG)):
        status = SubmissionStatus.PENDING if decided_ms is None else SubmissionStatus.DECLINED
        row = Submission(f"sub_{name}", "ten_ann", EntryKind.BOTS, "a", "A", "{}", 1)
        row = replace(row, status=status, decided_ms=decided_ms)
        await base.put("submissions", "catalog_submissions", row.id, row)
    assert await base.prune(Rows.SUBMISSIONS) == 1
    assert await base.left("submissions", "catalog_submissions") == ["sub_waits", "sub_young"]
