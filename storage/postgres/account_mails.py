"""Mails of other stores' transactions to owners and administrators, as rows of the outbox."""

from collections.abc import Sequence

from actors.shared.announcements import AccountMail
from storage.connection.pool import Connection
from storage.rows.columns import arrays, columns, write
from storage.rows.statements import statements

MAIL = statements("mail")

_TO_ADMINISTRATORS = ("id", "template", "topic", "facts", "created_ms", "expires_ms")


async def insert_mails(connection: Connection, mails: Sequence[AccountMail]) -> None:
    """Insert mails to the owners of accounts and to administrators who have not turned their topic off."""
    owners = [mail for mail in mails if mail.tenant_id is not None]
    administrators = [mail for mail in mails if mail.tenant_id is None]
    await write(connection, MAIL.enqueue_for_owners, columns(AccountMail, owners))
    await write(connection, MAIL.enqueue_for_administrators, arrays(_TO_ADMINISTRATORS, administrators))
