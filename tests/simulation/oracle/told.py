"""Announcements of the ledger: one mail for each recipient and one webhook_event for each transition, and nothing else."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tests.simulation.oracle import schedule
from tests.simulation.oracle.log import Commit, moved

if TYPE_CHECKING:
    from tests.simulation.world import World

TO_OWNER: Mapping[str, str] = {
    "booking.reserved": "booking_reserved",
    "booking.paid": "booking_receipt",
    "booking.refunded": "refund_made",
    "booking.refunded_in_part": "refund_made",
    "booking.refund_requested": "refund_requested",
    "booking.refund_request_declined": "refund_declined",
    "campaign.approved": "campaign_approved",
    "campaign.edit_approved": "campaign_approved",
    "campaign.rejected": "campaign_rejected",
    "campaign.edit_rejected": "campaign_rejected",
}
"""The mail to the owner, by the action of an audit record."""
TO_ADMINISTRATORS: Mapping[str, str] = {
    "booking.refund_requested": "refund_to_decide",
    "booking.refund_declined": "refund_failed",
    "booking.refund_failed": "refund_failed",
    "booking.dispute_opened": "dispute_opened",
    "booking.dispute_won": "dispute_won",
    "booking.dispute_lost": "dispute_lost",
}
EVENT_OF_MOVE: Mapping[str, str] = {
    "booking.reserved": "booking.reserved",
    "booking.paid": "booking.paid",
    "booking.expired": "booking.expired",
    "booking.cancelled": "booking.cancelled",
    "booking.refunded": "booking.refunded",
    "campaign.approved": "campaign.approved",
    "campaign.edit_approved": "campaign.approved",
    "campaign.rejected": "campaign.rejected",
    "campaign.edit_rejected": "campaign.rejected",
}
TOPICS: Mapping[str, str] = {
    "booking_reserved": "bookings",
    "week_begins": "bookings",
    "week_ended": "reports",
    "campaign_approved": "reviews",
    "campaign_rejected": "reviews",
    "review_digest": "reviews",
}
"""Topics that a recipient may turn off. Other mails are always sent."""
LEDGER = frozenset(
    {*TO_OWNER.values(), *TO_ADMINISTRATORS.values(), "week_begins", "week_ended", "review_digest"},
)

Expected = Counter[tuple[str, str]]
"""Templates with their recipients, or types with their subjects."""


def each_transition_is_told_once(world: "World", commit: Commit) -> Iterator[str]:
    mails, webhook_events = _expected(world, commit)
    sent = Counter((message.template, message.recipient) for message in commit.messages if message.template in LEDGER)
    if sent != mails:
        yield f"mails that are missing: {sorted(mails - sent)}; mails too many: {sorted(sent - mails)}"
    told = Counter((each.type, each.subject_id) for each in commit.webhook_events)
    if told != webhook_events:
        yield f"webhook_events that are missing: {sorted(webhook_events - told)}; too many: {sorted(told - webhook_events)}"
    for each in commit.webhook_events:
        if each.id in world.log.told:
            yield f"the webhook_event {each.id} was told before: {each}"
        world.log.told.add(each.id)
    world.log.mailed.update(message.id for message in commit.messages)
    done = [schedule.steps(commit, *rows) for rows in commit.of("bookings").values()]
    world.count("steps of schedules", sum(map(len, done)))
    world.count(
        "transitions told",
        sum(audit.action in {*TO_OWNER, *EVENT_OF_MOVE, *TO_ADMINISTRATORS} for audit in commit.audits),
    )
    world.count("mails of the ledger", sent.total())
    world.count("webhook_events of the ledger", told.total())


def each_happening_is_delivered_to_each_webhook_that_wants_it(world: "World", commit: Commit) -> Iterator[str]:
    """One delivery for each, in the transaction of the change, and in its order."""
    wanted = [
        (webhook.id, each.id)
        for each in commit.webhook_events
        for webhook in sorted(world.memory.webhooks.values(), key=lambda webhook: webhook.id)
        if webhook.tenant_id == each.tenant_id and each.type in [str(kind) for kind in webhook.events]
    ]
    queued = [(each.webhook_id, each.event_id) for each in sorted(commit.deliveries, key=lambda each: each.seq)]
    if queued != wanted:
        yield f"the webhook_events {wanted} are queued as {queued}"
    world.count("deliveries queued", len(queued))


def _expected(world: "World", commit: Commit) -> tuple[Expected, Expected]:
    owners = {
        row.id: row.tenant_id for table in ("bookings", "campaigns") for row in getattr(world.memory, table).values()
    }
    emails = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    mails, webhook_events = Expected(), Expected()

    def mail(template: str | None, *recipients: str) -> None:
        for email in recipients if template is not None else ():
            chosen = world.memory.mail_choices.get(email)
            topic = TOPICS.get(template or "")
            if chosen is None or topic is None or getattr(chosen, topic):
                mails[template or "", email] += 1

    def owner_of(target_id: str) -> list[str]:
        email = emails.get(owners.get(target_id, ""))
        return [] if email is None else [email]

    for audit in commit.audits:
        mail(TO_OWNER.get(audit.action), *owner_of(audit.target_id))
        mail(TO_ADMINISTRATORS.get(audit.action), *world.memory.administrators)
        kind = EVENT_OF_MOVE.get(audit.action)
        if audit.action == "booking.dispute_lost" and moved(audit) is not None:
            kind = "booking.refunded"
        if kind is not None:
            webhook_events[kind, audit.target_id] += 1
    for booking_id, (before, after) in commit.of("bookings").items():
        for _, step in schedule.steps(commit, before, after):
            match step:
                case schedule.BEGINS:
                    mail("week_begins", *owner_of(booking_id))
                case schedule.ENDED:
                    mail("week_ended", *owner_of(booking_id))
                case _:
                    webhook_events["delivery.day", booking_id] += 1
    if commit.digests[0] != commit.digests[1]:
        mail("review_digest", *world.memory.administrators)
    return mails, webhook_events


def what_is_told_is_true(world: "World", commit: Commit) -> Iterator[str]:
    """The figures in mails and webhook_events are those of the rows."""
    for message in commit.messages:
        facts = json.loads(message.facts) if message.template in LEDGER else {}
        _, booking = commit.of("bookings").get(facts.get("booking", ""), (None, None))
        if booking is None:
            continue
        if facts["amount_cents"] != str(booking.amount_cents) or facts["weeks"] != str(booking.weeks):
            yield f"{message} is not about {booking}"
        if message.template == "week_ended":
            end = world.log.ends[booking.id]
            days = [
                counts for (booking_id, _), counts in world.memory.delivery_days.items() if booking_id == booking.id
            ]
            seen = [str(sum(each[kind] for each in days)) for kind in (0, 1)]
            figures = [facts[name] for name in ("impressions", "clicks", "refund_cents", "unshown_weeks")]
            if figures != [*seen, str(end.cents), str(len(end.unseen))]:
                yield f"{booking.id} was seen {seen} times, and ended with {end}, but {message} tells {figures}"
        orders = sum(audit.action == "booking.refunded" for audit in commit.audits_of(booking.id))
        if (
            message.template == "refund_made"
            and orders == 1
            and booking.status == "refunded"
            and (facts["refund_cents"] != str(booking.refunded_cents))
        ):
            yield f"{message} does not tell {booking.refunded_cents} cents of {booking.id}"
    for webhook_event in commit.webhook_events:
        if webhook_event.type == "delivery.day":
            data = json.loads(webhook_event.payload)
            day = int(webhook_event.id.rpartition("_")[2])
            counts = world.memory.delivery_days.get((webhook_event.subject_id, day), (0, 0))
            if (data["impressions"], data["clicks"]) != counts:
                yield f"{webhook_event} is about {counts} impressions and clicks"


CHECKS: tuple[Callable[["World", Commit], Iterator[str]], ...] = (
    each_transition_is_told_once,
    each_happening_is_delivered_to_each_webhook_that_wants_it,
    what_is_told_is_true,
)
