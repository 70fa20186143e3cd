"""The parts that nodes and commands share: storage, the rows of a first start, addresses, and open files.

It loads neither the app nor the actors of a node, which `service/running/node.py` runs.
"""

import logging
import resource
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from actors.accounts.actor import AccountActor
from actors.clock import SECOND_MS, Clock, Entropy, MovableClock, SystemClock, SystemEntropy
from actors.kernel.supervision import running
from actors.keys.actor import KeyActor
from actors.sessions.actor import SessionActor
from actors.sessions.passkey_actor import PasskeyActor
from actors.values import Agent, StorageUnavailable
from service.config.clocks import Clocks, Exchange, clock_problems, exceeds_skew
from service.config.deployment import clock_obstacle, refuse_moved_clock, refuse_other_mode
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.http.certificates import tls_context, validity_of, validity_problem
from service.http.listen_address import ListenAddress
from service.outside.webauthn import WebAuthn
from service.running.limits import account_rules, actor_limits, filled, key_rules, session_rules
from service.running.server_secret import Secrets
from service.running.service_manager import PassedSockets
from service.seed.samples import load_demo, load_samples
from storage.connection.pool import Database, PoolLimits, connections_of
from storage.inspection import newest_ms, server_now_ms
from storage.opening import Opened, StorageError, StorageOptions, open_storage

OTHER_FILES = 200
"""Open files besides connections of clients and to the database: the event loop, listeners, mails, webhooks, what is accepted
and not yet counted."""

EXCHANGES = 3
"""Questions for a server's time. The first one may wait for the connection."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def foundation(config: Config, data_dir: Path) -> AsyncIterator[Opened]:
    """Provide what all nodes of this machine share: Postgres, its schema and the first rows."""
    async with open_to_serve(config, data_dir) as opened:
        await prepare(config, data_dir, opened)
        yield opened


def open_to_serve(config: Config, data_dir: Path) -> AbstractAsyncContextManager[Opened]:
    """Open storage for nodes. Raises `StorageError`, and `ConfigError` before anything is written if clocks are wrong."""

    async def inspect(database: Database) -> None:
        clocks = await read_clocks(config, database, SystemClock())
        problems = clock_problems(clocks)
        if exceeds_skew(clocks):
            raise ConfigError(problems[0])
        for problem in problems:
            log.warning("%s", problem)

    return open_storage(storage_options(config), data_dir, inspect=inspect)


async def read_clocks(config: Config, database: Database, clock: Clock) -> Clocks:
    """Compare this machine's clock with the server's, which for the embedded Postgres is the same one."""
    exchanges = []
    for _ in range(EXCHANGES if config.database.url else 0):
        asked_ms = clock.now_ms()
        exchanges.append(Exchange(asked_ms, await server_now_ms(database), clock.now_ms()))
    return Clocks(exchanges, await server_now_ms(database), await newest_ms(database))


async def prepare(config: Config, data_dir: Path, opened: Opened) -> None:
    """Create the rows of a first start: secret, billing mode, samples, demo and first administrators. Raises `ConfigError` if
    the database is used with another secret or billing mode, or if its clock was moved for development."""
    await Secrets.load(config, data_dir, opened.identity)
    await refuse_other_mode(config, opened.identity)
    refuse_moved_clock(config, await opened.clock.ahead_ms())
    clock = await clock_of(config, opened)
    await load_samples(opened.catalog, clock)
    if config.billing.mode == "test":
        # Not in live mode, where the demo's slots would be for sale.
        await load_demo(opened.demo, clock, SystemEntropy())
    keys = await new_key_actor(config, data_dir, opened, f"start-{secrets.token_hex(6)}")
    async with running([keys]):
        await appoint_first(keys, config, Agent("system", "start"))


async def clock_of(config: Config, opened: Opened) -> Clock:
    """The clock of the service, for a node or a command beside it: ahead of the machine's if it was moved at /dev/clock."""
    ahead_ms = await opened.clock.ahead_ms()
    return MovableClock(SystemClock(), ahead_ms) if ahead_ms or not clock_obstacle(config) else SystemClock()


async def new_key_actor(config: Config, data_dir: Path, opened: Opened, node_id: str) -> KeyActor:
    """The key actor for the start and for commands, not started yet."""
    given = await _given(config, data_dir, opened)
    return KeyActor(opened.keys, *given, key_rules(config), node=node_id, limits=actor_limits(config))


