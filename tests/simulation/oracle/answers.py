"""Answers of the ledger: every refusal was true at some moment of its request, every answer described actual state.

The log of commits has each row at any moment; the time of the request bounds a node's clock.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from actors.bookings.actor import RESERVE
from actors.bookings.records import (
    Booking,
    BookingStatus,
    BookingView,
    Campaign,
    CampaignStatus,
    CampaignView,
    IdempotencyRecord,
    Slot,
    Sponsor,
)
from actors.values import Code, Refused
from tests.simulation.history import Book, Change, Operation
from tests.simulation.oracle.bookings import (
    CAMPAIGN_ACTIONS,
    CAMPAIGN_MOVES,
    MEANS_THE_EDIT,
    OPEN,
    WEEK_MS,
    is_over,
    is_sold,
    keeps_others_out,
    may_ask_for_a_refund,
    of_mailbox,
    to_review,
    unpaid_since,
    waits,
    week_at,
    weeks,
)
from tests.simulation.oracle.case import Case
from tests.simulation.rules import BOOKINGS

DAY_MS = 86_400_000
Span = tuple[int, int]
"""The least and the greatest time of a node's clock during an intent."""


def _span(case: Case, operation: Operation) -> Span:
    return case.span_ms(operation)


def _during(case: Case, operation: Operation, table: str, key: Any) -> list[Any]:
    return case.world.log.during(table, key, operation.began, operation.ended)


def _seen(case: Case, operation: Operation, booking: Booking) -> list[Booking]:
    """Return the states of a booking during an intent."""
    return [row for row in _during(case, operation, "bookings", booking.id) if row is not None]


# Booking, and its idempotency.


def refused_bookings_had_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("book"):
        refused = operation.result
        if isinstance(refused, Refused) and not _is_fair(case, operation, operation.about, refused.code):
            yield f"{operation.node} refused {operation.about} at {operation.start:.3f}: {refused}"


def _is_fair(case: Case, operation: Operation, about: Book, code: Code) -> bool:
    slot_id, week_ms = str(about.body[0]), int(about.body[1])
    early_ms, late_ms = _span(case, operation)
    slots = _during(case, operation, "slots", slot_id)
    match code:
        case Code.SLOT_UNAVAILABLE:
            over = week_at(week_ms) == week_ms and week_ms < week_at(late_ms)
            return over or any(not is_sold(slot, late_ms) for slot in slots) or _is_held(case, operation, slots)
        case Code.HOLD_LIMIT:
            together = _sharing(case, operation, about.owner)
            mine = [each for each in case.memory.bookings.values() if each.tenant_id in together]
            held = [
                each
                for each in mine
                if any(row.status in OPEN and row.hold_ms > early_ms for row in _seen(case, operation, each))
            ]
            return len(held) >= BOOKINGS.open_holds or _too_often(case, operation, mine, slots)
        case Code.CAMPAIGN_LIMIT:
            return about.operation != RESERVE and _too_many_campaigns(case, operation, about.owner)
        case Code.CAMPAIGN_NOT_BOOKABLE:
            campaigns = _during(case, operation, "campaigns", about.body[2])
            return any(row is not None and row.status == "rejected" for row in campaigns)
        case Code.PROFILE_REQUIRED:
            return about.operation == RESERVE and None in _during(case, operation, "sponsors", about.owner)
        case Code.INVALID_REQUEST:
            horizon_ms = week_at(early_ms) + BOOKINGS.horizon_weeks * WEEK_MS
            return week_at(week_ms) != week_ms or week_ms > horizon_ms
        case Code.NOT_FOUND:
            gone = any(slot is None or slot.retired_ms is not None for slot in slots)
            return gone or (about.operation == RESERVE and not _owns(case, operation, about))
        case Code.IDEMPOTENCY_CONFLICT:
            known = _during(case, operation, "booking_keys", (about.owner, about.operation, about.key))
            return any(row is not None and not _is_body_of(case, about, row) for row in known)
    return False


