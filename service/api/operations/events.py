"""Operation 12 and its batch: placement events, deduplicated and committed before they are answered.

What is shown can be counted: whether a placement is live is read from the snapshot that placements are served from. A
booking that is not in it is asked for, so that a node that has not heard of a change yet drops nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from actors.events.messages import Event, Kind, Window
from actors.events.router import EventOutcome
from actors.values import Code, Refused
from service.api.context import Services
from service.api.errors import Family, too_fast
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.policy import Access, Budget
from service.schemas.events import BatchEvent, EventBatchBody, EventBatchResult, EventBody, EventResult
from service.schemas.fields import may_exist

EVENT_BYTES = 4 * 1024
BATCH_BYTES = 128 * 1024
"""Room for 500 events of 262 bytes; one with an id of this service has 113, and 161 when it is indented."""

CRAWLERS = ("bot", "crawl", "spider", "slurp", "headless")
"""What the user agents of those say who own up to being one."""

KINDS = {kind.value: kind for kind in Kind}
DROPPED = {
    fate: (*NO_STORE, ("x-event-dropped", fate.value)) for fate in EventOutcome if fate is not EventOutcome.RECORDED
}
RESULTS = {fate: b'{"recorded":false,"dropped":"%s"}' % fate.encode() for fate in EventOutcome} | {
    EventOutcome.RECORDED: b'{"recorded":true}'
}


async def record_event(services: Services, call: Call) -> Answer | Refused:
    body: EventBody = call.body
    # Nearly all events are of placements that are shown.
    window = services.placements.snapshot.windows.get(body.bookingId)
    if window is None:
        window = (await _windows(services, [body.bookingId])).get(body.bookingId)
    if window is None:
        return Refused(Code.NOT_FOUND, "There is no booking with this id.")
    fate = _dropped(call.request.headers) or _inactive(window, services.clock.now_ms())
    if fate is None:
        fate = await services.events.record(_event(body))
    else:
        services.events.count(fate)
    return told(fate)


def told(fate: EventOutcome) -> Answer:
    """What became of one event, as its answer."""
    if fate is EventOutcome.RECORDED:
        return Answer(200, b'{"recorded":true}', [*NO_STORE])
    return Answer(200, b'{"recorded":false}', [*DROPPED[fate]])


async def record_events(services: Services, call: Call) -> Answer | Refused:
    body: EventBatchBody = call.body
    # The request itself was counted as one event on its way in.
    refused = too_fast(services.budgets.more_events(call.request.client, len(body.events) - 1))
    if refused is not None:
        return refused
    windows = await _windows(services, dict.fromkeys(each.bookingId for each in body.events))
    for place, each in enumerate(body.events):
        if each.bookingId not in windows:
            words = f"The body is not valid: events.{place}.bookingId: there is no booking with this id"
            return Refused(Code.INVALID_REQUEST, words)
    fates = await _fates(services, call, body.events, windows)
    results = b",".join([RESULTS[fate] for fate in fates])
    return Answer(200, b'{"results":[%s]}' % results, [*NO_STORE])


async def _fates(
    services: Services, call: Call, events: Sequence[BatchEvent], windows: Mapping[str, Window]
) -> list[EventOutcome]:
    """What becomes of each event: dropped by what is known already, or as the deduper says."""
    now_ms = services.clock.now_ms()
    dropped = _dropped(call.request.headers)
    known = {booking_id: dropped or _inactive(window, now_ms) for booking_id, window in windows.items()}
    if not any(known.values()):
        # Nearly always: a relay tells of what is shown.
        return await services.events.record_all([_event(each) for each in events])
    live = [_event(each) for each in events if known[each.bookingId] is None]
    recorded = iter(await services.events.record_all(live) if live else ())
    fates = []
    for each in events:
        fate = known[each.bookingId]
        fates.append(next(recorded) if fate is None else services.events.count(fate))
    return fates


async def _windows(services: Services, booking_ids: Iterable[str]) -> Mapping[str, Window]:
    """When the placements of these bookings are shown; bookings that do not exist are left out."""
    shown = services.placements.snapshot.windows
    found = {each: shown[each] for each in booking_ids if each in shown}
    others = [each for each in booking_ids if each not in shown and may_exist(each)]
    return {**found, **await services.windows.windows(others)} if others else found


def _dropped(headers: Mapping[str, str]) -> EventOutcome | None:
    """Whoever sends this is no visitor who sees a page."""
    agent = headers.get("user-agent", "").lower()
    for word in CRAWLERS:
        if word in agent:
            return EventOutcome.CRAWLER
    if "prefetch" in headers.get("sec-purpose", "").lower() or "prefetch" in headers.get("purpose", "").lower():
        return EventOutcome.PREFETCH
    return None


def _inactive(window: Window, now_ms: int) -> EventOutcome | None:
    return None if window.holds(now_ms) else EventOutcome.INACTIVE


def _event(body: EventBody | BatchEvent) -> Event:
    return Event(body.bookingId, KINDS[body.kind], body.visitorId)


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
"""What both have in common."""

_EVENT = {
    "bookingId": "bok_4kQ9ZpR1sT7vX2yB5cD8eF",
    "kind": "impression",
    "visitorId": "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54",
}

ROWS = (
    _reporting(
        name="recordEvent",
        path="/api/v1/sponsors/events",
        summary="Report an impression or a click",
        description=(
            "An event counts once per booking, kind, visitor and UTC day. `recorded: true` is said at most once, and only "
            "after the event was committed; `false` comes with the header `X-Event-Dropped`: `duplicate` (it counts "
            "already, also when the first answer got lost), `inactive` (the placement is not shown now), `crawler` or "
            "`prefetch` (nobody saw it). The body is JSON of any content type, so `navigator.sendBeacon(url, text)` "
            "needs no preflight. Cookies are ignored."
        ),
        handler=record_event,
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
        summary="Report up to 500 events",
        description=(
            "For relays. Each event is answered in order, with what `X-Event-Dropped` would say. An event that is not "
            "valid, or names a booking that does not exist, is a 400 that says which one, and nothing is recorded."
        ),
        handler=record_events,
        body=EventBatchBody,
        body_bytes=BATCH_BYTES,
        result=EventBatchResult,
        example={"events": [_EVENT, _EVENT | {"kind": "click"}]},
    ),
)
