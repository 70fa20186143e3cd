"""The booking ledger: owns slots, sponsors, campaigns and bookings, and commits changes, one transaction per batch."""

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

from actors.bookings.campaigns import initials
from actors.bookings.messages import (
    Answer,
    Cancel,
    CreateCampaign,
    CreateSlot,
    DeclineRefundRequest,
    DescribeVideo,
    EditCampaign,
    EditSlot,
    EndSharedReport,
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
    SaveBillingDetails,
    SaveProfile,
    SendDigest,
    SendMaterial,
    SettleDispute,
    SettleRefund,
    ShareReport,
    StoreCheckoutSession,
)
from actors.bookings.records import (
    BillingDetails,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    Content,
    PaymentState,
    Side,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from actors.bookings.reports import Days, Only, SharedReport
from actors.bookings.state import BookingRules, Decision, Snapshot, decide, rows_to_lock
from actors.bookings.store import LedgerStore
from actors.bookings.transitions import CampaignMove
from actors.kernel.mailbox import request_id
from actors.shared.credentials import ENTROPY_BYTES, SHARE_TOKEN, digest, fingerprint, new_id
from actors.shared.records import RecordingActor
from actors.values import Agent, BatchId, Refused

RESERVE, START = "bookings", "bookings/start"
"""Operations with an idempotency key. The same key may be used once for each."""

START_CTA = "Learn more"
CAMPAIGN_NAME_CHARACTERS = 80


class BookingLedger(RecordingActor[Message, Answer, LedgerStore, BookingRules]):
    """All changes of the sponsorship area. `owner` is the tenant of an account; None means an administrator."""

    name = "bookings"

    # Intents of sponsors.

    async def save_profile(self, owner: str, name: str, website: str, agent: Agent, **others: Any) -> Sponsor:
        """Save the account's profile. `others` are the other fields of `Sponsor.profile`."""
        message = SaveProfile(self._sponsor(owner, name, website, **others), self._origin(agent))
        return await self.ask_for(message, Sponsor)

    async def save_billing_details(self, details: BillingDetails, agent: Agent) -> BillingDetails:
        """Save the details that the account's next invoices name."""
        return await self.ask_for(SaveBillingDetails(details, self._origin(agent)), BillingDetails)

    async def share_report(
        self, owner: str, days: Days, only: Only, agent: Agent, *, costs: bool
    ) -> tuple[SharedReport, str] | Refused:
        """Share a report by a link. Returns it with the token of the link, which is not stored."""
        token, now_ms = SHARE_TOKEN.new(self._entropy.token(ENTROPY_BYTES)), self._clock.now_ms()
        place = days.first, days.last, only.campaign_id, only.slot_id
        report = SharedReport(self._id("shr"), owner, digest(token), *place, costs, now_ms)
        message = ShareReport(report, self._origin(agent))
        answer: SharedReport | Refused = await self.ask_for(message, SharedReport, Refused)
        return answer if isinstance(answer, Refused) else (answer, token)

    async def end_shared_report(self, owner: str, report_id: str, agent: Agent) -> SharedReport | Refused:
        """End a link to a report."""
        message = EndSharedReport(owner, report_id, self._origin(agent))
        return await self.ask_for(message, SharedReport, Refused)

    async def create_campaign(
        self, owner: str, name: str, content: Content, agent: Agent, key: str | None = None
    ) -> CampaignView | Refused:
        """Create a campaign, which waits for review. Repeating it with the same idempotency `key` returns the same
        campaign: the key gives the id of its audit record, key and body give its own."""
        campaign, origin = self._campaign(owner, name, content), self._origin(agent)
        if key is not None:
            campaign = replace(campaign, id=new_id("cmp", fingerprint(owner, key, name, *astuple(content))))
            origin = replace(origin, audit_id=new_id("aud", fingerprint(owner, "campaigns", key)))
        return await self.ask_for(CreateCampaign(campaign, origin), CampaignView, Refused)

    async def edit_campaign(self, owner: str, campaign_id: str, agent: Agent, **fields: Any) -> CampaignView | Refused:
        """Change fields of `EditCampaign`. Absent ones and None stay as they are."""
        return await self.ask_for(
            EditCampaign(owner, campaign_id, self._origin(agent), **fields), CampaignView, Refused
        )

    async def move_campaign(
        self,
        owner: str | None,
        campaign_id: str,
        move: CampaignMove,
        agent: Agent,
        note: str | None = None,
        seen: Content | None = None,
        seen_as: str | None = None,
    ) -> CampaignView | Refused:
        """Submit, withdraw, pause or resume; an administrator may also approve or reject. `seen` is the content that
        the administrator reviewed, `seen_as` the sponsor's name at that time."""
        origin = self._origin(agent)
        return await self.ask_for(
            MoveCampaign(campaign_id, move, origin, owner, note, seen, seen_as), CampaignView, Refused
        )

    async def reserve(
        self, owner: str, campaign_id: str, slot_id: str, week_start_ms: int, key: str, agent: Agent
    ) -> BookingView | Refused:
        """Hold a slot for a campaign. Repeating it with the same `key` (a UUID in lower case) returns the same booking."""
        message = Reserve(
            tenant_id=owner,
            booking_id=self._id("bok"),
            campaign_id=campaign_id,
            slot_id=slot_id,
            week_start_ms=week_start_ms,
            operation=RESERVE,
            key=key,
            fingerprint=fingerprint(campaign_id, slot_id, week_start_ms),
            origin=self._origin(agent),
        )
        return await self._booking(message)

    async def start(
        self,
        owner: str,
        name: str,
        website: str,
        headline: str,
        body: str,
        slot_id: str,
        week_start_ms: int,
        key: str,
        agent: Agent,
    ) -> BookingView | Refused:
        """Save profile, campaign and booking in one transaction, or nothing."""
        content = Content(headline, body, START_CTA, website, initials(name))
        campaign = self._campaign(owner, name[:CAMPAIGN_NAME_CHARACTERS], content)
        message = Reserve(
            tenant_id=owner,
            booking_id=self._id("bok"),
            campaign_id=campaign.id,
            slot_id=slot_id,
            week_start_ms=week_start_ms,
            operation=START,
            key=key,
            fingerprint=fingerprint(name, website, headline, body, slot_id, week_start_ms),
            origin=self._origin(agent),
            sponsor=self._sponsor(owner, name, website),
            campaign=campaign,
        )
        return await self._booking(message)

    async def open_checkout(self, owner: str, booking_id: str, agent: Agent) -> BookingView | Refused:
        """Move a reserved booking to checkout. One in checkout stays as it is."""
        return await self._booking(OpenCheckout(owner, booking_id, self._origin(agent)))

    async def store_checkout_session(self, owner: str, booking_id: str, session_id: str) -> BookingView | Refused:
        """Store a checkout session of a booking, before anyone can pay it."""
        return await self._booking(StoreCheckoutSession(owner, booking_id, session_id))

    async def cancel(self, owner: str, booking_id: str, agent: Agent) -> BookingView | Refused:
        """Cancel a booking that is not paid."""
        return await self._booking(Cancel(owner, booking_id, self._origin(agent)))

    async def request_refund(self, owner: str, booking_id: str, reason: str, agent: Agent) -> BookingView | Refused:
        """Ask for a refund of a paid booking. An administrator decides on it."""
        return await self._booking(RequestRefund(owner, booking_id, reason, self._origin(agent)))

    async def send_material(
        self, owner: str, booking_id: str, material: str | None, agent: Agent
    ) -> BookingView | Refused:
        """Say what the video of a booking is made from. None takes it back."""
        return await self._booking(SendMaterial(owner, booking_id, material, self._origin(agent)))

    # Intents of the payment processor and the sweeper.

    async def record_payment(
        self,
        event_id: str,
        booking_id: str,
        payment_id: str,
        amount_cents: int,
        currency: str,
        session_id: str | None = None,
        terms_version: str | None = None,
    ) -> BookingView | Refused:
        """Record the payment of a booking. Each `event_id` is handled once. Without `session_id`: in test mode only. Whoever
        paid accepted the terms of `terms_version`, if the page for the payment showed any."""
        origin = self._origin(Agent("system", "payments"))
        return await self._booking(
            RecordPayment(event_id, booking_id, payment_id, amount_cents, currency, origin, session_id, terms_version)
        )

    async def settle_refund(
        self,
        booking_id: str,
        declined: str | None,
        event_id: str | None = None,
        payment_id: str | None = None,
        cents: int | None = None,
        total_cents: int | None = None,
        currency: str | None = None,
        refund_id: str | None = None,
        at_ms: int | None = None,
        made_ms: int | None = None,
    ) -> BookingView | Refused:
        """Record that the processor has refunded a booking (`declined` None), or why it will not. See `SettleRefund`."""
        origin = self._origin(Agent("system", "payments"))
        message = SettleRefund(
            booking_id, declined, origin, event_id, payment_id, cents, total_cents, currency, refund_id, at_ms, made_ms
        )
        return await self._booking(message)

    async def settle_dispute(
        self,
        dispute_id: str,
        payment_id: str,
        state: PaymentState,
        amount_cents: int | None = None,
        currency: str | None = None,
        event_id: str | None = None,
        at_ms: int | None = None,
    ) -> BookingView | Refused:
        """Record the state of a dispute. Refused if no booking was paid with the payment, as far as is known. See
        `SettleDispute`."""
        origin = self._origin(Agent("system", "payments"))
        return await self._booking(
            SettleDispute(dispute_id, payment_id, state, origin, amount_cents, currency, event_id, at_ms)
        )

    async def lease_refund(self, booking_id: str, until_ms: int) -> BookingView | Refused:
        """Make a due refund, which no other node makes until `until_ms`. Refused if none is due now."""
        return await self._booking(LeaseRefund(booking_id, until_ms))

    async def postpone_refund(self, booking_id: str, leased_ms: int | None, due_ms: int) -> BookingView | Refused:
        """End a lease of a refund, and retry it at `due_ms`."""
        return await self._booking(PostponeRefund(booking_id, leased_ms, due_ms))

    async def expire_hold(self, booking_id: str) -> BookingView | Refused:
        """End an expired hold."""
        return await self._booking(ExpireHold(booking_id, self._origin(Agent("system", "cashier"))))

    async def follow_schedule(self, booking_id: str) -> BookingView | Refused:
        """Do the steps of a paid booking that are due: its weeks begin, a day or its weeks end."""
        return await self._booking(FollowSchedule(booking_id, self._origin(Agent("system", "cashier"))))

    async def send_digest(self) -> bool:
        """Mail the administrators about new submissions, if it is time. Returns whether it was."""
        return await self.ask_for(SendDigest(), bool)

    # Intents of administrators.

    async def order_refund(self, booking_id: str, reason: str | None, agent: Agent) -> BookingView | Refused:
        """Order the refund of a paid booking. The sweeper moves the money."""
        return await self._booking(OrderRefund(booking_id, reason, self._origin(agent)))

    async def decline_refund_request(self, booking_id: str, note: str, agent: Agent) -> BookingView | Refused:
        """Decline a requested refund. The sponsor gets `note`."""
        return await self._booking(DeclineRefundRequest(booking_id, note, self._origin(agent)))

    async def describe_video(
        self,
        booking_id: str,
        agent: Agent,
        status: YoutubeStatus | None,
        url: str | None,
        notes: str | None,
        clear: tuple[str, ...] = (),
    ) -> BookingView | Refused:
        """Set the state of a booking's video."""
        return await self._booking(DescribeVideo(booking_id, self._origin(agent), status, url, notes, clear))

    async def create_slot(
        self, slot_id: str | None, name: str, side: Side, week_price_cents: int, agent: Agent, **fields: Any
    ) -> Slot | Refused:
        """Create a slot. Without `slot_id` it gets a new id. `fields` are the other fields of `Slot`."""
        slot = Slot(slot_id or self._id("slt"), name, side, week_price_cents, self._clock.now_ms(), **fields)
        return await self.ask_for(CreateSlot(slot, self._origin(agent)), Slot, Refused)

    async def edit_slot(self, slot_id: str, agent: Agent, **fields: Any) -> Slot | Refused:
        """Change fields of `EditSlot`. Absent ones and None stay as they are."""
        return await self.ask_for(EditSlot(slot_id, self._origin(agent), **fields), Slot, Refused)

    async def retire_slot(self, slot_id: str, agent: Agent) -> Slot | Refused:
        """Stop selling a slot."""
        return await self.ask_for(RetireSlot(slot_id, self._origin(agent)), Slot, Refused)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        locks = rows_to_lock(messages, self.rules, now_ms)
        return (await self._store.transact(batch_id, locks, on)).answers

    async def _booking(self, message: Message) -> BookingView | Refused:
        return await self.ask_for(message, BookingView, Refused)

    # Making records.

    def _origin(self, agent: Agent) -> Origin:
        return Origin(agent, request_id.get(), self._id("aud"))

    def _sponsor(self, owner: str, name: str, website: str, **others: Any) -> Sponsor:
        return Sponsor(owner, self._id("spo"), name, website, self._clock.now_ms(), **others)

    def _campaign(self, owner: str, name: str, content: Content) -> Campaign:
        now_ms = self._clock.now_ms()
        return Campaign(self._id("cmp"), owner, name, content, CampaignStatus.PENDING, now_ms, submitted_ms=now_ms)
