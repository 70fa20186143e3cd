"""The events side of a node: placements, dedupers, windows and partitions, and the service's own operations on them.

Requests arrive as on the wire and go through the service's dispatcher, which answers invalid, unknown, excessive and
unavailable ones as in production.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio

from actors.bookings.records import BookingView
from actors.bookings.store import TOPIC
from actors.events.actor import EventDeduper
from actors.events.filtered import FilteredCounts
from actors.events.messages import Event, Record, Unit, Window
from actors.events.partitions import PartitionManager
from actors.events.router import EventOutcome, EventRouter
from actors.events.secrets import VisitorSecrets
from actors.events.sites import SiteBook
from actors.events.windows import WindowReader
from actors.kernel.actor import Actor
from actors.kernel.mailbox import request_id
from actors.kernel.statistics import ServedBatch
from actors.kernel.supervision import Member
from actors.values import Overloaded
from service.api.dispatch import dispatch
from service.api.messages import Answer, Request
from service.api.operation import Operation
from service.api.operations import events, placements
from service.snapshots.placements import Placements
from tests.simulation.history import Handed, Heard, Nothing, Post, Reported, Unknown
from tests.simulation.oracle.tally import Filtering
from tests.simulation.sides import Counted, NodeSide, answering

if TYPE_CHECKING:
    from tests.simulation.node import Node

R = TypeVar("R")

Handlers = Mapping[str, Operation]
HANDLERS: Handlers = {row.name: row for row in (*events.ROWS, *placements.ROWS)}


class CountedPlacements(Counted, Placements):
    pass


class CountedKeeper(Counted, PartitionManager):
    pass


class CountedSites(Counted, SiteBook):
    pass


class CountedFiltered(Counted, FilteredCounts):
    """Notes how each life of a node ends."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        life = self.node.world.tally.filtering.setdefault(self._owner.partition("/")[0], Filtering())
        try:
            await super().run(task_status=task_status)
            life.stopped = True
        finally:
            life.end = trio.current_time()


class CountedSecrets(Counted, VisitorSecrets):
    """Makes the next secret just before its day, so that it is sometimes missing."""

    check_seconds = 0.7
    ahead_ms = 500


class Recorder:
    """A deduper that records each of its intents."""

    def __init__(self, node: "Node", deduper: EventDeduper, overloaded: set[str]) -> None:
        self._node = node
        self._deduper = deduper
        self._overloaded = overloaded

    def keyed(self, events: Sequence[Event], site: int | None = None, unit: Unit = Unit.DEVICE) -> Record:
        return self._deduper.keyed(events, site, unit)

    async def record_keyed(self, handed: Record) -> Sequence[bool]:
        about = Handed(request_id.get(), tuple(handed.events))
        try:
            return await self._node.intent("record", about, lambda: self._deduper.record_keyed(handed))
        except Overloaded:
            self._overloaded.add(about.request)
            raise


class Windows:
    """A reader of windows that notes when its mailbox is full."""

    def __init__(self, reader: WindowReader, overloaded: set[str]) -> None:
        self._reader = reader
        self._overloaded = overloaded

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        try:
            return await self._reader.windows(booking_ids)
        except Overloaded:
            self._overloaded.add(request_id.get())
            raise


