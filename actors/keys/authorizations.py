"""Records and messages of authorizations: what a person allowed a program. Source: RFC 6749, RFC 7636, ADR 0109.

None contains a code, token or key in clear: intents hash them first.
"""

from dataclasses import dataclass

from actors.values import AuditRecord, OutboxMessage, Scope


@dataclass(frozen=True, slots=True)
class Client:
    """A program that asks a person for access to an account (RFC 6749, 1.1).

    `id` is the URL of its metadata document, or what its registration returned: at most 2,000 characters. `name` is what it
    calls itself, at most 64 characters of one line. `redirect_uri` is where the person's browser returns to, at most 1,000.
    """

    id: str
    name: str
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class Authorization:
    """An approval of a client by a person: a code, then a scoped key and refresh tokens for it.

    `code_hash` is SHA-256 of the code, `client_hash` of the client's id, and `challenge` of the verifier (RFC 7636, S256).
    The key that the code is exchanged for ends at `key_expires_ms`. `key_id` and `refresh_hash` are set once it was
    exchanged: the latter is SHA-256 of the half that all refresh tokens share. `secret_hash` is that of the other half of
    the current one, `spent_hash` of the one before, which gets the same answer again until `repeat_until_ms`. `used_ms` is
    when the client last got a code or token. The row goes after `expires_ms`: the end of the code, and then that of the key.
    """

    id: str
    code_hash: bytes
    client_hash: bytes
    client_name: str
    redirect_uri: str
    challenge: bytes
    resource: str
    scopes: tuple[Scope, ...]
    email: str
    session_id: str
    created_ms: int
    expires_ms: int
    key_expires_ms: int
    used_ms: int
    key_id: str | None = None
    refresh_hash: bytes | None = None
    secret_hash: bytes | None = None
    spent_hash: bytes | None = None
    repeat_until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class FreshText:
    """The text that a key gets, and the halves of the refresh token that replaces it, as hashes."""

    key_hash: bytes
    prefix: str
    refresh_hash: bytes
    secret_hash: bytes


# Messages.


@dataclass(frozen=True, slots=True)
class Authorize:
    """Store what the person of a live session allowed."""

    authorization: Authorization


@dataclass(frozen=True, slots=True)
class ExchangeCode:
    """Issue the key of a code to the client that proves that it asked for it. `revoked` is the audit record of a second
    attempt, which revokes the key."""

    code_hash: bytes
    client_hash: bytes
    redirect_uri: str
    challenge: bytes
    resource: str | None
    key_id: str
    text: FreshText
    issued: AuditRecord
    revoked: AuditRecord
    notice: OutboxMessage


@dataclass(frozen=True, slots=True)
class RefreshText:
    """Replace the text of a key and the refresh token. `secret_hash` is of the one that the client sends, `text` has the new
    ones. `revoked` is the audit record of a token that was replaced before, which revokes the key."""

    secret_hash: bytes
    client_hash: bytes
    resource: str | None
    scopes: tuple[Scope, ...] | None
    text: FreshText
    revoked: AuditRecord


@dataclass(frozen=True, slots=True)
class EndAuthorization:
    """Revoke the key of a refresh token, or the key with this id, if this client has it."""

    client_hash: bytes
    refresh_hash: bytes | None
    key_id: str | None
    revoked: AuditRecord


AuthorizationMessage = Authorize | ExchangeCode | RefreshText | EndAuthorization
