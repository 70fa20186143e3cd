"""A node over a filled database, and what its requests read there by Postgres's own statistics."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from actors.kernel.supervision import Member, running
from service.api.context import Services
from service.api.openapi import Described
from service.api.operations import OPERATIONS
from service.config.loading import load
from service.running.assembly import assemble
from service.running.foundation import prepare, storage_options
from service.running.limits import Limits
from service.running.node import system_ports
from storage.connection.pool import Connection, Database
from storage.opening import open_storage
from tests.api.asgi import Client, Response
from tests.application import build_app
from tests.growth.filling import key_of, session_of

BASE_URL = "https://127.0.0.1:8443"
"""Of a service for this machine alone, which shows its mails at /dev/outbox."""

UNLIMITED = {
    "SERVER__BASE_URL": BASE_URL,
    "KEYLESS__PER_MINUTE": "1000000",
    "TIERS__CLAIMED__PER_MINUTE": "1000000",
    "TIERS__CLAIMED__DAILY": "1000000",
    "TIERS__CLAIMED__MONTHLY": "1000000",
    "BOOKINGS__OPEN_HOLDS": "100",
    "BOOKINGS__HOLDS_PER_DAY": "100",
    "PAGES__PER_MINUTE": "1000000",
    "ACCOUNT__EXPORTS_PER_HOUR": "1000000",
}
"""Settings of nodes that are measured."""

SCANS = "select relname as name, seq_scan as scans, seq_tup_read as read from pg_stat_user_tables"
ENTRIES = "select relname as name, sum(idx_tup_read)::bigint as read from pg_stat_user_indexes group by 1"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What was read since the start of the database, by table: sequential scans, and rows and entries of indexes."""

    scans: Mapping[str, int]
    rows: Mapping[str, int]

    def since(self, before: "Statistics") -> "Statistics":
        return Statistics(Counter(self.scans) - Counter(before.scans), Counter(self.rows) - Counter(before.rows))


@dataclass(frozen=True, slots=True)
class Node:
    """A node that serves, and its database."""

    client: Client
    services: Services
    database: Database

    async def ask(
        self, method: str, target: str, person: int = 0, *, browser: bool = False, **rest: object
    ) -> Response:
        """Send a request of a person, with the key or the session of a browser. 0 is nobody."""
        headers = {"sec-fetch-site": "same-origin", "accept": "text/html, */*"} if browser else {}
        if browser and method == "POST":
            headers["content-type"] = "application/x-www-form-urlencoded"
        if person and browser:
            headers["cookie"] = f"__Host-session={session_of(person)}"
        key = key_of(person) if person and not browser else None
        return await self.client.request(method, target, key, headers=headers, address="127.0.0.1", **rest)  # type: ignore[arg-type]

    async def statistics(self) -> Statistics:
        """What was read up to now. A connection tells it once a second, unless it is asked to; the node has only one."""

        async def work(connection: Connection) -> Statistics:
            await connection.execute("select pg_stat_force_next_flush()")
            scans, rows = Counter[str](), Counter[str]()
            for row in await connection.fetch(SCANS):
                scans[row["name"]], rows[row["name"]] = row["scans"], row["read"]
            for row in await connection.fetch(ENTRIES):
                rows[row["name"]] += row["read"]
            return Statistics(scans, rows)

        return await self.database.read(work)


@asynccontextmanager
async def open_node(url: str, data_dir: Path, *, background: bool = False) -> AsyncIterator[Node]:
    """A node over a database. Only with `background` it does what it does beside requests, such as pruning."""
    settings = {f"CATALOG__{name}": value for name, value in {**UNLIMITED, "DATABASE__URL": url}.items()}
    config = load(None, {**settings, "CATALOG__SERVER__SECRET": "the secret of the nodes that are measured"})
    options = storage_options(config)
    async with open_storage(replace(options, limits=replace(options.limits, connections=1)), data_dir) as opened:
        await prepare(config, data_dir, opened)
        assembly = assemble(config, opened, await system_ports(config, data_dir, opened, BASE_URL), Limits.of(config))
        members = [each for each in assembly.members if background or not _is_background(each, assembly.services)]
        described = Described.of(OPERATIONS, BASE_URL)
        app = build_app(assembly.services, OPERATIONS, described, assembly.metrics)
        async with running(members):
            client = Client(app, lambda exchange: None, urlsplit(BASE_URL).netloc)
            yield Node(client, assembly.services, opened.database)


def _is_background(member: Member, services: Services) -> bool:
    serving = (*services.actors, services.catalog, services.placements, services.nodes)
    return member not in serving
