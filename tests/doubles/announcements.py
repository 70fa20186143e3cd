"""Announcements of other stores' transactions, in memory."""

from collections.abc import Iterator, Sequence

from actors.accounts.messages import MailChoices
from actors.shared.announcements import AccountMail
from actors.values import OutboxMessage
from tests.doubles.tables import Memory


def tell(memory: Memory, mails: Sequence[AccountMail]) -> None:
    """Insert mails to the owners of accounts and to administrators who have not turned their topic off."""
    for mail in mails:
        for message in _messages(memory, mail):
            memory.messages.setdefault(message.id, message)


def _messages(memory: Memory, mail: AccountMail) -> Iterator[OutboxMessage]:
    if mail.tenant_id is None:
        recipients = [(f"{mail.id}_{n}", email) for n, email in enumerate(sorted(memory.administrators), 1)]
    else:
        accounts = memory.accounts.values()
        recipients = [(mail.id, account.email) for account in accounts if account.tenant_id == mail.tenant_id]
    for message_id, email in recipients:
        if mail.topic is None or getattr(memory.mail_choices.get(email, MailChoices(email)), mail.topic):
            yield OutboxMessage(message_id, email, mail.template, b"", mail.created_ms, mail.expires_ms, mail.facts)
