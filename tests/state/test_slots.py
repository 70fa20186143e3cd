"""The rules of slots: creating, editing, retiring, and selling."""

from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.messages import Answer
from actors.bookings.records import PackageKind, Side, Slot
from actors.bookings.slots import sells
from actors.bookings.state import BookingRules
from actors.times import WEEK_MS
from actors.values import Code, Refused
from tests.state.ledger import AGENT, ANN, HOLD, MONDAY, NOON, PRICE, REST, SLOT, Ledger, furnished, refused


def slotted(answer: Answer) -> Slot:
    assert isinstance(answer, Slot), answer
    return answer


def test_a_new_slot_is_kept_shown_and_audited() -> None:
    ledger = Ledger()
    slot = slotted(ledger.one(ledger.create_slot("slt_new", name="Top", package_kind=PackageKind.BUNDLE, weeks=3)))
    assert ledger.slots == {"slt_new": slot}
    assert (slot.name, slot.weeks, slot.week_price_cents) == ("Top", 3, PRICE)
    assert ledger.last.visible
    [(action, changes)] = ledger.told()
    assert action == "slot.created"
    assert changes["weekPriceCents"] == PRICE
    assert changes["packageKind"] == "bundle"
    assert {"id", "createdMs", "demo"}.isdisjoint(changes)
    [record] = ledger.audits
    assert (record.target_type, record.target_id, record.created_ms) == ("slot", "slt_new", NOON)
    assert (record.actor_type, record.actor_id, record.actor_email) == ("key", AGENT.id, AGENT.email)


def test_a_slot_id_is_given_once_also_within_a_batch() -> None:
    ledger = Ledger()
    first, second = ledger.act(ledger.create_slot("slt_new"), ledger.create_slot("slt_new", name="Other"))
    refused(second, Code.INVALID_STATE)
    assert ledger.slots["slt_new"] == slotted(first)
    refused(ledger.one(ledger.create_slot("slt_new")), Code.INVALID_STATE)
    assert len(ledger.audits) == 1


def test_an_edit_changes_what_is_given_and_says_the_difference() -> None:
    ledger = furnished()
    before = ledger.slots[SLOT]
    after = slotted(ledger.one(ledger.edit_slot(name="Better", side=Side.RIGHT, week_price_cents=1, active=False)))
    assert after == replace(before, name="Better", side=Side.RIGHT, week_price_cents=1, active=False)
    assert ledger.slots[SLOT] == after
    assert ledger.told() == [
        (
            "slot.edited",
            {
                "name": ["A slot", "Better"],
                "side": ["left", "right"],
                "weekPriceCents": [PRICE, 1],
                "active": [True, False],
            },
        )
    ]
    assert ledger.last.visible


def test_an_edit_can_set_and_clear_what_may_be_absent() -> None:
    ledger = furnished()
    given: dict[str, Any] = {"offer_ends_ms": NOON, "package_kind": PackageKind.YOUTUBE, "description": "Words"}
    given |= {"coming_soon": True, "weeks": 4}
    assert slotted(ledger.one(ledger.edit_slot(**given))) == replace(ledger.slots[SLOT], **given)
    cleared = slotted(ledger.one(ledger.edit_slot(clear=("offer_ends_ms", "package_kind", "description"))))
    assert (cleared.offer_ends_ms, cleared.package_kind, cleared.description) == (None, None, None)
    assert (cleared.coming_soon, cleared.weeks) == (True, 4)
    assert ledger.told()[-1][1]["description"] == ["Words", None]


def test_an_edit_that_changes_nothing_leaves_no_trace() -> None:
    ledger = furnished()
    answer = ledger.one(ledger.edit_slot(name="A slot", week_price_cents=PRICE))
    assert slotted(answer) == ledger.slots[SLOT]
    assert (ledger.audits, ledger.last.slots, ledger.last.visible) == ([], {}, False)


def test_retiring_ends_the_sale_once() -> None:
    ledger = furnished()
    slot = slotted(ledger.one(ledger.retire()))
    assert (slot.active, slot.retired_ms) == (False, NOON)
    ledger.pass_ms(1_000)
    assert slotted(ledger.one(ledger.retire())) == slot
    assert ledger.told() == [("slot.retired", {})]
    assert not ledger.last.visible


def test_activating_brings_a_retired_slot_back() -> None:
    ledger = furnished()
    retired, back = (slotted(answer) for answer in ledger.act(ledger.retire(), ledger.edit_slot(active=True)))
    assert (retired.retired_ms, back.retired_ms, back.active) == (NOON, None, True)
    assert ledger.told()[-1] == ("slot.edited", {"active": [False, True], "retiredMs": [NOON, None]})


def test_another_edit_leaves_a_slot_retired() -> None:
    ledger = furnished()
    ledger.act(ledger.retire())
    assert slotted(ledger.one(ledger.edit_slot(name="Gone"))).retired_ms == NOON
    assert slotted(ledger.one(ledger.edit_slot(active=False))).retired_ms == NOON


def test_what_is_no_slot_can_neither_be_edited_nor_retired() -> None:
    ledger = furnished()
    refused(ledger.one(ledger.edit_slot("slt_none", name="x")), Code.NOT_FOUND)
    refused(ledger.one(ledger.retire("slt_none")), Code.NOT_FOUND)
    assert ledger.audits == []


