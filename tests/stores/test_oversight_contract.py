"""The contract of the administrators' reads and of suspensions, over Postgres and in memory."""

from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from actors.accounts.store import AccountFilter, AccountLine
from actors.bookings.records import Booking, BookingStatus, BookingView, CampaignStatus, Content, Mode
from actors.bookings.state import Decision, LockSet
from actors.bookings.store import TOPIC, Before, BookingFilter, MonthRevenue
from actors.events.messages import NEVER, Window
from actors.keys.messages import Key, Restore, Suspend, SuspensionSet
from actors.keys.state import Decision as KeysDecision
from actors.keys.state import KeyRules, decide, rows_to_lock
from actors.keys.state import LockSet as KeysWanted
from actors.keys.state import Snapshot as KeysSnapshot
from actors.shared.credentials import Kind
from actors.times import DAY_MS
from actors.values import Account, AuditRecord, OutboxMessage, Refused, Tenant, Tier
from service.api.operations.admin_exports import BOOKING, booking_line, cells_of
from service.api.operations.responses import newest_first
from service.api.spreadsheets import Cell, csv_of
from tests.stores.books import NOW, Books, audit, booking, campaign, reserve, slot, sponsor, week
from tests.stores.conftest import Stores

EDIT = Content("Another headline", "A body", "Look", "https://example.com/", "AB")
REASON = "The ads lead elsewhere, «really»."
HOUR_MS = 3_600_000


def account(number: int, **changes: Any) -> Account:
    return replace(Account(f"person{number}@example.com", f"ten_{number}", NOW + number), **changes)


