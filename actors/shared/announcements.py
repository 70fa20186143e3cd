"""The messages that a transaction sends: mails to accounts, and events for webhooks.

Rules append these values to a decision. The stores look up the recipients and write the rows in the same transaction, so
each committed change is sent exactly once. Source: ADR 0079.
"""

from dataclasses import dataclass
from enum import StrEnum

from actors.times import DAY_MS

DELIVERY_MS = 7 * DAY_MS
"""How long the delivery of a mail is retried."""


class Topic(StrEnum):
    """The kinds of mails that a recipient can turn off."""

    REVIEWS = "reviews"
    BOOKINGS = "bookings"
    REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class AccountMail:
    """A mail to the owner of an account; to every administrator if `tenant_id` is None. `id` follows from the audit record
    of the change. Mails without a `topic` are about money or security and are always sent. `facts` is a JSON object of
    strings."""

    id: str
    tenant_id: str | None
    template: str
    topic: Topic | None
    facts: str
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """An event for the webhooks of an account. Webhooks receive the events of one subject (a booking or a campaign) in
    the order of their transactions. `payload` is the JSON of the event's data."""

    id: str
    tenant_id: str
    subject_id: str
    type: str
    payload: str
    created_ms: int
