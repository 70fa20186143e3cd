"""Finds the caller of a request from its Authorization header or its session cookie."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Protocol, TypeVar

from actors.clock import Clock
from actors.keys.cache import KeyCache
from actors.keys.messages import ByAccount, ByKey, Granter, Resolved
from actors.keys.validity import account_scopes, held_scopes
from actors.sessions.messages import SignedIn
from actors.sessions.reader import SessionReader
from actors.values import SIGN_IN, Agent, Code, Refused, Scope, Tier
from service.api.cookies import SESSION
from service.api.messages import Request
from service.api.policy import Access
from service.api.rate_limits import Budgets

T = TypeVar("T")
DASHBOARD = "/dashboard"
"""The page where the owner of an account creates keys."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller with a key (`resolved`), with a browser session (`signed_in`), or anonymous (neither)."""

    address: str
    resolved: Resolved | None = None
    signed_in: SignedIn | None = None
    require_passkey: bool = False
    """`admin.require_passkey`: administration takes a session that has shown a passkey."""

    @property
    def known(self) -> bool:
        return self.resolved is not None or self.signed_in is not None

    @property
    def tenant_id(self) -> str:
        if self.signed_in is not None:
            return self.signed_in.tenant_id
        assert self.resolved is not None, "anonymous callers have no tenant"
        return self.resolved.key.tenant_id

    @property
    def tier(self) -> Tier:
        if self.signed_in is not None:
            return self.signed_in.tier
        assert self.resolved is not None, "anonymous callers have no tier"
        return self.resolved.tier

    @property
    def owner(self) -> str:
        """The tenant of the caller's account, which owns its sponsor resources."""
        assert self.email, "an anonymous key owns nothing"
        return self.tenant_id

    @property
    def has_account(self) -> bool:
        return self.signed_in is not None or (self.resolved is not None and self.resolved.email is not None)

    @property
    def email(self) -> str:
        if self.signed_in is not None:
            return self.signed_in.session.email
        assert self.resolved is not None, "anonymous callers have no account"
        assert self.resolved.email is not None, "an anonymous key has no account"
        return self.resolved.email

    @property
    def agent(self) -> Agent:
        """The caller as recorded in the audit log."""
        if self.signed_in is not None:
            return Agent("session", self.signed_in.session.id, self.signed_in.session.email)
        assert self.resolved is not None, "anonymous callers change nothing that is audited"
        return Agent("key", self.resolved.key.id, self.resolved.email)

    @property
    def granter(self) -> Granter:
        """The caller as the granter of a new key's scopes."""
        if self.signed_in is not None:
            return ByAccount(self.signed_in.session.id, administers=not self.needs_passkey)
        assert self.resolved is not None, "anonymous callers grant nothing"
        return ByKey(self.resolved.key.id, administers=not self.require_passkey)

    @property
    def admin(self) -> bool:
        """Whether the caller may administer: its account is an administrator, and its key carries that or its session has
        what it needs. Always current on operations with `admin`."""
        if self.signed_in is not None:
            return self.signed_in.admin and not self.needs_passkey
        return self.resolved is not None and self.resolved.admin and self.resolved.key.admin

    @property
    def needs_passkey(self) -> bool:
        """Whether this is an administrator's session that may administer only once it has shown a passkey."""
        found = self.signed_in
        return self.require_passkey and found is not None and found.admin and found.session.passkey_ms is None

    @property
    def suspended(self) -> bool:
        """Whether the caller's account is suspended."""
        if self.signed_in is not None:
            return self.signed_in.suspension is not None
        return self.resolved is not None and self.resolved.suspended

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes in effect now. A session has those of a full key, and administrator scopes need an administrator."""
        if self.signed_in is not None:
            return account_scopes(admin=self.admin)
        return () if self.resolved is None else held_scopes(self.resolved.key, admin=self.resolved.admin)

    def lacks(self, scopes: Sequence[Scope]) -> list[Scope]:
        """The `scopes` that the caller's key was not issued with. Full keys and sessions lack none."""
        if self.resolved is None or self.resolved.key.scopes is None:
            return []
        return [scope for scope in scopes if scope not in self.resolved.key.scopes]


anonymous = lru_cache(1_024)(Caller)
"""The caller without a key at an address."""