def _too_often(case: Case, operation: Operation, mine: list[Booking], slots: list[Slot | None]) -> bool:
    """Return whether the account may have used up its day, or has just given up one of the weeks."""
    early_ms, late_ms = _span(case, operation)
    known = [row for each in mine for row in _seen(case, operation, each)[-1:]]
    today = sum(row.created_ms >= early_ms - early_ms % DAY_MS for row in known)
    wanted = _wanted(operation, slots)
    return today >= case.world.holds_per_day or any(
        (since_ms := unpaid_since(row, late_ms)) is not None and early_ms < since_ms + BOOKINGS.cooldown_ms
        for each in mine
        if not wanted.isdisjoint(weeks(each))
        for row in _seen(case, operation, each)
    )


def _too_many_campaigns(case: Case, operation: Operation, owner: str) -> bool:
    together = _sharing(case, operation, owner)
    rows = {
        (row.id, row.tenant_id): [each for each in _during(case, operation, "campaigns", row.id) if each is not None]
        for row in case.memory.campaigns.values()
        if row.tenant_id in together
    }
    waiting = sum(
        any(map(waits, versions)) or _had_an_edit(case, operation, campaign_id)
        for (campaign_id, _), versions in rows.items()
    )
    total = sum(bool(versions) for (_, tenant_id), versions in rows.items() if tenant_id == owner)
    return waiting >= BOOKINGS.pending_campaigns or total >= BOOKINGS.campaigns


def _sharing(case: Case, operation: Operation, owner: str) -> set[str]:
    """The accounts that may have shared the limits of one: those of its mailbox, while none of them had paid."""
    unpaid = {
        tenant_id
        for tenant_id in of_mailbox(case.memory, owner)
        if all(
            any(row is None or row.paid_ms is None for row in _during(case, operation, "bookings", each.id))
            for each in case.memory.bookings.values()
            if each.tenant_id == tenant_id
        )
    }
    return {owner} | unpaid if owner in unpaid else {owner}


def _owns(case: Case, operation: Operation, about: Book) -> bool:
    """Return whether the campaign existed from the beginning and belongs to the owner."""
    campaigns = _during(case, operation, "campaigns", about.body[2])
    return all(row is not None and row.tenant_id == about.owner for row in campaigns)


def _is_held(case: Case, operation: Operation, slots: list[Slot | None]) -> bool:
    """Return whether one of the weeks was held at some moment by a hold that had not expired."""
    early_ms, _ = _span(case, operation)
    wanted = _wanted(operation, slots)
    return any(
        keeps_others_out(row, early_ms)
        for booking in case.memory.bookings.values()
        if not wanted.isdisjoint(weeks(booking))
        for row in _seen(case, operation, booking)
    )


def _wanted(operation: Operation, slots: list[Slot | None]) -> set[tuple[str, int]]:
    slot_id, week_ms = str(operation.about.body[0]), int(operation.about.body[1])
    longest = max((slot.weeks for slot in slots if slot is not None), default=1)
    return {(slot_id, week_ms + number * WEEK_MS) for number in range(longest)}


def _is_body_of(case: Case, about: Book, known: IdempotencyRecord) -> bool:
    """Return whether the key was first used with this body, judged by its booking."""
    booking = case.memory.bookings[known.booking_id]
    made: tuple[str | int, ...] = (booking.slot_id, booking.week_start_ms, booking.campaign_id)
    if about.operation != RESERVE:
        campaign = case.world.log.versions["campaigns", booking.campaign_id][0][1]
        content = campaign.content
        made = (*made[:2], campaign.name, content.target_url, content.headline, content.body)
    return about.body == made


def each_key_has_one_outcome(case: Case) -> Iterator[str]:
    """A key leads to one booking, and repeating it with the same body returns that booking."""
    memory = case.memory
    made = sorted(known.booking_id for known in memory.booking_keys.values())
    if made != sorted(memory.bookings):
        yield f"{len(memory.bookings)} bookings were made under {len(made)} keys"
    for operation in case.of("book"):
        about, answer = operation.about, operation.result
        place = (about.owner, about.operation, about.key)
        known, since = memory.booking_keys.get(place), case.world.log.since("booking_keys", place)
        if isinstance(answer, BookingView):
            if known is None or known.booking_id != answer.booking.id:
                yield f"{place} was answered with {answer.booking.id} but leads to {known}"
            elif not _is_body_of(case, about, known):
                yield f"{place} was used with another body, but {operation.node} answered {answer.booking.id}"
        elif isinstance(answer, Refused) and known is not None and since is not None and since < operation.began:
            yield from _contradicts(case, operation, known)


