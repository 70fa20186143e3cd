"""The counts of letters in Postgres, which the stores of keys and of sessions lock and write with their own rows."""

from collections.abc import Mapping, Sequence

from actors.shared.code_mails import CodeMailCount
from storage.connection.pool import Connection
from storage.connection.statements import statements
from storage.postgres.columns import columns, new_and_known, write

SQL = statements("letters")


async def lock_code_mails(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, CodeMailCount]:
    rows = await connection.fetch(SQL.lock, list(ids)) if ids else []
    return {row["id"]: CodeMailCount(**row) for row in rows}


async def save_code_mails(
    connection: Connection, before: Mapping[bytes, CodeMailCount], changed: Mapping[bytes, CodeMailCount]
) -> None:
    new, known = new_and_known(changed, before)
    await write(connection, SQL.insert, columns(CodeMailCount, new))
    await write(connection, SQL.update, columns(CodeMailCount, known))
