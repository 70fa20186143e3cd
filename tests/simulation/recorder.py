"""The history of a run in the judge's format: each request of a client, with the facts that it sent and those of its answer.

The facts of a request are those of its first intents, which its node notes before it decides anything. A request that never
reached a node has none and is left out, as it had no effect. One that the network repeated is in the history once more for
each time, without an answer. Intents of the service itself have no client.
"""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from actors.bookings.invoices import Invoice as InvoiceRecord
from actors.bookings.records import BookingView, CampaignView
from actors.catalog.messages import Conflict
from actors.catalog.submissions import SubmissionSaved
from actors.clock import DAY_MS, SECOND_MS
from actors.devices.actor import RedeemedKey, StartedLogin
from actors.devices.codes import read_code
from actors.devices.messages import DeviceView
from actors.keys.actor import Issued, Minted
from actors.keys.authorizer import Tokens
from actors.keys.messages import Claimed, KeySaved, Resolved, Rotated
from actors.quota.messages import Charge, Metered
from actors.quota.state import exhausted
from actors.sessions.actor import StartedSession
from actors.values import Refused, Tenant, Tier
from service.api import authentication
from service.api.errors import TABLE
from service.api.operations.account import usage_of
from service.schemas.keys import Usage as UsageShown
from tests.judge.catalog import WORDS
from tests.judge.judging import judge
from tests.judge.lines import write_history
from tests.judge.records import (
    VERSION,
    Answer,
    Asked,
    Booking,
    Campaign,
    Day,
    Event,
    Header,
    History,
    Invoice,
    Key,
    Limit,
    Login,
    Operation,
    Record,
    Usage,
)
from tests.judge.wire import caller_of, digest, event_record, money_of
from tests.simulation import catalog_facts, last_reads
from tests.simulation import history as told
from tests.simulation.clients import Client
from tests.simulation.editors import Seen
from tests.simulation.processor import PaymentSucceeded
from tests.simulation.rules import CAPS, LIFE_SECONDS
from tests.simulation.sides import answering
from tests.simulation.stripe_events import posted
from tests.simulation.submissions import Proposed, Reviewed

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

HEADER = Header(
    VERSION, "simulation", whole=True, fresh=True, single=True, clock_ms=1_000, visible_ms=LIFE_SECONDS * SECOND_MS
)
STALE_MS, CHECK_MS = 4_000, 1_000
"""How long nodes may show the catalog that they have read before: at least for the first, and for the second after faults
have kept one from its database."""
TICK_MS = 2e-3
"""The milliseconds that a tick adds to the time, so that operations of one moment keep their order. A float of epoch
milliseconds has steps of an eighth of it."""
KINDS = {
    "change end": "editAccountKey",
    "complete": "completeClaim",
    "edit": "editAccountKey",
    "ask code": "startSignIn",
    "begin device": "startDevice",
    "decide device": "decideDevice",
    "end session": "endSession",
    "end token": "revokeToken",
    "exchange": "issueToken",
    "ignore event": "stripeWebhook",
    "list keys": "listAccountKeys",
    "list sessions": "listSessions",
    "look at device": "getDeviceApproval",
    "propose": "submitEntry",
    "put entry": "putBot",
    "retire entry": "retireBot",
    "review": "reviewSubmission",
    "sign in": "completeSignIn",
    "suspend": "suspendAccount",
    "issue": "createAccountKey",
    "mint": "mintKey",
    "move end": "editAccountKey",
    "poll": "pollDevice",
    "refresh": "issueToken",
    "revoke": "revokeKey",
    "rotate": "rotateAccountKey",
    "start": "startClaim",
    "changes": "listChanges",
    "look": "getBooking",
    "invoices": "getInvoices",
    "delivery": "getDelivery",
    "settle dispute": "stripeWebhook",
    "settle refund": "stripeWebhook",
    "take payment": "stripeWebhook",
}
"""Operations by the intent that they lead to. A request that was admitted with a key has its operation's name."""
REVOKES = ("revokeKey", "revokeScopedKey")


FROM_ANSWERS = "from answers, "
"""Begins the violations that the judge finds."""


def violations_of(world: "World") -> Iterator[str]:
    """The promises that the answers of a run break, as the judge finds them."""
    for promise, verdict in judge(history_of(world)).items():
        yield from (f"{FROM_ANSWERS}{promise}: {each.sentence}" for each in verdict.broken)