def _contradicts(case: Case, operation: Operation, known: IdempotencyRecord) -> Iterator[str]:
    """No refusal for a key and body that had already led to a booking."""
    if _is_body_of(case, operation.about, known):
        yield f"{operation.about} leads to {known.booking_id}, but {operation.node} answered {operation.result}"


def a_campaign_is_created_once_under_its_key(case: Case) -> Iterator[str]:
    """A key creates one campaign. The same body gets it as it is; another body is refused."""
    first = {row.id: case.world.log.versions["campaigns", row.id][0][1] for row in case.memory.campaigns.values()}
    bodies: dict[tuple[str, str], set[str]] = {}
    for operation in case.of("create campaign"):
        about = operation.about
        bodies.setdefault((about.owner, about.key), set()).add(about.body[0])
    created = {
        place: [row for row in first.values() if row.tenant_id == place[0] and row.name in names]
        for place, names in bodies.items()
    }
    for place, rows in created.items():
        if len(rows) > 1:
            yield f"{place} created {[row.id for row in rows]}"
    for operation in case.of("create campaign"):
        about, answer = operation.about, operation.result
        rows = created[about.owner, about.key]
        same = any(row.name == about.body[0] for row in rows)
        match answer:
            case CampaignView(campaign):
                seen = [row for row in _during(case, operation, "campaigns", campaign.id) if row is not None]
                fair = same and campaign.id in [row.id for row in rows] and campaign.status in [r.status for r in seen]
            case Refused(code=Code.IDEMPOTENCY_CONFLICT):
                fair = bool(rows) and not same
            case Refused(code=Code.CAMPAIGN_LIMIT):
                fair = _too_many_campaigns(case, operation, about.owner)
            case Refused():
                fair = False
            case _:
                continue
        if not fair:
            yield f"{about} was answered with {answer} at {operation.end:.3f}, but created {rows}"


# Existing bookings and campaigns.

LEADS_TO = {
    "checkout": (BookingStatus.CHECKOUT,),
    "cancel": (BookingStatus.CANCELLED,),
    "order refund": (BookingStatus.REFUNDING, BookingStatus.REFUNDED),
    "request refund": (BookingStatus.PAID,),
    "decline refund": (BookingStatus.PAID,),
}
ALLOWED = {
    "checkout": ("reserved", "checkout"),
    "cancel": ("reserved", "checkout", "cancelled"),
    "order refund": ("paid", "refunding", "refunded"),
    "request refund": ("paid",),
    "decline refund": ("paid",),
    "settle refund": ("paid", "refunding", "refunded"),
    "take payment": ("checkout", "paid", "expired", "cancelled", "refunding", "refunded"),
}


def answers_are_true(case: Case) -> Iterator[str]:
    for kind in ("book", "video", *ALLOWED):
        for operation in case.of(kind):
            answer = operation.result
            if not isinstance(answer, BookingView):
                continue
            if operation.about.owner not in (None, answer.booking.tenant_id):
                yield f"{kind} by {operation.about.owner} was answered with {answer.booking.id}, of another account"
            seen = _seen(case, operation, answer.booking)
            if answer.booking.status not in [row.status for row in seen]:
                yield f"{kind} was answered with a booking that is {answer.booking.status}; it was {seen}"
            if answer.booking.status not in LEADS_TO.get(kind, tuple(BookingStatus)):
                yield f"{kind} was answered with a booking that is {answer.booking.status}"


