"""What the accountant is asked, and what it answers."""

from dataclasses import dataclass, field

from actors.values import Refused, Tenant


@dataclass(frozen=True, slots=True)
class Charge:
    """One request of a tenant; `usecase` where it reads use cases, which an anonymous tenant may do only so often."""

    tenant_id: str
    usecase: bool


@dataclass(frozen=True, slots=True)
class Refund:
    """Give a charge back, because its request was answered with a 5xx. Windows that have ended stay as they are."""

    tenant_id: str
    usecase: bool
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Read:
    """Read a tenant's counters without charging."""

    tenant_id: str


@dataclass(frozen=True, slots=True)
class Metered:
    """Let through (or, for `Read`, read): the tenant as this message left it."""

    tenant: Tenant


@dataclass(frozen=True, slots=True)
class Moved:
    """The tenant is gone or was merged into another, `into`: resolve the key again."""

    into: str | None = field(default=None, compare=False)


Message = Charge | Refund | Read
Answer = Metered | Moved | Refused
