"""The commands for keys, tiers, administrators and sign-in links."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from actors.clock import SystemEntropy
from actors.kernel.supervision import running
from actors.keys.actor import KeyActor
from actors.values import Scope, Tier
from service.cli.command import CommandError, Commands
from service.cli.database import AGENT, accepted, open_beside
from service.config.model import Config
from service.running.foundation import new_key_actor, new_passkey_actor, new_session_actor
from service.schemas.keys import Email
from service.schemas.texts import visible
from storage.opening import Opened

LINK_PATH = "/sign-in/link"
NAME_CHARACTERS = 64


def add_account_commands(commands: Commands) -> None:
    issue = commands.add(
        "issue-key",
        issue_key,
        "email",
        "scopes",
        "name",
        "admin",
    )
    issue.add_argument("--email", required=True, help="the account; created if it does not exist")
    issue.add_argument(
        "--scopes", metavar="A,B", help="scopes, separated by commas; without them the key is a full one"
    )
    issue.add_argument("--name", help="what the key is for")
    issue.add_argument(
        "--admin", action="store_true", help="allow administration; requires an administrator's full key"
    )
    revoke = commands.add("revoke-key", revoke_key, "key")
    revoke.add_argument("key", metavar="KEY", help="its id, the key itself, or its displayed prefix if that is unique")
    link = commands.add("sign-in-link", sign_in_link, "email")
    link.add_argument("email", metavar="EMAIL", help="the account; created when the link is used if it does not exist")
    tier = commands.add("set-tier", set_tier, "email", "tier")
    tier.add_argument("--email", required=True)
    tier.add_argument("--tier", required=True, choices=["claimed", "upgraded"])
    grant = commands.add("grant-admin", grant_admin, "email")
    grant.add_argument("email", metavar="EMAIL", help="the account; it need not exist yet")
    dismiss = commands.add(
        "revoke-admin",
        revoke_admin,
        "email",
    )
    dismiss.add_argument("email", metavar="EMAIL")
    passkeys = commands.add("remove-passkeys", remove_passkeys, "email")
    passkeys.add_argument("email", metavar="EMAIL", help="the account")


async def issue_key(
    config: Config, data_dir: Path, *, email: str, scopes: str | None, name: str | None, admin: bool
) -> None:
    address, wanted = email_of(email), _scopes(scopes)
    if admin and wanted is not None:
        raise CommandError("--admin is for full keys; give a scoped key the scopes admin:read and admin:write")
    if name is not None:
        _check_name(name)
    async with running_key_actor(config, data_dir) as (keys, _):
        issued = accepted(await keys.issue(address, AGENT, scopes=wanted, name=name, admin=admin))
        print(issued.api_key)
        print(f"id {issued.key.id}, prefix {issued.key.prefix}; the key is not shown again", file=sys.stderr)


async def revoke_key(config: Config, data_dir: Path, *, key: str) -> None:
    async with running_key_actor(config, data_dir) as (keys, _):
        key_id = key if key.startswith("key_") else await _only(keys, key)
        outcome = accepted(await keys.revoke(key_id, AGENT))
        print(f"revoked {outcome.key.prefix}... ({outcome.key.id})")
        granted = [ended for ended in outcome.ended if ended != outcome.key.id]
        if granted:
            print(f"revoked the keys that it granted: {', '.join(granted)}")


async def sign_in_link(config: Config, data_dir: Path, *, email: str) -> None:
    address = email_of(email)
    async with open_beside(config, data_dir) as opened:
        sessions = await new_session_actor(config, data_dir, opened, _node_id())
        async with running([sessions]):
            token = await sessions.issue_link(address, AGENT)
        running_nodes = [live.node.url for live in await opened.nodes.live(config.nodes.live_seconds)]
    base_url = config.server.base_url or next(iter(running_nodes), f"http://{config.server.bind}")
    print(f"{base_url}{LINK_PATH}?token={token}")
    print(f"signs in one browser as {address}, once, within 10 minutes", file=sys.stderr)


async def set_tier(config: Config, data_dir: Path, *, email: str, tier: str) -> None:
    address = email_of(email)
    async with running_key_actor(config, data_dir) as (keys, _):
        tenant = accepted(await keys.set_tier(address, Tier(tier), AGENT)).tenant
        print(f"{address} is {tenant.tier}")


async def grant_admin(config: Config, data_dir: Path, *, email: str) -> None:
    address = email_of(email)
    async with running_key_actor(config, data_dir) as (keys, opened):
        outcome = await keys.grant_admin(address, AGENT)
        print(f"{address} is {'' if outcome.changed else 'already '}an administrator")
        if await opened.accounts.account(address) is None:
            print("note: no account has this email yet; the first sign-in makes it", file=sys.stderr)


async def revoke_admin(config: Config, data_dir: Path, *, email: str) -> None:
    address = email_of(email)
    async with running_key_actor(config, data_dir) as (keys, _):
        outcome = await keys.revoke_admin(address, AGENT)
        if not outcome.changed:
            raise CommandError(f"{address} is not an administrator")
        print(f"{address} is no longer an administrator")
        if not outcome.administrators:
            print("warning: there is no administrator left; add one with grant-admin", file=sys.stderr)
            if config.admin.emails:
                print("warning: the next start makes admin.emails administrators again", file=sys.stderr)


async def remove_passkeys(config: Config, data_dir: Path, *, email: str) -> None:
    address = email_of(email)
    async with open_beside(config, data_dir) as opened:
        keeper = await new_passkey_actor(config, data_dir, opened, f"cli-{SystemEntropy().token(6).hex()}")
        async with running([keeper]):
            removed = (await keeper.remove_all(address, AGENT)).passkeys
    if not removed:
        raise CommandError(f"the account {address} has no passkey")
    print(f"removed from {address}: {', '.join(each.name for each in removed)}")


@asynccontextmanager
async def running_key_actor(config: Config, data_dir: Path) -> AsyncIterator[tuple[KeyActor, Opened]]:
    """A running key keeper over open storage. Raises `CommandError` if the database fails during the block."""
    async with open_beside(config, data_dir) as opened:
        keys = await new_key_actor(config, data_dir, opened, _node_id())
        async with running([keys]):
            yield keys, opened


def _node_id() -> str:
    return f"cli-{SystemEntropy().token(6).hex()}"


async def _only(keys: KeyActor, text: str) -> str:
    """The id of the one key with this text or displayed prefix. A whole key is never printed again."""
    found = await keys.find(text)
    if len(found) == 1:
        return found[0].key.id
    if not found:
        raise CommandError("there is no such key")
    ids = ", ".join(resolved.key.id for resolved in found)
    raise CommandError(f"{len(found)} keys have this prefix; use one of their ids: {ids}")


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
