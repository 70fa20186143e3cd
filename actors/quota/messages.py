"""Messages and answers of the quota accountant."""

from dataclasses import dataclass, field

from actors.values import Refused, Tenant


@dataclass(frozen=True, slots=True)
class Charge:
    """One request of a tenant. `usecase`: it reads use cases, which anonymous tenants may do only a few times. It also counts
    in the day of the key `key_id`, if one is given. What the tenants `siblings` have used counts towards the caps, too."""

    tenant_id: str
    usecase: bool
    key_id: str | None = None
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refund:
    """Refund a charge whose request was answered with a 5xx. Windows that have ended stay as they are."""

    tenant_id: str
    usecase: bool
    month: int
    day: int
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """Read a tenant's counters without charging."""

    tenant_id: str


@dataclass(frozen=True, slots=True)
class Metered:
    """Allowed (or, for `Read`, read): the tenant after this message."""

    tenant: Tenant


@dataclass(frozen=True, slots=True)
class Moved:
    """The tenant does not exist or was merged into `into`: resolve the key again."""

    into: str | None = field(default=None, compare=False)


Message = Charge | Refund | Read
Answer = Metered | Moved | Refused
