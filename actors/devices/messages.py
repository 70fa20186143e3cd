"""What is kept of device logins, what the device authorizer is asked, and what it answers.

No message and no record holds a device code or a key in clear: intents hash them before they ask.
"""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Where a device login stands. `REDEEMED` is an approved one whose key was handed out."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    REDEEMED = "redeemed"


@dataclass(frozen=True, slots=True)
class Device:
    """One device login. `user_code` is 8 letters without the hyphen; `agent` and `address` are what the asking program
    said and came from, for the person who approves. `polled_ms` is the last poll that was not early."""

    id: str
    code_hash: bytes
    user_code: str
    agent: str
    address: str
    created_ms: int
    expires_ms: int
    interval_seconds: int
    status: Status = Status.PENDING
    polled_ms: int | None = None
    email: str | None = None
    decided_ms: int | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Guesses:
    """Wrong user codes of a session in a row, and until when its form is locked."""

    session_id: str
    wrong: int
    locked_until_ms: int
