"""Records, messages and answers of the device authorizer.

None of them contains a device code or a key in clear: intents hash them first.
"""

from dataclasses import dataclass
from enum import StrEnum

from actors.values import OutboxMessage, Refused


class Status(StrEnum):
    """The states of a device login. `REDEEMED`: approved, and its key was returned."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    REDEEMED = "redeemed"


OPEN = frozenset({Status.PENDING, Status.APPROVED})
"""The states that expire."""
WITH_KEY = frozenset({Status.APPROVED, Status.REDEEMED})
"""The states whose next poll may return a key."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device login.

    `user_code` is 8 letters without the hyphen. `agent` and `address` describe the asking program to the person who
    approves. `polled_ms` is the last poll that was not early, or the one that created the key. `email`
    and `session_id` are the account and session that decided. `admin` says whether that person gave administration to the
    key.
    """

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
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Guesses:
    """Consecutive wrong user codes of a session, and until when it is locked."""

    session_id: str
    wrong: int = 0
    locked_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class FreshKey:
    """A full key created by a redemption, stored with all other keys."""

    id: str
    hash: bytes
    prefix: str
    tenant_id: str
    created_ms: int
    name: str | None = None
    admin: bool = False


# Messages.


@dataclass(frozen=True, slots=True)
class Start:
    """Start a device login with the first of `user_codes` that is free."""

    device: Device
    user_codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Poll:
    """Poll for approval. If approved, `key` is issued; its tenant and name, and the recipient of `notice`,
    are set then."""

    code_hash: bytes
    key: FreshKey
    audit_id: str
    request_id: str = ""
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class ViewDevice:
    """Show the device login with this user code to a person in a session."""

    user_code: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Decide:
    """Approve or deny the device login with this user code, for the account of `email`. With `admin`, the key carries
    administration."""

    user_code: str
    session_id: str
    email: str
    approve: bool
    audit_id: str
    request_id: str = ""
    admin: bool = False


@dataclass(frozen=True, slots=True)
class EndApproved:
    """Expire the approved device logins of an account that have not fetched their key."""

    email: str


Message = EndApproved | Start | Poll | ViewDevice | Decide


# Answers.


@dataclass(frozen=True, slots=True)
class DeviceView:
    """Committed: the device login as it is now."""

    device: Device


@dataclass(frozen=True, slots=True)
class Redeemed:
    """Committed: the key belongs to the account. It is returned again only for a short time."""

    key: FreshKey


@dataclass(frozen=True, slots=True)
class ApprovedEnded:
    """Committed: the device logins that this message expired."""

    count: int


Answer = ApprovedEnded | DeviceView | Redeemed | Refused
