"""The whole service above storage: the real application and actors, with stores in memory and virtual time."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import trio
from trio.testing import wait_all_tasks_blocked

from actors.catalog.messages import Entry, Kind
from actors.catalog.store import Import
from actors.clock import DAY_MS, HOUR_MS, SECOND_MS, MovableClock, day_of, month_of
from actors.events.store import Sections
from actors.kernel.supervision import running
from actors.keys.messages import Key
from actors.keys.validity import ADMIN_SCOPES
from actors.mail.messages import Mail
from actors.nodes.messages import NodeInfo
from actors.sessions.messages import Session
from actors.shared import credentials
from actors.shared.credentials import SESSION_TOKEN, digest, new_key, prefix_of
from actors.stores import Stores
from actors.values import Account, Agent, Scope, StorageUnavailable, Tenant, Tier
from actors.webhooks.messages import Task
from actors.webhooks.store import DeliveryFailed
from service.api.context import Services
from service.api.operations import OPERATIONS
from service.config.deployment import clock_obstacle
from service.config.loading import load
from service.config.model import Config
from service.observability.metrics import Metrics
from service.observability.tracing import Tracer
from service.outside.client_documents import FetchedDocument
from service.running.assembly import Classes, Ports, assemble
from service.running.limits import Limits
from service.running.server_secret import Secrets
from service.schemas.catalog import BotEntry, UseCaseEntry, document_of
from service.web.pages.table import PAGES
from service.web.routing import Routing
from tests.api.asgi import Client
from tests.api.conformity import BASE_URL, DESCRIBED, check
from tests.application import build_app
from tests.doubles.accounts import MemoryAccounts
from tests.doubles.catalog import MemoryCatalog, PromptCatalog
from tests.doubles.clock import MemoryClock
from tests.doubles.devices import MemoryDevices
from tests.doubles.events import MemoryEvents
from tests.doubles.keys import MemoryKeys
from tests.doubles.ledger import MemoryLedger
from tests.doubles.mail import MemoryOutbox
from tests.doubles.nodes import MemoryNodes
from tests.doubles.quota import MemoryQuota
from tests.doubles.retention import MemoryRetention
from tests.doubles.sessions import MemorySessions
from tests.doubles.sites import MemorySites
from tests.doubles.submissions import MemorySubmissions
from tests.doubles.tables import Memory
from tests.doubles.visitor_secrets import MemoryVisitorSecrets
from tests.doubles.webhooks import MemoryWebhooks
from tests.fakes import HandClock, MemoryDatabase, SeededEntropy
from tests.snapshots.rows import Rows

NOON_MS = 20_775 * DAY_MS + 12 * HOUR_MS
"""18 November 2026, 12:00 UTC: the start of each test."""

SECRETS = Secrets(
    codes=b"the secret that codes are derived from",
    cursors=b"the secret that cursors are sealed with",
    links=b"the secret that links are sealed with",
    visitors=b"the secret that visitors are hashed with",
    webhooks=b"the secret that the secrets of webhooks derive from",
)

NODE = NodeInfo("n1", "host-1", 7, "1.0.0", "http://192.0.2.1:8080", NOON_MS)

ROUTING = Routing.of(OPERATIONS, PAGES)
"""Shared by more than a thousand applications, which all have the same addresses."""


class Postbox:
    """A mail transport that keeps every mail."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []

    async def send(self, mail: Mail) -> None:
        await trio.lowlevel.checkpoint()
        self.mails.append(mail)


