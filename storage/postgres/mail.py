"""The outbox over Postgres, and the mails and counts of mails with a code that other stores write in their transactions."""

from collections.abc import Mapping, Sequence

from actors.mail.messages import Backlog, GivenUp, Lease, Outcome, QueuedMessage, RetryLater, Sent
from actors.mail.store import MAX_COUNTED
from actors.shared.announcements import AccountMail
from actors.shared.code_mails import CodeMailCount
from storage.connection.pool import Connection, Store
from storage.rows.columns import arrays, columns, new_and_known, write
from storage.rows.statements import statements
from storage.rows.tables import CODE_MAIL_COUNTS

SQL, CODE_MAILS = statements("mail"), statements("code_mails")


class PostgresOutbox(Store):
    """Messages in the `outbox` table. The key and session stores insert them."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        async def work(connection: Connection) -> Lease:
            rows = await connection.fetch(SQL.lease, now_ms, limit, until_ms)
            waiting = await connection.fetchrow(SQL.waiting, MAX_COUNTED)
            messages = sorted(
                (QueuedMessage(**row) for row in rows), key=lambda message: (message.created_ms, message.id)
            )
            backlog = Backlog(waiting["waiting"], waiting["oldest_ms"])
            return Lease(tuple(messages), waiting["next_due_ms"], backlog)

        return await self._database.transact(work)

    async def mark(self, marks: Sequence[Outcome]) -> None:
        async def work(connection: Connection) -> None:
            # Sorted, so that two nodes that mark the same messages do not deadlock.
            for mark in sorted(marks, key=lambda mark: mark.message_id):
                await _mark(connection, mark)

        await self._database.transact(work)

    async def prune(self, before_ms: int, limit: int) -> int:
        return await self._prune(SQL.prune, before_ms, limit)

    async def recent(self, limit: int) -> Sequence[QueuedMessage]:
        return [QueuedMessage(**row) for row in await self._database.fetch(SQL.recent, limit)]


async def _mark(connection: Connection, mark: Outcome) -> None:
    match mark:
        case Sent(message_id, sent_ms):
            await connection.execute(SQL.mark_sent, message_id, sent_ms)
        case RetryLater(message_id, attempt, due_ms, error):
            await connection.execute(SQL.mark_again, message_id, attempt, due_ms, error)
        case GivenUp(message_id, attempt, failed_ms, error):
            await connection.execute(SQL.mark_given_up, message_id, attempt, failed_ms, error)


_TO_ADMINISTRATORS = ("id", "template", "topic", "facts", "created_ms", "expires_ms")


async def insert_mails(connection: Connection, mails: Sequence[AccountMail]) -> None:
    """Insert mails to the owners of accounts and to administrators who have not turned their topic off."""
    owners = [mail for mail in mails if mail.tenant_id is not None]
    administrators = [mail for mail in mails if mail.tenant_id is None]
    await write(connection, SQL.enqueue_for_owners, columns(AccountMail, owners))
    await write(connection, SQL.enqueue_for_administrators, arrays(_TO_ADMINISTRATORS, administrators))


async def lock_code_mails(connection: Connection, ids: Sequence[bytes]) -> dict[bytes, CodeMailCount]:
    rows = await connection.fetch(CODE_MAILS.lock, list(ids)) if ids else []
    return {row["id"]: CodeMailCount(**row) for row in rows}


async def save_code_mails(
    connection: Connection, before: Mapping[bytes, CodeMailCount], changed: Mapping[bytes, CodeMailCount]
) -> None:
    new, known = new_and_known(changed, before)
    await CODE_MAIL_COUNTS.insert(connection, new)
    await CODE_MAIL_COUNTS.update(connection, known)