class Desk:
    """An administrator over the stores of one database."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.books = Books(stores)

    async def accounts(self, *accounts: Account, admins: Sequence[str] = (), upgraded: Sequence[str] = ()) -> None:
        tenants = {
            each.tenant_id: Tenant(each.tenant_id, Tier.UPGRADED if each.tenant_id in upgraded else Tier.CLAIMED)
            for each in accounts
        }
        made = KeysSnapshot(
            tenants=tenants,
            accounts={each.email: each for each in accounts},
            administrators=dict.fromkeys(admins, NOW),
            keys={each.tenant_id: self.key(each.tenant_id) for each in accounts},
        )
        changed = KeysDecision(changed=made)
        await self.stores.keys.transact(self.books.next_batch_id(), KeysWanted((), (), ()), lambda _: changed, NOW)

    def key(self, tenant_id: str) -> Key:
        return Key(f"key_{tenant_id}", tenant_id.encode().ljust(32), tenant_id, Kind.USER, tenant_id, NOW)

    async def send(self, message: Suspend | Restore) -> SuspensionSet | Refused:
        decision = await self.stores.keys.transact(
            self.books.next_batch_id(),
            rows_to_lock([message]),
            lambda snapshot: decide(snapshot, [message], NOW, KeyRules()),
            NOW,
        )
        [answer] = decision.answers
        assert isinstance(answer, SuspensionSet | Refused)
        return answer

    async def suspend(self, account: Account) -> SuspensionSet | Refused:
        record, told = self.record("account.suspended", account), self.mail("account_suspended", account)
        return await self.send(Suspend(account.email, account.tenant_id, REASON, record, told))

    async def restore(self, account: Account) -> SuspensionSet | Refused:
        record, told = self.record("account.restored", account), self.mail("account_restored", account)
        return await self.send(Restore(account.email, account.tenant_id, record, told))

    def record(self, action: str, account: Account) -> AuditRecord:
        record_id = f"aud_{self.books.batches}"
        return AuditRecord(record_id, NOW, "session", "ses_1", action, "account", account.tenant_id, "boss@example.com")

    def mail(self, template: str, account: Account) -> OutboxMessage:
        return OutboxMessage(f"let_{self.books.batches}", account.email, template, b"", NOW, NOW + HOUR_MS)

    async def listed(self, limit: int = 10, **wanted: Any) -> list[str]:
        """The emails of all pages."""
        lines: list[AccountLine] = []
        after = None
        while True:
            page = await self.stores.accounts.accounts(AccountFilter(**wanted), after, limit)
            assert len(page.lines) <= limit
            lines += page.lines
            after = page.after
            if after is None:
                return [line.account.tenant_id for line in lines]

    async def bookings(self, limit: int = 10, **wanted: Any) -> list[str]:
        """The ids of all pages."""
        found: list[str] = []
        before = None
        while page := await self.stores.sponsorship.filtered_bookings(BookingFilter(**wanted), NOW, before, limit):
            found += [view.booking.id for view in page]
            before = Before(page[-1].booking.created_ms, page[-1].booking.id)
            assert len(found) < 100
        return found


@pytest.fixture
def desk(stores: Stores) -> Desk:
    return Desk(stores)


# Files.


async def test_a_line_of_a_file_has_the_cells_of_its_booking(desk: Desk) -> None:
    """Postgres writes most cells of a line. Here they are made of the records, as for the other files."""
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW + 999, "paid_cents": 0}
    lost: dict[str, Any] = {"disputed": True, "payment_issue": "dispute_lost"}
    await desk.accounts(*map(account, (1, *ODD)))
    await desk.books.lay_out(
        slot(),
        campaign(),
        booking(1, hold_ms=NOW),
        booking(2, hold_ms=NOW + 1, currency="jpy"),
        booking(3, status=BookingStatus.CHECKOUT, hold_ms=NOW - 1, mode=Mode.LIVE),
        booking(4, **paid, **lost, payment_id="pay_1", paid_currency="eur"),
        booking(5, **paid, payment_id="pay_2", weeks=52, payment_issue='=a"b,c'),
        booking(
            6, status=BookingStatus.REFUNDED, week_start_ms=week(0), created_ms=week(0) + 3 * DAY_MS - 1, demo=True
        ),
        *(booking(n, n, slot_name=name, status=BookingStatus.CANCELLED) for n, name in ODD.items()),
        *(campaign(n, n, name=name) for n, name in ODD.items()),
        *(sponsor(n, name=name) for n, name in ODD.items()),
        weeks=False,
    )
    await desk.books.deliver("bok_2", 20_000, 3, 1)
    await desk.books.deliver("bok_2", 20_001, 4, 0)
    reads = desk.stores.sponsorship
    for wanted in (BookingFilter(), BookingFilter(slot_id="left-1", trouble=False)):
        lines = await reads.booking_lines(wanted, NOW, None, 50)
        views = await reads.filtered_bookings(wanted, NOW, None, 50)
        assert "".join(map(booking_line, lines)).encode() == csv_of(map(_cells_of, views))
        after = await reads.booking_lines(wanted, NOW, newest_first(lines[2]), 2)
        assert [line.id for line in after] == [line.id for line in lines[3:5]]


TEXTS = ("=1+2", "e-mail", 'A "name", quoted', "a;-1", "two\nlines", "\tx", " -x", "Größe & Co ＝1", "'", "x,y")
ODD = dict(enumerate(TEXTS, 7))


def _cells_of(view: BookingView) -> Sequence[Cell]:
    row = view.booking
    return cells_of(
        BOOKING,
        row,
        view,
        status=row.status_at(NOW).value,
        slot=row.slot_name,
        campaign=view.campaign_name,
        sponsor=view.sponsor_name,
        paymentIssue=row.issue,
        paidCurrency=None if row.paid_cents is None else row.money_currency,
    )


# Exports.


async def test_an_export_has_the_records_of_the_owner_and_then_those_of_others_about_the_account(desk: Desk) -> None:
    await desk.accounts(account(1), account(2))
    await desk.books.lay_out(slot(), campaign(), campaign(2, 2), booking(1), booking(2, 2), weeks=False)
    about = {
        1: "left-1",
        2: "key_ten_1",
        3: "bok_1",
        4: "cmp_1",
        5: "ten_1",
        6: "bok_2",
        7: "key_ten_2",
        8: "bok_1",
        9: "cmp_1",
    }
    email = account(1).email
    own = {1: email, 8: email, 9: None}
    records = [audit(n, target_id=target, actor_email=own.get(n, "boss@example.com")) for n, target in about.items()]
    await desk.books.keep(Decision(audits=records))
    found, place = list[str](), ""
    while page := await desk.stores.accounts.export(account(1), "audit", place, 2):
        found += [each.row["id"] for each in page]
        place = page[-1].place
    assert found == [f"aud_{number}" for number in (1, 8, 4, 9, 5, 2, 3)]


# Suspension.


async def _on_the_air(desk: Desk) -> tuple[Account, Booking]:
    """An account with a placement that is shown now."""
    first = account(1)
    await desk.accounts(first)
    shown = booking(1, status=BookingStatus.PAID, week_start_ms=week(0), paid_ms=NOW, payment_id="pay_1")
    await desk.books.lay_out(slot(), sponsor(), campaign(), shown)
    return first, shown


async def test_nothing_of_a_suspended_account_is_shown_or_counted_until_it_is_restored(desk: Desk) -> None:
    first, shown = await _on_the_air(desk)
    reads, events = desk.stores.sponsorship, desk.stores.events
    topics = await desk.books.listen()
    revision = await reads.revision()
    window = Window(shown.week_start_ms, shown.week_end_ms)
    assert await events.windows([shown.id]) == {shown.id: window}
    assert [each.booking_id for each in (await reads.overview(week(-1))).placements] == [shown.id]

    assert await desk.suspend(first) == SuspensionSet(replace(first, suspended_ms=NOW, suspension_reason=REASON), True)
    assert (await reads.overview(week(-1))).placements == []
    assert await events.windows([shown.id]) == {shown.id: NEVER}
    assert await reads.revision() == revision + 1
    assert {TOPIC, f"tenant:{first.tenant_id}"} <= set(await topics())
    taken = (await reads.overview(week(-1))).taken
    assert [each.slot_id for each in taken] == ["left-1"], "its weeks stay taken until they are refunded"

    assert await desk.restore(first) == SuspensionSet(first, True)
    assert [each.booking_id for each in (await reads.overview(week(-1))).placements] == [shown.id]
    assert await events.windows([shown.id]) == {shown.id: window}
    assert await reads.revision() == revision + 2


async def test_a_key_says_whether_its_account_is_suspended(desk: Desk) -> None:
    first, second = account(1), account(2)
    await desk.accounts(first, second)
    await desk.suspend(first)
    hashes = [desk.key(each.tenant_id).hash for each in (first, second)]
    found = await desk.stores.keys.resolve(hashes)
    assert [found[each].suspended for each in hashes] == [True, False]
    assert [each.suspended for each in await desk.stores.keys.resolve_prefix("ten_1")] == [True]


async def test_suspending_twice_changes_nothing_and_so_does_restoring_twice(desk: Desk) -> None:
    first = account(1)
    await desk.accounts(first)
    suspended = replace(first, suspended_ms=NOW, suspension_reason=REASON)
    assert [await desk.suspend(first) for _ in range(2)] == [
        SuspensionSet(suspended, True),
        SuspensionSet(suspended, False),
    ]
    assert [await desk.restore(first) for _ in range(2)] == [SuspensionSet(first, True), SuspensionSet(first, False)]
    records = await desk.stores.sponsorship.audit(None, 10, first.tenant_id)
    assert {record.action for record in records} == {"account.restored", "account.suspended"}
    assert len(records) == 2


async def test_neither_an_administrator_nor_somebody_else_of_the_same_email_is_suspended(desk: Desk) -> None:
    boss = account(1)
    await desk.accounts(boss, account(2), admins=[boss.email])
    assert isinstance(await desk.suspend(boss), Refused)
    assert isinstance(await desk.suspend(replace(account(2), tenant_id="ten_9")), Refused)
    assert isinstance(await desk.suspend(account(3)), Refused)
    assert await desk.listed(suspended=True) == []


async def test_a_suspended_account_reserves_nothing(desk: Desk) -> None:
    first, _ = await _on_the_air(desk)
    await desk.suspend(first)
    seen = await desk.books.see(LockSet(tenant_ids=("ten_1", "ten_2")))
    assert seen.suspended == {"ten_1"}
    [refused] = await desk.books.send(reserve(5, start=3))
    assert isinstance(refused, Refused)
    assert (await desk.books.weeks()).keys() == {("left-1", week(0))}


# Accounts.


async def test_accounts_are_listed_newest_first_and_page_by_page(desk: Desk) -> None:
    numbers = range(1, 8)
    await desk.accounts(*(account(n, created_ms=NOW + n // 3) for n in numbers))
    for limit in (1, 2, 3, 7, 50):
        assert await desk.listed(limit) == [f"ten_{n}" for n in (7, 6, 5, 4, 3, 2, 1)]
    assert await desk.stores.accounts.count_accounts(suspended=None) == 7


async def test_accounts_are_found_by_email_id_and_sponsor_and_by_kind(desk: Desk) -> None:
    people = [account(n) for n in range(1, 5)]
    await desk.accounts(*people, admins=[people[3].email], upgraded=["ten_2"])
    await desk.books.lay_out(sponsor(3, name="Größe & Co"))
    await desk.suspend(people[0])
    assert await desk.listed(text="person2") == ["ten_2"]
    assert await desk.listed(text="@example.com") == ["ten_4", "ten_3", "ten_2", "ten_1"]
    assert await desk.listed(text="ten_3") == ["ten_3"]
    assert await desk.listed(text="größe") == ["ten_3"]
    assert await desk.listed(text="%") == await desk.listed(text="erson_") == []
    assert await desk.listed(tier=Tier.UPGRADED) == ["ten_2"]
    assert await desk.listed(suspended=True) == ["ten_1"]
    assert await desk.listed(suspended=False) == ["ten_4", "ten_3", "ten_2"]
    assert await desk.listed(suspended=True, text="person2") == []
    counts = [await desk.stores.accounts.count_accounts(suspended=each) for each in (None, True, False)]
    assert counts == [4, 1, 3]
    [line] = (await desk.stores.accounts.accounts(AccountFilter(text="person4"), None, 5)).lines
    assert line == AccountLine(people[3], Tier.CLAIMED, admin=True)
    [line] = (await desk.stores.accounts.accounts(AccountFilter(text="person3"), None, 5)).lines
    assert line.sponsor_name == "Größe & Co"


async def test_one_account_has_the_numbers_of_what_it_has(desk: Desk) -> None:
    await desk.accounts(account(1), account(2))
    rows = [
        booking(1, status=BookingStatus.PAID),
        booking(2, status=BookingStatus.PAID, week_start_ms=week(2)),
        booking(3, hold_ms=NOW),
        booking(4, tenant=2, week_start_ms=week(4)),
    ]
    await desk.books.lay_out(slot(), sponsor(), campaign(), campaign(2, 2), campaign(3), *rows, weeks=False)
    found = await desk.stores.accounts.details("ten_1", NOW)
    assert found is not None
    assert (found.keys, found.sessions, found.campaigns) == (1, 0, 2)
    assert dict(found.bookings) == {"paid": 2, "expired": 1}
    assert found.line == AccountLine(account(1), Tier.CLAIMED, sponsor_name="Brand 1")
    assert await desk.stores.accounts.details("ten_9", NOW) is None


# Bookings.


async def test_bookings_are_filtered_by_every_condition_and_by_several(desk: Desk) -> None:
    await desk.accounts(account(1), account(2))
    rows = [
        booking(1, status=BookingStatus.PAID, payment_id="pay_1", payment_issue="refund_declined"),
        booking(2, tenant=2, status=BookingStatus.PAID, week_start_ms=week(2), weeks=4, slot_id="right-1"),
        booking(3, hold_ms=NOW + 1, week_start_ms=week(3)),
        booking(4, hold_ms=NOW, week_start_ms=week(4)),
        booking(5, status=BookingStatus.REFUNDED, payment_issue="paid_after_expiry", week_start_ms=week(5)),
        booking(6, status=BookingStatus.PAID, disputed=True, week_start_ms=week(6)),
        booking(
            7, status=BookingStatus.PAID, refund_requested_ms=NOW, refund_reason="A mistake.", week_start_ms=week(7)
        ),
    ]
    places = [slot(), slot("right-1", weeks=4)]
    await desk.books.lay_out(*places, sponsor(), sponsor(2), campaign(), campaign(2, 2), *rows, weeks=False)
    everything = [f"bok_{n}" for n in (7, 6, 5, 4, 3, 2, 1)]
    assert await desk.bookings() == await desk.bookings(limit=2) == everything
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"status": BookingStatus.PAID}, [7, 6, 2, 1]),
        ({"status": BookingStatus.RESERVED}, [3]),
        ({"status": BookingStatus.EXPIRED}, []),
        ({"week_ms": week(2)}, [2]),
        ({"week_ms": week(5)}, [5, 2]),
        ({"week_ms": week(1)}, [1]),
        ({"slot_id": "right-1"}, [2]),
        ({"sponsor": "spo_2"}, [2]),
        ({"sponsor": "ten_2"}, [2]),
        ({"sponsor": "spo_9"}, []),
        ({"text": "bok_3"}, [3]),
        ({"text": "pay_1"}, [1]),
        ({"text": "BRAND 2"}, [2]),
        ({"text": "SLOT RIGHT"}, [2]),
        ({"text": "%"}, []),
        ({"trouble": True}, [7, 6, 1]),
        ({"trouble": False}, [5, 4, 3, 2]),
        ({"requested": True}, [7]),
        ({"status": BookingStatus.PAID, "trouble": False, "sponsor": "spo_2", "week_ms": week(4)}, [2]),
        ({"status": BookingStatus.PAID, "slot_id": "left-1", "trouble": False}, []),
    ]
    for wanted, expected in cases:
        assert await desk.bookings(limit=1, **wanted) == [f"bok_{n}" for n in expected], wanted
    counts = await desk.stores.sponsorship.list_counts(NOW)
    assert counts.bookings[BookingStatus.PAID] == 4
    assert counts.bookings[BookingStatus.RESERVED] == 1
    assert counts.bookings[BookingStatus.EXPIRED] == 0
    assert (counts.trouble, counts.requested, counts.sponsors) == (3, 1, 2)
    assert counts.campaigns[CampaignStatus.APPROVED] == 2


async def test_what_can_be_refunded_is_paid_undisputed_and_not_over(desk: Desk) -> None:
    await desk.accounts(account(1), account(2))
    rows = [
        booking(1, status=BookingStatus.PAID, week_start_ms=week(3)),
        booking(2, status=BookingStatus.PAID, week_start_ms=week(0)),
        booking(3, status=BookingStatus.PAID, week_start_ms=week(-1)),
        booking(4, status=BookingStatus.PAID, week_start_ms=week(-1), weeks=2),
        booking(5, status=BookingStatus.PAID, week_start_ms=week(4), disputed=True),
        booking(6, week_start_ms=week(5)),
        booking(7, tenant=2, status=BookingStatus.PAID, week_start_ms=week(6)),
    ]
    await desk.books.lay_out(slot(), sponsor(), campaign(), campaign(2, 2), *rows, weeks=False)
    reads = desk.stores.sponsorship
    assert [row.id for row in await reads.refundable("ten_1", NOW, 10)] == ["bok_4", "bok_2", "bok_1"]
    assert [row.id for row in await reads.refundable("ten_1", NOW, 2)] == ["bok_4", "bok_2"]
    assert [row.id for row in await reads.refundable("ten_1", week(1), 10)] == ["bok_1"]


# The queue.


async def test_the_queue_begins_with_what_is_paid_and_starts_soonest(desk: Desk) -> None:
    await desk.accounts(*(account(n) for n in range(1, 4)))
    pending = {"status": CampaignStatus.PENDING}
    waiting = [
        campaign(1, 1, created_ms=NOW - 9, **pending),
        campaign(2, 1, created_ms=NOW - 5, **pending),
        campaign(3, 2, created_ms=NOW - 7, **pending),
        campaign(4, 2, created_ms=NOW - 6, **pending),
        campaign(5, 3, created_ms=NOW - 8, **pending),
        campaign(6, 3),
        campaign(7, 3, pending=EDIT, submitted_ms=NOW - 4),
        campaign(8, 3, status=CampaignStatus.REJECTED, pending=EDIT),
    ]
    rows = [
        booking(1, status=BookingStatus.PAID, campaign_id="cmp_2", week_start_ms=week(4)),
        booking(2, status=BookingStatus.PAID, campaign_id="cmp_3", week_start_ms=week(2)),
        booking(3, status=BookingStatus.PAID, campaign_id="cmp_3", week_start_ms=week(-3)),
        booking(4, campaign_id="cmp_4", week_start_ms=week(1)),
        booking(5, campaign_id="cmp_5", week_start_ms=week(0), hold_ms=NOW),
        booking(6, status=BookingStatus.PAID, campaign_id="cmp_6", week_start_ms=week(0)),
    ]
    await desk.books.lay_out(slot(), sponsor(), sponsor(2), *waiting, *rows, weeks=False)
    past = [
        ("campaign.approved", "cmp_6"),
        ("campaign.approved", "cmp_5"),
        ("campaign.rejected", "cmp_6"),
        ("campaign.edit_rejected", "cmp_7"),
    ]
    records = [
        audit(number, action=action, target_type="campaign", target_id=target)
        for number, (action, target) in enumerate(past)
    ]
    await desk.books.keep(Decision(audits=records))
    queue = await desk.stores.sponsorship.review_queue(NOW, None, 10)
    assert [(each.view.campaign.id, each.paid, each.begins_ms) for each in queue] == [
        ("cmp_3", True, week(2)),
        ("cmp_2", True, week(4)),
        ("cmp_4", False, week(1)),
        ("cmp_1", False, None),
        ("cmp_5", False, None),
        ("cmp_7", False, None),
    ]
    assert (await desk.stores.sponsorship.list_counts(NOW)).campaigns[CampaignStatus.PENDING] == 6
    assert [(each.email, each.view.sponsor_name) for each in queue[::4]] == [
        ("person2@example.com", "Brand 2"),
        ("person3@example.com", None),
    ]
    assert [(each.approved, each.rejected) for each in queue] == [(0, 0)] * 4 + [(2, 2)] * 2
    after, walked = None, []
    while page := await desk.stores.sponsorship.review_queue(NOW, after, 2):
        walked += list(page)
        after = page[-1].urgency
    assert walked == list(queue)
    for text, found in (("cmp_4", [4]), ("BRAND 2", [3, 4]), ("brand", [3, 2, 4, 1]), ("%", []), ("spo_1", [])):
        listed = await desk.stores.sponsorship.review_queue(NOW, None, 10, text)
        assert [each.view.campaign.id for each in listed] == [f"cmp_{n}" for n in found], text


# Revenue.


def _at(year: int, month: int, day: int = 1, hour: int = 0) -> int:
    return int(datetime(year, month, day, hour, tzinfo=UTC).timestamp()) * 1_000


async def test_revenue_is_summed_by_month_currency_and_mode_without_samples(desk: Desk) -> None:
    await desk.accounts(account(1))
    last_of_january = _at(2026, 2) - 1
    paid: list[dict[str, Any]] = [
        {"paid_ms": last_of_january, "paid_cents": 9_900},
        {"paid_ms": _at(2026, 2), "paid_cents": 1_786},
        {"paid_ms": _at(2026, 2, 14), "paid_cents": 10_001, "refunded_cents": 10_001},
        {"paid_ms": _at(2026, 2, 14), "paid_cents": None, "amount_cents": 333},
        {"paid_ms": _at(2026, 2, 20), "paid_cents": 2_000, "mode": Mode.LIVE, "refunded_cents": 500},
        {"paid_ms": _at(2026, 2, 20), "paid_cents": 700, "currency": "eur"},
        {"paid_ms": _at(2026, 2, 20), "paid_cents": 300, "paid_currency": "eur", "refunded_cents": 300},
        {"paid_ms": _at(2026, 2, 20), "paid_cents": 5_000, "demo": True},
        {"paid_ms": None, "status": BookingStatus.RESERVED},
        {"paid_ms": _at(2026, 3), "paid_cents": 1},
    ]
    usual: dict[str, Any] = {"status": BookingStatus.PAID}
    rows = [booking(n, **usual | each | {"week_start_ms": week(n)}) for n, each in enumerate(paid)]
    await desk.books.lay_out(slot(), sponsor(), campaign(), *rows, weeks=False)
    revenue = desk.stores.sponsorship.revenue
    february = [
        MonthRevenue("2026-02", "eur", Mode.TEST, 2, 1_000, 300),
        MonthRevenue("2026-02", "usd", Mode.LIVE, 1, 2_000, 500),
        MonthRevenue("2026-02", "usd", Mode.TEST, 3, 1_786 + 10_001 + 333, 10_001),
    ]
    assert list(await revenue(_at(2026, 2), _at(2026, 3))) == february
    assert list(await revenue(_at(2026, 1), _at(2026, 4))) == [
        MonthRevenue("2026-03", "usd", Mode.TEST, 1, 1, 0),
        *february,
        MonthRevenue("2026-01", "usd", Mode.TEST, 1, 9_900, 0),
    ]
    assert list(await revenue(_at(2030, 1), _at(2031, 1))) == []


async def test_payments_are_summed_by_slot_and_by_account_in_each_currency_and_mode(desk: Desk) -> None:
    await desk.accounts(*(account(n) for n in range(1, 5)))
    sold: list[tuple[int, str, int, dict[str, Any]]] = [
        (1, "left-1", 500, {}),
        (1, "left-2", 300, {"refunded_cents": 300}),
        (2, "left-2", 900, {}),
        (3, "left-3", 100, {"refunded_cents": 40}),
        (4, "left-1", 100, {"paid_cents": None, "amount_cents": 100}),
        (1, "left-1", 700, {"mode": Mode.LIVE}),
        (2, "left-1", 50, {"paid_currency": "eur"}),
        (2, "left-1", 9_000, {"demo": True}),
        (2, "left-1", 9_000, {"paid_ms": _at(2026, 3)}),
        (2, "left-1", 9_000, {"paid_ms": _at(2026, 2) - 1}),
        (2, "left-1", 9_000, {"paid_ms": None, "status": BookingStatus.RESERVED}),
    ]
    usual = {"status": BookingStatus.PAID, "paid_ms": _at(2026, 2, 14)}
    rows = [
        booking(
            n,
            owner,
            slot_id=of,
            **{**usual, "paid_cents": cents, "campaign_id": f"cmp_{owner}", "week_start_ms": week(n), **each},
        )
        for n, (owner, of, cents, each) in enumerate(sold)
    ]
    slots, campaigns = [slot(f"left-{n}") for n in (1, 2, 3)], [campaign(n, n) for n in range(1, 5)]
    await desk.books.lay_out(*slots, *(sponsor(n) for n in (1, 2, 3)), *campaigns, *rows, weeks=False)

    async def february(most: int) -> list[tuple[Any, ...]]:
        listed = await desk.stores.sponsorship.sales(_at(2026, 2), _at(2026, 3), most)
        return [(each.currency, each.mode, *astuple(each)[3:]) for each in listed]

    euros = [("eur", "test", "left-1", "Slot left-1", 1, 1, 50, 0), ("eur", "test", "ten_2", "Brand 2", 1, 1, 50, 0)]
    live = [("usd", "live", "left-1", "Slot left-1", 1, 1, 700, 0), ("usd", "live", "ten_1", "Brand 1", 1, 1, 700, 0)]
    assert await february(1) == [
        *euros,
        *live,
        ("usd", "test", "left-2", "Slot left-2", 1, 2, 1_200, 300),
        ("usd", "test", None, None, 2, 3, 700, 40),
        ("usd", "test", "ten_2", "Brand 2", 1, 1, 900, 0),
        ("usd", "test", None, None, 3, 4, 1_000, 340),
    ]
    assert await february(10) == [
        *euros,
        *live,
        ("usd", "test", "left-2", "Slot left-2", 1, 2, 1_200, 300),
        ("usd", "test", "left-1", "Slot left-1", 1, 2, 600, 0),
        ("usd", "test", "left-3", "Slot left-3", 1, 1, 100, 40),
        ("usd", "test", "ten_2", "Brand 2", 1, 1, 900, 0),
        ("usd", "test", "ten_1", "Brand 1", 1, 2, 800, 300),
        ("usd", "test", "ten_3", "Brand 3", 1, 1, 100, 40),
        ("usd", "test", "ten_4", None, 1, 1, 100, 0),
    ]
