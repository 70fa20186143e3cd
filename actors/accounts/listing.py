"""Accounts as administrators read them: lists, searches and one account. Values and a port."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from actors.values import Account, Tier

AccountPosition = tuple[int, str]
"""A position in the list of accounts, newest first: when an account was created, and its tenant."""

COUNTED = 10_000
"""Rows that a total counts at most."""


@dataclass(frozen=True, slots=True)
class AccountFilter:
    """Which accounts to list; None means any. `text` is a whole tenant id, or a part of the email or of the sponsor's name,
    in lower case."""

    text: str | None = None
    tier: Tier | None = None
    suspended: bool | None = None

    @property
    def scans(self) -> bool:
        """Whether rows have to be read to know if they match."""
        return self.text is not None or self.tier is not None


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of a list. `admin`: it is an administrator."""

    account: Account
    tier: Tier
    admin: bool = False
    sponsor_name: str | None = None

    @property
    def spot(self) -> AccountPosition:
        return self.account.created_ms, self.account.tenant_id


@dataclass(frozen=True, slots=True)
class AccountList:
    """A page of accounts. `after` is where the next page begins, if there may be more: a search reads a bounded number of
    accounts, so its page may have fewer lines than asked for, and still not be the last."""

    lines: Sequence[AccountLine]
    after: AccountPosition | None


@dataclass(frozen=True, slots=True)
class AccountDetails:
    """One account with the numbers of its live keys and sessions, its campaigns, and its bookings by status."""

    line: AccountLine
    keys: int
    sessions: int
    campaigns: int
    bookings: Mapping[str, int]


class AccountLists(Protocol):
    """Reads of administrators. All methods raise `StorageUnavailable`."""

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        """A page of the accounts that match, newest first."""
        ...

    async def count_accounts(self, *, suspended: bool | None) -> int:
        """How many accounts there are, or are suspended or not; at most `COUNTED`."""
        ...

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        """One account by its tenant."""
        ...