class Intake(NodeSide):
    """The events side of a node, for one life of it."""

    def __init__(self, node: "Node", handlers: Handlers) -> None:
        self.node = node
        services = node.services
        self.dedupers, self.windows = services.events.dedupers, services.windows
        self.placements, self.partitions = services.placements, node.partitions
        self.sponsorship = services.sponsorship
        for deduper in self.dedupers:
            deduper.observer = self._observe
        assert isinstance(self.placements, CountedPlacements)
        assert isinstance(self.partitions, CountedKeeper)
        assert isinstance(services.sites, CountedSites)
        assert isinstance(services.visitor_secrets, CountedSecrets)
        services.visitor_secrets.node = node
        self.placements.node = self.partitions.node = services.sites.node = node
        self.filtered = services.events.filtered
        assert isinstance(self.filtered, CountedFiltered)
        self.filtered.node = node
        self._handlers = handlers
        # Requests in flight that a full mailbox has rejected.
        self._overloaded: set[str] = set()
        recorders = [Recorder(node, deduper, self._overloaded) for deduper in self.dedupers]
        router = EventRouter(cast("list[EventDeduper]", recorders), services.events.filtered, services.events.sections)
        windows = cast("WindowReader", Windows(self.windows, self._overloaded))
        self._services = replace(services, events=router, windows=windows)

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        return [*self.dedupers, self.windows]

    def notice(self, topic: str) -> None:
        if topic.partition(":")[0] == TOPIC:
            self.placements.refresh_soon()

    def listen_again(self) -> None:
        self.placements.refresh_soon()

    @property
    def members(self) -> list[Member]:
        sites = [self._services.sites] if self._services.sites.rules.count else []
        secrets = self._services.visitor_secrets
        return [self.placements, self.filtered, *self.actors, self.partitions, secrets, *sites]

    def _observe(self, batch: ServedBatch) -> None:
        if batch.size > 1:
            self.node.world.count("event batches of several requests")

    # Requests of websites.

    async def report(self, post: Post) -> Heard | Unknown | Nothing:
        about = Reported(request_id.get(), post)
        heard = await self.node.intent("report", about, lambda: self._report(post))
        self.node.world.count(f"report answered {heard.status}")
        overloaded = about.request in self._overloaded
        self._overloaded.discard(about.request)
        if heard.status < 500:
            return heard
        if overloaded:
            self.node.world.count("events refused by a full mailbox")
            return Nothing("Overloaded")
        return Unknown(f"answered {heard.status}")

    async def _report(self, post: Post) -> Heard:
        answer = await self._serve("recordEvents" if post.batch else "recordEvent", post.client, post)
        return Heard(answer.status, _fates(post, answer) if answer.status == 200 else ())

    async def visible(self) -> tuple[str, ...] | Unknown:
        """Return the bookings whose placements are visible. The history also has their headlines."""
        headlines: dict[str, str] = {}
        return await self.node.intent("show", headlines, lambda: self._visible(headlines))

    async def _visible(self, headlines: dict[str, str]) -> tuple[str, ...]:
        answer = await self._serve("listPlacements", "203.0.113.1")
        assert answer.status == 200, f"placements come from memory: {answer}"
        placements = json.loads(answer.body)["placements"]
        headlines.update((each["bookingId"], each["headline"]) for each in placements)
        return tuple(each["bookingId"] for each in placements)

    async def _serve(self, name: str, client: str, post: Post | None = None) -> Answer:
        operation = self._handlers[name]
        headers = {} if post is None else {"user-agent": post.agent, "sec-purpose": post.purpose}
        if post is not None and post.origin:
            headers["origin"] = post.origin
        body = b"" if post is None else written(post)
        query = "unit=day" if post is not None and post.by_day else ""
        request = Request(operation.method, operation.path, {}, query, headers, body, client)
        return await dispatch(self._services, operation, request)

    # Requests of sponsors.

    async def look(self, booking_id: str) -> BookingView | None:
        return await self._looking(lambda: self.sponsorship.booking(None, booking_id))

    async def look_over(self, most: int = 5) -> Sequence[BookingView]:
        return await self._looking(lambda: self.sponsorship.bookings(None, None, most))

    async def _looking(self, read: Callable[[], Awaitable[R]]) -> R:
        return await self.node.intent("look", None, lambda: answering(self.node, read))


def written(post: Post) -> bytes:
    """Return the body of a post."""
    each = [{"bookingId": event.booking_id, "kind": event.kind, "visitorId": event.visitor} for event in post.events]
    for event, (address, agent) in zip(each, post.seen, strict=False):
        event |= {"clientAddress": address, "userAgent": agent}
    if post.spoilt is not None:
        each[post.spoilt]["kind"] = "seen"
    return json.dumps({"events": each} if post.batch else each[0]).encode()


def _outcome(result: Mapping[str, Any]) -> str:
    """The outcome of an event of a batch: `recorded`, why it was dropped, or `unavailable`."""
    if "error" in result:
        assert result == {"error": "service_unavailable"}
        return EventOutcome.UNAVAILABLE
    return "recorded" if result["recorded"] else str(result["dropped"])


def _fates(post: Post, answer: Answer) -> tuple[str, ...]:
    body = json.loads(answer.body)
    if post.batch:
        return tuple(_outcome(each) for each in body["results"])
    return ("recorded" if body["recorded"] else dict(answer.headers)["x-event-dropped"],)


def handled(name: str, handler: Callable[..., Awaitable[Any]]) -> Handlers:
    """Return the operations, with the handler of one replaced."""
    return {**HANDLERS, name: replace(HANDLERS[name], handler=handler)}
