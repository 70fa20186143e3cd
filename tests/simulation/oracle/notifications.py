"""Mails and webhook events: a transaction writes those that its changes call for, each once, and no other.

The transactions of sessions and of devices are judged by `visits` and `logins`, with all else that they write.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from actors.bookings.records import Booking
from actors.keys.messages import Claim
from actors.shared.credentials import code_proof
from actors.values import NOT_FILTERED, AuditRecord, BatchId, Filtered, OutboxMessage
from tests.simulation.oracle import schedule
from tests.simulation.oracle.bookings import DAY_MS
from tests.simulation.oracle.log import Commit, moved
from tests.simulation.rules import SECRET

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
WEBHOOK_EVENTS: Mapping[str, str] = {
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
    "weekly_report": "reports",
    "campaign_approved": "reviews",
    "campaign_rejected": "reviews",
    "review_digest": "reviews",
    "video_material": "reviews",
}
"""Topics that a recipient may turn off. Other mails are always sent."""
Expected = Counter[tuple[str, str]]
"""Templates with their recipients, or types of events with their subjects."""


def each_change_is_notified_once(world: "World", commit: Commit) -> Iterator[str]:
    mails, events = _expected(world, commit)
    written = Counter((message.template, message.recipient) for message in commit.messages)
    if written != mails:
        yield _difference("mails", mails, written)
    published = Counter((each.type, each.subject_id) for each in commit.webhook_events)
    if published != events:
        yield _difference("webhook events", events, published)
    for each in commit.webhook_events:
        if each.id in world.log.published:
            yield f"the webhook event {each.id} was published before: {each}"
        world.log.published.add(each.id)
    world.log.mailed.update(message.id for message in commit.messages)
    done = [schedule.steps(commit, *rows) for rows in commit.of("bookings").values()]
    world.count("steps of schedules", sum(map(len, done)))
    world.count(
        "transitions notified",
        sum(audit.action in {*TO_OWNER, *WEBHOOK_EVENTS, *TO_ADMINISTRATORS} for audit in commit.audits),
    )
    world.count("mails of the ledger", written.total())
    world.count("webhook events", published.total())


def judge_keys(
    world: "World",
    batch_id: BatchId,
    claims: Mapping[bytes, Claim],
    audits: Sequence[AuditRecord],
    written: Sequence[OutboxMessage],
) -> Iterator[str]:
    """The mails of one transaction of keys: of each new key and administrator, of each code, and of each key that worked when
    it was found in public, and of each account that is suspended or restored. `claims` are all claims before it."""
    emails = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    expected = Expected()
    for audit in audits:
        if audit.action in ("key.issued", "key.claimed"):
            expected["new_key", emails[world.memory.keys[audit.target_id].tenant_id]] += 1
        elif audit.action == "key.exposed":
            key = world.memory.keys[audit.target_id]
            worked = key.expires_ms is None or (key.revoked_ms or 0) < key.expires_ms
            if worked and (owner := emails.get(key.tenant_id)):
                expected["key_exposed", owner] += 1
                world.count("exposed keys with an owner")
        elif audit.action in ("account.suspended", "account.restored"):
            expected[audit.action.replace(".", "_"), emails[audit.target_id]] += 1
        elif audit.action == "admin.granted":
            expected["new_administrator", audit.target_id] += 1
    proofs = set()
    for token_hash, claim in world.memory.claims.items():
        if claim.proof is not None and (token_hash not in claims or claims[token_hash].proof != claim.proof):
            expected["claim_code", claim.email or ""] += 1
            proofs.add((token_hash, claim.proof))
    found = Counter((message.template.removesuffix("_long"), message.recipient) for message in written)
    if found != expected:
        yield f"{batch_id!r} has {_difference('mails', expected, found)}"
    codes = [(message.recipient, world.code_of(message)) for message in written if message.nonce]
    for token_hash, proof in proofs:
        if not any(code_proof(SECRET, token_hash, email, code) == proof for email, code in codes):
            yield f"{batch_id!r} wrote no mail with the code of a claim: {written}"
    world.log.mailed.update(message.id for message in written)


def _difference(what: str, expected: Expected, found: Expected) -> str:
    return f"{what} that are missing: {sorted(expected - found)}; too many: {sorted(found - expected)}"


def each_event_is_in_the_feed_of_its_account(world: "World", commit: Commit) -> Iterator[str]:
    """Once, after all events of earlier transactions, whether or not a webhook wants it."""
    rows = list(world.memory.webhook_events.values())
    newest = rows[len(rows) - len(commit.webhook_events) :]
    if [(row.id, row.tenant_id) for row in newest] != [(each.id, each.tenant_id) for each in commit.webhook_events]:
        yield f"the feed ends with {newest}, not with {commit.webhook_events}"


def each_event_is_queued_for_each_webhook_that_wants_it(world: "World", commit: Commit) -> Iterator[str]:
    """One delivery for each, in the transaction of the change, and in its order."""
    wanted = [
        (webhook.id, each.id)
        for each in commit.webhook_events
        for webhook in sorted(world.memory.webhooks.values(), key=lambda webhook: webhook.id)
        if webhook.tenant_id == each.tenant_id and each.type in [str(kind) for kind in webhook.events]
    ]
    queued = [(each.webhook_id, each.event_id) for each in sorted(commit.deliveries, key=lambda each: each.seq)]
    if queued != wanted:
        yield f"the webhook events {wanted} are queued as {queued}"
    world.count("deliveries queued", len(queued))


def _expected(world: "World", commit: Commit) -> tuple[Expected, Expected]:
    owners = {
        row.id: row.tenant_id for table in ("bookings", "campaigns") for row in getattr(world.memory, table).values()
    }
    emails = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    mails, events = Expected(), Expected()

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
        kind = WEBHOOK_EVENTS.get(audit.action)
        if audit.action == "booking.dispute_lost" and moved(audit) is not None:
            kind = "booking.refunded"
        if audit.action == "booking.dispute_won" and (moved(audit) or ("", ""))[1] == "paid":
            kind = "booking.paid"
        if kind is not None:
            events[kind, audit.target_id] += 1
    reported = set(world.log.mailed)
    for booking_id, (before, after) in commit.of("bookings").items():
        for _, step in schedule.steps(commit, before, after):
            match step:
                case schedule.BEGINS:
                    mail("week_begins", *owner_of(booking_id))
                case schedule.ENDED:
                    mail("week_ended", *owner_of(booking_id))
                case day:
                    events["delivery.day", booking_id] += 1
                    if is_reported(commit, after, day) and (letter := weekly_id(after, day)) not in reported:
                        reported.add(letter)
                        mail("weekly_report", *owner_of(booking_id))
    if commit.digests[0] != commit.digests[1]:
        mail("review_digest", *world.memory.administrators)
    return mails, events


FIRST_MONDAY = 4
"""The day of the first Monday since the epoch."""


def is_reported(commit: Commit, booking: Booking, day: int) -> bool:
    """Whether the end of a day is that of a week which is reported: at once, and if the booking goes on."""
    over_ms = (day + 1) * DAY_MS
    goes_on = (day + 1 - FIRST_MONDAY) % 7 == 0 and over_ms < schedule.end_ms(booking)
    return goes_on and commit.now_ms < over_ms + DAY_MS


def weekly_id(booking: Booking, day: int) -> str:
    """The id of the mail about the week that ends with a day, which all bookings of an account share."""
    return f"msg_{booking.tenant_id.removeprefix('ten_')}_week_{day + 1}_o"


def _last_week(world: "World", message: OutboxMessage, first: int) -> list[int]:
    """The impressions and clicks of the bookings of an account in the week from a day on."""
    [tenant_id] = [row.tenant_id for row in world.memory.accounts.values() if row.email == message.recipient]
    counts = [
        counts
        for (booking_id, day), counts in world.memory.delivery_days.items()
        if first <= day < first + 7 and world.memory.bookings[booking_id].tenant_id == tenant_id
    ]
    return [sum(each[kind] for each in counts) for kind in (0, 1)]


def notifications_are_true(world: "World", commit: Commit) -> Iterator[str]:
    """The figures in mails and webhook events are those of the rows. A refund of a part may come with that of the rest, and
    the last mail of a booking tells of both."""
    last = {json.loads(each.facts).get("booking"): each for each in commit.messages if each.template == "refund_made"}
    for message in commit.messages:
        facts = json.loads(message.facts)
        if message.template == "weekly_report":
            world.count("weekly reports")
            week = _last_week(world, message, int(facts["week_start_ms"]) // DAY_MS)
            if [int(facts["impressions"]), int(facts["clicks"])] != week:
                yield f"{message} is about {week} impressions and clicks"
        _, booking = commit.of("bookings").get(facts.get("booking", ""), (None, None))
        if booking is None:
            continue
        amounts = [str(booking.amount_cents), str(booking.paid_cents)]
        if facts["amount_cents"] not in amounts or facts["weeks"] != str(booking.weeks):
            yield f"{message} is not about {booking}"
        if message.template == "week_ended":
            end = world.log.ends[booking.id]
            days = [
                counts for (booking_id, _), counts in world.memory.delivery_days.items() if booking_id == booking.id
            ]
            seen = [str(sum(each[kind] for each in days)) for kind in (0, 1)]
            figures = [facts[name] for name in ("impressions", "clicks", "refund_cents", "unshown_weeks")]
            told = [str(sum(each)) for each in zip(*_filtered(world, booking.id), strict=True)]
            if [facts[name] for name in Filtered._fields] != told:
                yield f"{booking.id} has filtered events {told}, but {message} says {facts}"
            if figures != [*seen, str(end.cents), str(len(end.unseen))]:
                yield f"{booking.id} was seen {seen} times, and ended with {end}, but {message} says {figures}"
        orders = sum(audit.action == "booking.refunded" for audit in commit.audits_of(booking.id))
        if (
            message is last.get(booking.id)
            and orders == 1
            and booking.status == "refunded"
            and (facts["refund_cents"] != str(booking.by_refunds_cents))
        ):
            yield f"{message} does not say {booking.refunded_cents} cents of {booking.id}"
    for webhook_event in commit.webhook_events:
        if webhook_event.type == "delivery.day":
            data = json.loads(webhook_event.payload)
            day = int(webhook_event.id.rpartition("_")[2])
            counts = world.memory.delivery_days.get((webhook_event.subject_id, day), (0, 0))
            [*_, filtered] = _filtered(world, webhook_event.subject_id, day)
            if data["filtered"] != filtered._asdict():
                yield f"{webhook_event} is about {filtered}"
            if (data["impressions"], data["clicks"]) != counts:
                yield f"{webhook_event} is about {counts} impressions and clicks"


def _filtered(world: "World", booking_id: str, day: int | None = None) -> list[Filtered]:
    """What was filtered of a booking: nothing, and the rows of its days, or of one."""
    rows = world.memory.filtered_days.items()
    return [NOT_FILTERED, *(row for (filtered_id, at), row in rows if filtered_id == booking_id and day in (None, at))]