def refusals_of_bookings_had_a_reason(case: Case) -> Iterator[str]:
    for kind, allowed in ALLOWED.items():
        for operation in case.of(kind):
            if not isinstance(operation.result, Refused):
                continue
            about = operation.about
            rows = _during(case, operation, "bookings", about.target)
            _, late_ms = _span(case, operation)
            match operation.result.code:
                case Code.INVALID_STATE:
                    states = {
                        "expired" if is_over(row, late_ms) else str(row.status) for row in rows if row is not None
                    }
                    states |= {str(row.status) for row in rows if row is not None and kind != "checkout"}
                    fair = not states <= set(allowed) or _is_others_money(case, kind, about, rows)
                    fair = fair or _has_no_such_request(case, operation, rows)
                case Code.NOT_FOUND:
                    fair = any(row is None or about.owner not in (None, row.tenant_id) for row in rows)
                    fair = fair or (
                        kind == "take payment" and any(about.session not in row.sessions.split() for row in rows)
                    )
                case Code.CAMPAIGN_NOT_BOOKABLE:
                    fair = kind == "checkout" and any(_was_rejected(case, operation, row) for row in rows)
                case _:
                    fair = False
            if not fair:
                yield f"{kind} of {about.target} was refused: {operation.result}, but it was {rows}"


def _is_others_money(case: Case, kind: str, about: Change, rows: Sequence[Booking | None]) -> bool:
    """Return whether the payment was another booking's, the refund another payment's, or the money disputed."""
    known = [row for row in rows if row is not None]
    match kind:
        case "take payment":
            others = (each for each in case.memory.bookings.values() if each.id != about.target)
            return any(each.payment_id == about.payment for each in others)
        case "settle refund":
            return any(row.payment_id != about.payment for row in known)
        case "order refund":
            return any(row.disputed for row in known)
    return False


def _has_no_such_request(case: Case, operation: Operation, rows: Sequence[Booking | None]) -> bool:
    """Return whether a request could not be made, or there was none to decline."""
    _, late_ms = _span(case, operation)
    several = _records(case, operation, "booking.refund_request", len(rows) > 1)
    match operation.kind:
        case "request refund":
            return several or any(row is not None and not may_ask_for_a_refund(row, late_ms) for row in rows)
        case "decline refund":
            return several or any(row is not None and row.refund_requested_ms is None for row in rows)
    return False


def _records(case: Case, operation: Operation, prefix: str, among: bool) -> bool:
    """Return whether one commit during the intent has several such records, so that the states between are unknown."""
    return among and any(
        operation.began < commit.tick <= operation.ended
        and sum(audit.action.startswith(prefix) for audit in commit.audits_of(operation.about.target)) > 1
        for commit in case.world.log.commits_of(operation.about.target)
    )


def requests_and_their_answers_are_stored(case: Case) -> Iterator[str]:
    """An accepted request is open with its reason, and a declined one is closed with the note."""
    for kind in ("request refund", "decline refund"):
        for operation in case.of(kind):
            if isinstance(operation.result, BookingView):
                booking, words = operation.result.booking, operation.about.what
                asked = booking.refund_requested_ms is not None
                stored = booking.refund_reason if kind == "request refund" else booking.refund_note
                if asked is not (kind == "request refund") or stored != words:
                    yield f"{operation.about} was answered with {booking}"
                if booking.refund_reason not in [row.refund_reason for row in _seen(case, operation, booking)]:
                    yield f"{operation.about} was answered with another reason than {_seen(case, operation, booking)}"


def disputes_of_our_payments_are_known(case: Case) -> Iterator[str]:
    """A dispute finds the booking that was paid with its payment, unless that was unpaid at some moment of the intent."""
    payers = {each.payment_id: each for each in case.memory.bookings.values()}
    for operation in case.of("settle dispute"):
        payer, answer = payers.get(operation.about.payment), operation.result
        if isinstance(answer, Refused) and payer is not None:
            rows = _during(case, operation, "bookings", payer.id)
            if all(row is not None and row.payment_id == payer.payment_id for row in rows):
                yield f"{operation.about} was refused, but {payer.id} was paid with it: {answer}"
        elif isinstance(answer, BookingView) and (payer is None or payer.id != answer.booking.id):
            yield f"{operation.about} was answered with {answer.booking.id}, but {payer} was paid with it"


def _was_rejected(case: Case, operation: Operation, booking: Booking | None) -> bool:
    if booking is None:
        return False
    rows = _during(case, operation, "campaigns", booking.campaign_id)
    return any(row is not None and row.status is CampaignStatus.REJECTED for row in rows)


