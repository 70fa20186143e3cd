"""The commands that list, suspend and restore accounts."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from actors.accounts.listing import AccountFilter, AccountLine
from actors.values import Account
from service.cli.accounts import email_of, running_key_actor
from service.cli.command import CommandError, Commands
from service.cli.database import AGENT, accepted, open_beside
from service.config.model import Config
from service.schemas.problems import problems_of
from service.schemas.texts import Note
from storage.opening import Opened

MOST = 1_000
"""Accounts that one listing prints at most."""


def add_suspension_commands(commands: Commands) -> None:
    listed = commands.add("list-accounts", list_accounts, "query", "suspended")
    listed.add_argument(
        "query", metavar="TEXT", nargs="?", help="a part of the email or of the sponsor's name, or an id"
    )
    listed.add_argument("--suspended", action="store_true", help="only suspended accounts")
    suspend = commands.add("suspend-account", suspend_account, "email", "reason")
    suspend.add_argument("email", metavar="EMAIL")
    suspend.add_argument("--reason", required=True, help="the owner reads it, by mail and after signing in")
    restore = commands.add("unsuspend-account", restore_account, "email")
    restore.add_argument("email", metavar="EMAIL")


async def list_accounts(config: Config, data_dir: Path, *, query: str | None, suspended: bool) -> None:
    wanted = AccountFilter(text=query.strip().lower() if query else None, suspended=suspended or None)
    printed = 0
    async with open_beside(config, data_dir) as opened:
        found = await opened.accounts.accounts(wanted, None, 100)
        while True:
            for line in found.lines:
                print(_line(line))
            printed += len(found.lines)
            if found.after is None or printed >= MOST:
                break
            found = await opened.accounts.accounts(wanted, found.after, 100)
    if found.after is not None:
        print(f"there are more; only {MOST} are printed, so search for a part of the email")


def _line(line: AccountLine) -> str:
    account = line.account
    state = "suspended" if account.suspended_ms is not None else "administrator" if line.admin else "active"
    return "  ".join([account.tenant_id, account.email, line.tier.value, state, *filter(None, [line.sponsor_name])])


async def suspend_account(config: Config, data_dir: Path, *, email: str, reason: str) -> None:
    address, words = email_of(email), _reason(reason)
    async with running_key_actor(config, data_dir) as (keys, opened):
        outcome = accepted(await keys.suspend(await _known(opened, address), words, AGENT))
    print(f"{address} is {'' if outcome.changed else 'already '}suspended")


async def restore_account(config: Config, data_dir: Path, *, email: str) -> None:
    address = email_of(email)
    async with running_key_actor(config, data_dir) as (keys, opened):
        outcome = accepted(await keys.restore(await _known(opened, address), AGENT))
    print(f"{address} is {'no longer' if outcome.changed else 'not'} suspended")


async def _known(opened: Opened, email: str) -> Account:
    account = await opened.accounts.account(email)
    if account is None:
        raise CommandError(f"there is no account with the email {email}")
    return account


def _reason(text: str) -> str:
    try:
        return TypeAdapter(Note).validate_python(text.strip())
    except ValidationError as error:
        raise CommandError(f"--reason {problems_of(error)[0].message}") from None
