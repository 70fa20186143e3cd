"""Scenarios of the sponsorship area whose decisions are recorded in full: see `test_decisions`."""

from dataclasses import replace

from actors.bookings.decision import BookingRules
from actors.bookings.messages import (
    DeclineRefundRequest,
    EndSharedReport,
    FollowSchedule,
    RequestRefund,
    SendDigest,
    SendMaterial,
)
from actors.bookings.records import WITH_VIDEO, DayDelivered, Mode, PaymentState, Side, YoutubeStatus
from actors.bookings.transitions import CampaignMove
from tests.state import ledger
from tests.state.ledger import Ledger
from tests.state.registry import DAY, HOUR, MINUTE
from tests.state.scenarios import scenario
from tests.state.test_sharing import share


@scenario(ledger.furnished)
def shared_reports(book: Ledger) -> None:
    book.act(share(book, 1), share(book, 2))
    book.act(share(book, 3), EndSharedReport(ledger.ANN, "shr_3", book.origin()))
    book.act(EndSharedReport(ledger.ANN, "shr_1", book.origin()), EndSharedReport(ledger.ANN, "shr_2", book.origin()))


def _request(book: Ledger, booking_id: str, owner: str = ledger.ANN) -> RequestRefund:
    return RequestRefund(owner, booking_id, "It was not shown.", book.origin())


