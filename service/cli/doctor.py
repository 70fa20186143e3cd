"""The command that checks the configuration, database and nodes of a service."""

from pathlib import Path

from service.cli.database import open_with_running_node
from service.cli.recovery_checks import check_recovery
from service.config import deployment
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.http.listen_address import ListenError
from service.outside.webauthn import rp_id_of
from service.process.exit_codes import SUCCESS, USAGE
from service.running.foundation import certificate_problem, storage_options
from service.running.server_secret import Secrets
from storage.connection.pool import connections_of
from storage.events.distributed_store import DistributedEvents
from storage.events.workers import ask_workers
from storage.opening import Opened
from storage.schema import room_for_connections, server_version, unsafe_settings


async def doctor(config: Config, data_dir: Path) -> int:
    """Print what was checked, then the problems. Returns 0 if there are none, otherwise 2."""
    async with open_with_running_node(config, data_dir) as opened:
        problems = [*await _check_database(config, opened), *await _check_secret(config, data_dir, opened)]
        problems += [*await _check_mode(config, opened), *deployment.problems(config), *_check_certificate(config)]
        problems += await check_recovery(config, data_dir, opened)
        if isinstance(opened.events, DistributedEvents):
            problems += await _check_workers(opened.events)
        revision = await opened.catalog.revision()
        print(f"ok: the catalog is at revision {revision}" if revision else "note: the catalog is empty")
        administrators = await opened.keys.count_administrators()
        print(
            f"ok: administrators: {administrators}"
            if administrators
            else "note: there is no administrator; add one with grant-admin"
        )
        live = await opened.nodes.live(config.nodes.live_seconds)
        print(f"ok: live nodes: {len(live)}" if live else "note: no node is live")
        for each in live:
            node, age = each.node, each.age_seconds
            print(f"ok: node {node.id} on {node.host}, process {node.pid}, at {node.url}, heartbeat {age:.1f} s ago")
    if not config.admin.require_passkey and rp_id_of(config.server.base_url) not in (None, "localhost"):
        print("note: admin.require_passkey is false: whoever reads an administrator's mail can administer")
    if not config.mail.smtp_url and not deployment.is_public(config.server.base_url):
        print("note: mail.smtp_url is empty: mail is printed to the log and shown at /dev/outbox")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return USAGE if problems else SUCCESS


async def _check_database(config: Config, opened: Opened) -> list[str]:
    version = await server_version(opened.database)
    print(f"ok: the database answers, version {version // 10_000}.{version % 10_000}, and its schema is up to date")
    unsafe = await unsafe_settings(opened.database)
    problems = [f"{setting}: a confirmed write can be lost in a crash" for setting in unsafe]
    if config.database.url:
        # The embedded database is started with room for all.
        problems += too_few_connections(config, await room_for_connections(opened.database))
    return problems


async def _check_workers(events: DistributedEvents) -> list[str]:
    """Ask each worker of a distributed database as nodes do."""
    problems = []
    for report in await ask_workers(events):
        if not report.error:
            print(f"ok: {report.name} answers and holds {report.places} of 256 places")
        problems += report.problems()
    return problems


async def _check_secret(config: Config, data_dir: Path, opened: Opened) -> list[str]:
    if await opened.identity.fingerprint() is None:
        print("note: the database is not used yet: the first start stores its secret")
        return []
    try:
        await Secrets.load(config, data_dir, opened.identity)
    except ConfigError as error:
        return [str(error)]
    print("ok: the server's secret is that of the database")
    return []


async def _check_mode(config: Config, opened: Opened) -> list[str]:
    stored = await opened.identity.billing_mode()
    if stored not in (None, config.billing.mode):
        return [deployment.other_mode(config, stored)]
    print(f"ok: the billing mode is {config.billing.mode}")
    return []


def _check_certificate(config: Config) -> list[str]:
    try:
        problem = certificate_problem(config)
    except ListenError as error:
        problem = str(error)
    if config.tls.bind and not problem:
        print("ok: the TLS certificate and its key can be used")
    return [problem] if problem else []


def too_few_connections(config: Config, room: int) -> list[str]:
    """A problem if the nodes of this machine alone may open more connections than the database allows (`room`)."""
    workers, each = config.server.workers, connections_of(storage_options(config).limits)
    needed = workers * each + (workers > 1)  # the parent of several workers keeps one of its own
    if needed <= room:
        print(f"ok: the database allows {room} connections; the nodes here use at most {needed}")
        return []
    return [
        f"the database allows {room} connections, but server.workers = {workers} nodes use up to {each} each: "
        "raise max_connections, or lower database.connections"
    ]