@pytest.mark.parametrize(
    ("fields", "sold"),
    [
        ({}, True),
        ({"active": False}, False),
        ({"coming_soon": True}, False),
        ({"retired_ms": NOON - 1}, False),
        ({"offer_ends_ms": NOON}, False),
        ({"offer_ends_ms": NOON - 1}, False),
        ({"offer_ends_ms": NOON + 1}, True),
    ],
)
def test_a_slot_is_sold_while_it_is_offered(fields: dict[str, object], sold: bool) -> None:
    slot = replace(Slot(SLOT, "A slot", Side.LEFT, PRICE, 0), **fields)  # type: ignore[arg-type]
    assert sells(slot, NOON) is sold


BOOKED = "16 November to 6 December, 14 to 20 December"


def test_a_slot_stays_on_its_side_while_weeks_are_booked_there() -> None:
    ledger = furnished()
    for number, week in enumerate((0, 1, 2, 4)):
        [booked] = ledger.act(ledger.reserve(f"b{number}", week=week))
        assert not isinstance(booked, Refused), booked
        ledger.act(ledger.checkout(f"b{number}"), ledger.pay(f"b{number}"))
    before = ledger.slots[SLOT]
    why = refused(ledger.one(ledger.edit_slot(side=Side.RIGHT, name="Moved")), Code.INVALID_STATE)
    assert f"the left side is booked for {BOOKED}. Create another slot" in why.message
    assert ledger.slots[SLOT] == before
    assert slotted(ledger.one(ledger.edit_slot(side=Side.LEFT, name="Renamed"))).name == "Renamed"
    ledger.pass_ms(5 * WEEK_MS)
    assert slotted(ledger.one(ledger.edit_slot(side=Side.RIGHT))).side is Side.RIGHT, "the weeks are over"


def test_a_hold_keeps_the_side_until_it_ends() -> None:
    ledger = furnished()
    _, why = ledger.act(ledger.reserve("b1"), ledger.edit_slot(side=Side.RIGHT))
    assert "16 to 22 November" in refused(why, Code.INVALID_STATE).message, "also in one batch"
    ledger.pass_ms(HOLD)
    assert slotted(ledger.one(ledger.edit_slot(side=Side.RIGHT))).side is Side.RIGHT, "a hold that has expired"


@pytest.mark.parametrize(("periods", "more"), [(5, ""), (6, ", later weeks")])
def test_a_refusal_to_move_a_slot_names_five_periods(periods: int, more: str) -> None:
    ledger = furnished(BookingRules(open_holds=9))
    for number in range(periods):
        ledger.act(ledger.reserve(f"b{number}", week=2 * number))
    why = refused(ledger.one(ledger.edit_slot(side=Side.RIGHT)), Code.INVALID_STATE)
    assert f"11 to 17 January 2027{more}. Create" in why.message


def test_a_week_that_has_just_ended_does_not_keep_the_side() -> None:
    ledger = furnished()
    ledger.paid("b1")
    ledger.now_ms = MONDAY + WEEK_MS
    _, slot = ledger.act(ledger.video("b1", notes="Soon."), ledger.edit_slot(side=Side.RIGHT))
    assert slotted(slot).side is Side.RIGHT


def test_bookings_keep_what_their_slot_was() -> None:
    ledger = furnished()
    ledger.act(ledger.edit_slot(package_kind=PackageKind.BUNDLE, description="An ad and a video"), ledger.reserve("b1"))
    before = ledger.bookings["b1"]
    assert (before.slot_name, before.package_kind, before.package_description) == (
        "A slot",
        "bundle",
        "An ad and a video",
    )
    changes: dict[str, Any] = {"name": "Dearer", "week_price_cents": PRICE * 9, "weeks": 5, "coming_soon": True}
    changes |= {"package_kind": PackageKind.WEBSITE, "description": "An ad", "offer_ends_ms": NOON + 1}
    ledger.act(ledger.edit_slot(**changes), ledger.retire())
    assert ledger.bookings["b1"] == before
    assert ledger.held("b1") == [0]
    ledger.act(ledger.checkout("b1"), ledger.pay("b1"))
    assert (ledger.bookings["b1"].amount_cents, ledger.bookings["b1"].tenant_id) == (REST, ANN)
    assert ledger.status("b1") == "paid"


@pytest.mark.parametrize(
    ("weeks", "cents", "sold"), [(1, 99_999_999, True), (10, 10_000_000, False), (9, 11_111_111, True)]
)
def test_a_booking_costs_no_more_than_a_card_can_pay(weeks: int, cents: int, sold: bool) -> None:
    ledger = furnished()
    for message in (
        ledger.create_slot("slt_new", weeks=weeks, week_price_cents=cents),
        ledger.edit_slot(weeks=weeks, week_price_cents=cents),
    ):
        answer = ledger.one(message)
        assert isinstance(answer, Slot) == sold
        if not sold:
            refused(answer, Code.INVALID_REQUEST)
            assert isinstance(answer, Refused)
            [problem] = answer.problems
            assert (problem.field, problem.code) == ("weekPriceCents", "too_expensive")
            assert problem.message == "times the weeks may be at most 99999999 cents"