class Endpoints:
    """The receivers of webhooks: keep what they get, and answer with `status`."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.status = 200

    async def post(self, task: Task) -> int:
        await trio.lowlevel.checkpoint()
        self.tasks.append(task)
        if self.status != 200:
            raise DeliveryFailed(f"status {self.status}", self.status)
        return self.status


class Documents:
    """Metadata documents of clients by their address, and what was fetched."""

    def __init__(self) -> None:
        self.documents: dict[str, FetchedDocument] = {}
        self.fetched: list[str] = []

    def put(self, url: str, document: object, max_age_seconds: int | None = None) -> None:
        self.documents[url] = FetchedDocument(json.dumps(document).encode(), max_age_seconds)

    async def fetch(self, url: str) -> FetchedDocument:
        await trio.lowlevel.checkpoint()
        self.fetched.append(url)
        if url not in self.documents:
            raise DeliveryFailed("status 404", 404)
        return self.documents[url]


@dataclass(slots=True)
class Announcer:
    """Announcements of stores in memory."""

    memories: tuple[Memory, ...]

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        for memory in self.memories:
            memory.listeners.append(on_topic)
        await trio.sleep_forever()


@dataclass(slots=True)
class World:
    """A serving node with its rows, catalog and mails."""

    config: Config
    clock: HandClock
    memory: Memory
    catalog_memory: Memory
    catalog_store: MemoryCatalog
    sponsorship_store: Rows
    services: Services
    metrics: Metrics
    client: Client
    postbox: Postbox
    endpoints: Endpoints
    documents: Documents
    node_memory: Memory
    agent: Agent = field(default_factory=lambda: Agent("cli", "tests"))
    entropy: SeededEntropy = field(default_factory=lambda: SeededEntropy(7))
    _made: int = 0

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    @property
    def searching(self) -> PromptCatalog:
        """The catalog, whose next searches can be made to fail or to wait."""
        assert isinstance(self.services.catalog, PromptCatalog)
        return self.services.catalog

    async def pass_seconds(self, seconds: float) -> None:
        """Let time pass: the wall clock jumps, and Trio's clock advances enough for pollers."""
        self.clock.at_ms += int(seconds * SECOND_MS)
        await trio.sleep(min(seconds, 1.0))

    async def pass_for_memory(self, seconds: float) -> None:
        """Let time pass by both clocks: what is remembered for seconds is as old as Trio's clock says."""
        self.clock.at_ms += int(seconds * SECOND_MS)
        await trio.sleep(seconds)

    async def settled(self) -> None:
        """Wait until all tasks are idle."""
        await wait_all_tasks_blocked()

    async def meet(self, *ids: str) -> None:
        """Add nodes with these ids, which have just sent a heartbeat and send no more."""
        for number, node_id in enumerate(ids, 2):
            other = replace(NODE, id=node_id, host=f"host-{number}", url=f"http://192.0.2.{number}:8080")
            self.node_memory.nodes[node_id] = other, trio.current_time()
        await self.pass_beat()

    async def pass_beat(self) -> None:
        """Send one more heartbeat without moving the wall clock."""
        await trio.sleep(self.config.nodes.beat_seconds)
        await self.settled()

    async def emailed_code(self, email: str) -> str:
        """The code in the last mail to `email` that has one."""
        await self.settled()
        texts = [mail.text for mail in self.postbox.mails if mail.recipient == email]
        codes = [code for text in texts for code in re.findall(r"^\d{6}(?:\d{6})?$", text, re.MULTILINE)]
        return str(codes[-1])

    def key(
        self,
        *,
        kind: credentials.Kind = credentials.Kind.ANONYMOUS,
        tier: Tier = Tier.ANONYMOUS,
        scopes: tuple[Scope, ...] | None = None,
        expires_in_ms: int | None = None,
        revoked: bool = False,
        email: str | None = None,
        admin: bool = False,
        carries_admin: bool = True,
        used: int = 0,
        used_today: int = 0,
        usecase_reads: int = 0,
    ) -> str:
        """A key with its own tenant, stored with the given past. `admin` makes its account an administrator."""
        self._made += 1
        now_ms, name = self.now_ms, f"made_{self._made}"
        if expires_in_ms is None and tier is Tier.ANONYMOUS:
            expires_in_ms = HOUR_MS
        text = new_key(kind, self.entropy.token(credentials.ENTROPY_BYTES))
        self.memory.tenants[f"ten_{name}"] = Tenant(
            id=f"ten_{name}",
            tier=tier,
            lifetime_used=used,
            usecase_reads=usecase_reads,
            month=month_of(now_ms),
            month_used=used,
            day=day_of(now_ms),
            day_used=used_today,
        )
        self.memory.keys[f"key_{name}"] = Key(
            id=f"key_{name}",
            hash=digest(text),
            prefix=prefix_of(text),
            kind=kind,
            tenant_id=f"ten_{name}",
            created_ms=now_ms,
            scopes=scopes,
            expires_ms=None if expires_in_ms is None else now_ms + expires_in_ms,
            revoked_ms=now_ms if revoked else None,
            admin=carries_admin,
        )
        if email is not None:
            self.memory.accounts[email] = Account(email, f"ten_{name}", now_ms)
            if admin:
                self.memory.administrators[email] = now_ms
        return text

    def key_of(self, email: str, scopes: tuple[Scope, ...] | None = None, *, revoked: bool = False) -> str:
        """Another key of the account of `email`: full, or with `scopes` only."""
        self._made += 1
        kind = credentials.Kind.USER if scopes is None else credentials.Kind.SCOPED
        text = new_key(kind, self.entropy.token(credentials.ENTROPY_BYTES))
        self.memory.keys[f"key_made_{self._made}"] = Key(
            id=f"key_made_{self._made}",
            hash=digest(text),
            prefix=prefix_of(text),
            kind=kind,
            tenant_id=self.memory.accounts[email].tenant_id,
            created_ms=self.now_ms,
            scopes=scopes,
            revoked_ms=self.now_ms if revoked else None,
            admin=scopes is None or not ADMIN_SCOPES.isdisjoint(scopes),
        )
        return text

    def session(self, email: str, *, admin: bool = False, revoked: bool = False, expires_in_ms: int = DAY_MS) -> str:
        """The token of a browser session of the account of `email`. Creates the account if needed."""
        if email not in self.memory.accounts:
            self.key(kind=credentials.Kind.USER, tier=Tier.CLAIMED, email=email, admin=admin)
        elif admin:
            self.memory.administrators.setdefault(email, self.now_ms)
        self._made += 1
        token = SESSION_TOKEN.new(self.entropy.token(credentials.ENTROPY_BYTES))
        self.memory.sessions[f"ses_made_{self._made}"] = Session(
            id=f"ses_made_{self._made}",
            token_hash=digest(token),
            email=email,
            agent="A browser",
            created_ms=self.now_ms,
            seen_ms=self.now_ms,
            expires_ms=self.now_ms + expires_in_ms,
            revoked_ms=self.now_ms if revoked else None,
        )
        return token

    def id_of(self, key: str) -> str:
        """The id of a key in clear."""
        hashed = digest(key)
        [row] = [row for row in self.memory.keys.values() if row.hash == hashed]
        return row.id

    def tenant_of(self, key: str) -> Tenant:
        """The current row of the tenant."""
        hashed = digest(key)
        [row] = [row for row in self.memory.keys.values() if row.hash == hashed]
        return self.memory.tenants[row.tenant_id]

    async def add(self, slug: str, added_ms: int | None = None, **fields: Any) -> None:
        """Import a use case, by default the newest, and refresh the node."""
        entry = usecase(slug, self.now_ms if added_ms is None else added_ms, **fields)
        await self.catalog_store.replace(Import({Kind.USECASES: [entry]}, self.now_ms))
        await self.settled()


