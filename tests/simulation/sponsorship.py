"""The sponsorship area of a node: the ledger, the sweeper, and the work of the HTTP layer.

Access is decided by the service's own rules and rows, as in the dispatcher. Every intent is recorded.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from actors.bookings.actor import RESERVE
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import BookingView, CampaignView, Content, PackageKind, Side, Slot, Sponsor, YoutubeStatus
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.bookings.transitions import CampaignMove
from actors.kernel.actor import Actor
from actors.kernel.supervision import Member
from actors.keys.actor import Issued
from actors.keys.messages import ByKey, KeySaved, Membership
from actors.values import Agent, Refused, Scope
from service.api import authentication, authorization
from service.api.authentication import Caller
from service.api.operations import (
    admin_accounts,
    admin_sponsorship,
    bookings,
    processor_webhook,
    scoped_keys,
    sponsors,
)
from service.payments.gateway import DisputeUpdated, PaymentEvent, PaymentSucceeded, RefundUpdated
from service.payments.stripe_webhook import event_of
from tests.simulation.history import Admission, Book, Change, Heard, IssueFor, Unknown
from tests.simulation.processor import ProcessorEvent
from tests.simulation.sides import Counted, NodeSide
from tests.simulation.stripe_events import posted

if TYPE_CHECKING:
    from tests.simulation.node import Node

R = TypeVar("R")

TABLES = (sponsors, bookings, admin_sponsorship, admin_accounts, scoped_keys)
OPERATIONS = {row.name: row for table in TABLES for row in table.ROWS}
CLI = Agent("cli", "sim")
WEBSITE = "https://tools.example.com/"


@dataclass(frozen=True, slots=True)
class Wish:
    """A booking to request, with its idempotency key. Without a campaign it goes to `bookings/start`."""

    key: str
    slot_id: str
    week_ms: int
    campaign_id: str | None
    name: str = "Example Tools"


class CountedSweeper(Counted, HoldAndRefundSweeper):
    pass


class Sponsorship(NodeSide):
    """The sponsorship area for one life of a node. `text` is always the caller's API key."""

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.ledger, self.payments = node.services.ledger, node.services.payments
        self.sweeper = node.services.sweeper
        assert isinstance(self.sweeper, CountedSweeper)
        self.sweeper.node = node

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        return [self.ledger]

    @property
    def members(self) -> list[Member]:
        return [self.ledger, self.sweeper]

    # Access.

    async def admit(self, text: str, operation: str) -> Caller | Refused:
        return await self.node.intent("admit", Admission(operation, text), lambda: self._admit(text, operation))

    async def _admit(self, text: str, operation: str) -> Caller | Refused:
        row, node = OPERATIONS[operation], self.node
        caller = await authentication.authenticate(
            f"Bearer {text}",
            row.access,
            "203.0.113.7",
            node.key_cache,
            node.services.budgets,
            node.clock,
            fresh=row.admin,
        )
        return caller if isinstance(caller, Refused) else authorization.authorize(row, caller) or caller

    async def _as(
        self,
        text: str,
        operation: str,
        kind: str,
        about: Callable[[Caller], Any],
        ask: Callable[[Caller], Awaitable[R]],
    ) -> R | Refused:
        caller = await self.admit(text, operation)
        if isinstance(caller, Refused):
            return caller
        return await self.node.intent(kind, about(caller), lambda: ask(caller))

    # Sponsors.

    async def save_profile(self, text: str, name: str) -> Sponsor | Refused:
        return await self._as(
            text,
            "saveProfile",
            "profile",
            lambda caller: Change(caller.owner, caller.owner, name),
            lambda caller: self.ledger.save_profile(caller.owner, name, WEBSITE, caller.agent),
        )

    async def create_campaign(self, text: str, key: str, name: str) -> CampaignView | Refused:
        content = Content(f"{name} today", "A bot that answers your mail.", "Try it", WEBSITE, "ET")
        return await self._as(
            text,
            "createCampaign",
            "create campaign",
            lambda caller: Book(caller.owner, "campaigns", key, (name,)),
            lambda caller: self.ledger.create_campaign(caller.owner, name, content, caller.agent, key),
        )

    async def edit_campaign(self, text: str, campaign_id: str, **fields: str) -> CampaignView | Refused:
        return await self._as(
            text,
            "editCampaign",
            "edit campaign",
            lambda caller: Change(campaign_id, caller.owner),
            lambda caller: self.ledger.edit_campaign(caller.owner, campaign_id, caller.agent, **fields),
        )

    async def move_campaign(self, text: str, campaign_id: str, move: CampaignMove) -> CampaignView | Refused:
        return await self._as(
            text,
            f"{move}Campaign",
            "move campaign",
            lambda caller: Change(campaign_id, caller.owner, move),
            lambda caller: self.ledger.move_campaign(caller.owner, campaign_id, move, caller.agent),
        )

    async def book(self, text: str, wish: Wish) -> BookingView | Refused:
        if wish.campaign_id is None:
            return await self._start(text, wish)
        campaign_id = wish.campaign_id
        return await self._as(
            text,
            "createBooking",
            "book",
            lambda caller: Book(caller.owner, RESERVE, wish.key, (wish.slot_id, wish.week_ms, campaign_id)),
            lambda caller: self.ledger.reserve(
                caller.owner, campaign_id, wish.slot_id, wish.week_ms, wish.key, caller.agent
            ),
        )

    async def _start(self, text: str, wish: Wish) -> BookingView | Refused:
        rest = (wish.name, WEBSITE, f"{wish.name} today", "Try us.")
        return await self._as(
            text,
            "startBooking",
            "book",
            lambda caller: Book(caller.owner, "bookings/start", wish.key, (wish.slot_id, wish.week_ms, *rest)),
            lambda caller: self.ledger.start(caller.owner, *rest, wish.slot_id, wish.week_ms, wish.key, caller.agent),
        )

    async def checkout(self, text: str, booking_id: str) -> BookingView | Refused | Unknown:
        view = await self._as(
            text,
            "openCheckout",
            "checkout",
            lambda caller: Change(booking_id, caller.owner),
            lambda caller: self.ledger.open_checkout(caller.owner, booking_id, caller.agent),
        )
        if isinstance(view, BookingView):
            try:
                page = await self.payments.checkout(view.booking, view.campaign_name)
            except (PaymentsUnavailable, PaymentsRefused):
                return Unknown("5xx")
            session_id = page.session_id
            assert session_id is not None, "pages of the processor have sessions"
            owner = view.booking.tenant_id
            answer = await self.node.intent(
                "keep session",
                Change(booking_id, owner, session=session_id),
                lambda: self.ledger.store_checkout_session(owner, booking_id, session_id),
            )
            if isinstance(answer, BookingView):
                self.node.world.processor.show(session_id)
        return view

    async def cancel(self, text: str, booking_id: str) -> BookingView | Refused:
        return await self._as(
            text,
            "cancelBooking",
            "cancel",
            lambda caller: Change(booking_id, caller.owner),
            lambda caller: self.ledger.cancel(caller.owner, booking_id, caller.agent),
        )

    async def request_refund(self, text: str, booking_id: str, reason: str) -> BookingView | Refused:
        return await self._as(
            text,
            "requestRefund",
            "request refund",
            lambda caller: Change(booking_id, caller.owner, reason),
            lambda caller: self.ledger.request_refund(caller.owner, booking_id, reason, caller.agent),
        )

    # Administrators.

    async def review(
        self, text: str, campaign_id: str, move: CampaignMove, seen: Content | None = None
    ) -> CampaignView | Refused:
        return await self._as(
            text,
            "reviewCampaign",
            "move campaign",
            lambda caller: Change(campaign_id, None, move, seen=seen),
            lambda caller: self.ledger.move_campaign(None, campaign_id, move, caller.agent, f"{move} it", seen),
        )

    async def decline_refund(self, text: str, booking_id: str, note: str) -> BookingView | Refused:
        return await self._as(
            text,
            "declineRefund",
            "decline refund",
            lambda caller: Change(booking_id, None, note),
            lambda caller: self.ledger.decline_refund_request(booking_id, note, caller.agent),
        )

    async def order_refund(self, text: str, booking_id: str) -> BookingView | Refused:
        view = await self._as(
            text,
            "refundBooking",
            "order refund",
            lambda caller: Change(booking_id),
            lambda caller: self.ledger.order_refund(booking_id, "not delivered", caller.agent),
        )
        if isinstance(view, BookingView):
            self.sweeper.wake()
        return view

    async def describe_video(self, text: str, booking_id: str) -> BookingView | Refused:
        url = "https://video.example.com/watch/1"
        return await self._as(
            text,
            "describeVideo",
            "video",
            lambda caller: Change(booking_id),
            lambda caller: self.ledger.describe_video(booking_id, caller.agent, YoutubeStatus.PUBLISHED, url, None),
        )

    async def create_slot(self, text: str, slot_id: str, cents: int, weeks: int) -> Slot | Refused:
        return await self._as(
            text,
            "createSlot",
            "create slot",
            lambda caller: Change(slot_id),
            lambda caller: self.ledger.create_slot(
                slot_id, slot_id, Side.LEFT, cents, caller.agent, weeks=weeks, package_kind=PackageKind.BUNDLE
            ),
        )

    async def edit_slot(self, text: str, slot_id: str, **fields: Any) -> Slot | Refused:
        return await self._as(
            text,
            "editSlot",
            "edit slot",
            lambda caller: Change(slot_id),
            lambda caller: self.ledger.edit_slot(slot_id, caller.agent, **fields),
        )

    async def retire_slot(self, text: str, slot_id: str) -> Slot | Refused:
        return await self._as(
            text,
            "retireSlot",
            "retire slot",
            lambda caller: Change(slot_id),
            lambda caller: self.ledger.retire_slot(slot_id, caller.agent),
        )

    # Scoped keys and administrators.

    async def create_key(self, text: str, key: str, name: str, scopes: tuple[Scope, ...]) -> Issued | Refused:
        key_actor = self.node.key_actor
        return await self._as(
            text,
            "createScopedKey",
            "issue",
            lambda caller: IssueFor(caller.email, True, scopes, name, caller.agent.id, key),
            lambda caller: key_actor.issue(
                caller.email,
                caller.agent,
                scopes=scopes,
                name=name,
                granted_by=ByKey(caller.agent.id),
                idempotency_key=key,
            ),
        )

    async def revoke_key(self, text: str, key_id: str, *, anybodys: bool = False) -> KeySaved | Refused:
        """Revoke a scoped key of the caller's account, or as an administrator any key."""
        key_actor = self.node.key_actor
        answer = await self._as(
            text,
            "revokeKey" if anybodys else "revokeScopedKey",
            "revoke",
            lambda caller: key_id,
            lambda caller: key_actor.revoke(key_id, caller.agent, owner=None if anybodys else caller.owner),
        )
        if isinstance(answer, KeySaved):
            self.node.key_cache.forget(answer.changed)
        return answer

    async def appoint(self, email: str, *, grant: bool) -> Membership:
        """Grant or revoke administratorship, as the command line does."""
        key_actor = self.node.key_actor
        work = key_actor.grant_admin if grant else key_actor.revoke_admin
        return await self.node.intent(
            "appoint", Change(email, None, "grant" if grant else "revoke"), lambda: work(email, CLI)
        )

    # The processor.

    async def hear(self, event: ProcessorEvent) -> BookingView | Heard | Refused | None:
        """Handle an event whose signature was checked. None if no booking is concerned."""
        body = posted(event)
        read = event_of(body)
        if read is None:
            self.node.world.count("event of the processor ignored")
            ignored = Change("", payment=event.payment_id, body=json.dumps(body))
            return await self.node.intent("ignore event", ignored, _ignored)
        return await self.node.intent(
            _KINDS[type(read)],
            _about(read, json.dumps(body)),
            lambda: processor_webhook._apply(self.node.services, read),
        )


async def _ignored() -> Heard:
    return Heard(200)


_KINDS = {PaymentSucceeded: "take payment", RefundUpdated: "settle refund", DisputeUpdated: "settle dispute"}


def _about(event: PaymentEvent, body: str) -> Change:
    match event:
        case PaymentSucceeded():
            return Change(event.booking_id, payment=event.payment_id, session=event.session_id, body=body)
        case RefundUpdated():
            return Change(event.booking_id, None, event.declined or "", payment=event.payment_id, body=body)
        case DisputeUpdated():
            return Change(event.dispute_id, None, event.state, payment=event.payment_id, body=body)