def write(world: "World", path: Path) -> None:
    """Write the history of a run, for `python -m tests.judge`."""
    history = history_of(world)
    with path.open("wb") as stream:
        write_history(stream, history.header, history.operations)


def history_of(world: "World") -> History:
    """All that clients asked and heard, after the events of days before the run."""
    recorder = Recorder(world)
    stale_ms = max(STALE_MS, round(world.shelf.kept_seconds * SECOND_MS) + CHECK_MS)
    header = HEADER._replace(visible_ms=stale_ms) if world.edits else HEADER
    return History(header, [*_earlier(world), *recorder.operations(), *recorder.glances(), *recorder.feeds()])


def _earlier(world: "World") -> Iterator[Operation]:
    """The events that the days before the run had counted, each of a visitor of its own, and those of payments."""
    for (booking, day), counts in world.stage_counts.items():
        for kind, count in zip(("impression", "click"), counts, strict=True):
            for number in range(count):
                asked = Asked(events=(Event(booking, kind, f"earlier {day} {number}"),))
                at = min(day * DAY_MS + DAY_MS / 2, world.base_ms - DAY_MS / 48)
                yield Operation("earlier", "n", "recordEvent", at, at, asked, Answer(200, outcomes=("recorded",)))
    for event in world.stage_events:
        id = event.booking_id if isinstance(event, PaymentSucceeded) else None
        asked, at = Asked(id=id, decision="event", money=money_of(posted(event))), world.base_ms - DAY_MS / 48
        yield Operation("earlier", "n", "stripeWebhook", at, at, asked, Answer(200))


