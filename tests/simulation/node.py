"""A node of the simulated service: actors over the shared tables, and the work of the HTTP layer.

A node has many lives: killed at any step or stopped in order, it returns after a while under a new name.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors.bookings.actor import BookingLedger
from actors.events.actor import EventDeduper
from actors.events.sites import SiteRules
from actors.events.state import VisitorHasher
from actors.events.windows import WindowReader
from actors.kernel.actor import Actor
from actors.kernel.mailbox import request_id
from actors.kernel.supervision import IntensityExceeded, Member, running
from actors.keys.actor import Issued, KeyActor, Minted
from actors.keys.cache import KeyCache
from actors.keys.messages import ByKey, Claimed, Key, KeySaved, Resolved, Rotated, TierSet
from actors.nodes.messages import NodeInfo
from actors.quota.actor import QuotaAccountant
from actors.quota.messages import Answer, Charge, Metered, Moved, Refund
from actors.sessions.reader import SessionReader
from actors.shared.code_mails import Origin
from actors.stores import Stores
from actors.values import (
    ActorFailed,
    Agent,
    Code,
    Done,
    Overloaded,
    Refused,
    Scope,
    Stopped,
    StorageUnavailable,
    Tenant,
    Tier,
)
from service.api import authentication
from service.api.deadlines import best_effort
from service.payments.factory import PaymentGateway
from service.running.assembly import Classes, Ports, assemble
from tests.doubles.accounts import MemoryAccounts
from tests.doubles.clock import MemoryClock
from tests.doubles.ledger import MemoryLedger
from tests.doubles.nodes import MemoryNodes
from tests.doubles.quota import MemoryQuota
from tests.doubles.retention import MemoryRetention
from tests.doubles.tables import Memory
from tests.doubles.webhooks import MemoryWebhooks
from tests.fakes import MemoryDatabase
from tests.simulation.clocks import WallClock
from tests.simulation.editors import CountedCatalog, Desk, LinkedCatalog, RecordedEditor
from tests.simulation.faults import (
    Link,
    LinkedEvents,
    LinkedKeys,
    LinkedSecrets,
    LinkedSites,
    LinkedSponsorship,
    Look,
)
from tests.simulation.history import Complete, EndAt, IssueFor, Nothing, Paced, Rotate, SetTo, Start, Unknown
from tests.simulation.identity import (
    Identity,
    LinkedDevices,
    LinkedSessions,
    RecordedKeys,
    RegisteredDevices,
    RegisteredKeys,
    RegisteredSessions,
)
from tests.simulation.intake import (
    HANDLERS,
    CountedFiltered,
    CountedKeeper,
    CountedPlacements,
    CountedSecrets,
    CountedSites,
    Handlers,
    Intake,
)
from tests.simulation.limits import BASE_URL, SECRETS, node_limits, settings
from tests.simulation.post import CountedSender, LinkedOutbox, LinkedTransport, Mailroom
from tests.simulation.rules import BLOCKS, DRAIN_SECONDS, NETWORKS, SITES
from tests.simulation.sponsorship import CountedSweeper, Sponsorship
from tests.simulation.submissions import LinkedSubmissions, SubmissionSide
from tests.simulation.wire import LinkedPayments
from tests.simulation.workers import WorkerEvents

if TYPE_CHECKING:
    from tests.simulation.clients import Holding
    from tests.simulation.world import World

HOME = Origin(NETWORKS[0], BLOCKS[NETWORKS[0]])
"""Where all claims come from."""


R = TypeVar("R")

MOVES = 4
"""How often one request may find its tenant merged. Each attempt reads a newer row, so more than once is rare."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes that make up a node. A planted bug replaces some of them."""

    quota: type[QuotaAccountant] = QuotaAccountant
    keys: type[KeyActor] = RegisteredKeys
    key_cache: type[KeyCache] = KeyCache
    link: type[Link] = Link
    quota_store: type[MemoryQuota] = MemoryQuota
    key_store: type[LinkedKeys] = RecordedKeys
    ledger: type[BookingLedger] = BookingLedger
    ledger_store: type[MemoryLedger] = MemoryLedger
    sponsorship: type[LinkedSponsorship] = LinkedSponsorship
    sweeper: type[CountedSweeper] = CountedSweeper
    payments: type[LinkedPayments] = LinkedPayments
    hasher: type[VisitorHasher] = VisitorHasher
    deduper: type[EventDeduper] = EventDeduper
    filtered: type[CountedFiltered] = CountedFiltered
    windows: type[WindowReader] = WindowReader
    event_store: type[LinkedEvents] = LinkedEvents
    site_store: type[LinkedSites] = LinkedSites
    secret_store: type[LinkedSecrets] = LinkedSecrets
    workers: type[WorkerEvents] = WorkerEvents
    placements: type[CountedPlacements] = CountedPlacements
    partitions: type[CountedKeeper] = CountedKeeper
    sites: type[CountedSites] = CountedSites
    visitor_secrets: type[CountedSecrets] = CountedSecrets
    mail: type[CountedSender] = CountedSender
    outbox: type[LinkedOutbox] = LinkedOutbox
    transport: type[LinkedTransport] = LinkedTransport
    handlers: Handlers = field(default_factory=lambda: HANDLERS)
    sessions: type[RegisteredSessions] = RegisteredSessions
    session_store: type[LinkedSessions] = LinkedSessions
    session_reader: type[SessionReader] = SessionReader
    catalog: type[CountedCatalog] = CountedCatalog
    editor: type[RecordedEditor] = RecordedEditor
    catalog_store: type[LinkedCatalog] = LinkedCatalog
    devices: type[RegisteredDevices] = RegisteredDevices
    device_store: type[LinkedDevices] = LinkedDevices
    submission_store: type[LinkedSubmissions] = LinkedSubmissions

    @property
    def classes(self) -> Classes:
        names = {each.name for each in fields(self)} & {each.name for each in fields(Classes)}
        return Classes(**{name: getattr(self, name) for name in sorted(names)})