async def new_account_actor(config: Config, data_dir: Path, opened: Opened, node_id: str) -> AccountActor:
    """The account actor for commands, not started yet."""
    given = await _given(config, data_dir, opened)
    return AccountActor(opened.accounts, *given, account_rules(config), node=node_id, limits=actor_limits(config))


async def new_session_actor(config: Config, data_dir: Path, opened: Opened, node_id: str) -> SessionActor:
    """The session actor for commands, not started yet."""
    given = await _given(config, data_dir, opened)
    return SessionActor(opened.sessions, *given, session_rules(config), node=node_id, limits=actor_limits(config))


async def new_passkey_actor(config: Config, data_dir: Path, opened: Opened, node_id: str) -> PasskeyActor:
    """The passkey actor for commands, not started yet."""
    given, site = await _given(config, data_dir, opened), WebAuthn(config.server.base_url)
    return PasskeyActor(opened.sessions, site, *given, session_rules(config), node=node_id, limits=actor_limits(config))


async def _given(config: Config, data_dir: Path, opened: Opened) -> tuple[Clock, Entropy, bytes]:
    """Time, randomness and the key of codes, which all these actors need."""
    loaded = await Secrets.load(config, data_dir, opened.identity)
    return await clock_of(config, opened), SystemEntropy(), loaded.codes


async def appoint_first(keys: KeyActor, config: Config, agent: Agent) -> None:
    """Make `admin.emails` the administrators of a database that has none. Raises `StorageError`."""
    if not config.admin.emails:
        return
    try:
        appointed = await keys.bootstrap_admins(config.admin.emails, agent)
    except StorageUnavailable as error:
        raise StorageError(f"cannot add the administrators of admin.emails: {error}") from None
    if appointed.changed:
        log.info("added %d administrators from admin.emails", appointed.administrators)


def open_files_for(config: Config) -> int:
    """Raise the soft limit of open files, which is often 1,024, to what `http.connections` needs. Returns how many
    connections may be open: fewer, if the hard limit is lower, because a process without a free file serves nobody."""
    others, connections = OTHER_FILES + connections_of(storage_options(config).limits), config.http.connections
    needed = connections + others
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    possible = connections_within(allowed, others, connections)
    if possible < connections:
        log.warning(
            "the system lets this process open %d files, so at most %d connections are served instead of http.connections "
            "= %d: raise the limit (LimitNOFILE of systemd, ulimit -n)",
            allowed,
            possible,
            connections,
        )
    return possible


def connections_within(files: int, others: int, connections: int) -> int:
    """How many connections may be open with so many files: half of them at least, so that few files serve somebody, too."""
    return min(connections, max(files - others, files // 2))


def listen_addresses(config: Config, passed: PassedSockets | None = None) -> list[ListenAddress]:
    """The addresses to listen on, with the sockets that were passed for them. Raises `ListenError` if the TLS files cannot be
    used."""
    passed = passed or PassedSockets()
    addresses = passed.addresses("server.bind", config.server.bind)
    if config.tls.bind:
        certificate = Path(config.tls.certificate)
        context = tls_context(certificate, Path(config.tls.key))
        validity = validity_of(certificate)
        expires = None if validity is None else validity.ends
        secured = passed.addresses("tls.bind", config.tls.bind)
        addresses += [replace(each, tls=context, certificate_expires=expires) for each in secured]
    return addresses


def certificate_problem(config: Config) -> str:
    """Return why clients reject the certificate of `tls.certificate` today; empty if they accept it. Raises `ListenError`."""
    if not config.tls.bind:
        return ""
    certificate = Path(config.tls.certificate)
    tls_context(certificate, Path(config.tls.key))
    return validity_problem(certificate, SystemClock().now_ms() / SECOND_MS)


def warn_of_certificate(config: Config) -> None:
    """Log what `certificate_problem` finds. The service starts, because plain listeners and lenient clients need it."""
    problem = certificate_problem(config)
    if problem:
        log.warning("%s", problem)


def storage_options(config: Config) -> StorageOptions:
    database = config.database
    return StorageOptions(
        limits=filled(PoolLimits, database),
        url=database.url or None,
        os_user=config.server.user or None,
        allow_unsafe=database.allow_unsafe,
        nodes=config.server.workers,
        distributed=database.distributed,
    )
