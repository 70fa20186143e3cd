"""The rules of bookings until they are paid: reserving, idempotency, holds, checkout, cancelling, and batches."""

from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.changes import PAST
from actors.bookings.decision import BookingRules, Snapshot
from actors.bookings.messages import Message, SendMaterial
from actors.bookings.records import (
    BookingStatus,
    BookingView,
    CampaignStatus,
    IdempotencyRecord,
    Mode,
    PackageKind,
    YoutubeStatus,
)
from actors.bookings.state import LockSet, decide, rows_to_lock
from actors.bookings.transitions import BOOKING_MOVES, BookingMove, CampaignMove
from actors.bookings.unit_of_work import UnitOfWork
from actors.times import WEEK_MS
from actors.values import Code, Problem, Refused
from tests.state.ledger import (
    ANN,
    BOB,
    DAY,
    HOLD,
    MINUTE,
    MONDAY,
    NOON,
    PAIR,
    PRICE,
    SLOT,
    Ledger,
    booked,
    furnished,
    holds_only_what_it_may,
    refused,
)

RESERVED, CHECKOUT, PAID = BookingStatus.RESERVED, BookingStatus.CHECKOUT, BookingStatus.PAID
EXPIRED, CANCELLED = BookingStatus.EXPIRED, BookingStatus.CANCELLED


@pytest.fixture
def ledger() -> Ledger:
    return furnished()


def kept_nothing(ledger: Ledger) -> bool:
    decision = ledger.last
    rows = (decision.bookings, decision.sponsors, decision.campaigns, decision.weeks_freed, decision.weeks_reserved)
    return not any(rows) and not decision.remembered and not decision.audits and not decision.visible


# Reserving.


def test_a_reservation_holds_its_week_for_half_an_hour(ledger: Ledger) -> None:
    ledger.delivered["b1"] = (7, 2)
    view = ledger.one(ledger.reserve("b1", week=3))
    assert isinstance(view, BookingView)
    assert (view.campaign_name, view.sponsor_name) == (f"Campaign cmp_{ANN}", f"Brand of {ANN}")
    assert (view.impressions, view.clicks) == (0, 0)
    booking = view.booking
    assert (booking.status, booking.created_ms, booking.hold_ms) == (RESERVED, NOON, NOON + HOLD)
    assert (booking.week_start_ms, booking.week_end_ms) == (MONDAY + 3 * WEEK_MS, MONDAY + 4 * WEEK_MS)
    assert (booking.amount_cents, booking.currency, booking.mode) == (PRICE, "usd", Mode.TEST)
    assert (booking.slot_name, booking.campaign_id, booking.tenant_id) == ("A slot", f"cmp_{ANN}", ANN)
    assert (ledger.bookings, ledger.held("b1")) == ({"b1": booking}, [3])
    facts = {"slotId": SLOT, "weekStart": booking.week_start_ms, "amountCents": PRICE}
    assert ledger.told() == [("booking.reserved", facts)]
    assert ledger.last.visible


def test_an_idempotency_key_is_remembered_with_its_body_and_its_time(ledger: Ledger) -> None:
    message = ledger.reserve("b1", key="once")
    ledger.act(message)
    assert list(ledger.remembered.values()) == [
        IdempotencyRecord(ANN, "bookings", "once", message.fingerprint, "b1", NOON)
    ]