class Recorder:
    """The requests of a run, with the intents of each."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._intents: defaultdict[str, list[told.Operation]] = defaultdict(list)
        for intents in world.history.intents.values():
            for intent in intents:
                if intent.who:
                    self._intents[intent.who].append(intent)
        self._texts = {id: text for id, text, _ in last_reads.told_keys(world)}

    def operations(self) -> Iterator[Operation]:
        for request in self._world.history.requests:
            for number, name in enumerate(request.served):
                intents = sorted(self._intents.get(name, ()), key=lambda each: each.began)
                if intents:
                    yield self._operation(request, name, intents, answered=not number)

    def glances(self) -> Iterator[Operation]:
        """Each as a read of a booking, of its documents and of it again, at one moment; or as a read of an entry."""
        for tick, seconds, booking, invoices in self._world.glances.seen:
            at, now_ms = self._ms(seconds, tick), self._world.base_ms + int(seconds * SECOND_MS)
            asked = Asked(id=booking.id)
            row = _booking(BookingView(booking, ""), now_ms, receipt=True)._replace(impressions=None, clicks=None)
            shown = Answer(200, bookings=[row])
            documents = Answer(200, invoices=[_invoice(each) for each in invoices])
            for number, kind in enumerate(("getBooking", "getInvoices", "getBooking")):
                began = at + number * TICK_MS / 4
                answer = documents if kind == "getInvoices" else shown
                yield Operation("onlooker", "n", kind, began, began, asked, answer)
        for look in self._world.looks.seen:
            at, kind = self._ms(look.seconds, look.tick), f"getStored{WORDS[look.id.kind]}"
            yield Operation("onlooker", "n", kind, at, at, Asked(id=look.id.slug), Answer(200, records=[look.record]))

    def feeds(self) -> Iterator[Operation]:
        """The feed of each account that books, as the same reader finds it at the end, with a key of the account."""
        memory, at = self._world.memory, self._ms(self._world.ended_at, self._world.history.tick())
        records: dict[str, list[Record]] = {each.tenant_id: [] for each in memory.bookings.values()}
        for row in memory.webhook_events.values():
            records.setdefault(row.tenant_id, []).append(event_record(row.id, row.type, row.subject_id, row.body))
        callers = {memory.keys[id].tenant_id: caller_of(text) for id, text in self._texts.items() if id in memory.keys}
        for tenant, rows in records.items():
            if tenant in callers:
                answer = Answer(200, records=rows, cursor="end")
                yield Operation("onlooker", "n", "listWebhookEvents", at, at, Asked(callers[tenant]), answer)

    def _operation(
        self, request: told.Operation, name: str, intents: Sequence[told.Operation], *, answered: bool
    ) -> Operation:
        kind, caller, main = _asked_for(request, intents)
        if main is not None and isinstance(main.about, told.Rotate) and main.about.session_id is None:
            # A key rotates itself.
            caller = caller_of(self._texts[main.about.key_id])
        if main is not None and isinstance(main.about, told.IssueFor) and main.about.granted_by in self._texts:
            caller = caller or caller_of(self._texts[main.about.granted_by])
        facts = {} if main is None else _facts(kind, main.about)
        asked = Asked(caller=caller, metered=request.kind == "read", **facts)
        began, ended = self._ms(request.start, request.began), self._ms(request.end, request.ended)
        if not request.ended:
            ended = self._ms(self._world.ended_at, self._world.history.tick())
        node = name.partition(".")[0]
        answer = self._answer(request, kind, asked, main) if answered and request.ended else None
        return Operation(request.who, node, kind, began, max(began, ended), asked, answer)

    def _ms(self, seconds: float, tick: int) -> float:
        return self._world.base_ms + seconds * SECOND_MS + tick * TICK_MS

    def _answer(self, request: told.Operation, kind: str, asked: Asked, main: told.Operation | None) -> Answer | None:
        result = request.result
        if request.kind == "resolve" and main is not None and isinstance(result, Resolved | None):
            result = authentication.refused_key(result, self._now_ms(main)) or result
        match result:
            case told.Unknown():
                return None
            case told.Nothing():
                return Answer(503, "service_unavailable")
            case Refused(code=code, message=message):
                retry = result.interval_seconds or result.retry_after_seconds
                return Answer(TABLE[code].status, code, retry, shared="of your mailbox" in message)
            case told.Heard(status=status, outcomes=outcomes):
                return Answer(status, outcomes=[_outcome(each) for each in outcomes])
            case None | Seen(document=None):
                return Answer(404, "not_found")
            case Conflict():
                return Answer(412, "precondition_failed")
            case _:
                now_ms = 0 if main is None else self._now_ms(main)
                return Answer(200, **_shown(kind, asked, result, now_ms))

    def _now_ms(self, intent: told.Operation) -> int:
        """The clock of the node at the end of an intent, by which it shows holds as expired."""
        node = self._world.nodes[int(intent.node[1:].partition(".")[0])]
        return node.clock.at(intent.end)


async def read_all(world: "World") -> None:
    """Read all bookings, with their documents and days, and all of them again: what a run leaves is in its history. Use the
    keys that ended on all nodes, too, once none may remember them, and read what each key has used."""
    reader = Client(world, "reader", _idle)
    if world.signs_in:
        await last_reads.of_people(world, reader)
    ended = _ended_texts(world)
    if ended and not world.signs_in:
        await trio.sleep(LIFE_SECONDS + 0.1)
    for text in ended:
        for node in world.nodes:
            await reader.resolve(text, node)
    for text in {id: text for id, text, _ in last_reads.told_keys(world)}.values():
        await reader.ask("usage", partial(_usage, text))
    if world.edits:
        await last_reads.of_catalog(world, reader)
    for _ in range(2 if world.sells else 0):
        views = await reader.ask("look", lambda node: node.intake.look_over(last_reads.MOST))
        for view in views if isinstance(views, list | tuple) else ():
            for kind in ("look", "invoices", "delivery"):
                await reader.ask(kind, partial(_read, kind, view.booking.tenant_id, view.booking.id))


async def _usage(text: str, node: "Node") -> Any:
    """As `getUsage` does."""
    resolved = await node.resolve(text)
    refused = authentication.refused_key(resolved, node.clock.now_ms())
    if refused is not None or resolved is None:
        return refused
    tenant = await answering(node, partial(node.services.quota.read, resolved.key.tenant_id))
    if tenant is None:
        return told.Unknown("being claimed")
    caps = node.services.quota.caps
    return exhausted(tenant, caps[tenant.tier]) or usage_of(tenant, "", None, caps)


def _ended_texts(world: "World") -> list[str]:
    """The texts of keys that clients were told to have changed or to be replaced; where people sign in, all texts."""
    told = [*last_reads.told_keys(world)]
    changed = {old for _, _, old in told}
    changed |= {each.result.key.id for each in world.history.requests if isinstance(each.result, KeySaved)}
    return [*dict.fromkeys(text for id, text, _ in told if id in changed or world.signs_in)]


async def _idle(me: Client) -> None:
    raise NotImplementedError


async def _read(kind: str, owner: str, booking_id: str, node: "Node") -> Any:
    store = node.services.sponsorship
    read: Callable[[], Awaitable[Sequence[Any]]]
    match kind:
        case "look":
            return await node.intake.look(booking_id)
        case "invoices":
            read = partial(store.invoices_of, owner, booking_id, last_reads.MOST)
        case _:
            read = partial(store.delivered, booking_id)
    return await node.intent(kind, booking_id, lambda: answering(node, read))


# The request.


def _asked_for(
    request: told.Operation, intents: Sequence[told.Operation]
) -> tuple[str, str | None, told.Operation | None]:
    """The name of the operation, who asked, and the intent that it led to, if it was admitted."""
    first, rest = intents[0], intents[1:]
    if request.kind in ("resolve", "usage"):
        return "getUsage", caller_of(first.about), first
    if request.kind == "read":
        charges = [each for each in intents if isinstance(each.about, Charge)]
        return "getBot", caller_of(first.about), charges[-1] if charges else None
    if isinstance(first.about, told.Admission):
        return first.about.operation, caller_of(first.about.text), rest[0] if rest else None
    if first.kind == "enter":
        main = rest[0] if rest else None
        kind = request.kind if main is None else main.kind
        kind = KINDS.get(kind, kind)
        return kind, f"session-{digest(first.about)}", main
    if isinstance(first.about, told.Reported):
        return ("recordEvents" if first.about.post.batch else "recordEvent"), None, first
    return KINDS.get(first.kind) or catalog_facts.name_of(first.about) or first.kind, None, first


def _facts(kind: str, about: Any) -> dict[str, Any]:
    match about:
        case told.Reported(post=post):
            named = ["day" if post.by_day else "device"] * len(post.named)
            return {
                "events": [
                    Event(each.booking_id, str(each.kind), digest(f"{unit} {each.visitor}"))
                    for each, unit in zip(post.named, named, strict=True)
                ]
            }
        case told.Book(key=key, body=body) if kind == "createCampaign":
            return {"key": key, "body": digest(list(body))}
        case told.Book(key=key, body=body):
            slot, week = body[:2]
            facts = {"key": key, "body": digest(list(body)), "slot": slot, "week": week}
            return {**facts, "campaign": body[2]} if kind == "createBooking" else facts
        case told.Change() if kind == "stripeWebhook":
            id = about.target if about.target.startswith("bok_") else None
            return {"id": id, "decision": "event", "money": money_of(json.loads(about.body))}
        case told.Change():
            return {"id": about.target, "decision": str(about.what) if kind == "reviewCampaign" else None}
        case told.IssueFor():
            return {"key": about.key, "body": digest([about.name, *map(str, about.scopes)]) if about.key else None}
        case told.Rotate():
            grace = about.grace_seconds
            return {"id": about.key_id, "key": about.key, "body": digest([about.key_id, grace]), "grace": grace}
        case told.EndAt():
            return {"id": about.key_id, "ends": about.end_ms}
        case told.Complete() | told.Start():
            return {"id": digest(about.token)}
        case told.SignIn():
            return {"id": digest(about.email), "body": digest(about.code)}
        case told.Exchange():
            return {"id": digest(about.code), "decision": "authorization_code", "body": digest(about.client_id)}
        case told.Renewal():
            return {"id": digest(about.token), "decision": "refresh_token", "body": digest(about.client_id)}
        case told.Typed(approve=approve):
            decision = None if approve is None else "approve" if approve else "deny"
            return {"id": digest(read_code(about.user_code)), "decision": decision}
        case Reviewed():
            return {"id": about.submission_id, "decision": "accept" if about.accept else "decline"}
        case Proposed():
            return {"key": about.key, "body": digest([about.slug, about.name, about.edit])}
        case told.Within() if kind in ("editAccountKey", "endSession"):
            return {"id": about.target}
        case str() if kind in ("pollDevice", "startSignIn"):
            return {"id": digest(about)}
        case str() if kind in (*REVOKES, "getInvoices", "getDelivery", "putBot", "retireBot"):
            return {"id": about}
        case int() if kind == "listChanges":
            return {"cursor": str(about) if about else None}
        case _:
            return catalog_facts.asked_of(about)


# The answer.


def _outcome(outcome: str) -> str:
    return "error" if outcome == "unavailable" else outcome


def _shown(kind: str, asked: Asked, result: Any, now_ms: int) -> dict[str, Any]:
    match result:
        case Metered(tenant=tenant):
            return {"limits": list(_limits(tenant))}
        case Resolved(key=key):
            return {"tenant": key.tenant_id}
        case UsageShown():
            cap, daily = result.requestLimit, result.dailyRequestLimit
            used = Usage(result.status, result.requestsUsed, cap, result.dailyRequestsUsed, daily)
            return {"tenant": result.tenantId, "usage": used}
        case BookingView() if kind == "openCheckout":
            return {"bookings": [Booking(asked.id or "", "checkout", held=result.booking.hold_ms)]}
        case BookingView():
            return {"bookings": [_booking(result, now_ms, receipt=kind == "getBooking")]}
        case CampaignView(campaign=campaign):
            return {"campaigns": [Campaign(campaign.id, str(campaign.status))]}
        case StartedLogin(device_code=code, device=device):
            user, lives = digest(device.user_code), (device.expires_ms - device.created_ms) // SECOND_MS
            return {"login": Login("pending", digest(code), user, lives, device.interval_seconds)}
        case DeviceView(device=device):
            return {"login": Login(str(device.status))}
        case SubmissionSaved(submission=each):
            shown = [Campaign(each.id, str(each.status))]
            return {"campaigns": shown, "entry": f"{each.kind}/{each.slug}"}
        case Claimed(tenant=tenant):
            return {"tenant": tenant.id}
        case KeySaved() if kind in REVOKES:
            return {"revoked": [result.key.id, *result.ended]}
        case list() | tuple() if kind in ("getBooking", "getInvoices", "getDelivery"):
            return _listed(kind, result, now_ms)
        case _:
            keys = _keys(result)
            return {"keys": keys} if keys else catalog_facts.shown_of(kind, result)


def _limits(tenant: Tenant) -> Iterator[Limit]:
    cap = CAPS[tenant.tier]
    yield Limit("day", cap.daily, max(0, cap.daily - tenant.day_used))
    if tenant.tier is Tier.ANONYMOUS and cap.lifetime is not None:
        yield Limit("lifetime", cap.lifetime, max(0, cap.lifetime - tenant.lifetime_used))
    elif cap.monthly is not None:
        yield Limit("month", cap.monthly, max(0, cap.monthly - tenant.month_used))


def _keys(result: Any) -> list[Key]:
    match result:
        case Minted(api_key=text, key=key, claim_token=token):
            return [Key(caller_of(text), key.id, key.tenant_id, key.expires_ms, claim=digest(token))]
        case Issued(api_key=text, key=key):
            return [Key(caller_of(text), key.id, key.tenant_id, key.expires_ms)]
        case RedeemedKey(api_key=text, key=key):
            return [Key(caller_of(text), key.id, key.tenant_id)]
        case Tokens(access_token=text, refresh_token=token, expires_seconds=seconds):
            return [Key(caller_of(text), claim=digest(token), lives=seconds)]
        case StartedSession(token=text, session=session):
            return [Key(f"session-{digest(text)}", session.id, ends=session.expires_ms)]
        case (str() as text, Rotated(key=key, old=old, ends_ms=ends_ms)):
            return [Key(caller_of(text), key.id, key.tenant_id, key.expires_ms, old.id, ends_ms)]
        case _:
            return []


def _booking(view: BookingView, now_ms: int, *, receipt: bool) -> Booking:
    booking = view.booking
    return Booking(
        booking.id,
        str(booking.status_at(now_ms)),
        booking.slot_id,
        booking.week_start_ms,
        booking.week_end_ms,
        booking.hold_ms if booking.is_open(now_ms) else None,
        view.impressions,
        view.clicks,
        booking.paid_cents if receipt and booking.paid_ms is not None else None,
        booking.refunded_cents,
        booking.issue,
        booking.demo,
        booking.amount_cents,
    )


def _listed(kind: str, rows: Sequence[Any], now_ms: int) -> dict[str, Any]:
    if kind == "getInvoices":
        return {"invoices": [_invoice(each) for each in rows]}
    if kind == "getDelivery":
        # As over HTTP, up to today: the last day of a booking of the stage may come later.
        until = [each for each in rows if each.day * DAY_MS <= now_ms]
        return {"days": [Day(each.day * DAY_MS, each.impressions, each.clicks) for each in until]}
    return {"bookings": [_booking(each, now_ms, receipt=False) for each in rows]}


def _invoice(row: InvoiceRecord) -> Invoice:
    lasting = [each.name for each in fields(row) if not each.name.startswith("buyer_")]
    whole = digest({name: str(getattr(row, name)) for name in lasting})
    name, kind = row.number, str(row.kind)
    tax = row.tax_cents, row.tax_rate
    return Invoice(name, kind, row.booking_id, row.amount_cents, whole, row.belongs_to, row.payment_id, *tax)
