"""The commands for accounts: their keys, tiers, rights and sign-in links, their suspension, export and deletion."""

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

from pydantic import TypeAdapter, ValidationError

from actors.accounts.actor import Place, exported_rows
from actors.accounts.state import day_words
from actors.accounts.store import AccountFilter, AccountLine
from actors.accounts.sweeper import AccountEraser
from actors.keys.actor import KeyActor
from actors.values import Account, Scope, Tier
from service.cli.command import CommandError, EmailArgument, argument, option
from service.cli.database import AGENT, accepted, open_actor, open_to_read
from service.config.deployment import local_url
from service.config.model import Config
from service.running.foundation import new_account_actor, new_key_actor, new_passkey_actor, new_session_actor
from service.schemas.keys import Email
from service.schemas.problems import problems_of
from service.schemas.texts import Note, visible
from service.terminal.output import made_private
from storage.opening import Opened

LINK_PATH = "/sign-in/link"
NAME_CHARACTERS = 64
MOST = 1_000
"""Accounts that one listing prints at most."""


async def issue_key(
    config: Config,
    data_dir: Path,
    *,
    email: Annotated[str, option("the account; created if it does not exist")],
    scopes: Annotated[
        str | None, option("scopes, separated by commas; without them the key is a full one", metavar="A,B")
    ] = None,
    name: Annotated[str | None, option("what the key is for")] = None,
    admin: Annotated[bool, option("allow administration; requires an administrator's full key")] = False,
) -> None:
    address, wanted = email_of(email), _scopes(scopes)
    if admin and wanted is not None:
        raise CommandError("--admin is for full keys; give a scoped key the scopes admin:read and admin:write")
    if name is not None:
        _check_name(name)
    async with open_actor(config, data_dir, new_key_actor) as (keys, _):
        issued = accepted(await keys.issue(address, AGENT, scopes=wanted, name=name, admin=admin))
        if words := made_private(sys.stdout):
            print(f"warning: {words}", file=sys.stderr)
        print(issued.api_key)
        print(f"id {issued.key.id}, prefix {issued.key.prefix}; the key is not shown again", file=sys.stderr)


async def revoke_key(
    config: Config,
    data_dir: Path,
    *,
    key: Annotated[str, argument("KEY", "its id, the key itself, or its displayed prefix if that is unique")],
) -> None:
    async with open_actor(config, data_dir, new_key_actor) as (keys, _):
        key_id = key if key.startswith("key_") else await _only(keys, key)
        outcome = accepted(await keys.revoke(key_id, AGENT))
        print(f"revoked {outcome.key.prefix}... ({outcome.key.id})")
        granted = [ended for ended in outcome.ended if ended != outcome.key.id]
        if granted:
            print(f"revoked the keys that it granted: {', '.join(granted)}")


async def sign_in_link(
    config: Config,
    data_dir: Path,
    *,
    email: Annotated[str, argument("EMAIL", "the account; created when the link is used if it does not exist")],
) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_session_actor) as (sessions, opened):
        token = await sessions.issue_link(address, AGENT)
        running_nodes = [live.node.url for live in await opened.nodes.live(config.nodes.live_seconds)]
    base_url = config.server.base_url or next(iter(running_nodes), local_url(config))
    print(f"{base_url}{LINK_PATH}?token={token}")
    print(f"signs in one browser as {address}, once, within 10 minutes", file=sys.stderr)


async def set_tier(
    config: Config,
    data_dir: Path,
    *,
    email: Annotated[str, option()],
    tier: Annotated[Literal["claimed", "upgraded"], option()],
) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_key_actor) as (keys, _):
        tenant = accepted(await keys.set_tier(address, Tier(tier), AGENT)).tenant
        print(f"{address} is {tenant.tier}")


async def grant_admin(
    config: Config, data_dir: Path, *, email: Annotated[str, argument("EMAIL", "the account; it need not exist yet")]
) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_key_actor) as (keys, opened):
        outcome = await keys.grant_admin(address, AGENT)
        print(f"{address} is {'' if outcome.changed else 'already '}an administrator")
        if await opened.accounts.account(address) is None:
            print("note: no account has this email yet; the first sign-in makes it", file=sys.stderr)


async def revoke_admin(config: Config, data_dir: Path, *, email: EmailArgument) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_key_actor) as (keys, _):
        outcome = await keys.revoke_admin(address, AGENT)
        if not outcome.changed:
            raise CommandError(f"{address} is not an administrator")
        print(f"{address} is no longer an administrator")
        if not outcome.administrators:
            print("warning: there is no administrator left; add one with grant-admin", file=sys.stderr)
            if config.admin.emails:
                print("warning: the next start makes admin.emails administrators again", file=sys.stderr)


async def remove_passkeys(
    config: Config, data_dir: Path, *, email: Annotated[str, argument("EMAIL", "the account")]
) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_passkey_actor) as (passkeys, _):
        removed = (await passkeys.remove_all(address, AGENT)).passkeys
    if not removed:
        raise CommandError(f"the account {address} has no passkey")
    print(f"removed from {address}: {', '.join(each.name for each in removed)}")