async def authenticate(
    authorization: str | None,
    access: Access,
    address: str,
    key_cache: KeyCache,
    budgets: Budgets,
    clock: Clock,
    *,
    fresh: bool = False,
    require_passkey: bool = False,
) -> Caller | Refused:
    """The caller of a request. A wrong header is refused even if a key is optional.

    `fresh` bypasses the key cache, so that a revocation applies from the next request. An address that has sent too many
    unknown keys can use only keys that this node knows. `require_passkey` is `admin.require_passkey`.
    """
    if access is Access.PUBLIC:
        return anonymous(address)
    if authorization is None:
        if access is Access.OPTIONAL:
            return anonymous(address)
        return no_key()
    scheme, _, text = authorization.partition(" ")
    text = text.strip(" ")
    if scheme.lower() != "bearer" or not text or " " in text or "," in text:
        return Refused(Code.UNAUTHORIZED, "The Authorization header must be 'Bearer <key>'.")
    resolved = None if fresh else key_cache.recall(text)
    if resolved is None:
        find = partial(key_cache.resolve, text, fresh=True)
        looked_up = await _look_up(key_cache, text, find, address, budgets)
        if isinstance(looked_up, Refused):
            return looked_up
        resolved = looked_up
    if refused := refused_key(resolved, clock.now_ms()):
        return refused
    return Caller(address, resolved, require_passkey=require_passkey)


def refused_key(resolved: Resolved | None, now_ms: int) -> Refused | None:
    """Why a key, as looked up by its text, does not work now."""
    if resolved is None or resolved.key.revoked_ms is not None:
        return Refused(Code.INVALID_API_KEY, "This API key does not exist or has been revoked.")
    if resolved.key.expires_ms is not None and resolved.key.expires_ms <= now_ms:
        if resolved.key.successor_id is not None:
            return Refused(
                Code.KEY_EXPIRED,
                "This API key was rotated and has expired. Use the key that replaced it.",
                hint=DASHBOARD,
            )
        if resolved.email is not None:
            return Refused(
                Code.KEY_EXPIRED, "This API key has expired. Create another one on the dashboard.", hint=DASHBOARD
            )
        return Refused(Code.KEY_EXPIRED, "This anonymous key has expired. Claim it by email to keep using it.")
    if resolved.key.text_expires_ms is not None and resolved.key.text_expires_ms <= now_ms:
        return Refused(Code.INVALID_API_KEY, "This access token has expired. Get another one with the refresh token.")
    return None


async def signed_in(
    request: Request,
    base_url: str,
    reader: SessionReader,
    budgets: Budgets,
    clock: Clock,
    *,
    require_passkey: bool = False,
) -> Caller | Refused | None:
    """The caller of a live session, or None. Never cached, so that ending a session applies from the next request. An
    address that has sent too many unknown tokens can use only those that this node knows."""
    token = SESSION.value(request.headers, base_url)
    if token is None:
        return None
    found = await _look_up(reader, token, partial(reader.resolve, token), request.client, budgets)
    if isinstance(found, Refused):
        return found
    if found is None or not found.session.is_live(clock.now_ms()):
        return None
    return Caller(request.client, signed_in=found, require_passkey=require_passkey)


class _Lookups(Protocol):
    """The reader of one kind of credentials."""

    def is_new(self, text: str, /) -> bool: ...
    def is_being_looked_up(self, text: str, /) -> bool: ...


async def _look_up(
    source: _Lookups, text: str, find: Callable[[], Awaitable[T | None]], address: str, budgets: Budgets
) -> T | Refused | None:
    """Look a credential up. Only new ones that do not exist count, and not those whose lookup failed.

    A lookup counts before it begins, so that many at once do not exceed the budget. Requests with a credential that is
    being looked up count only if it does not exist: one valid key may come many times at once.
    """
    if not source.is_new(text):
        return await find()
    first = not source.is_being_looked_up(text)
    allowance = budgets.unknown(address, count=int(first))
    if not allowance.allowed or not (first or allowance.remaining):
        wait = allowance.reset_seconds
        words = f"Your address has sent too many unknown keys or sessions. Try again in {wait} s."
        return Refused(Code.RATE_LIMITED, words, wait)
    missing = False
    try:
        found = await find()
        missing = found is None
        return found
    finally:
        if missing and not first:
            budgets.unknown(address)
        elif first and not missing:
            budgets.known(address)


def no_key() -> Refused:
    return Refused(Code.UNAUTHORIZED, "Send your API key as 'Authorization: Bearer <key>'.")


def no_session() -> Refused:
    return Refused(Code.UNAUTHORIZED, "This requires a browser session. Sign in first.", hint=SIGN_IN)


def no_passkey() -> Refused:
    """Administration with `admin.require_passkey`, in a session that has shown no passkey."""
    words = "Administration requires a passkey. Add one at /dashboard/security, or confirm this session with yours."
    return Refused(Code.FORBIDDEN, words, hint="/api/v1/account/passkeys")
