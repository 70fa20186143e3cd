"""Operations on placement events (specification, 12), which are deduplicated and committed before the response.

Windows of live placements come from the snapshot that also serves placements. Bookings that are not in it are looked up,
so a stale snapshot drops no events.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import compress

from actors.events.messages import OTHER, Event, Kind, Unit, Window
from actors.events.router import EventOutcome
from actors.events.state import visitor_of_day
from actors.values import Code, Problem, Refused
from service.api.context import Services
from service.api.crawlers import is_crawler
from service.api.errors import Family, too_fast
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.policy import Access, Budget
from service.http.addresses import is_address, limited_as, network_of
from service.schemas.events import BatchEvent, EventBatchBody, EventBatchResult, EventBody, EventResult, EventUnit
from service.schemas.fields import may_exist

EVENT_BYTES = 4 * 1024
BATCH_BYTES = 128 * 1024
"""500 events of 262 bytes. An event with an id of this service has 113 bytes, indented 161."""

_PURPOSES = ("sec-purpose", "purpose")
KINDS = {kind.value: kind for kind in Kind}
DROPPED = {each: (*NO_STORE, ("x-event-dropped", each.value)) for each in EventOutcome}
RESULTS = {each: b'{"recorded":false,"dropped":"%s"}' % each.encode() for each in EventOutcome}
RESULTS[EventOutcome.RECORDED] = b'{"recorded":true}'
RESULTS[EventOutcome.UNAVAILABLE] = b'{"error":"service_unavailable"}'


async def record_event(services: Services, call: Call) -> Answer | Refused:
    body: EventBody = call.body
    # Nearly all events are for live placements.
    window = services.placements.snapshot.windows.get(body.bookingId)
    if window is None:
        window = (await _windows(services, [body.bookingId])).get(body.bookingId)
    if window is None:
        return Refused(Code.NOT_FOUND, "There is no booking with this id.")
    headers = call.request.headers
    outcome = _dropped(headers) or _inactive(window, services.clock.now_ms())
    if outcome is None:
        outcome = await _record(services, call, body)
    else:
        services.events.count(outcome, body.bookingId)
    if "origin" in headers:
        _saw(services, call, KINDS[body.kind], outcome)
    return event_answer(outcome)


def _saw(services: Services, call: Call, kind: Kind, outcome: EventOutcome) -> None:
    """Note for the owner of a website what became of an event of its page."""
    origin = call.request.headers.get("origin")
    if origin and outcome is not EventOutcome.UNAVAILABLE:
        services.sites.saw(origin, network_of(call.request.client), kind, outcome)


async def _record(services: Services, call: Call, body: EventBody) -> EventOutcome:
    """Record an event, unless its address has added as many to the booking as it may. Only recorded events count."""
    budgets, address, origin = services.budgets, call.request.client, call.request.headers.get("origin")
    unused = budgets.count_events(address, body.bookingId)
    if not unused:
        return services.events.count(EventOutcome.CAPPED, body.bookingId)
    unit = _unit(call)
    [event] = _events([body]) if unit is Unit.DEVICE else _events_of_day([body], call)
    site = services.sites.number_of(origin)
    outcome = EventOutcome.UNAVAILABLE
    try:
        outcome = await services.events.record(event, site, unit)
    finally:
        if outcome is not EventOutcome.RECORDED:
            budgets.uncount_events(address, body.bookingId)
    if site == OTHER and outcome is EventOutcome.RECORDED:
        services.sites.recorded(origin, network_of(address))
    return outcome


def event_answer(outcome: EventOutcome) -> Answer:
    """The response to one event."""
    if outcome is EventOutcome.RECORDED:
        return Answer(200, b'{"recorded":true}', [*NO_STORE])
    return Answer(200, b'{"recorded":false}', [*DROPPED[outcome]])


async def record_events(services: Services, call: Call) -> Answer | Refused:
    body: EventBatchBody = call.body
    # The dispatcher has already counted the request as one event.
    if refused := too_fast(services.budgets.more_events(call.request.client, len(body.events) - 1)):
        return refused
    problem = _problem_of_clients(services, call, body.events)
    if problem is not None:
        return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(problem,))
    windows = await _windows(services, dict.fromkeys(each.bookingId for each in body.events))
    for index, each in enumerate(body.events):
        if each.bookingId not in windows:
            problem = Problem(f"events.{index}.bookingId", "unknown_booking", "there is no booking with this id")
            return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(problem,))
    outcomes = await _outcomes(services, call, body.events, windows)
    _saw(services, call, KINDS[body.events[0].kind], outcomes[0])
    results = b",".join([RESULTS[outcome] for outcome in outcomes])
    return Answer(200, b'{"results":[%s]}' % results, [*NO_STORE])


async def _outcomes(
    services: Services, call: Call, events: Sequence[BatchEvent], windows: Mapping[str, Window]
) -> list[EventOutcome]:
    """The outcome of each event, in order. Only events that are not dropped here go to the deduper."""
    now_ms = services.clock.now_ms()
    # Relays send no `Origin`, so their events count as those of other websites.
    site = services.sites.number_of(call.request.headers.get("origin"))
    dropped = _dropped(call.request.headers)
    unit = _unit(call)
    made = _events if unit is Unit.DEVICE else partial(_events_of_day, call=call)
    known = {booking_id: dropped or _inactive(window, now_ms) for booking_id, window in windows.items()}
    fates = [_of_crawler(each) or known[each.bookingId] for each in events]
    if not any(fates):
        # The common case: relays report live placements.
        return await _record_all(services, call.request.client, made(events), site, unit)
    live = made([each for each, fate in zip(events, fates, strict=True) if fate is None])
    recorded = iter(await _record_all(services, call.request.client, live, site, unit) if live else ())
    return [
        next(recorded) if fate is None else services.events.count(fate, each.bookingId)
        for each, fate in zip(events, fates, strict=True)
    ]


def _of_crawler(event: BatchEvent) -> EventOutcome | None:
    """The outcome of an event whose client a relay names, if that is a crawler."""
    return EventOutcome.CRAWLER if event.userAgent and is_crawler(event.userAgent) else None


async def _record_all(
    services: Services, address: str, events: Sequence[Event], site: int | None, unit: Unit
) -> list[EventOutcome]:
    """Record events as `_record` does. Of each booking, the first ones are recorded, as many as its address may add."""
    budgets = services.budgets
    if not budgets.caps_events(address):
        return await services.events.record_all(events, site, unit)
    asked = Counter([event.booking_id for event in events])
    unused = {booking_id: budgets.count_events(address, booking_id, count) for booking_id, count in asked.items()}
    allowed = [True] * len(events) if unused == asked else _first_of_each(events, dict(unused))
    first = list(compress(events, allowed))
    try:
        recorded = await services.events.record_all(first, site, unit) if first else []
        for event, outcome in zip(first, recorded, strict=True):
            unused[event.booking_id] -= outcome is EventOutcome.RECORDED
    finally:
        for booking_id, count in unused.items():
            if count:
                budgets.uncount_events(address, booking_id, count)
    answers = iter(recorded)
    return [
        next(answers) if may else services.events.count(EventOutcome.CAPPED, event.booking_id)
        for event, may in zip(events, allowed, strict=True)
    ]


def _first_of_each(events: Sequence[Event], room: dict[str, int]) -> list[bool]:
    """For each event, whether it is among the first ones of its booking, of which there is `room` for so many."""
    allowed = []
    for event in events:
        room[event.booking_id] -= 1
        allowed.append(room[event.booking_id] >= 0)
    return allowed


async def _windows(services: Services, booking_ids: Iterable[str]) -> Mapping[str, Window]:
    """The placement windows of these bookings. Bookings that do not exist are left out."""
    live = services.placements.snapshot.windows
    found = {each: live[each] for each in booking_ids if each in live}
    others = [each for each in booking_ids if each not in live and may_exist(each)]
    return {**found, **await services.windows.windows(others)} if others else found


def _dropped(headers: Mapping[str, str]) -> EventOutcome | None:
    """The outcome of a request that no visitor of a page sent, or None."""
    if is_crawler(headers.get("user-agent", "")):
        return EventOutcome.CRAWLER
    for name in _PURPOSES:
        if name in headers and "prefetch" in headers[name].lower():
            return EventOutcome.PREFETCH
    return None


def _inactive(window: Window, now_ms: int) -> EventOutcome | None:
    return None if window.holds(now_ms) else EventOutcome.INACTIVE


_event = partial(tuple.__new__, Event)
"""Makes an event of a tuple in half the time of `Event`, which matters for hundreds at once."""


def _events(bodies: Sequence[EventBody | BatchEvent]) -> list[Event]:
    return [_event((each.bookingId, KINDS[each.kind], each.visitorId)) for each in bodies]


def _unit(call: Call) -> Unit:
    query: EventUnit = call.query
    return Unit.DAY if query.unit == "day" else Unit.DEVICE


def _events_of_day(bodies: Sequence[EventBody | BatchEvent], call: Call) -> list[Event]:
    """Events whose visitor is the address and the user agent: of the request, or of the client that a relay names."""
    request = call.request
    sender = visitor_of_day(limited_as(request.client), request.headers.get("user-agent", ""))
    return [_event((each.bookingId, KINDS[each.kind], _client_of(each) or sender)) for each in bodies]


def _client_of(body: EventBody | BatchEvent) -> str | None:
    """The visitor of an event whose client a relay names."""
    if isinstance(body, EventBody) or body.clientAddress is None:
        return None
    return visitor_of_day(limited_as(body.clientAddress), body.userAgent or "")


def _problem_of_clients(services: Services, call: Call, events: Sequence[BatchEvent]) -> Problem | None:
    """The first client that an event must not name."""
    may = _unit(call) is Unit.DAY and services.budgets.exempts(call.request.client)
    for index, each in enumerate(events):
        if each.clientAddress is None and each.userAgent is None:
            continue
        name = f"events.{index}.{'userAgent' if each.clientAddress is None else 'clientAddress'}"
        if _unit(call) is not Unit.DAY:
            return Problem(name, "not_allowed", "is allowed only with unit=day")
        if not may:
            return Problem(name, "not_allowed", "is allowed only from a network in events.exempt_networks")
        if each.clientAddress is None:
            return Problem(name, "not_allowed", "is allowed only with clientAddress")
        if not is_address(each.clientAddress):
            return Problem(name, "invalid_address", "must be an IPv4 or IPv6 address")
    return None


_reporting = partial(
    Operation,
    method="POST",
    tag="Sponsorship",
    family=Family.SPONSORSHIP,
    access=Access.OPTIONAL,
    metered=True,
    budget=Budget.EVENTS,
    cors=True,
    hot=True,
    plain_text=True,
)

_EVENT = {
    "bookingId": "bok_4kQ9ZpR1sT7vX2yB5cD8eF",
    "kind": "impression",
    "visitorId": "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54",
}

ROWS = (
    _reporting(
        name="recordEvent",
        path="/api/v1/sponsors/events",
        summary="Record one event",
        description=(
            "An event counts once per booking, kind, visitor and UTC day. The visitor is the `visitorId`, or with `unit=day` "
            "the client address (IPv6: its /64) and the user agent, so that a page need not store an id. `recorded: true` is "
            "returned at most once, after the event is committed. With `recorded: false`, the header `X-Event-Dropped` gives "
            "the reason: "
            "`duplicate` (already counted, even if the first response was lost), `inactive` (the placement is not "
            "live), `crawler` or `prefetch` (no visitor saw it), or `capped` (this client address or its network "
            "has added as many events to the booking as it may in an hour). The body is JSON with any content type, so "
            "`fetch` with a text as its body and `keepalive` needs no preflight. Cookies are ignored."
        ),
        handler=record_event,
        query=EventUnit,
        body=EventBody,
        body_bytes=EVENT_BYTES,
        result=EventResult,
        headers=("X-Event-Dropped",),
        codes=(Code.NOT_FOUND,),
        example=_EVENT,
    ),
    _reporting(
        name="recordEvents",
        path="/api/v1/sponsors/events/batch",
        summary="Record up to 500 events",
        description=(
            "Reports events that a relay collected. Returns the result of each event in order, with the reason in "
            "`dropped`. If an event is not valid or its booking does not exist, the API returns 400 with its position "
            "and records nothing. With `unit=day`, a relay in `events.exempt_networks` names the client that it saw in "
            "`clientAddress` and `userAgent` of each event; otherwise the client is that of the request."
        ),
        handler=record_events,
        query=EventUnit,
        body=EventBatchBody,
        body_bytes=BATCH_BYTES,
        result=EventBatchResult,
        example={"events": [_EVENT, _EVENT | {"kind": "click"}]},
    ),
)