def stores_of(parts: Parts, link: Link) -> Stores:
    """Build the shared tables on one node's link. Nodes and erasure are not simulated here."""
    events, cluster = parts.event_store(link), link.node.world.cluster
    divided = parts.workers(events, link.node.world, cluster) if cluster is not None else None
    return Stores(
        database=MemoryDatabase(trio.lowlevel.checkpoint),
        announcements=Unheard(),
        keys=parts.key_store(link),
        quota=parts.quota_store(link),
        sessions=parts.session_store(link),
        devices=parts.device_store(link),
        outbox=parts.outbox(link),
        submissions=parts.submission_store(link),
        catalog=parts.catalog_store(link),
        sponsorship=parts.sponsorship(link),
        ledger=parts.ledger_store(link),
        events=divided or events,
        sections=divided,
        sites=parts.site_store(link),
        visitor_secrets=parts.secret_store(link),
        nodes=MemoryNodes(Memory()),
        accounts=MemoryAccounts(Memory()),
        retention=MemoryRetention(Memory()),
        webhooks=MemoryWebhooks(Memory()),
        clock=MemoryClock(Memory()),
    )


class Unheard:
    """Receives no announcements: the world delivers its notices itself."""

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        await trio.sleep_forever()


class SeededEntropy:
    """Bytes from a seeded stream."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)


class Node:
    """A place where one process at a time runs; `life` numbers the processes."""

    def __init__(self, world: "World", index: int, clock: WallClock) -> None:
        self.world = world
        self.index = index
        self.clock = clock
        self.life = 0
        self.up = False
        self.cut_off_until = 0.0
        self.looks: list[Look] = []
        self._requests = 0

    @property
    def name(self) -> str:
        return f"n{self.index}.{self.life}"

    @property
    def cut_off(self) -> bool:
        return trio.current_time() < self.cut_off_until and not self.world.faults.healed

    def __repr__(self) -> str:
        return f"<Node {self.name} {'up' if self.up else 'down'}>"

    # Lives.

    async def run(self) -> None:
        """Live again and again until the world ends."""
        rest = self.world.faults.stream("restarts")
        while not self.world.ended:
            await self._live()
            if not self.world.ended:
                # Stopping in order may take two seconds of those within which everybody is to be served again.
                await trio.sleep(0.1 if self.world.faults.healed else rest.uniform(0.1, 1.0))

    async def _live(self) -> None:
        self.life += 1
        self._assemble(self.world.parts)
        self._end = trio.Event()
        actors: list[Actor[Any, Any]] = [self.quota, self.key_actor, self.key_cache]
        members: list[Member] = [*actors]
        for side in self._sides:
            actors += side.actors
            members += side.members
        try:
            with trio.CancelScope() as self._scope:
                async with (
                    running(members, drain_seconds=DRAIN_SECONDS) as self._supervisor,
                    trio.open_nursery() as self.server,
                ):
                    try:
                        self.up = True
                        await self._end.wait()
                    finally:
                        self.up = False
        except* IntensityExceeded:
            self.world.count("intensity exceeded")
        finally:
            for actor in actors:
                statistics = actor.statistics()
                self.world.count("batches", statistics.batches)
                self.world.count("messages", statistics.messages)
                self.world.count("settled", statistics.settled)
                self.world.count("actor restarts", actor.failures)

    def _assemble(self, parts: Parts) -> None:
        link = parts.link(self)
        entropy = SeededEntropy(Random(f"{self.world.seed}-entropy-{self.name}"))
        info = NodeInfo(self.name, self.name, 1, "simulated", BASE_URL, self.world.base_ms)
        ports = Ports(
            info,
            self.clock,
            entropy,
            SECRETS,
            mail=parts.transport(self),
            payments=PaymentGateway(parts.payments(self), None),
            classes=parts.classes,
        )
        sites = SITES if self.world.counts_sites else SiteRules()
        limits = node_limits(self.world.event_rules, sites, self.world.holds_per_day)
        assembly = assemble(settings(), stores_of(parts, link), ports, limits)
        self.services, self.partitions = assembly.services, assembly.partitions
        self.quota, self.key_actor, self.key_cache = self.services.quota, self.services.keys, self.services.key_cache
        self.sponsorship = Sponsorship(self)
        self.intake = Intake(self, parts.handlers)
        self.mailroom = Mailroom(self)
        self.identity = Identity(self)
        self.submission_side = SubmissionSide(self)
        self.desk = Desk(self)
        self._sides = [area.side(self) for area in self.world.cast.areas if area.side is not None]

    def lives(self, life: int) -> bool:
        """Return whether a process has not been killed or followed by another."""
        return self.life == life and not self._scope.cancel_called

    def kill(self) -> None:
        """Kill the process at its current step."""
        if self.up:
            self.up = False
            self._supervisor.kill()
            self._scope.cancel()

    def stop(self) -> None:
        """Stop in order: finish requests in flight, then drain the actors."""
        if self.up:
            self.up = False
            self._end.set()

    # Announcements.

    def hear(self, topic: str) -> None:
        kind, _, name = topic.partition(":")
        if kind == "key":
            self.key_cache.forget([bytes.fromhex(name)])
        elif kind == "tenant":
            self.key_cache.forget(tenants=[name])
        for side in self._sides:
            side.notice(topic)

    def listen_again(self) -> None:
        if self.up:
            self.key_cache.forget_all()
            for side in self._sides:
                side.listen_again()

    # Requests.

    def accept(self, serve: Callable[["Node"], Awaitable[Any]], answer: Callable[[Any], None]) -> str:
        """Serve one request in a task of its own and pass on its answer, whatever it is. Returns the request's name."""
        self._requests += 1
        name = f"{self.name}/{self._requests}"
        self.server.start_soon(self._serve, serve, answer, name)
        return name

    async def _serve(self, serve: Callable[["Node"], Awaitable[Any]], answer: Callable[[Any], None], name: str) -> None:
        request_id.set(name)
        result: Any = Unknown("connection lost")
        try:
            result = await serve(self)
        except (Overloaded, Stopped) as error:
            self.world.count(type(error).__name__)
            result = Nothing(type(error).__name__)
        except (StorageUnavailable, ActorFailed) as error:
            self.world.count(type(error).__name__)
            result = Unknown(type(error).__name__)
        finally:
            answer(result)

    async def read(self, text: str, *, usecase: bool, fails: bool = False) -> Metered | Refused | Unknown:
        """Serve a charged request. If `fails`, it is answered with a 5xx some time later and its charge is refunded."""
        for _ in range(MOVES):
            resolved = await self.resolve(text)
            refused = authentication.refused_key(resolved, self.clock.now_ms())
            self.world.history.note(self.name, "use", text, refused)
            if refused is not None or resolved is None:
                return self._refused_key(resolved, refused)
            if not self.pace(resolved.key.tenant_id, resolved.tier):
                self.world.count(f"read refused {Code.RATE_LIMITED}, minute")
                return Refused(Code.RATE_LIMITED, "minute")
            answer = await self.charge(resolved.key, usecase=usecase)
            match answer:
                case Moved():
                    self.world.count("moved")
                    self.key_cache.forget([resolved.key.hash])
                case Refused():
                    return answer
                case Metered(tenant):
                    if fails:
                        await trio.sleep(self.world.faults.stream("handlers").uniform(0.0, 1.5))
                        await self.refund(tenant, resolved.key, usecase=usecase)
                        return Unknown("5xx")
                    return answer
        self.world.violations.append(f"{self.name} found the tenant of {text[:12]} merged {MOVES} times in one request")
        return Unknown("merged too often")

    def pace(self, subject: str, tier: Tier) -> bool:
        history = self.world.history
        allowance = self.quota.pace(subject, tier)
        history.note(self.name, "pace", Paced(subject, tier), allowance)
        return allowance.allowed

    async def resolve(self, text: str) -> Resolved | None:
        return await self.intent("resolve", text, lambda: self.key_cache.resolve(text))

    async def charge(self, key: Key, *, usecase: bool) -> Answer:
        about = Charge(key.tenant_id, usecase, key.id)
        charge = partial(self.quota.charge, key.tenant_id, usecase=usecase, key_id=key.id)
        return await self.intent("charge", about, charge)

    async def refund(self, tenant: Tenant, key: Key, *, usecase: bool) -> None:
        about = Refund(tenant.id, usecase, tenant.month, tenant.day, key.id)
        with best_effort():
            await self.intent("refund", about, partial(self.quota.refund, tenant, usecase=usecase, key_id=key.id))

    async def mint(self) -> Minted:
        return await self.intent("mint", None, self.key_actor.mint)

    async def start_claim(self, token: str, email: str) -> Done | Refused:
        answer = await self.intent("start", Start(token, email), lambda: self.key_actor.start_claim(token, email, HOME))
        if isinstance(answer, Done):
            self.mailroom.sender.wake()
        return answer

    async def complete_claim(self, about: Complete, code: str) -> Claimed | Refused:
        answer = await self.intent(
            "complete", about, lambda: self.key_actor.complete_claim(about.token, about.email, code, HOME)
        )
        if isinstance(answer, Claimed):
            self.key_cache.forget([answer.key.hash], [answer.tenant.id])
        return answer

    async def revoke(self, key_id: str) -> KeySaved | Refused:
        answer = await self.intent("revoke", key_id, lambda: self.key_actor.revoke(key_id, Agent("cli", "sim")))
        if isinstance(answer, KeySaved):
            self.key_cache.forget(answer.changed)
        return answer

    async def report(self, holding: "Holding") -> KeySaved | Refused:
        """Report a key as found in public. For the oracle, that revokes the key that the text is of, unless a program has
        had the text replaced or let it end."""

        async def report() -> KeySaved | Refused:
            found, agent = {holding.text: "https://code.example.com"}, Agent("system", "report")
            exposed = await self.key_actor.end_exposed(found, agent, mail_places=False)
            key = self.world.memory.keys.get(holding.key_id)
            if key is None or not exposed.known or (key.text_expires_ms is not None and key.revoked_ms is None):
                return Refused(Code.NOT_FOUND, "no key")
            return KeySaved(key, exposed.changed)

        answer = await self.intent("revoke", holding.key_id, report)
        if isinstance(answer, KeySaved):
            self.key_cache.forget(answer.changed)
        return answer

    async def rotate(self, about: Rotate) -> tuple[str, Rotated] | Refused:
        """A full key rotates itself, which over the wire only scoped keys can."""
        agent, by = Agent("key", about.key_id, about.email), ByKey(about.key_id)
        rotate = partial(self.key_actor.rotate, about.key_id, about.email, agent, by, full=True)
        answer = await self.intent(
            "rotate", about, lambda: rotate(grace_seconds=about.grace_seconds, idempotency_key=about.key)
        )
        if isinstance(answer, tuple):
            self.key_cache.forget(answer[1].changed)
        return answer

    async def edit(self, about: EndAt) -> KeySaved | Refused:
        agent, by = Agent("key", about.key_id, about.email), ByKey(about.key_id)
        edit = partial(self.key_actor.edit, about.key_id, about.email, agent, by, full=True, sets_end=True)
        answer = await self.intent("edit", about, lambda: edit(expires_ms=about.end_ms))
        if isinstance(answer, KeySaved):
            self.key_cache.forget(answer.changed)
        return answer

    async def set_tier(self, email: str, tier: Tier) -> TierSet | Refused:
        answer = await self.intent(
            "tier", SetTo(email, tier), lambda: self.key_actor.set_tier(email, tier, Agent("cli", "sim"))
        )
        if isinstance(answer, TierSet):
            self.key_cache.forget(tenants=[answer.tenant.id])
        return answer

    async def issue(self, email: str, *, scoped: bool, admin: bool = False) -> Issued | Refused:
        scopes = (Scope.LIBRARY_READ,) if scoped else None
        return await self.intent(
            "issue",
            IssueFor(email, scoped, admin=admin),
            lambda: self.key_actor.issue(email, Agent("cli", "sim"), scopes=scopes, admin=admin),
        )

    async def intent(self, kind: str, about: Any, ask: Callable[[], Awaitable[R]]) -> R:
        answer = await self.world.history.intent(self.name, kind, about, ask)
        if isinstance(answer, Refused):
            self.world.count(f"{kind} refused {answer.code}")
        return answer

    def _refused_key(self, resolved: Resolved | None, refused: Refused | None) -> Refused:
        assert refused is not None, "an unknown key is refused"
        if refused.code is Code.KEY_EXPIRED:
            why = "expired"
        elif resolved is None:
            why = "unknown"
        else:
            why = "text ended" if resolved.key.revoked_ms is None else "revoked"
        self.world.count(f"read refused {refused.code}, {why}")
        return refused
