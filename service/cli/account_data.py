"""The commands that export and delete a whole account."""

import json
from pathlib import Path
from typing import Annotated

from actors.accounts.actor import Place
from actors.accounts.state import day_words
from actors.accounts.sweeper import AccountEraser
from service.cli.accounts import email_of, known_account
from service.cli.command import CommandError, EmailArgument, option
from service.cli.database import AGENT, accepted, open_actor
from service.config.model import Config
from service.running.foundation import new_account_actor

ROWS = 500
"""Rows that are read at a time."""


async def export_account(config: Config, data_dir: Path, *, email: EmailArgument) -> None:
    """One line for each row: the table and the row."""
    async with open_actor(config, data_dir, new_account_actor) as (accounts, opened):
        account = await known_account(opened, email_of(email))
        place: Place | None = None
        while True:
            exported, place = await accounts.export(account, place, ROWS)
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
