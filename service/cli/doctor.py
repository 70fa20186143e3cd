"""The command that checks the configuration, database and nodes of a service."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.backups.state import newest_ms, overdue_ms
from actors.backups.store import BackupFailed
from actors.clock import HOUR_MS, SECOND_MS, SystemClock
from actors.events.servers import ServerReport
from actors.mail.messages import MailFailed
from service.cli.database import open_to_read
from service.config import deployment
from service.config.clocks import clock_problems
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.http.listen_address import ListenError
from service.outside.smtp import SmtpTransport
from service.outside.webauthn import rp_id_of
from service.payments.factory import stripe_payments
from service.running.foundation import certificate_problem, read_clocks, storage_options
from service.running.limits import backup_rules
from service.running.scheduled_backups import backup_directory
from service.running.server_secret import Secrets
from service.terminal.output import SUCCESS, USAGE
from service.tokens.links import Links
from storage.backups.directory import names_in
from storage.connection.pool import connections_of, connections_to_worker
from storage.events.distributed_store import DistributedEvents, ask_workers
from storage.events.distribution import COORDINATOR
from storage.inspection import Archive, access_of, archive_of, created_ms, missing_rights
from storage.opening import Opened
from storage.schema import room_for_connections, server_version, unsafe_settings

ROOM_BYTES, SHORT_LIVED_BYTES = 256 << 20, 16 << 20
"""The free room below which a file system of data, or of what lives briefly, is reported as almost full."""

SHARED_MEMORY = Path("/dev/shm")


async def doctor(config: Config, data_dir: Path) -> int:
    """Print what was checked, then the problems. Returns 0 if there are none, otherwise 2."""
    async with open_to_read(config, data_dir) as opened:
        problems = check_room(places_of(config, data_dir)) + await _check_access(opened)
        lacking = await _check_rights(opened)
        if lacking:
            # What the role may not read would end the other checks.
            return _verdict(problems + lacking)
        problems += [*await _check_database(config, opened), *await _check_secret(config, data_dir, opened)]
        problems += [*await _check_mode(config, opened), *deployment.problems(config), *_check_certificate(config)]
        problems += [*await check_recovery(config, data_dir, opened), *await _check_processor(config)]
        if isinstance(opened.events, DistributedEvents):
            problems += await _check_workers(config, opened.events)
        revision = await opened.catalog.revision()
        print(f"ok: the catalog is at revision {revision}" if revision else "note: the catalog is empty")
        administrators = await opened.keys.count_administrators()
        print(
            f"ok: administrators: {administrators}"
            if administrators
            else "note: there is no administrator; add one with grant-admin"
        )
        problems += moved_clock(config, await opened.clock.ahead_ms())
        live = await opened.nodes.live(config.nodes.live_seconds)
        print(f"ok: live nodes: {len(live)}" if live else "note: no node is live")
        for each in live:
            node, age = each.node, each.age_seconds
            print(f"ok: node {node.id} on {node.host}, process {node.pid}, at {node.url}, heartbeat {age:.1f} s ago")
    if not config.admin.require_passkey and rp_id_of(config.server.base_url) not in (None, "localhost"):
        print("note: admin.require_passkey is false: whoever reads an administrator's mail can administer")
    if not config.mail.smtp_url and not deployment.is_public(config.server.base_url):
        print("note: mail.smtp_url is empty: mail is printed to the log and shown at /dev/outbox")
    problems += await check_mail(config)
    for note in deployment.notes(config):
        print(f"note: {note}")
    return _verdict(problems)


def _verdict(problems: Sequence[str]) -> int:
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return USAGE if problems else SUCCESS


def places_of(config: Config, data_dir: Path) -> Mapping[str, tuple[Path, int]]:
    """The directories in which this machine needs room, by what is stored there, each with the bytes that it should have."""
    own = "the data directory" if config.database.url else "the data directory, with the embedded Postgres"
    places = {own: (data_dir, ROOM_BYTES), "temporary files": (Path(tempfile.gettempdir()), SHORT_LIVED_BYTES)}
    if not config.database.url:
        places["shared memory of the embedded Postgres"] = (SHARED_MEMORY, SHORT_LIVED_BYTES)
    return places


def check_room(places: Mapping[str, tuple[Path, int]]) -> list[str]:
    """The problems of file systems that are almost full, in bytes or in files."""
    problems = []
    for what, (path, needed) in places.items():
        try:
            system = os.statvfs(path)
        except FileNotFoundError:
            continue  # this system has no such place, or the command has not created it
        except OSError as error:
            problems.append(f"{path} ({what}) cannot be looked at: {error.strerror}")
            continue
        free = system.f_bavail * system.f_frsize
        if free < needed:
            problems.append(f"{path} ({what}) has {free >> 20} MiB free: make room, at least {needed >> 20} MiB")
        elif system.f_files and not system.f_favail:
            problems.append(f"{path} ({what}) has no room for another file: delete some")
        else:
            print(f"ok: {path} ({what}) has {free >> 20} MiB free")
    return problems


async def _check_access(opened: Opened) -> list[str]:
    access = await access_of(opened.database)
    if access.is_standby:
        print("note: this host is a standby: it has what the primary had a moment ago, and 'serve' needs the primary")
        return []
    return [f"the database {access.bars_migrating}"] if access.bars_migrating else []


async def _check_rights(opened: Opened) -> list[str]:
    access, missing = await access_of(opened.database), await missing_rights(opened.database)
    if not missing:
        print(f"ok: the role {access.role} has all rights that the service needs")
    remedy = "grant them as docs/installing.md shows"
    return [f"the role {access.role} lacks rights on the {each}: {remedy}" for each in missing]


async def _check_database(config: Config, opened: Opened) -> list[str]:
    version = await server_version(opened.database)
    print(f"ok: the database answers, version {version // 10_000}.{version % 10_000}, and its schema is up to date")
    unsafe = await unsafe_settings(opened.database)
    problems = [f"{setting}: a confirmed write can be lost in a crash" for setting in unsafe]
    if config.database.url:
        # The embedded database is started with room for all.
        problems += too_few_connections(config, await room_for_connections(opened.database))
    return problems


async def _check_workers(config: Config, events: DistributedEvents) -> list[str]:
    """Ask each worker of a distributed database as nodes do."""
    return [problem for report in await ask_workers(events) for problem in check_worker(config, report)]


def check_worker(config: Config, report: ServerReport) -> list[str]:
    """Print a line about a worker that answers. The nodes of this machine alone may need more connections than it allows:
    that is a problem, too. Those to the coordinator, which may hold places, were counted with the database's."""
    if report.error:
        return report.problems()
    nodes, (own, of_citus) = config.server.workers, connections_to_worker(storage_options(config).limits)
    needed = 0 if report.number == COORDINATOR else nodes * (own + of_citus)
    print(
        f"ok: {report.name} answers, holds {report.places} of 256 places and allows {report.room} connections"
        + (f"; the nodes here and their coordinator need up to {needed}" if 0 < needed <= report.room else "")
    )
    if needed <= report.room:
        return report.problems()
    return [
        f"{report.name} allows {report.room} connections, but server.workers = {nodes} nodes open up to {own} each, and the "
        f"coordinator up to {of_citus} for each of them: raise max_connections there, or lower database.connections",
        *report.problems(),
    ]


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


