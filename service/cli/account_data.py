"""The commands that export and delete a whole account."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from actors.accounts.actor import AccountActor, Place
from actors.accounts.state import day_words
from actors.accounts.sweeper import AccountEraser
from actors.clock import SystemEntropy
from actors.kernel.supervision import running
from actors.values import Account
from service.cli.accounts import email_of
from service.cli.command import CommandError, Commands
from service.cli.database import AGENT, accepted, open_beside
from service.config.model import Config
from service.running.foundation import new_account_actor

ROWS = 500
"""Rows that are read at a time."""


def add_account_data_commands(commands: Commands) -> None:
    export = commands.add("export-account", export_account, "email")
    export.add_argument("email", metavar="EMAIL")
    delete = commands.add("delete-account", delete_account, "email", "now")
    delete.add_argument("email", metavar="EMAIL")
    delete.add_argument("--now", action="store_true", help="erase the account at once; this cannot be undone")


async def export_account(config: Config, data_dir: Path, *, email: str) -> None:
    """One line for each row: the table and the row."""
    async with _open_accounts(config, data_dir) as accounts:
        account = await _known(accounts, email)
        place: Place | None = None
        while True:
            found, place = await accounts.export(account, place, ROWS)
            for table, rows in found.items():
                for row in rows:
                    print(json.dumps({"table": table, "row": row.row}, ensure_ascii=False))
            if place is None:
                return


async def delete_account(config: Config, data_dir: Path, *, email: str, now: bool) -> None:
    async with _open_accounts(config, data_dir) as accounts:
        account = await _known(accounts, email)
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


async def _known(accounts: AccountActor, text: str) -> Account:
    account = await accounts.find(email_of(text))
    if account is None:
        raise CommandError(f"there is no account with the email {email_of(text)}")
    return account


@asynccontextmanager
async def _open_accounts(config: Config, data_dir: Path) -> AsyncIterator[AccountActor]:
    """A running account keeper over open storage. Raises `CommandError` if the database fails during the block."""
    async with open_beside(config, data_dir) as opened:
        accounts = await new_account_actor(config, data_dir, opened, f"cli-{SystemEntropy().token(6).hex()}")
        async with running([accounts]):
            yield accounts