async def away() -> None:
    """A `before` hook of a store that simulates an outage."""
    raise StorageUnavailable("the database is away")


async def broken() -> None:
    """A `before` hook of a store that simulates a bug."""
    raise RuntimeError("a bug of this test")


def fails_once(memory: Memory | PromptCatalog, failing: Callable[[], Awaitable[None]]) -> None:
    """Let only the next read of a store, or the next search, fail."""
    before = memory.before

    async def fail() -> None:
        memory.before = before
        await failing()

    memory.before = fail


LOCAL = {"SERVER__BASE_URL": "https://127.0.0.1:8443"}
"""The base URL of a service for this machine alone, which shows its mails at /dev/outbox."""


@cache
def _configured(**settings: str) -> tuple[Config, Limits]:
    config = load(None, {f"CATALOG__{name}": value for name, value in settings.items()})
    return config, Limits.of(config)


@asynccontextmanager
async def open_world(
    memory: Memory | None = None,
    number: int = 1,
    clock: HandClock | None = None,
    tracer: Tracer | None = None,
    sections: Sections | None = None,
    /,
    **settings: object,
) -> AsyncIterator[World]:
    """A running node. `settings` are environment variables without their prefix: `KEYLESS__PER_MINUTE=3`. Nodes with
    different numbers may share `memory`, their database, and a clock."""
    named = {"SERVER__BASE_URL": BASE_URL, **settings}
    config, limits = _configured(**{name: str(value) for name, value in named.items()})
    clock, entropy = clock or HandClock(NOON_MS), SeededEntropy(number)
    # Heartbeats have their own tables, so a simulated failure affects only the tested request.
    memory = Memory() if memory is None else memory
    catalog_memory, node_memory, postbox = Memory(audits=memory.audits), Memory(), Postbox()
    catalog_store, sponsorship_store = MemoryCatalog(catalog_memory), Rows(memory)
    await catalog_store.replace(Import({Kind.USECASES: USECASES, Kind.BOTS: BOTS}, clock.now_ms()))

    async def ping() -> None:
        await memory.before()

    stores = Stores(
        database=MemoryDatabase(ping),
        announcements=Announcer((memory, catalog_memory)),
        keys=MemoryKeys(memory),
        quota=MemoryQuota(memory),
        sessions=MemorySessions(memory),
        devices=MemoryDevices(memory),
        outbox=MemoryOutbox(memory),
        catalog=catalog_store,
        submissions=MemorySubmissions(memory, catalog_memory),
        sponsorship=sponsorship_store,
        ledger=MemoryLedger(memory),
        events=MemoryEvents(memory),
        sections=sections,
        sites=MemorySites(memory),
        visitor_secrets=MemoryVisitorSecrets(memory),
        nodes=MemoryNodes(node_memory),
        accounts=MemoryAccounts(memory),
        retention=MemoryRetention(memory),
        webhooks=MemoryWebhooks(memory),
        clock=MemoryClock(memory),
    )
    endpoints, documents = Endpoints(), Documents()
    ports = Ports(
        replace(NODE, id=f"n{number}"),
        clock if clock_obstacle(config) else MovableClock(clock),
        entropy,
        SECRETS,
        mail=postbox,
        receivers=endpoints,
        fetch=documents.fetch,
        tracer=tracer,
        classes=Classes(catalog=PromptCatalog),
    )
    node = assemble(config, stores, ports, limits)
    services, metrics = node.services, node.metrics
    client = Client(
        build_app(services, OPERATIONS, DESCRIBED, metrics, routing=ROUTING, tracer=tracer),
        check,
        urlsplit(config.server.base_url).netloc,
    )
    async with running(node.members):
        await wait_all_tasks_blocked()
        yield World(
            config,
            clock,
            memory,
            catalog_memory,
            catalog_store,
            sponsorship_store,
            services,
            metrics,
            client,
            postbox,
            endpoints,
            documents,
            node_memory,
        )


