"""Answers about refunds that arrive out of order."""

from actors.bookings.messages import Origin, SettleRefund
from actors.bookings.records import Booking, BookingStatus, BookingView, Campaign, CampaignStatus, Content, Mode
from actors.bookings.state import BookingRules, Decision, Snapshot, decide
from actors.values import Agent

NOW_MS = 1_796_000_000_000
MONDAY_MS = 1_795_996_800_000


def refunded() -> Snapshot:
    """A refunded booking."""
    content = Content("Now", "A bot.", "Try it", "https://tools.example.com/", "ET")
    booking = Booking(
        id="bok_1",
        tenant_id="ten_1",
        campaign_id="cmp_1",
        slot_id="top",
        slot_name="Top",
        week_start_ms=MONDAY_MS,
        weeks=1,
        amount_cents=12_000,
        currency="usd",
        status=BookingStatus.REFUNDED,
        mode=Mode.LIVE,
        created_ms=NOW_MS,
        hold_ms=NOW_MS,
        paid_ms=NOW_MS,
        paid_cents=12_000,
        payment_id="pi_1",
        refunded_cents=12_000,
    )
    campaign = Campaign("cmp_1", "ten_1", "Autumn", content, CampaignStatus.APPROVED, NOW_MS)
    return Snapshot(bookings={booking.id: booking}, campaigns={campaign.id: campaign})


def declined(event_id: str | None) -> Decision:
    origin = Origin(Agent("system", "payments"), "", "aud_1")
    return decide(refunded(), [SettleRefund("bok_1", "no money", origin, event_id)], NOW_MS, BookingRules())


def test_a_cashiers_late_answer_does_not_undo_a_refund_that_another_node_had_made() -> None:
    """Found by the simulation: one node is declined and reports it late, after another node's retry has moved the
    money."""
    decision = declined(event_id=None)
    assert isinstance(decision.answers[0], BookingView)
    assert decision.answers[0].booking.refunded_cents == 12_000
    assert not decision.bookings
    assert not decision.audits


def test_a_refund_that_the_processor_says_has_failed_is_noted() -> None:
    decision = declined(event_id="re_1.failed")
    assert decision.bookings["bok_1"].payment_issue == "refund_failed"
    assert decision.bookings["bok_1"].refunded_cents == 0
    assert [audit.action for audit in decision.audits] == ["booking.refund_failed"]