async def _check_processor(config: Config) -> list[str]:
    """Name the events that live billing needs and, in live mode, ask Stripe whether it sends them."""
    # Imported here: the library costs 0.2 s, which other commands do not need.
    from service.payments.stripe_endpoint import check_endpoint, needed_events

    print(f"note: {needed_events(config.server.base_url)}")
    if config.billing.mode != "live":
        return []
    links = Links(config.server.base_url, bytes(32))  # reading endpoints signs nothing
    line, problem = await check_endpoint(stripe_payments(config, links), config)
    if line:
        print(line)
    return [problem] if problem else []


async def check_mail(config: Config) -> list[str]:
    """Greet the mail server as for a mail, and print that it is ready. Sends none."""
    if not config.mail.smtp_url:
        return []
    try:
        transport = SmtpTransport(config.mail.smtp_url, seconds=config.mail.timeout_seconds)
        await transport.check(config.mail.sender)
    except ValueError:
        return []  # `deployment.problems` names it
    except MailFailed as error:
        return [f"the mail server cannot be used: {error}"]
    print(f"ok: the mail server {transport.server} is ready for mail")
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


def moved_clock(config: Config, ahead_ms: int) -> list[str]:
    """A problem if the clock was moved and the service would not start with it; a note if it would."""
    try:
        deployment.refuse_moved_clock(config, ahead_ms)
    except ConfigError as error:
        return [str(error)]
    if ahead_ms:
        print(f"note: {deployment.moved_words(ahead_ms)}")
    return []


async def check_recovery(config: Config, data_dir: Path, opened: Opened) -> list[str]:
    """Print the checks that pass, and return the problems."""
    problems = clock_problems(await read_clocks(config, opened.database, SystemClock()))
    if not problems:
        print("ok: the clocks agree")
    if config.database.url:
        return problems + check_archive(await archive_of(opened.database))
    return problems + check_backups(config, data_dir, await created_ms(opened.database), SystemClock().now_ms())


def check_backups(config: Config, data_dir: Path, database_made_ms: int, now_ms: int) -> list[str]:
    """The problems of scheduled backups. Those of a new database may still be about to be made."""
    rules = backup_rules(config)
    if rules is None:
        print("note: backup.every_hours is 0: no backups are scheduled")
        return []
    directory = backup_directory(config, data_dir)
    try:
        newest = newest_ms(names_in(directory), now_ms) if directory.exists() else None
    except (BackupFailed, OSError) as error:
        return [f"backup.directory: {error}"]
    overdue = overdue_ms(newest, database_made_ms, now_ms, rules)
    state = f"the newest scheduled backup in {directory} is {_hours(now_ms - (newest or 0))} old"
    if overdue is not None:
        state = f"there is no scheduled backup in {directory}" if newest is None else state
        return [f"{state}, and backup.every_hours is {config.backup.every_hours}: see the log of the service"]
    print(f"note: there is no scheduled backup in {directory} yet" if newest is None else f"ok: {state}")
    return []


def check_archive(archive: Archive) -> list[str]:
    """The problems of the archive of a database that the service does not run."""
    if not archive.enabled or not archive.has_target:
        missing = "neither archive_command nor archive_library is set" if archive.enabled else "archive_mode is off"
        print(
            f"note: the database archives no write-ahead log ({missing}): without backups of another kind, losing its disk "
            "loses all; see docs/backups.md"
        )
        return []
    if archive.is_failing:
        since = "never" if archive.archived_seconds is None else f"{_hours(archive.archived_seconds * SECOND_MS)} ago"
        return [
            f"the database fails to archive {archive.failed_segment} (last success: {since}): until that is mended, its disk "
            "fills and no moment since then can be restored; see the database's log"
        ]
    age = archive.archived_seconds
    print(f"ok: the database archives its write-ahead log{'' if age is None else f', last {age:.0f} s ago'}")
    return []


def _hours(ms: float) -> str:
    return f"{ms / HOUR_MS:.1f} h"