def test_what_is_delivered_is_told_of_a_booking_that_is_known(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.delivered["b1"] = (7, 2)
    view = ledger.one(ledger.checkout("b1"))
    assert isinstance(view, BookingView)
    assert (view.impressions, view.clicks) == (7, 2)


def test_a_package_costs_and_holds_all_its_weeks(ledger: Ledger) -> None:
    booking = booked(ledger.one(ledger.reserve("b1", PAIR, week=4)))
    assert (booking.weeks, booking.amount_cents, booking.week_end_ms) == (2, 2 * PRICE, MONDAY + 6 * WEEK_MS)
    assert ledger.held("b1") == [4, 5]


@pytest.mark.parametrize(
    ("kind", "video"), [("website", None), ("youtube", "planned"), ("bundle", "planned"), (None, None)]
)
def test_a_package_with_a_video_has_one_planned(ledger: Ledger, kind: str | None, video: str | None) -> None:
    ledger.act(ledger.edit_slot(package_kind=PackageKind(kind) if kind else None, description="All of it"))
    booking = booked(ledger.one(ledger.reserve("b1")))
    assert (booking.package_kind, booking.package_description, booking.youtube_status) == (kind, "All of it", video)


def test_the_mode_and_currency_are_those_of_the_rules() -> None:
    ledger = furnished(BookingRules(mode=Mode.LIVE, currency="eur", hold_ms=MINUTE))
    booking = booked(ledger.one(ledger.reserve("b1")))
    assert (booking.mode, booking.currency, booking.hold_ms) == (Mode.LIVE, "eur", NOON + MINUTE)


@pytest.mark.parametrize(
    ("start_ms", "code"),
    [
        (MONDAY, None),
        (MONDAY + 26 * WEEK_MS, None),
        (MONDAY + 27 * WEEK_MS, Code.INVALID_REQUEST),
        (MONDAY - WEEK_MS, Code.SLOT_UNAVAILABLE),
        (MONDAY + 1, Code.INVALID_REQUEST),
        (MONDAY - 1, Code.INVALID_REQUEST),
        (MONDAY + DAY, Code.INVALID_REQUEST),
        (0, Code.INVALID_REQUEST),
        (-(2**53), Code.INVALID_REQUEST),
        (2**53, Code.INVALID_REQUEST),
    ],
)
def test_a_week_can_be_booked_from_this_one_to_the_horizon(ledger: Ledger, start_ms: int, code: Code | None) -> None:
    answer = ledger.one(replace(ledger.reserve("b1"), week_start_ms=start_ms))
    if code is None:
        assert booked(answer).week_start_ms == start_ms
    else:
        refused(answer, code)
        assert kept_nothing(ledger)


@pytest.mark.parametrize(("moment", "over"), [(MONDAY + WEEK_MS - 1, False), (MONDAY + WEEK_MS, True)])
def test_a_week_can_be_booked_until_it_is_over(ledger: Ledger, moment: int, over: bool) -> None:
    ledger.now_ms = moment
    assert isinstance(ledger.one(ledger.reserve("b1")), Refused) is over


def test_a_package_may_reach_beyond_the_horizon_when_it_begins_before(ledger: Ledger) -> None:
    booked(ledger.one(ledger.reserve("b1", PAIR, week=26)))
    assert ledger.held("b1") == [26, 27]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"active": False}, Code.SLOT_UNAVAILABLE),
        ({"coming_soon": True}, Code.SLOT_UNAVAILABLE),
        ({"offer_ends_ms": NOON}, Code.SLOT_UNAVAILABLE),
        ({"retired_ms": NOON, "active": False}, Code.NOT_FOUND),
    ],
)
def test_what_is_not_sold_cannot_be_reserved(ledger: Ledger, fields: dict[str, object], code: Code) -> None:
    ledger.slots[SLOT] = replace(ledger.slots[SLOT], **fields)  # type: ignore[arg-type]
    refused(ledger.one(ledger.reserve("b1")), code)
    assert kept_nothing(ledger)


def test_slots_and_campaigns_have_to_exist(ledger: Ledger) -> None:
    assert refused(ledger.one(ledger.reserve("b1", "slt_none")), Code.NOT_FOUND).message == "There is no such slot."
    unknown = ledger.one(ledger.reserve("b1", campaign="cmp_none"))
    assert refused(unknown, Code.NOT_FOUND).message == "There is no such campaign."
    refused(ledger.one(ledger.reserve("b1", campaign=f"cmp_{BOB}")), Code.NOT_FOUND)
    assert kept_nothing(ledger)


@pytest.mark.parametrize("status", CampaignStatus)
def test_a_campaign_is_bookable_unless_it_is_rejected(ledger: Ledger, status: CampaignStatus) -> None:
    ledger.campaigns[f"cmp_{ANN}"] = replace(ledger.campaigns[f"cmp_{ANN}"], status=status)
    answer = ledger.one(ledger.reserve("b1"))
    if status is CampaignStatus.REJECTED:
        refused(answer, Code.CAMPAIGN_NOT_BOOKABLE)
    else:
        assert booked(answer).status is RESERVED


def test_a_profile_comes_before_a_booking(ledger: Ledger) -> None:
    ledger.act(ledger.create_campaign("cmp_cyd", "ten_cyd"))
    refused(ledger.one(ledger.reserve("b1", owner="ten_cyd", campaign="cmp_cyd")), Code.PROFILE_REQUIRED)
    saved_first = ledger.act(ledger.save_profile("ten_cyd"), ledger.reserve("b1", owner="ten_cyd", campaign="cmp_cyd"))
    assert booked(saved_first[1]).tenant_id == "ten_cyd"


