"""Seeded random messages to the ledger. Few brands, slots and weeks make them collide often."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from actors.bookings.campaigns import OF_EDITS
from actors.bookings.messages import (
    Answer,
    Cancel,
    CreateCampaign,
    CreateSlot,
    DeclineRefundRequest,
    DescribeVideo,
    EditCampaign,
    EditSlot,
    ExpireHold,
    FollowSchedule,
    LeaseRefund,
    Message,
    MoveCampaign,
    OpenCheckout,
    OrderRefund,
    Origin,
    PostponeRefund,
    RecordPayment,
    RequestRefund,
    Reserve,
    RetireSlot,
    SaveProfile,
    SendDigest,
    SettleDispute,
    SettleRefund,
    StoreCheckoutSession,
)
from actors.bookings.records import Booking, BookingView, CampaignStatus, PackageKind, PaymentState, YoutubeStatus
from actors.bookings.transitions import CampaignMove
from tests.stores.books import NOW, booking, campaign, origin, reserve, slot, sponsor

TENANTS = (1, 2, 3)
SLOTS = ("left-1", "right-1", "left-2", "video")
STEPS_MS = (0, 0, 0, 0, 1_000, 60_000, 300_000, 2_400_000)
LONG_STEP_MS = 30 * 3_600_000
MOVES = [move for move in CampaignMove if move not in OF_EDITS.values()]


class Traffic:
    """Makes messages, and learns the existing bookings from the answers."""

    def __init__(self, seed: int, first: int = 100) -> None:
        self.now_ms = NOW
        self._random = random.Random(seed)
        self._number = first
        self._bookings: dict[str, Booking] = {}
        self._reserved: list[Reserve] = []
        self._campaigns = [f"cmp_{tenant}" for tenant in TENANTS]
        self._kinds: list[tuple[int, Callable[[int], Message]]] = [
            (2, self._profile),
            (1, self._new_campaign),
            (2, self._edit),
            (6, self._move),
            (20, self._reserve),
            (4, self._start),
            (7, self._checkout),
            (3, self._cancel),
            (8, self._payment),
            (3, self._order_refund),
            (4, self._settle),
            (4, self._session),
            (6, self._dispute),
            (1, self._postpone),
            (1, self._lease),
            (3, self._expire),
            (3, self._request_refund),
            (1, self._decline_request),
            (6, self._follow),
            (1, self._digest),
            (1, self._new_slot),
            (3, self._edit_slot),
            (1, self._retire),
            (2, self._video),
        ]

    def batch(self) -> list[Message]:
        self.now_ms += self._random.choice(STEPS_MS) if self._random.random() < 0.95 else LONG_STEP_MS
        return [self._message() for _ in range(self._random.randint(1, 8))]

    def learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if isinstance(answer, BookingView):
                self._bookings[answer.booking.id] = answer.booking

    def _message(self) -> Message:
        self._number += 1
        weights, kinds = zip(*self._kinds, strict=True)
        (kind,) = self._random.choices(kinds, weights)
        made: Message = kind(self._number)
        return made

    def _tenant(self) -> int:
        return self._random.choice(TENANTS)

    def _slot(self) -> str:
        return self._random.choice(SLOTS)

    def _booking(self) -> Booking:
        """A known booking, more likely a late one, or sometimes one that never existed."""
        known = list(self._bookings.values())[-8:]
        if not known or self._random.random() < 0.05:
            return booking(0, self._tenant())
        return self._random.choice(known)

    def _owner(self, known: Booking) -> str:
        return known.tenant_id if self._random.random() < 0.9 else f"ten_{self._tenant()}"

    def _event(self) -> str:
        return f"evt_{self._number - self._random.choice((0, 0, 0, 5))}"

    def _profile(self, number: int) -> Message:
        return SaveProfile(sponsor(self._tenant(), id=f"spo_{number}", name=f"Brand {number % 5}"), origin(number))

    def _new_campaign(self, number: int) -> Message:
        self._campaigns.append(f"cmp_{number}")
        made = campaign(number, self._tenant(), status=CampaignStatus.PENDING, created_ms=self.now_ms)
        return CreateCampaign(made, origin(number))

    def _edit(self, number: int) -> Message:
        headline = self._random.choice((None, "New", "Newer"))
        name = self._random.choice((None, "A", "B"))
        owner, campaign_id = f"ten_{self._tenant()}", self._random.choice(self._campaigns)
        return EditCampaign(owner, campaign_id, origin(number), name=name, headline=headline)

    def _move(self, number: int) -> Message:
        move = self._random.choice((*MOVES, CampaignMove.APPROVE, CampaignMove.APPROVE, CampaignMove.SUBMIT))
        owner = self._random.choice((None, f"ten_{self._tenant()}"))
        note = self._random.choice((None, "Fine"))
        return MoveCampaign(self._random.choice(self._campaigns), move, origin(number), owner, note)

    def _reserve(self, number: int) -> Message:
        if self._reserved and self._random.random() < 0.2:
            fingerprint = self._random.choice((b"same", b"same", b"other"))
            again = self._random.choice(self._reserved[-8:])
            return replace(again, booking_id=f"bok_{number}", origin=origin(number), fingerprint=fingerprint)
        tenant = self._tenant()
        campaign_id = f"cmp_{tenant}" if self._random.random() < 0.8 else self._random.choice(self._campaigns)
        made = reserve(number, tenant, self._slot(), self._random.randint(-1, 12), campaign_id=campaign_id)
        self._reserved.append(made)
        return made

    def _start(self, number: int) -> Message:
        tenant = self._tenant()
        made = campaign(number, tenant, status=CampaignStatus.PENDING, created_ms=self.now_ms)
        made_for = sponsor(tenant, id=f"spo_{number}", name=f"Brand {number % 3}")
        self._campaigns.append(made.id)
        rest = {"campaign_id": made.id, "campaign": made, "sponsor": made_for, "operation": "bookings/start"}
        return reserve(number, tenant, self._slot(), self._random.randint(0, 12), **rest)

    def _checkout(self, number: int) -> Message:
        known = self._booking()
        return OpenCheckout(self._owner(known), known.id, origin(number))

    def _cancel(self, number: int) -> Message:
        known = self._booking()
        return Cancel(self._owner(known), known.id, origin(number))

    def _payment(self, number: int) -> Message:
        known = self._booking()
        cents = known.amount_cents + self._random.choice((0, 0, 0, 0, 0, 1))
        return RecordPayment(self._event(), known.id, self._payment_id(), cents, "usd", origin(number))

    def _payment_id(self) -> str:
        """The payment of a known booking, or one that nothing was paid with so far."""
        return self._booking().payment_id or f"pay_{self._number + self._random.choice((0, 0, 0, 3))}"

    def _session(self, number: int) -> Message:
        known = self._booking()
        return StoreCheckoutSession(self._owner(known), known.id, f"cs_{number % 7}")

    def _dispute(self, number: int) -> Message:
        state = self._random.choice((PaymentState.DISPUTED, PaymentState.DISPUTED, PaymentState.WON, PaymentState.LOST))
        cents, at_ms = (None, 50, 9_000)[number % 3], number % 5
        return SettleDispute(f"dp_{number % 40}", self._payment_id(), state, origin(number), cents, "usd", None, at_ms)

    def _order_refund(self, number: int) -> Message:
        return OrderRefund(self._booking().id, self._random.choice((None, "Asked for")), origin(number))

    def _settle(self, number: int) -> Message:
        declined = self._random.choice((None, None, "card closed"))
        event, known = self._random.choice((None, self._event())), self._booking()
        payment = None if event is None else self._random.choice((known.payment_id, self._payment_id()))
        return SettleRefund(known.id, declined, origin(number), event, payment)

    def _postpone(self, number: int) -> Message:
        known = self._booking()
        return PostponeRefund(known.id, known.refund_due_ms, self.now_ms + number)

    def _lease(self, number: int) -> Message:
        return LeaseRefund(self._booking().id, self.now_ms + number)

    def _expire(self, number: int) -> Message:
        return ExpireHold(self._booking().id, Origin(origin(number).agent, "", f"aud_{number}"))

    def _request_refund(self, number: int) -> Message:
        known = self._booking()
        return RequestRefund(self._owner(known), known.id, "A mistake", origin(number))

    def _decline_request(self, number: int) -> Message:
        return DeclineRefundRequest(self._booking().id, "It was shown", origin(number))

    def _follow(self, number: int) -> Message:
        return FollowSchedule(self._booking().id, origin(number))

    def _digest(self, number: int) -> Message:
        return SendDigest()

    def _new_slot(self, number: int) -> Message:
        slot_id = self._slot()
        made = slot(slot_id, weeks=2, package_kind=PackageKind.YOUTUBE if slot_id == "video" else None)
        return CreateSlot(made, origin(number))

    def _edit_slot(self, number: int) -> Message:
        weeks, active = self._random.choice((None, 1, 2, 3)), self._random.choice((None, *[True] * 8, False))
        clear = self._random.choice(((), (), ("description",)))
        return EditSlot(self._slot(), origin(number), weeks=weeks, active=active, description=None, clear=clear)

    def _retire(self, number: int) -> Message:
        return RetireSlot(self._slot(), origin(number))

    def _video(self, number: int) -> Message:
        status, url = self._random.choice((None, *YoutubeStatus)), self._random.choice((None, "https://v.example.com/"))
        return DescribeVideo(self._booking().id, origin(number), status, url)
