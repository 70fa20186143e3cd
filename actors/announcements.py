"""What a change tells others: mails to the owner of an account, and happenings for its webhooks. Pure values."""

from dataclasses import dataclass
from enum import StrEnum


class Topic(StrEnum):
    """The kinds of mail that a recipient can turn off."""

    REVIEWS = "reviews"
    BOOKINGS = "bookings"
    REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class AccountMail:
    """A mail to the owner of a tenant, or to every administrator. Written in the transaction of what it tells.

    `id` comes from the change, so that a repeated decision mails once. `facts` is a JSON object of strings. Without a
    `topic`, the mail is always sent.
    """

    id: str
    tenant_id: str
    template: str
    facts: str
    created_ms: int
    expires_ms: int
    topic: Topic | None = None
    to_administrators: bool = False


@dataclass(frozen=True, slots=True)
class Happening:
    """A change that webhooks tell. `payload` is the JSON of `data`. Webhooks keep the order of a subject: the id of a
    booking or a campaign."""

    id: str
    tenant_id: str
    subject_id: str
    type: str
    payload: str
    created_ms: int
