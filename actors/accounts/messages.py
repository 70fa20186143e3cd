"""Records, messages and answers of the account actor. None of them contains a code in clear."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.shared.announcements import Topic
from actors.shared.codes import EmailedCode, Sendings
from actors.values import AuditRecord, Done, OutboxMessage, Refused


@dataclass(frozen=True, slots=True)
class Deletion(Sendings, EmailedCode):
    """The requested deletion of an account, with the code that confirms it. Once confirmed, the account is erased at
    `due_ms`, unless its owner undoes it. Since `begun_ms` the account is gone, and its rows are being erased."""

    tenant_id: str
    email: str
    requested_ms: int
    confirmed_ms: int | None = None
    due_ms: int | None = None
    begun_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DeletionBlockers:
    """Conditions that block the deletion of an account. `paid_until_ms` is the end of its last paid week; 0 without one."""

    admin: bool = False
    administrators: int = 0
    paid_until_ms: int = 0
    refunds: int = 0
    holds: int = 0


@dataclass(frozen=True, slots=True)
class Exported:
    """One stored row of an account: its place in the order of its table, and its columns without secrets."""

    place: str
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MailChoices:
    """The topics about which an account gets mails. Each field has the name of a `Topic`."""

    email: str
    reviews: bool = True
    bookings: bool = True
    reports: bool = True


# Messages.


@dataclass(frozen=True, slots=True)
class StartDeletion:
    """Send a code that confirms the deletion. The mail carries the code's nonce."""

    email: str
    proof: bytes
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class ConfirmDeletion:
    """Schedule the deletion, if `proof` matches the code that was sent. Without `proof`, an operator schedules it.
    `message` is the mail to the owner; the time is added as a fact."""

    email: str
    proof: bytes | None
    delay_ms: int
    message: OutboxMessage
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class UndoDeletion:
    """Cancel the deletion."""

    email: str
    message: OutboxMessage
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class BeginErasure:
    """End the account whose deletion is due: it is gone with the commit, and its rows can be erased one by one."""

    email: str
    message: OutboxMessage
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class ChooseMails:
    """Turn mails about topics on or off. Topics that are not in `choices` stay as they are."""

    email: str
    choices: Mapping[Topic, bool]
    audit: AuditRecord


Message = StartDeletion | ConfirmDeletion | UndoDeletion | BeginErasure | ChooseMails


# Answers.


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Committed: the deletion as it is now."""

    deletion: Deletion


@dataclass(frozen=True, slots=True)
class MailsChosen:
    """Committed: the choices as they are now."""

    choices: MailChoices


Answer = Done | Scheduled | MailsChosen | Refused