def campaigns_move_or_had_a_reason_not_to(case: Case) -> Iterator[str]:
    for operation in [*case.of("move campaign"), *case.of("edit campaign")]:
        about, answer = operation.about, operation.result
        rows = _during(case, operation, "campaigns", about.target)
        moves = CAMPAIGN_MOVES.get(CAMPAIGN_ACTIONS.get(about.what, ""), ())
        edit = about.what in MEANS_THE_EDIT and _had_an_edit(case, operation, about.target)
        match answer:
            case CampaignView(campaign):
                fair = campaign.status in [row.status for row in rows if row is not None]
                fair = fair and (not moves or edit or campaign.status in [last for _, last in moves])
                if about.what == "approve" and about.seen is not None and campaign.content != about.seen:
                    yield f"{about} approved {campaign.content}"
            case Refused(code=Code.INVALID_STATE):
                fair = any(row is not None and str(row.status) not in [first for first, _ in moves] for row in rows)
                fair = fair or (about.seen is not None and _was_edited(case, operation, about, rows))
            case Refused(code=Code.NOT_FOUND):
                fair = any(row is None or about.owner not in (None, row.tenant_id) for row in rows)
            case Refused(code=Code.CAMPAIGN_LIMIT):
                fair = _too_many_campaigns(case, operation, about.owner)
            case Refused(code=Code.PROFILE_REQUIRED):
                fair = about.what == "approve" and _had_no_profile(case, operation, rows)
            case Refused():
                fair = False
            case _:
                continue
        if not fair:
            yield f"{about} was answered with {answer}, but it was {rows}"


def _had_an_edit(case: Case, operation: Operation, campaign_id: str) -> bool:
    """Return whether an edit waited at some moment of an operation, also one that the same batch decided on."""
    rows = _during(case, operation, "campaigns", campaign_id)
    return any(row is not None and row.pending is not None for row in rows) or any(
        audit.action.startswith("campaign.edit")
        for commit in case.world.log.commits_of(campaign_id)
        if operation.began < commit.tick <= operation.ended
        for audit in commit.audits_of(campaign_id)
    )


def _was_edited(case: Case, operation: Operation, about: Change, rows: Sequence[Campaign | None]) -> bool:
    """Return whether the content was another than the administrator has read."""
    others = any(row is not None and to_review(row) != about.seen for row in rows)
    return others or _had_an_edit(case, operation, about.target)


def _had_no_profile(case: Case, operation: Operation, campaigns: Sequence[Any]) -> bool:
    owners = {row.tenant_id for row in campaigns if row is not None}
    return any(None in _during(case, operation, "sponsors", owner) for owner in owners)


def slots_and_profiles_are_as_answered(case: Case) -> Iterator[str]:
    for kind in ("create slot", "edit slot", "retire slot"):
        for operation in case.of(kind):
            rows = _during(case, operation, "slots", operation.about.target)
            match operation.result:
                case Slot() as slot:
                    fair = slot in rows or _blurred(case, operation)
                case Refused(code=Code.INVALID_STATE):
                    fair = (
                        any(row is not None for row in rows) if kind == "create slot" else _is_booked(case, operation)
                    )
                case Refused(code=Code.NOT_FOUND):
                    fair = kind != "create slot" and None in rows
                case Refused():
                    fair = False
                case _:
                    continue
            if not fair:
                yield f"{kind} of {operation.about.target} was answered with {operation.result}, but it was {rows}"
    for operation in case.of("profile"):
        if isinstance(operation.result, Sponsor) and operation.about.target not in case.memory.sponsors:
            yield f"{operation.about.target} saved a profile but has none"


def _is_booked(case: Case, operation: Operation) -> bool:
    """Return whether a week of a slot that is not over was booked at some moment of a request."""
    early_ms, _ = _span(case, operation)
    of_slot = [each for each in case.memory.bookings.values() if each.slot_id == operation.about.target]
    rows = [row for each in of_slot for row in _seen(case, operation, each)]
    return any(keeps_others_out(row, early_ms) and early_ms < weeks(row)[-1][1] + WEEK_MS for row in rows)


def _blurred(case: Case, operation: Operation) -> bool:
    """Return whether one commit has several changes of a slot, so that its states in between are unknown."""
    return any(
        operation.began < commit.tick <= operation.ended and len(commit.audits_of(operation.about.target)) > 1
        for commit in case.world.log.commits_of(operation.about.target)
    )
