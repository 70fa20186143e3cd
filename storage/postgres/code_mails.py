"""The counts of letters in Postgres, which the stores of keys and of sessions lock and write with their own rows."""

from collections.abc import Mapping, Sequence

from actors.shared.code_mails import LetterCount
from storage.connection.pool import Connection
from storage.rows.columns import new_and_known
from storage.rows.statements import statements
from storage.rows.tables import LETTERS

SQL = statements("letters")


async def lock_letters(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, LetterCount]:
    rows = await connection.fetch(SQL.lock, list(ids)) if ids else []
    return {row["id"]: LetterCount(**row) for row in rows}


async def write_letters(
    connection: Connection, before: Mapping[bytes, LetterCount], changed: Mapping[bytes, LetterCount]
) -> None:
    new, known = new_and_known(changed, before)
    await LETTERS.insert(connection, new)
    await LETTERS.update(connection, known)
