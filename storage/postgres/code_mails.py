"""Counts of mails with a code in Postgres. The stores of keys and sessions lock and write them with their own rows."""

from collections.abc import Mapping, Sequence

from actors.shared.code_mails import CodeMailCount
from storage.connection.pool import Connection
from storage.rows.columns import new_and_known
from storage.rows.statements import statements
from storage.rows.tables import CODE_MAIL_COUNTS

SQL = statements("code_mails")


async def lock_code_mails(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, CodeMailCount]:
    rows = await connection.fetch(SQL.lock, list(ids)) if ids else []
    return {row["id"]: CodeMailCount(**row) for row in rows}


async def save_code_mails(
    connection: Connection, before: Mapping[bytes, CodeMailCount], changed: Mapping[bytes, CodeMailCount]
) -> None:
    new, known = new_and_known(changed, before)
    await CODE_MAIL_COUNTS.insert(connection, new)
    await CODE_MAIL_COUNTS.update(connection, known)
