"""What the commands do, beside a running server or alone. Each returns the exit code and prints for a person."""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from actors.catalog.store import Import, Kind
from actors.clock import SystemClock, SystemEntropy
from actors.keys.actor import KeyKeeper
from actors.supervision import running
from actors.values import Agent, Refused, Scope, Tier, TransientStorageError
from service.config import Config
from service.main import key_keeper, storage_options
from service.schemas.keys import Email
from service.schemas.texts import one_line
from service.seed.catalog_file import Parsed, parse, unknown_bots
from service.seed.catalog_import import carry_out
from service.seed.demo_seeding import replace_demo
from service.server_secret import Secrets
from service.user_errors import ConfigError
from storage.opening import Opened, open_storage
from storage.pool import connections_of
from storage.schema import room_for_connections, server_version, unsafe_settings

NAME_CHARACTERS = 64
AGENT = Agent("cli", f"uid {os.getuid()}" if hasattr(os, "getuid") else "cli")


class CommandError(Exception):
    """A command cannot do what it was asked; the text is one line for a person."""


async def migrate(config: Config, data_dir: Path) -> int:
    """Opening storage migrates it."""
    async with open_storage(storage_options(config), data_dir, beside=True):
        print("the schema is up to date")
    return 0


async def import_catalog(config: Config, data_dir: Path, *, file: Path, prune: bool, dry_run: bool) -> int:
    parsed = _parsed(file)
    batch = Import(parsed.entries, prune=prune, dry_run=dry_run, progress=_progress)
    async with open_storage(storage_options(config), data_dir, beside=True) as opened:
        try:
            present = await opened.catalog.present(Kind.BOTS, sorted(parsed.references))
            counts = await carry_out(opened.catalog, batch)
        except TransientStorageError as error:
            raise CommandError(f"the database is not available: {error}") from None
    for warning in unknown_bots(parsed, present):
        print(f"warning: {warning}", file=sys.stderr)
    for kind, count in counts.by_kind.items():
        print(
            f"{kind}: {count.added} added, {count.changed} changed, {count.unchanged} unchanged, {count.removed} removed"
        )
    if dry_run:
        print("nothing was changed: this was a dry run")
    return 0


def _parsed(file: Path) -> Parsed:
    try:
        with file.open("rb") as stream:
            parsed = parse(stream)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from None
    if not parsed.errors:
        return parsed
    for line in parsed.errors:
        print(line, file=sys.stderr)
    if parsed.more_errors:
        print(f"and {parsed.more_errors} more", file=sys.stderr)
    raise CommandError(f"{file}: {len(parsed.errors) + parsed.more_errors} errors; nothing was imported")


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {total}", end="" if done < total else "\n", file=sys.stderr, flush=True)


async def issue_key(config: Config, data_dir: Path, *, email: str, scopes: str | None, name: str | None) -> int:
    address, wanted = _email(email), _scopes(scopes)
    if name is not None:
        _check_name(name)

    async def work(keys: KeyKeeper) -> int:
        issued = await keys.issue(address, AGENT, scopes=wanted, name=name)
        if isinstance(issued, Refused):
            raise CommandError(issued.message)
        print(issued.api_key)
        print(f"id {issued.key.id}, prefix {issued.key.prefix}; the key is shown only now", file=sys.stderr)
        return 0

    return await _with_keys(config, data_dir, work)


async def revoke_key(config: Config, data_dir: Path, *, key: str) -> int:
    async def work(keys: KeyKeeper) -> int:
        key_id = key if key.startswith("key_") else await _only(keys, key)
        outcome = await keys.revoke(key_id, AGENT)
        if isinstance(outcome, Refused):
            raise CommandError(outcome.message)
        print(f"revoked {outcome.key.prefix}... ({outcome.key.id})")
        return 0

    return await _with_keys(config, data_dir, work)


async def set_tier(config: Config, data_dir: Path, *, email: str, tier: str) -> int:
    address = _email(email)

    async def work(keys: KeyKeeper) -> int:
        outcome = await keys.set_tier(address, Tier(tier), AGENT)
        if isinstance(outcome, Refused):
            raise CommandError(outcome.message)
        print(f"{address} is {outcome.tenant.tier}")
        return 0

    return await _with_keys(config, data_dir, work)


async def grant_admin(config: Config, data_dir: Path, *, email: str) -> int:
    address = _email(email)

    async def work(keys: KeyKeeper) -> int:
        outcome = await keys.grant_admin(address, AGENT)
        print(f"{address} is an administrator{'' if outcome.changed else ' already'}")
        return 0

    return await _with_keys(config, data_dir, work)


async def revoke_admin(config: Config, data_dir: Path, *, email: str) -> int:
    address = _email(email)

    async def work(keys: KeyKeeper) -> int:
        outcome = await keys.revoke_admin(address, AGENT)
        if not outcome.changed:
            raise CommandError(f"{address} is no administrator")
        print(f"{address} is no administrator any more")
        if not outcome.administrators:
            print("warning: that was the last one; grant-admin makes another", file=sys.stderr)
            if config.admin.emails:
                print("warning: the next start makes those of admin.emails administrators again", file=sys.stderr)
        return 0

    return await _with_keys(config, data_dir, work)


