"""A command that runs as a user whom the embedded Postgres of a service does not admit."""

import re
from pathlib import Path

import pytest
import trio
from asyncpg.exceptions import InvalidAuthorizationSpecificationError

from storage.connection.pool import PoolLimits
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.opening import StorageError, StorageOptions, open_storage
from tests.embedded.helpers import fetch


async def until_refused(endpoint: Target) -> None:
    """Postgres rereads its files a moment after it is told to."""
    with trio.fail_after(20):
        try:
            while True:
                await fetch(endpoint, "select 1")
        except InvalidAuthorizationSpecificationError:
            return


async def test_a_command_of_another_user_fails_at_once_and_names_the_owner(data_dir: Path) -> None:
    """Postgres is told to admit somebody else alone, as if this process had another user."""
    owner = (data_dir / "postgres").owner()
    line = f"the embedded Postgres in {data_dir} belongs to the user {owner}: run this command as {owner}"
    refused = pytest.RaisesExc(StorageError, match=f"^{re.escape(line)}$")
    async with running_postgres(data_dir) as postgres:
        (data_dir / "postgres" / "pg_ident.conf").write_text('service "somebody-else" catalog\n')
        await fetch(postgres.endpoint, "select pg_reload_conf()")
        await until_refused(postgres.endpoint)
        with trio.fail_after(5), pytest.RaisesGroup(refused, flatten_subgroups=True):
            async with open_storage(StorageOptions(PoolLimits()), data_dir, beside=True):
                pass
