"""What is kept of device logins, what the device authorizer is asked, and what it answers.

No message and no record holds a device code or a key in clear: intents hash them before they ask.
"""

from dataclasses import dataclass
from enum import StrEnum

from actors.values import Refused


class Status(StrEnum):
    """Where a device login stands. `REDEEMED` is an approved one whose key was handed out."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REDEEMED = "redeemed"


OPEN = frozenset({Status.PENDING, Status.APPROVED})
"""What time ends."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device login. `user_code` is 8 letters without the hyphen; `agent` and `address` are what the asking program
    said and came from, for the person who approves. `polled_ms` is the last poll that was not early. `email` and
    `session_id` are whose account and which of its sessions decided."""

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
    session_id: str | None = None
    decided_ms: int | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Guesses:
    """Wrong user codes of a session in a row, and until when its form is locked."""

    session_id: str
    wrong: int = 0
    locked_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class FreshKey:
    """A full key that a redemption makes; it is kept among all keys."""

    id: str
    hash: bytes
    prefix: str
    tenant_id: str
    created_ms: int
    name: str | None = None


# Messages.


@dataclass(frozen=True, slots=True)
class Start:
    """Begin a device login with the first of `user_codes` that no other has."""

    device: Device
    user_codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Poll:
    """Has somebody approved? Then hand out `key`, whose tenant and name are still open."""

    code_hash: bytes
    key: FreshKey
    audit_id: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What is asked with this user code, for a person in a session."""

    user_code: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Decide:
    """A person approves or denies what is asked with this user code, for the account of `email`."""

    user_code: str
    session_id: str
    email: str
    approve: bool
    audit_id: str
    request_id: str = ""


Message = Start | Poll | Look | Decide


# Answers.


@dataclass(frozen=True, slots=True)
class DeviceView:
    """Committed: the device login as it is now."""

    device: Device


@dataclass(frozen=True, slots=True)
class Redeemed:
    """Committed: the key is the account's, and nobody else gets it."""

    key: FreshKey


Answer = DeviceView | Redeemed | Refused