async def seed_demo(config: Config, data_dir: Path, *, remove: bool) -> int:
    async with open_storage(storage_options(config), data_dir, beside=True, create=False) as opened:
        try:
            counts = await replace_demo(opened.demo, SystemClock(), SystemEntropy(), AGENT, remove=remove)
        except TransientStorageError as error:
            raise CommandError(f"the database is not available: {error}") from None
    assert counts is not None, "only a first seeding may find that it is not the first"
    if counts.removed:
        print(f"removed {counts.removed} rows of the demo that was there")
    if not remove:
        print(
            f"wrote {counts.sponsors} sponsors, {counts.slots} slots, {counts.campaigns} campaigns, "
            f"{counts.bookings} bookings and {counts.days} days of delivery"
        )
    elif not counts.removed:
        print("there was no demo; later starts will not bring one")
    if counts.retired:
        print(f"retired {counts.retired} slots instead of removing them: real bookings have them")
    if counts.left_out:
        print(f"left out {counts.left_out} rows whose place real ones have")
    return 0


async def doctor(config: Config, data_dir: Path) -> int:
    """Check what can be checked from outside; 0 when all is well, 2 when something is not."""
    problems = []
    async with open_storage(storage_options(config), data_dir, beside=True, create=False) as opened:
        version = await server_version(opened.database)
        print(f"ok: the database answers, version {version // 10_000}.{version % 10_000}, and its schema is up to date")
        unsafe = await unsafe_settings(opened.database)
        problems += [f"{setting}: an answered write can be lost in a crash" for setting in unsafe]
        if config.database.url:
            # The embedded one is started with room for all.
            problems += too_few_connections(config, await room_for_connections(opened.database))
        try:
            await Secrets.load(config.server.secret, data_dir, opened.identity)
            print("ok: the server's secret is that of the database")
        except ConfigError as error:
            problems.append(str(error))
        revision = await opened.catalog.revision()
        print(f"ok: the catalog is at revision {revision}" if revision else "note: the catalog is empty")
        administrators = await opened.keys.count_administrators()
        print(
            f"ok: administrators: {administrators}"
            if administrators
            else "note: there is no administrator: grant-admin makes one"
        )
        live = await opened.nodes.live(config.nodes.live_seconds)
        print(f"ok: live nodes: {len(live)}" if live else "note: no node is live")
        for each in live:
            node, age = each.node, each.age_seconds
            print(f"ok: node {node.id} on {node.host}, process {node.pid}, at {node.url}, beat {age:.1f} s ago")
    if not config.mail.smtp_url:
        print("note: mail.smtp_url is empty: mail is printed to the log and shown at /dev/outbox")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    return 2 if problems else 0


def too_few_connections(config: Config, room: int) -> list[str]:
    """A problem where the nodes of this machine alone may ask for more connections than the database has."""
    workers, each = config.server.workers, connections_of(storage_options(config).limits)
    needed = workers * each + (workers > 1)  # a parent keeps the one that it has prepared the database with
    if needed <= room:
        print(f"ok: the database has room for {room} connections, of which the nodes here take at most {needed}")
        return []
    return [
        f"the database has room for {room} connections, but server.workers = {workers} nodes take up to {each} each: "
        "raise max_connections, or lower database.connections"
    ]


async def _with_keys(config: Config, data_dir: Path, work: Callable[[KeyKeeper], Awaitable[int]]) -> int:
    """Run `work` with a key keeper of its own, over the storage of a running server or alone."""
    async with open_storage(storage_options(config), data_dir, beside=True, create=False) as opened:
        keys = await _key_keeper(config, data_dir, opened)
        try:
            async with running([keys]):
                return await work(keys)
        except TransientStorageError as error:
            raise CommandError(f"the database is not available: {error}") from None


async def _key_keeper(config: Config, data_dir: Path, opened: Opened) -> KeyKeeper:
    secret = await Secrets.load(config.server.secret, data_dir, opened.identity)
    return key_keeper(config, opened, secret, f"cli-{SystemEntropy().token(6).hex()}")


async def _only(keys: KeyKeeper, text: str) -> str:
    """The id of the one key with this text or displayed prefix. A whole key is never repeated to the terminal."""
    found = await keys.find(text)
    if len(found) == 1:
        return found[0].key.id
    if not found:
        raise CommandError("there is no such key")
    ids = ", ".join(resolved.key.id for resolved in found)
    raise CommandError(f"{len(found)} keys have this prefix; name one by its id: {ids}")


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_CHARACTERS:
        raise CommandError(f"a name has 1 to {NAME_CHARACTERS} characters")
    try:
        one_line(name)
    except ValueError as error:
        raise CommandError(f"the name {error}") from None


def _email(text: str) -> str:
    try:
        return TypeAdapter(Email).validate_python(text)
    except ValidationError:
        raise CommandError(f"{text!r} is not an email address") from None


def _scopes(text: str | None) -> tuple[Scope, ...] | None:
    if text is None:
        return None
    names = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    unknown = [name for name in names if name not in set(Scope)]
    if unknown or not names:
        what = f"unknown scope {unknown[0]}" if unknown else "no scope given"
        raise CommandError(f"{what}; scopes are {', '.join(Scope)}")
    return tuple(Scope(name) for name in names)