# The catalog of these tests: 45 use cases, some added at the same moment, and 23 bots.


def usecase(slug: str, added_ms: int, **fields: Any) -> Entry:
    """A use case as stored."""
    shown = {"title": f"The case of {slug}", "who": "A person", "handle": "@person", "roi": "2 hours a week"} | fields
    entry = UseCaseEntry(slug=slug, addedAt=added_ms, sourceUrl=f"https://example.com/{slug}", **shown)
    return Entry(slug, added_ms, document_of(entry))


def bot(slug: str, added_ms: int) -> Entry:
    """A bot template as stored."""
    entry = BotEntry(
        slug=slug,
        name=f"Bot {slug}",
        category="Finance",
        who="A person",
        handle="@person",
        job="Sorts receipts",
        templateUrl=f"https://example.com/{slug}",
        addedAt=added_ms,
    )
    return Entry(slug, added_ms, document_of(entry))


GUIDE = {
    "title": "How to",
    "category": "Finance",
    "opportunity": "Unpaid invoices",
    "audience": "Small firms",
    "platforms": ["mail"],
    "botSlugs": ["bot-00"],
    "steps": ["Begin", "Go on"],
    "prompt": "Write a reminder",
    "value": {"amount": "500", "label": "a month", "basis": "A creator's report", "kind": "reported"},
}
SLUGS = [f"case-{number:02}" for number in range(45)]
"""Newest first, three per moment."""

USECASES = [usecase(slug, NOON_MS - number // 3 * HOUR_MS) for number, slug in enumerate(SLUGS)]
USECASES[4] = usecase("case-04", NOON_MS - HOUR_MS, title="Zebra counting", guide=GUIDE)
USECASES[30] = usecase("case-30", NOON_MS - 10 * HOUR_MS, roi="One zebra a day")
BOTS = [bot(f"bot-{number:02}", NOON_MS - number * HOUR_MS) for number in range(23)]
