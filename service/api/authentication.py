"""From the Authorization header, or a session's cookie, to the caller: an account, a key's owner, or nobody."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.clock import Clock
from actors.keys.cache import KeyCache
from actors.keys.messages import ByAccount, ByKey, Granter, Resolved
from actors.keys.standing import account_scopes, held_scopes
from actors.sessions.messages import SignedIn
from actors.sessions.reader import SessionReader
from actors.values import Agent, Code, Refused, Scope, Tier
from service.api.cookies import session_token
from service.api.messages import Request
from service.api.policy import Access


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: by a key (`resolved`), in a browser session (`signed_in`), or nobody in particular."""

    address: str
    resolved: Resolved | None = None
    signed_in: SignedIn | None = None

    @property
    def known(self) -> bool:
        return self.resolved is not None or self.signed_in is not None

    @property
    def tenant_id(self) -> str:
        if self.signed_in is not None:
            return self.signed_in.tenant_id
        assert self.resolved is not None, "nobody has no tenant"
        return self.resolved.key.tenant_id

    @property
    def tier(self) -> Tier:
        if self.signed_in is not None:
            return self.signed_in.tier
        assert self.resolved is not None, "nobody has no tier"
        return self.resolved.tier

    @property
    def owner(self) -> str:
        """The tenant of the caller's account: what sponsor resources belong to."""
        assert self.email, "an anonymous key owns nothing"
        return self.tenant_id

    @property
    def has_account(self) -> bool:
        return self.signed_in is not None or (self.resolved is not None and self.resolved.email is not None)

    @property
    def email(self) -> str:
        """The account's email."""
        if self.signed_in is not None:
            return self.signed_in.session.email
        assert self.resolved is not None, "nobody has no account"
        assert self.resolved.email is not None, "an anonymous key has no account"
        return self.resolved.email

    @property
    def agent(self) -> Agent:
        """The caller as the audit names him."""
        if self.signed_in is not None:
            return Agent("session", self.signed_in.session.id, self.signed_in.session.email)
        assert self.resolved is not None, "nobody does nothing that is audited"
        return Agent("key", self.resolved.key.id, self.resolved.email)

    @property
    def granter(self) -> Granter:
        """The caller as one who gives a new key its scopes."""
        if self.signed_in is not None:
            return ByAccount()
        assert self.resolved is not None, "nobody grants nothing"
        return ByKey(self.resolved.key.id)

    @property
    def admin(self) -> bool:
        """Whether the caller's account is an administrator; on operations with `admin` this is as of now."""
        if self.signed_in is not None:
            return self.signed_in.admin
        return self.resolved is not None and self.resolved.admin

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that the caller holds now, those of administrators only while the account is one. A session holds
        what a full key does."""
        if self.signed_in is not None:
            return account_scopes(admin=self.signed_in.admin)
        return () if self.resolved is None else held_scopes(self.resolved.key, admin=self.resolved.admin)

    def lacks(self, scopes: Sequence[Scope]) -> list[Scope]:
        """Those of `scopes` that the caller's key was not given, whatever its account is; full keys and sessions were given
        all."""
        if self.resolved is None or self.resolved.key.scopes is None:
            return []
        return [scope for scope in scopes if scope not in self.resolved.key.scopes]


async def authenticate(
    authorization: str | None,
    access: Access,
    address: str,
    directory: KeyCache,
    clock: Clock,
    *,
    fresh: bool = False,
) -> Caller | Refused:
    """The caller, or why not: a header that is present has to be right, also where it is optional.

    `fresh`: what is remembered of the key is not trusted, so that a revocation holds from the next request on.
    """
    if access is Access.PUBLIC:
        return Caller(address)
    if authorization is None:
        if access is Access.OPTIONAL:
            return Caller(address)
        return no_key()
    scheme, _, text = authorization.partition(" ")
    text = text.strip(" ")
    if scheme.lower() != "bearer" or not text or " " in text or "," in text:
        return Refused(Code.UNAUTHORIZED, "The Authorization header is not 'Bearer <key>'.")
    resolved = await directory.resolve(text, fresh=fresh)
    if resolved is None or resolved.key.revoked_ms is not None:
        return Refused(Code.INVALID_API_KEY, "This API key does not exist or was revoked.")
    if resolved.key.expires_ms is not None and resolved.key.expires_ms <= clock.now_ms():
        return Refused(Code.KEY_EXPIRED, "This anonymous key has expired. Claim it by email to go on using it.")
    return Caller(address, resolved)


async def signed_in(request: Request, base_url: str, reader: SessionReader, clock: Clock) -> Caller | None:
    """The caller whose live session the request's cookie stands for; None where there is none. Never cached, so that what
    any node has ended holds from the next request on."""
    token = session_token(request.headers, base_url)
    found = None if token is None else await reader.resolve(token)
    if found is None or not found.session.is_live(clock.now_ms()):
        return None
    return Caller(request.client, signed_in=found)


def no_key() -> Refused:
    return Refused(Code.UNAUTHORIZED, "Send your API key as 'Authorization: Bearer <key>'.")


def no_session() -> Refused:
    return Refused(Code.UNAUTHORIZED, "Sign in with a browser to do this.")