async def list_accounts(
    config: Config,
    data_dir: Path,
    *,
    query: Annotated[str | None, argument("TEXT", "a part of the email or of the sponsor's name, or an id")] = None,
    suspended: Annotated[bool, option("only suspended accounts")] = False,
) -> None:
    wanted = AccountFilter(text=query.strip().lower() if query else None, suspended=suspended or None)
    printed = 0
    async with open_to_read(config, data_dir) as opened:
        page = await opened.accounts.accounts(wanted, None, 100)
        while True:
            for line in page.lines:
                print(_line(line))
            printed += len(page.lines)
            if page.after is None or printed >= MOST:
                break
            page = await opened.accounts.accounts(wanted, page.after, 100)
    if page.after is not None:
        print(f"there are more; only {MOST} are printed, so search for a part of the email")


def _line(line: AccountLine) -> str:
    account = line.account
    state = "suspended" if account.suspended_ms is not None else "administrator" if line.admin else "active"
    return "  ".join([account.tenant_id, account.email, line.tier.value, state, *filter(None, [line.sponsor_name])])


async def suspend_account(
    config: Config,
    data_dir: Path,
    *,
    email: EmailArgument,
    reason: Annotated[str, option("the owner reads it, by mail and after signing in")],
) -> None:
    address, words = email_of(email), _reason(reason)
    async with open_actor(config, data_dir, new_key_actor) as (keys, opened):
        outcome = accepted(await keys.suspend(await known_account(opened, address), words, AGENT))
    print(f"{address} is {'' if outcome.changed else 'already '}suspended")


async def restore_account(config: Config, data_dir: Path, *, email: EmailArgument) -> None:
    address = email_of(email)
    async with open_actor(config, data_dir, new_key_actor) as (keys, opened):
        outcome = accepted(await keys.restore(await known_account(opened, address), AGENT))
    print(f"{address} is {'no longer' if outcome.changed else 'not'} suspended")


async def known_account(opened: Opened, email: str) -> Account:
    """Raises `CommandError` if there is none."""
    account = await opened.accounts.account(email)
    if account is None:
        raise CommandError(f"there is no account with the email {email}")
    return account


def _reason(text: str) -> str:
    try:
        return TypeAdapter(Note).validate_python(text.strip())
    except ValidationError as error:
        raise CommandError(f"--reason {problems_of(error)[0].message}") from None


async def _only(keys: KeyActor, text: str) -> str:
    """The id of the one key with this text or displayed prefix. A whole key is never printed again."""
    matches = await keys.find(text)
    if len(matches) == 1:
        return matches[0].key.id
    if not matches:
        raise CommandError("there is no such key")
    ids = ", ".join(resolved.key.id for resolved in matches)
    raise CommandError(f"{len(matches)} keys have this prefix; use one of their ids: {ids}")


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_CHARACTERS:
        raise CommandError(f"--name must have 1 to {NAME_CHARACTERS} characters")
    try:
        visible(name)
    except ValueError as error:
        raise CommandError(f"--name {error}") from None


def email_of(text: str) -> str:
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
        problem = f"unknown scope {unknown[0]}" if unknown else "no scope given"
        raise CommandError(f"{problem}; scopes are {', '.join(Scope)}")
    return tuple(Scope(name) for name in names)


ROWS = 500
"""Rows that are read at a time."""


async def export_account(config: Config, data_dir: Path, *, email: EmailArgument) -> None:
    """One line for each row: the table and the row."""
    async with open_to_read(config, data_dir) as opened:
        account = await known_account(opened, email_of(email))
        place: Place | None = None
        while True:
            exported, place = await exported_rows(opened.accounts, account, place, ROWS)
            for table, rows in exported.items():
                for row in rows:
                    print(json.dumps({"table": table, "row": row.row}, ensure_ascii=False))
            if place is None:
                return


async def delete_account(
    config: Config,
    data_dir: Path,
    *,
    email: EmailArgument,
    now: Annotated[bool, option("erase the account at once; this cannot be undone")] = False,
) -> None:
    async with open_actor(config, data_dir, new_account_actor) as (accounts, opened):
        account = await known_account(opened, email_of(email))
        scheduled = accepted(await accounts.order_deletion(account.email, AGENT, at_once=now)).deletion
        assert scheduled.due_ms is not None
        if not now:
            print(f"{account.email} will be deleted on {day_words(scheduled.due_ms)}; the owner can undo it until then")
            return
        await AccountEraser(accounts).sweep()
        left = await accounts.deletion_of(account.tenant_id)
        if left is not None and left.begun_ms is None:
            raise CommandError(f"{account.email} has an open booking; it is deleted once the booking has ended")
        print(f"{account.email} is deleted; the service erases its rows when requests from before have ended")