# Weeks of others.


@pytest.mark.parametrize(("week", "free"), [(2, True), (3, False), (4, False), (5, False), (6, True)])
def test_a_package_needs_all_its_weeks(ledger: Ledger, week: int, free: bool) -> None:
    ledger.act(ledger.edit_slot(PAIR, weeks=1), ledger.reserve("b1", PAIR, week=4, owner=BOB))
    ledger.act(ledger.reserve("b2", PAIR, week=5, owner=BOB), ledger.edit_slot(PAIR, weeks=2))
    answer = ledger.one(ledger.reserve("b3", PAIR, week=week))
    if free:
        assert booked(answer).status is RESERVED
        assert ledger.held("b3") == [week, week + 1]
    else:
        assert (
            refused(answer, Code.SLOT_UNAVAILABLE).message
            == "This slot is already booked in that week. Choose another week or slot."
        )
        assert kept_nothing(ledger)


def test_weeks_of_another_slot_are_others(ledger: Ledger) -> None:
    first, second = ledger.act(ledger.reserve("b1", SLOT), ledger.reserve("b2", PAIR, owner=BOB))
    assert booked(first).week_start_ms == booked(second).week_start_ms


def test_holds_that_ran_out_make_way_wholly(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", PAIR, week=1, owner=BOB))
    ledger.act(ledger.reserve("b2", PAIR, week=3, owner=BOB), ledger.checkout("b2", BOB))
    ledger.pass_ms(HOLD - 1)
    refused(ledger.one(ledger.reserve("b3", PAIR, week=2)), Code.SLOT_UNAVAILABLE)
    ledger.pass_ms(1)
    ledger.audits.clear()
    assert booked(ledger.one(ledger.reserve("b3", PAIR, week=2))).status is RESERVED
    assert (ledger.status("b1"), ledger.status("b2")) == (EXPIRED, EXPIRED)
    assert (ledger.held("b1"), ledger.held("b2"), ledger.held("b3")) == ([], [], [2, 3])
    assert [action for action, _ in ledger.told()] == ["booking.expired", "booking.expired", "booking.reserved"]
    by = [(record.actor_type, record.actor_id, record.target_id) for record in ledger.audits]
    assert by == [("system", "ledger", "b1"), ("system", "ledger", "b2"), ("key", "key_1", "b3")]
    first = ledger.audits[0].id
    assert [record.id for record in ledger.audits] == [first, f"{first}_2", f"{first}_3"]


def test_ones_own_hold_that_ran_out_makes_way_too(ledger: Ledger) -> None:
    ledger.rules = BookingRules(cooldown_ms=0)
    ledger.act(ledger.reserve("b1"))
    ledger.pass_ms(HOLD)
    assert booked(ledger.one(ledger.reserve("b2"))).status is RESERVED
    assert (ledger.status("b1"), ledger.held("b2")) == (EXPIRED, [0])


# Idempotency.


def test_a_repeated_key_gives_the_same_booking_as_it_is_now(ledger: Ledger) -> None:
    first = booked(ledger.one(ledger.reserve("b1", key="k")))
    again = booked(ledger.one(ledger.reserve("b2", key="k")))
    assert (again, list(ledger.bookings)) == (first, ["b1"])
    assert kept_nothing(ledger)
    ledger.act(ledger.checkout("b1"))
    assert booked(ledger.one(ledger.reserve("b3", key="k"))).status is CHECKOUT
    ledger.act(ledger.cancel("b1"))
    assert booked(ledger.one(ledger.reserve("b4", key="k"))).status is CANCELLED
    ledger.pass_ms(52 * WEEK_MS)
    assert booked(ledger.one(ledger.reserve("b5", key="k"))).id == "b1"
    assert len(ledger.remembered) == 1


def test_a_key_whose_booking_was_pruned_meanwhile_is_a_new_one(ledger: Ledger) -> None:
    ledger.one(ledger.reserve("b1", key="k"))
    ledger.act(ledger.cancel("b1"))
    [snapshot_key] = ledger.remembered
    del ledger.bookings["b1"]
    message = ledger.reserve("b2", key="k")
    snapshot = Snapshot(
        sponsors=dict(ledger.sponsors),
        campaigns=dict(ledger.campaigns),
        slots=dict(ledger.slots),
        remembered={snapshot_key: ledger.remembered[snapshot_key]},
    )
    decision = decide(snapshot, [message], ledger.now_ms, ledger.rules)
    assert booked(decision.answers[0]).id == "b2"


@pytest.mark.parametrize("other", [{"week": 1}, {"slot_id": PAIR}, {"campaign": "cmp_second"}])
def test_a_key_with_another_body_is_a_conflict(ledger: Ledger, other: dict[str, object]) -> None:
    ledger.act(ledger.create_campaign("cmp_second"), ledger.reserve("b1", key="k"))
    refused(ledger.one(ledger.reserve("b2", key="k", **other)), Code.IDEMPOTENCY_CONFLICT)  # type: ignore[arg-type]
    assert kept_nothing(ledger)
    assert booked(ledger.one(ledger.reserve("b3", key="k"))).id == "b1"


def test_a_conflict_is_told_before_anything_else(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", key="k"))
    refused(ledger.one(ledger.reserve("b2", "slt_none", week=-5, key="k")), Code.IDEMPOTENCY_CONFLICT)


def test_a_refused_request_does_not_burn_its_key(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", owner=BOB))
    refused(ledger.one(ledger.reserve("b2", key="k")), Code.SLOT_UNAVAILABLE)
    assert booked(ledger.one(ledger.reserve("b3", week=1, key="k"))).id == "b3"


def test_a_key_counts_for_one_account_and_one_operation(ledger: Ledger) -> None:
    answers = ledger.act(
        ledger.reserve("b1", week=1, key="k"),
        ledger.reserve("b2", week=2, owner=BOB, key="k"),
        ledger.start("b3", week=3, key="k"),
        ledger.start("b4", week=4, owner=BOB, key="k"),
    )
    assert [booked(answer).id for answer in answers] == ["b1", "b2", "b3", "b4"]
    assert set(ledger.remembered) == {
        (owner, operation, "k") for owner in (ANN, BOB) for operation in ("bookings", "bookings/start")
    }


# Starting with everything at once.


def test_starting_writes_profile_campaign_and_booking_together() -> None:
    ledger = furnished()
    view = ledger.one(ledger.start("b1", owner="ten_cyd", name="New brand"))
    assert isinstance(view, BookingView)
    assert (view.sponsor_name, view.campaign_name, view.booking.campaign_id) == ("New brand", "New brand", "cmp_b1")
    assert ledger.sponsors["ten_cyd"].website == "https://example.com/start"
    assert ledger.campaigns["cmp_b1"].status is CampaignStatus.PENDING
    assert [action for action, _ in ledger.told()] == ["profile.saved", "campaign.created", "booking.reserved"]
    assert len({record.id for record in ledger.audits}) == 3


def test_starting_changes_the_profile_that_is_there_and_keeps_its_id(ledger: Ledger) -> None:
    ledger.act(ledger.start("b1", name="Renamed"))
    sponsor = ledger.sponsors[ANN]
    assert (sponsor.id, sponsor.name, sponsor.website) == (f"spo_{ANN}", "Renamed", "https://example.com/start")


def test_a_start_that_is_refused_writes_nothing(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", owner=BOB))
    refused(ledger.one(ledger.start("b2")), Code.SLOT_UNAVAILABLE)
    assert kept_nothing(ledger)
    assert ledger.sponsors[ANN].name == f"Brand of {ANN}"
    assert "cmp_b2" not in ledger.campaigns


def test_a_repeated_start_makes_no_second_campaign(ledger: Ledger) -> None:
    first, second = ledger.act(ledger.start("b1", key="k"), ledger.start("b2", key="k"))
    assert booked(first) == booked(second) == booked(ledger.one(ledger.start("b3", key="k")))
    assert {"cmp_b1"} == {each for each in ledger.campaigns if each.startswith("cmp_b")}
    refused(ledger.one(ledger.start("b4", key="k", name="Other")), Code.IDEMPOTENCY_CONFLICT)


# The limit of holds.


def test_an_account_holds_three_unpaid_bookings_at_most(ledger: Ledger) -> None:
    ledger.act(*(ledger.reserve(f"b{week}", week=week) for week in range(3)))
    told = refused(ledger.one(ledger.reserve("b3", week=3)), Code.HOLD_LIMIT)
    assert "has 3 unpaid bookings" in told.message
    refused(ledger.one(ledger.start("b3", week=3)), Code.HOLD_LIMIT)
    assert booked(ledger.one(ledger.reserve("b4", week=4, owner=BOB))).id == "b4"


@pytest.mark.parametrize("ends", ["cancel", "pay", "time", "expire"])
def test_a_hold_that_ends_makes_room(ledger: Ledger, ends: str) -> None:
    ledger.act(*(ledger.reserve(f"b{week}", week=week) for week in range(3)))
    match ends:
        case "cancel":
            ledger.act(ledger.cancel("b0"))
        case "pay":
            ledger.act(ledger.checkout("b0"), ledger.pay("b0"))
        case "time":
            ledger.pass_ms(HOLD)
        case "expire":
            ledger.pass_ms(HOLD)
            ledger.act(ledger.expire("b0"))
    assert booked(ledger.one(ledger.reserve("b3", week=3))).status is RESERVED


# Checkout.


def test_checkout_restarts_the_hold_once(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.pass_ms(HOLD - 1)
    booking = booked(ledger.one(ledger.checkout("b1")))
    assert (booking.status, booking.hold_ms) == (CHECKOUT, NOON + HOLD - 1 + HOLD)
    assert ledger.told()[-1] == ("booking.checkout_opened", {"status": ["reserved", "checkout"]})
    ledger.pass_ms(MINUTE)
    assert booked(ledger.one(ledger.checkout("b1"))) == booking
    assert kept_nothing(ledger)


def test_a_campaign_that_was_rejected_meanwhile_is_not_brought_to_checkout(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.act(ledger.move(f"cmp_{ANN}", CampaignMove.REJECT))
    refused(ledger.one(ledger.checkout("b1")), Code.CAMPAIGN_NOT_BOOKABLE)
    assert kept_nothing(ledger)
    ledger.act(ledger.move(f"cmp_{ANN}", CampaignMove.SUBMIT))
    assert booked(ledger.one(ledger.checkout("b1"))).status is CHECKOUT


def test_checkout_comes_too_late_for_a_hold_that_ran_out(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.pass_ms(HOLD)
    told = refused(ledger.one(ledger.checkout("b1")), Code.INVALID_STATE)
    assert told.message == "A booking that is expired cannot be brought to checkout."
    assert (ledger.status("b1"), ledger.held("b1")) == (EXPIRED, [])
    assert ledger.told()[-1] == ("booking.expired", {"status": ["reserved", "expired"]})
    assert ledger.audits[-1].actor_type == "system"


def test_a_booking_is_paid_in_the_mode_it_was_made_in(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.rules = BookingRules(mode=Mode.LIVE)
    told = refused(ledger.one(ledger.checkout("b1")), Code.INVALID_STATE)
    assert "test mode" in told.message
    assert ledger.status("b1") is RESERVED


# Cancelling, and expired holds.


@pytest.mark.parametrize("opened", [False, True])
def test_cancelling_frees_the_weeks_and_is_done_once(ledger: Ledger, opened: bool) -> None:
    ledger.act(ledger.reserve("b1", PAIR))
    if opened:
        ledger.act(ledger.checkout("b1"))
    before = ledger.status("b1")
    assert booked(ledger.one(ledger.cancel("b1"))).status is CANCELLED
    assert ledger.held("b1") == []
    assert ledger.told()[-1] == ("booking.cancelled", {"status": [before, "cancelled"]})
    assert booked(ledger.one(ledger.cancel("b1"))).status is CANCELLED
    assert kept_nothing(ledger)


def test_a_hold_that_ran_out_is_expired_and_not_cancelled(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    ledger.pass_ms(HOLD)
    refused(ledger.one(ledger.cancel("b1")), Code.INVALID_STATE)
    assert ledger.status("b1") is EXPIRED


def test_a_paid_booking_cannot_be_cancelled(ledger: Ledger) -> None:
    ledger.paid("b1")
    refused(ledger.one(ledger.cancel("b1")), Code.INVALID_STATE)
    assert (ledger.status("b1"), ledger.held("b1")) == (PAID, [0])


@pytest.mark.parametrize("opened", [False, True])
def test_the_sweeper_ends_holds_whose_time_is_up_and_no_others(ledger: Ledger, opened: bool) -> None:
    ledger.act(ledger.reserve("b1", PAIR))
    if opened:
        ledger.act(ledger.checkout("b1"))
    ledger.pass_ms(HOLD - 1)
    assert booked(ledger.one(ledger.expire("b1"))).status in (RESERVED, CHECKOUT)
    assert kept_nothing(ledger)
    ledger.pass_ms(1)
    assert booked(ledger.one(ledger.expire("b1"))).status is EXPIRED
    assert ledger.held("b1") == []
    assert ledger.last.visible
    assert booked(ledger.one(ledger.expire("b1"))).status is EXPIRED
    assert kept_nothing(ledger)


def test_the_sweeper_leaves_what_is_paid(ledger: Ledger) -> None:
    ledger.paid("b1")
    ledger.pass_ms(DAY)
    assert booked(ledger.one(ledger.expire("b1"))).status is PAID
    assert kept_nothing(ledger)


def test_a_booking_shows_as_expired_before_the_sweeper_comes(ledger: Ledger) -> None:
    booking = booked(ledger.one(ledger.reserve("b1")))
    assert (booking.status_at(NOON + HOLD - 1), booking.status_at(NOON + HOLD)) == (RESERVED, EXPIRED)
    assert ledger.paid("b2", week=1).status_at(NOON + DAY) is PAID


# Ownership.


def test_what_belongs_to_somebody_else_does_not_exist(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"))
    for message in (ledger.checkout("b1", BOB), ledger.cancel("b1", BOB)):
        refused(ledger.one(message), Code.NOT_FOUND)
        assert kept_nothing(ledger)
    assert ledger.status("b1") is RESERVED


def test_what_is_no_booking_is_told_so(ledger: Ledger) -> None:
    none = "bok_none"
    messages: list[Message] = [ledger.checkout(none), ledger.cancel(none), ledger.expire(none), ledger.pay(none)]
    messages += [
        ledger.refund(none),
        ledger.settle(none, event="evt"),
        ledger.postpone(none, NOON),
        ledger.lease(none, 0),
        ledger.video(none),
    ]
    for answer in [*ledger.act(*messages), *(ledger.one(message) for message in messages)]:
        assert refused(answer, Code.NOT_FOUND).message == "There is no such booking."
    assert kept_nothing(ledger)
    assert ledger.events == set()


# Batches.


def test_reserving_cancelling_and_reserving_in_one_batch_leaves_the_last(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", PAIR, week=1), ledger.cancel("b1"), ledger.reserve("b2", PAIR, week=2, owner=BOB))
    assert ledger.last.weeks_freed == {}
    assert ledger.last.weeks_reserved == {(PAIR, MONDAY + week * WEEK_MS): "b2" for week in (2, 3)}
    assert (ledger.status("b1"), ledger.status("b2")) == (CANCELLED, RESERVED)


def test_a_week_that_changes_hands_in_a_batch_is_freed_and_taken(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1", PAIR, week=1))
    ledger.act(ledger.cancel("b1"), ledger.reserve("b2", PAIR, week=2, owner=BOB))
    week = [MONDAY + number * WEEK_MS for number in range(4)]
    assert ledger.last.weeks_freed == {(PAIR, week[1]): "b1", (PAIR, week[2]): "b1"}
    assert ledger.last.weeks_reserved == {(PAIR, week[2]): "b2", (PAIR, week[3]): "b2"}
    assert (ledger.held("b1"), ledger.held("b2")) == ([], [2, 3])


def test_a_week_that_comes_back_to_its_holder_is_neither_freed_nor_taken(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b1"), ledger.checkout("b1"))
    ledger.pass_ms(HOLD)
    ledger.act(ledger.expire("b1"), ledger.pay("b1"))
    assert (ledger.last.weeks_freed, ledger.last.weeks_reserved) == ({}, {})
    assert (ledger.status("b1"), ledger.held("b1")) == (PAID, [0])


def test_a_batch_of_all_kinds_decides_as_one_by_one(ledger: Ledger) -> None:
    other = furnished()
    messages: list[Message] = [
        ledger.create_slot("slt_new"),
        ledger.reserve("b1", "slt_new"),
        ledger.save_profile(ANN, "Other"),
        ledger.edit(f"cmp_{ANN}", headline="New"),
        ledger.checkout("b1"),
        ledger.pay("b1"),
        ledger.move(f"cmp_{ANN}", CampaignMove.REJECT),
        ledger.reserve("b2", week=1),
        ledger.refund("b1"),
        ledger.settle("b1"),
        ledger.retire("slt_new"),
        ledger.reserve("b3", "slt_new"),
    ]
    assert ledger.act(*messages) == [other.one(message) for message in messages]
    assert (ledger.bookings, ledger.weeks, ledger.audits) == (other.bookings, other.weeks, other.audits)
    holds_only_what_it_may(ledger)


def test_a_batch_names_its_rows_sorted() -> None:
    ledger = Ledger()
    messages: list[Message] = [
        ledger.reserve("b9", "slt_z", week=7, owner=BOB, key="k2"),
        ledger.reserve("b8", "slt_a", week=4, key="k1"),
        ledger.start("b7", "slt_m", week=9),
        ledger.save_profile("ten_zoe"),
        ledger.create_campaign("cmp_new", "ten_mia"),
        ledger.edit("cmp_e"),
        ledger.move("cmp_d", CampaignMove.PAUSE),
        ledger.create_slot("slt_c"),
        ledger.edit_slot("slt_y"),
        ledger.retire("slt_b"),
        ledger.checkout("b6"),
        ledger.cancel("b5"),
        ledger.pay("b4", event="evt_2"),
        ledger.settle("b3", event="evt_1", payment="pay_2"),
        ledger.dispute("pay_3"),
        ledger.session("b9", "cs_1"),
        ledger.settle("b3"),
        ledger.refund("b2"),
        ledger.postpone("b1", 0),
        ledger.lease("b1", 0),
        ledger.expire("b0"),
        ledger.video("ba"),
    ]
    rules = BookingRules()
    rows = rows_to_lock(messages, rules, NOON)
    assert rows == LockSet(
        tenant_ids=("ten_ann", "ten_bob", "ten_mia", "ten_zoe"),
        campaign_ids=("cmp_d", "cmp_e", "cmp_new", "cmp_ten_ann", "cmp_ten_bob"),
        slot_ids=("slt_a", "slt_b", "slt_c", "slt_m", "slt_y", "slt_z"),
        booking_ids=("b0", "b1", "b2", "b3", "b4", "b5", "b6", "b9", "ba"),
        keys=((ANN, "bookings", "k1"), (ANN, "bookings/start", "b7"), (BOB, "bookings", "k2")),
        event_ids=("evt_1", "evt_2"),
        audit_ids=("aud_5",),
        payment_ids=("pay_1", "pay_2", "pay_3"),
        campaigns_of=("ten_ann", "ten_mia"),
        from_week_ms=MONDAY + 4 * WEEK_MS,
        recent_ms=rules.counted_from_ms(NOON),
    )
    assert rows_to_lock([], rules, NOON) == LockSet()


def test_a_holder_that_was_not_read_is_a_mistake_of_the_store() -> None:
    unit = UnitOfWork(Snapshot(weeks={(SLOT, MONDAY): "b1"}), NOON, BookingRules())
    with pytest.raises(AssertionError, match="holds a week and was not read"):
        unit.holder((SLOT, MONDAY))


# Videos.


@pytest.fixture
def filmed() -> Ledger:
    ledger = furnished()
    ledger.act(ledger.edit_slot(package_kind=PackageKind.BUNDLE))
    ledger.paid("b1")
    ledger.audits.clear()
    return ledger


def test_a_video_is_described_bit_by_bit(filmed: Ledger) -> None:
    filmed.act(filmed.video("b1", notes="In the cut"))
    filmed.act(filmed.video("b1", status=YoutubeStatus.PUBLISHED, url="https://example.com/watch"))
    booking = filmed.bookings["b1"]
    assert (booking.youtube_status, booking.youtube_url) == ("published", "https://example.com/watch")
    assert (booking.youtube_notes, booking.status) == ("In the cut", PAID)
    assert filmed.told() == [
        ("booking.video_described", {"status": "planned", "url": None, "notes": "In the cut"}),
        (
            "booking.video_described",
            {"status": "published", "url": "https://example.com/watch", "notes": "In the cut"},
        ),
    ]


def test_a_booking_whose_hold_ran_out_gets_no_video(filmed: Ledger) -> None:
    filmed.act(filmed.reserve("b2", week=1))
    filmed.pass_ms(HOLD)
    answer = refused(filmed.one(SendMaterial(ANN, "b2", "A logo", filmed.origin())), Code.INVALID_STATE)
    assert answer.message == "The status of this booking is expired. Only a booking that is held or paid gets a video."


def test_a_published_video_has_an_address(filmed: Ledger) -> None:
    answer = refused(filmed.one(filmed.video("b1", status=YoutubeStatus.PUBLISHED)), Code.INVALID_REQUEST)
    assert answer.problems == (Problem("youtubeUrl", "missing", "is required for a published video"),)
    assert kept_nothing(filmed)
    ready, published = filmed.act(
        filmed.video("b1", url="https://example.com/watch"), filmed.video("b1", status=YoutubeStatus.PUBLISHED)
    )
    assert booked(ready).youtube_status == "planned"
    assert booked(published).youtube_status == "published"


def test_describing_a_video_as_it_is_leaves_no_trace(filmed: Ledger) -> None:
    filmed.act(filmed.video("b1", notes="Once"))
    assert booked(filmed.one(filmed.video("b1", notes="Once", status=YoutubeStatus.PLANNED))).youtube_notes == "Once"
    assert booked(filmed.one(filmed.video("b1"))).youtube_notes == "Once"
    assert kept_nothing(filmed)


def test_what_was_said_of_a_video_can_be_taken_back(filmed: Ledger) -> None:
    filmed.act(filmed.video("b1", notes="Once", url="https://example.com/watch", status=YoutubeStatus.PUBLISHED))
    refused(filmed.one(filmed.video("b1", clear=("youtube_url",))), Code.INVALID_REQUEST)
    booking = booked(filmed.one(filmed.video("b1", clear=("youtube_notes",))))
    assert (booking.youtube_notes, booking.youtube_url) == (None, "https://example.com/watch")


def test_a_sponsor_sends_material_for_a_video_until_it_is_published_and_the_audit_has_none_of_it(
    filmed: Ledger,
) -> None:
    def sent(material: str | None, owner: str = ANN) -> Any:
        return filmed.one(SendMaterial(owner, "b1", material, filmed.origin()))

    assert booked(sent("https://example.com/press")).video_material == "https://example.com/press"
    assert filmed.told() == [("booking.material_sent", {})]
    sent("https://example.com/press")
    assert kept_nothing(filmed)
    refused(sent("Theirs", BOB), Code.NOT_FOUND)
    assert booked(sent(None)).video_material is None
    filmed.act(filmed.video("b1", status=YoutubeStatus.PUBLISHED, url="https://example.com/watch"))
    refused(sent("Too late"), Code.INVALID_STATE)
    assert kept_nothing(filmed)


@pytest.mark.parametrize("first", ["paid", "sent"])
def test_administrators_get_one_mail_once_a_booking_is_paid_and_has_material_for_its_video(first: str) -> None:
    ledger = furnished()
    ledger.act(ledger.edit_slot(package_kind=PackageKind.BUNDLE), ledger.reserve("b1"), ledger.checkout("b1"))

    def told() -> list[str]:
        return [mail.id for mail in ledger.mails if mail.template == "video_material" and mail.tenant_id is None]

    for step in ("paid", "sent") if first == "paid" else ("sent", "paid"):
        assert told() == []
        ledger.act(ledger.pay("b1") if step == "paid" else SendMaterial(ANN, "b1", "A logo", ledger.origin()))
    assert len(told()) == 1
    ledger.act(SendMaterial(ANN, "b1", "Another logo", ledger.origin()), SendMaterial(ANN, "b1", None, ledger.origin()))
    assert len(told()) == 1
    ledger.mails.clear()
    ledger.act(SendMaterial(ANN, "b1", "A third logo", ledger.origin()))
    assert told() == ["msg_b1_material_a"], "a mail with a known id is not stored again"


def test_a_package_without_a_video_has_nothing_to_describe(ledger: Ledger) -> None:
    ledger.paid("b1")
    refused(ledger.one(ledger.video("b1", notes="x")), Code.INVALID_STATE)
    refused(ledger.one(SendMaterial(ANN, "b1", "x", ledger.origin())), Code.INVALID_STATE)
    assert kept_nothing(ledger)


# The table.


def test_the_table_holds_what_was_decided() -> None:
    pairs = {(str(status), str(there)) for status, moves in BOOKING_MOVES.items() for there in moves.values()}
    assert pairs == {
        ("reserved", "checkout"),
        ("checkout", "paid"),
        ("paid", "refunding"),
        ("refunding", "refunded"),
        ("paid", "refunded"),
        ("reserved", "expired"),
        ("checkout", "expired"),
        ("reserved", "cancelled"),
        ("checkout", "cancelled"),
        ("refunding", "paid"),
        ("refunded", "refunding"),
        # A dispute that was won after it was lost.
        ("refunded", "paid"),
        # Late payments.
        ("expired", "paid"),
        ("expired", "refunding"),
        ("cancelled", "refunding"),
        ("checkout", "refunding"),
    }
    assert set(BOOKING_MOVES) == set(BookingStatus)
    assert set(PAST) == set(BookingMove)