def _sold() -> Ledger:
    """Bookings of this week and of later ones: one with a known issue, one of a suspended account, and one of two weeks, of
    which one is seen."""
    book = ledger.furnished()
    book.paid("bok_0")
    for week, name in enumerate(("bok_1", "bok_2", "bok_3"), 1):
        book.paid(name, week=week, owner=ledger.ANN if week < 3 else ledger.BOB)
    book.paid("bok_4", ledger.PAIR, week=2, owner=ledger.BOB)
    video = replace(book.bookings["bok_2"], youtube_status=YoutubeStatus.PUBLISHED)
    book.bookings["bok_2"] = replace(video, payment_issue="paid_twice")
    book.suspended = {ledger.BOB}
    book.days["bok_4"] = [DayDelivered(ledger.MONDAY // DAY + 15, 7, 2)]
    return book


@scenario(_sold)
def refund_requests(book: Ledger) -> None:
    book.act(book.reserve("bok_9", week=7), _request(book, "bok_9"), _request(book, "none"))
    for _ in range(3):
        book.act(_request(book, "bok_1"), _request(book, "bok_1"))
        book.act(DeclineRefundRequest("bok_1", "Es läuft noch.", book.origin()))
    book.act(_request(book, "bok_1"), DeclineRefundRequest("bok_1", "No.", book.origin()))
    book.act(DeclineRefundRequest("none", "No.", book.origin()))
    book.pass_ms(40 * DAY)
    book.act(_request(book, "bok_1"), _request(book, "bok_9"), DeclineRefundRequest("bok_9", "No.", book.origin()))
    book.rules = replace(book.rules, refund_unshown=False)
    book.act(_request(book, "bok_1"))


@scenario(_sold)
def schedules(book: Ledger) -> None:
    _follow(book, 15)
    book.act(book.dispute("pay_bok_3"))
    _follow(book, 17)
    book.act(FollowSchedule("none", book.origin()))


@scenario(_sold)
def schedules_without_refunds(book: Ledger) -> None:
    """Nothing of the booking was sold, because it was made after its weeks."""
    book.rules = replace(book.rules, refund_unshown=False)
    book.bookings["bok_1"] = replace(book.bookings["bok_1"], created_ms=book.now_ms + 30 * DAY)
    book.pass_ms(20 * DAY)
    book.act(FollowSchedule("bok_1", book.origin()))


def _follow(book: Ledger, days: int) -> None:
    for _ in range(days):
        due = [each.id for each in book.bookings.values() if (each.next_step_ms or book.now_ms + 1) <= book.now_ms]
        if due:
            book.act(*(FollowSchedule(each, book.origin()) for each in due))
        book.pass_ms(DAY)


@scenario(lambda: ledger.furnished(BookingRules(open_holds=2, holds_per_day=5, horizon_weeks=8)))
def holds(book: Ledger) -> None:
    """Slots that are held, and holds that end by themselves, by their owner or by a payment."""
    book.act(book.reserve("b1", week=1), book.reserve("b1", week=1, key="b1"), book.reserve("b2", week=2, key="b1"))
    book.act(book.reserve("b3", week=1, owner=ledger.BOB), book.reserve("b4", "none"), book.reserve("b5", week=-1))
    book.act(book.reserve("b6", week=9), book.reserve("b7", campaign="none"), book.reserve("b8", ledger.PAIR, week=2))
    book.act(book.reserve("b9", week=3), book.start("b10", week=4, owner=ledger.BOB), book.checkout("b1", ledger.BOB))
    book.act(book.checkout("b1"), book.checkout("b1"), book.session("b1", "cs_1"), book.session("none", "cs_1"))
    book.pass_ms(MINUTE)
    book.act(book.cancel("b8"), book.cancel("b8"), book.cancel("none"), book.expire("b1"), book.expire("none"))
    book.act(book.reserve("b11", ledger.PAIR, week=2), book.session("b11", "cs_9"))
    book.pass_ms(HOUR)
    book.act(book.checkout("b11"), book.expire("b1"), book.expire("b1"), book.expire("b11"), book.expire("b10"))
    book.act(book.reserve("b12", ledger.PAIR, week=2), book.reserve("b13", week=5), book.cancel("b11"))
    book.act(book.retire(), book.reserve("b14", week=6), book.edit_slot(active=True, coming_soon=True))
    book.act(book.reserve("b15", week=6), book.move("cmp_ten_ann", CampaignMove.REJECT, note="No."))
    book.suspended = {ledger.BOB}
    book.act(book.reserve("b16", week=6), book.reserve("b17", week=6, owner=ledger.BOB))
    book.rules = replace(book.rules, mode=Mode.LIVE)
    book.act(book.checkout("b12"), book.checkout("b13"), replace(book.reserve("b18"), week_start_ms=ledger.NOON))


@scenario(_sold)
def money(book: Ledger) -> None:
    """Payments, refunds and disputes as the processor reports them, in and out of order."""
    book.act(book.reserve("b1", week=5), book.checkout("b1"), book.session("b1", "cs_1"))
    book.act(book.pay("b1", "e1", session="cs_2"), book.pay("none", "e2"), book.pay("b1", "e3", amount=1))
    book.act(book.reserve("b2", week=6), book.pay("b2", "e4", "p2", currency="eur"), book.pay("b2", "e4", "p2"))
    book.act(book.pay("bok_0", "e5", "p3"), book.pay("bok_0", "e6", "pay_bok_0"))
    book.act(book.refund("bok_0", "Wrong ad."), book.refund("bok_0"), book.refund("none"), book.refund("b9"))
    book.act(book.lease("bok_0", book.now_ms + MINUTE))
    book.act(book.postpone("bok_0", book.now_ms))
    book.act(book.settle("bok_0", "Too old"), book.refund("bok_0"), book.settle("bok_0", refund="re_1", cents=7))
    book.act(book.settle("bok_0", event="e7", payment="pay_bok_0"), book.settle("bok_0"), book.settle("none"))
    book.act(book.settle("bok_0", "Returned", event="e8", payment="pay_bok_0", refund="re_1", at_ms=9))
    book.act(book.settle("bok_1", event="e9", payment="pay_bok_1", total_cents=4_000, refund="re_2"))
    book.act(book.lease("bok_1", 5), book.lease("bok_0", 5), book.lease("none", 5))
    book.act(book.postpone("bok_1", 5), book.postpone("bok_0", 5), book.postpone("none", 5))
    book.act(book.dispute("pay_bok_2"), book.dispute("pay_bok_2"), book.dispute("none"), book.refund("bok_2"))
    book.act(book.dispute("pay_bok_2", PaymentState.WON), book.dispute("pay_bok_3", amount_cents=3_000))
    book.act(book.dispute("pay_bok_3", PaymentState.LOST, amount_cents=3_000, at_ms=7))
    book.act(book.dispute("pay_bok_3", PaymentState.LOST, "dp_2"), book.dispute("pay_bok_3", PaymentState.WON, "dp_2"))
    book.act(book.dispute("pay_bok_4", PaymentState.LOST), book.settle("bok_4", event="e10", payment="pay_bok_4"))
    book.act(book.settle("bok_4", "Returned", refund="re_3"), book.settle("bok_4", "Returned", refund="re_4"))
    book.act(book.video("bok_4", status=YoutubeStatus.PUBLISHED, url="https://example.com/v"), book.video("none"))
    book.act(book.video("bok_4", notes="Soon.", clear=("url",)), book.video("bok_1"))


@scenario(lambda: ledger.furnished(BookingRules(campaigns=3, pending_campaigns=2)))
def campaigns(book: Ledger) -> None:
    """Campaigns and their reviews, profiles, billing details and slots."""
    book.act(book.create_campaign("c1"), book.create_campaign("c2"), book.create_campaign("c3"))
    book.act(
        book.edit("c1", headline="Another"), book.edit("c1", name="Named"), book.edit("c1"), book.edit("none", name="x")
    )
    moves = [book.move("c1", move, ledger.ANN) for move in CampaignMove if not move.endswith("_edit")]
    for move in moves:
        book.act(move)
    for name, by in (("APPROVE", None), ("PAUSE", ledger.ANN), ("RESUME", ledger.ANN), ("SUBMIT", ledger.ANN)):
        book.act(book.move("c1", CampaignMove[name], by))
    book.act(
        book.edit("c1", body="New words", cta="Now"), book.move("c1", CampaignMove.REJECT, note="Zu laut für uns.")
    )
    book.act(book.edit("c1", target_url="https://example.com/2"), book.move("c1", CampaignMove.WITHDRAW, ledger.ANN))
    seen = replace(book.move("c1", CampaignMove.APPROVE), seen=ledger.CONTENT, seen_as="Old name")
    book.act(book.edit("c1", logo_text="NT"), seen, replace(seen, seen=None), replace(seen, seen=None, seen_as=None))
    book.act(book.move("c2", CampaignMove.REJECT, note="No."), book.edit("c2", headline="Better"), SendDigest())
    book.pass_ms(2 * HOUR)
    book.act(SendDigest(), SendDigest())
    book.act(book.save_profile(name="Other brand"), book.save_profile(name="Other brand"))
    book.act(book.save_billing(), book.save_billing(), book.save_billing(email="bills@example.com"))
    book.act(book.create_slot("s1"), book.create_slot("s1"), book.edit_slot("none", name="x"), book.retire("none"))
    book.act(
        book.edit_slot(name="Better", week_price_cents=5), book.edit_slot(name="Better"), book.retire(), book.retire()
    )
    book.act(book.edit_slot(active=True, description="Words", offer_ends_ms=9), book.edit_slot(clear=("description",)))
    book.bookings["bok_1"] = replace(book.paid("bok_1", ledger.PAIR, week=1), package_kind=sorted(WITH_VIDEO)[0])
    book.act(book.edit_slot(side=Side.RIGHT), book.edit_slot(ledger.PAIR, side=Side.LEFT, weeks=3))
    book.act(
        SendMaterial(ledger.ANN, "bok_1", "Our talk.", book.origin()),
        SendMaterial(ledger.ANN, "x", None, book.origin()),
    )
    book.act(SendMaterial(ledger.ANN, "bok_1", None, book.origin()))
