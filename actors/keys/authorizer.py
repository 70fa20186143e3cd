"""The intents of the key actor that are about what people allow programs: codes, tokens and their ends."""

import hashlib
from dataclasses import dataclass, field, replace

from actors.keys.authorizations import (
    Authorization,
    Authorize,
    Client,
    EndAuthorization,
    ExchangeCode,
    FreshText,
    RefreshText,
)
from actors.keys.messages import Answer, Authorized, ByAccount, Key, KeysEnded, Message
from actors.keys.state import KeyRules
from actors.keys.store import KeyStore
from actors.shared.credentials import (
    AUTHORIZATION_CODE,
    ENTROPY_BYTES,
    REFRESH_TOKEN,
    TOKEN_LENGTH,
    base62,
    derived_entropy,
    digest,
    fingerprint,
    is_key,
    new_id,
    prefix_of,
    renewed_key,
)
from actors.shared.records import CodeActor
from actors.times import SECOND_MS
from actors.values import Agent, AuditRecord, Code, Refused, Scope

SHARED = len(REFRESH_TOKEN.prefix) + TOKEN_LENGTH
"""How many characters all refresh tokens of an authorization share."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of an authorization (RFC 6749, 5.1). `access_token` is the text of `key`. Both are available in clear only
    here. `changed` has the hash of the text that was replaced."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_seconds: int
    key: Key
    changed: tuple[bytes, ...] = ()


class ClientAuthorizer(CodeActor[Message, Answer, KeyStore, KeyRules]):
    """Allows clients what people approve. The text of a key derives from the refresh token that replaces it, and a refresh
    token from the one before, so that an answer that was lost can be given again although neither is stored."""

    async def authorize(
        self,
        client: Client,
        agent: Agent,
        by: ByAccount,
        *,
        challenge: bytes,
        resource: str,
        scopes: tuple[Scope, ...],
        ends_ms: int,
        form: str | None = None,
    ) -> str | Refused:
        """Allow a client to get a scoped key of the session's account that ends at `ends_ms`. Returns the authorization code,
        which the client exchanges within `code_life_ms`. `challenge` is SHA-256 of its verifier. Refused if the session has
        ended, the account has no room for another scoped key, or `form`, which identifies what the person sent, was used."""
        assert agent.email is not None, "a session belongs to an account"
        code, now_ms = AUTHORIZATION_CODE.new(self._entropy.token(ENTROPY_BYTES)), self._clock.now_ms()
        authorization = Authorization(
            id=self._id("aut") if form is None else new_id("aut", fingerprint(agent.id, form)),
            code_hash=digest(code),
            client_hash=digest(client.id),
            client_name=client.name,
            redirect_uri=client.redirect_uri,
            challenge=challenge,
            resource=resource,
            scopes=scopes,
            email=agent.email,
            session_id=by.session_id,
            created_ms=now_ms,
            expires_ms=now_ms + self.rules.code_life_ms,
            key_expires_ms=ends_ms,
            used_ms=now_ms,
        )
        answer = await self.ask_for(Authorize(authorization), Authorized, Refused)
        return answer if isinstance(answer, Refused) else code

    async def exchange_code(
        self, code: str, *, client_id: str, redirect_uri: str, verifier: str, resource: str | None
    ) -> Tokens | Refused:
        """Issue the scoped key of an authorization code to the client that asked for it (RFC 6749, 4.1.3; RFC 7636, 4.6; RFC
        8707, 2.2). A code is exchanged once: a second attempt revokes the key. Refused with `INVALID_GRANT` or
        `INVALID_TARGET`."""
        if not AUTHORIZATION_CODE.matches(code):
            return Refused(Code.INVALID_GRANT, "This is no authorization code.")
        token = REFRESH_TOKEN.new(self._entropy.token(2 * ENTROPY_BYTES))
        key_id = self._id("key")
        exchange = ExchangeCode(
            code_hash=digest(code),
            client_hash=digest(client_id),
            redirect_uri=redirect_uri,
            challenge=hashlib.sha256(verifier.encode()).digest(),
            resource=resource,
            key_id=key_id,
            text=self._text_of(token),
            issued=self._of_session("key.issued", key_id),
            revoked=self._of_session("key.revoked", ""),
            notice=self._notice("new_key", ""),
        )
        return self._tokens(token, await self.ask_for(exchange, Authorized, Refused))

    async def refresh(
        self, refresh_token: str, *, client_id: str, resource: str | None, scopes: tuple[Scope, ...] | None = None
    ) -> Tokens | Refused:
        """Replace the text of an authorization's key, and the refresh token (RFC 6749, 6). The same refresh token gets the
        same answer for `refresh_repeat_ms`, because answers get lost; after that it revokes the key. Refused with
        `INVALID_GRANT`, `INVALID_TARGET` or `INVALID_SCOPE`."""
        if not REFRESH_TOKEN.matches(refresh_token):
            return Refused(Code.INVALID_GRANT, "This is no refresh token.")
        number = int.from_bytes(derived_entropy(self._secret, "refresh token", refresh_token))
        token = refresh_token[:SHARED] + base62(number, TOKEN_LENGTH)
        message = RefreshText(
            secret_hash=digest(refresh_token[SHARED:]),
            client_hash=digest(client_id),
            resource=resource,
            scopes=scopes,
            text=self._text_of(token),
            revoked=self._of_session("key.revoked", ""),
        )
        tokens = self._tokens(token, await self.ask_for(message, Authorized, Refused))
        old = digest(self._access_token(refresh_token))
        return tokens if isinstance(tokens, Refused) else replace(tokens, changed=(old,))

    async def end_token(self, token: str, *, client_id: str) -> KeysEnded:
        """Revoke the key of an access token or refresh token of this client (RFC 7009). Others change nothing."""
        refresh_hash = digest(token[:SHARED]) if REFRESH_TOKEN.matches(token) else None
        found = list((await self._store.resolve([digest(token)])).values()) if is_key(token) else []
        if refresh_hash is None and not found:
            return KeysEnded(())
        key_id = found[0].key.id if found else None
        revoked = self._of_session("key.revoked", "")
        return await self.ask_for(EndAuthorization(digest(client_id), refresh_hash, key_id, revoked), KeysEnded)

    async def is_client_in_use(self, client_id: str, since_ms: int) -> bool:
        """Whether this client got a code or token since `since_ms`. Raises `StorageUnavailable`."""
        return await self._store.is_client_in_use(digest(client_id), since_ms)

    def _text_of(self, token: str) -> FreshText:
        text = self._access_token(token)
        return FreshText(digest(text), prefix_of(text), digest(token[:SHARED]), digest(token[SHARED:]))

    def _access_token(self, token: str) -> str:
        """The text of a key with this refresh token. Its displayed prefix stays."""
        shown = derived_entropy(self._secret, "prefix of a client's key", token[:SHARED])
        return renewed_key(shown, derived_entropy(self._secret, "client's key", token))

    def _tokens(self, token: str, answer: Authorized | Refused) -> Tokens | Refused:
        if isinstance(answer, Refused):
            return answer
        assert answer.key is not None, "a client got a key"
        assert answer.key.text_expires_ms is not None, "its text ends"
        seconds = max(0, answer.key.text_expires_ms - self._clock.now_ms()) // SECOND_MS
        return Tokens(self._access_token(token), token, seconds, answer.key)

    def _of_session(self, action: str, key_id: str) -> AuditRecord:
        """A record in the name of the session that allowed it, which the rule knows."""
        return self._audit(Agent("session", ""), action, "key", key_id)
