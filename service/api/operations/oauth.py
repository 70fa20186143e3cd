"""Operations of clients that people authorize: register, get tokens, revoke them (RFC 7591, 6749 and 7009; ADR 0109)."""

import re
from functools import partial

from actors.clock import SECOND_MS
from actors.devices.actor import RedeemedKey
from actors.keys.authorizer import Tokens
from actors.values import Code, Problem, Refused
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer, respond
from service.api.oauth.clients import is_document_url, refused_redirects, registered_name
from service.api.oauth.requests import read_resource, scopes_of
from service.api.operation import Call, Operation
from service.api.operations.devices import NO_CACHE, POLL_CODES
from service.api.policy import Access, Budget
from service.schemas.devices import GRANT
from service.schemas.oauth import (
    AUTHORIZATION_CODE,
    REFRESH_TOKEN,
    AccessToken,
    ClientRegistered,
    ClientRegistration,
    TokenRequest,
    TokenRevocation,
    TokenRevoked,
)

CREATED = 201
NUMBER_BYTES = 6
GRANTS = (AUTHORIZATION_CODE, REFRESH_TOKEN, GRANT)

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


async def register(services: Services, call: Call) -> Answer | Refused:
    body: ClientRegistration = call.body
    if refused := refused_redirects(body.redirect_uris):
        return refused
    now_ms, uris = services.clock.now_ms(), body.redirect_uris
    name, number = registered_name(body.client_name, uris), int.from_bytes(services.entropy.token(NUMBER_BYTES))
    registered = ClientRegistered(
        client_id=services.clients.registered.register(name, uris, now_ms, number),
        client_id_issued_at=now_ms // SECOND_MS,
        client_name=name,
        redirect_uris=uris,
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    return Answer(CREATED, registered.model_dump_json().encode(), [*NO_STORE, NO_CACHE])


async def issue_token(services: Services, call: Call) -> Answer | Refused:
    body: TokenRequest = call.body
    basic = call.request.headers.get("authorization", "").lower().startswith("basic")
    if basic or body.client_secret or body.client_assertion:
        words = "Clients of this service are public: send client_id, and no secret."
        return Refused(Code.INVALID_CLIENT, words)
    match body.grant_type or "":
        case "authorization_code":
            outcome = await _exchange(services, body)
        case "refresh_token":
            outcome = await _refresh(services, body)
        case "urn:ietf:params:oauth:grant-type:device_code":
            return await _redeem(services, body)
        case "":
            return _missing("grant_type")
        case _:
            return Refused(Code.UNSUPPORTED_GRANT_TYPE, f"grant_type must be one of {', '.join(GRANTS)}.")
    if isinstance(outcome, Tokens):
        # The text that was replaced must not go on here until the announcement comes.
        services.key_cache.forget(outcome.changed)
    services.mail.wake()
    return respond(outcome, _tokens, NO_CACHE)


async def _exchange(services: Services, body: TokenRequest) -> Tokens | Refused:
    code, redirect_uri, verifier = body.code or "", body.redirect_uri or "", body.code_verifier or ""
    given = {"code": code, "redirect_uri": redirect_uri, "client_id": body.client_id, "code_verifier": verifier}
    if missing := [name for name, value in given.items() if not value]:
        return _missing(*missing)
    client_id = _client_id(services, body.client_id)
    if isinstance(client_id, Refused):
        return client_id
    resource = read_resource(body.resource, services.base_url)
    if isinstance(resource, Refused):
        return resource
    if not _VERIFIER.fullmatch(verifier):
        return Refused(Code.INVALID_REQUEST, "code_verifier must have 43 to 128 characters of RFC 7636.")
    return await services.keys.exchange_code(
        code, client_id=client_id, redirect_uri=redirect_uri, verifier=verifier, resource=resource
    )


async def _refresh(services: Services, body: TokenRequest) -> Tokens | Refused:
    if not body.refresh_token:
        return _missing("refresh_token")
    client_id = _client_id(services, body.client_id)
    if isinstance(client_id, Refused):
        return client_id
    resource = read_resource(body.resource, services.base_url)
    if isinstance(resource, Refused):
        return resource
    scopes = scopes_of(body.scope)
    if isinstance(scopes, Refused):
        return scopes
    return await services.keys.refresh(
        body.refresh_token, client_id=client_id, resource=resource, scopes=scopes or None
    )


async def _redeem(services: Services, body: TokenRequest) -> Answer | Refused:
    """The key of a device, for clients that found this address in the metadata."""
    if not body.device_code:
        return _missing("device_code")
    redeemed = await services.devices.poll(body.device_code)
    if isinstance(redeemed, RedeemedKey):
        services.mail.wake()
    return respond(redeemed, lambda new: AccessToken(access_token=new.api_key, token_type="Bearer"), NO_CACHE)


def _tokens(tokens: Tokens) -> AccessToken:
    return AccessToken(
        access_token=tokens.access_token,
        token_type="Bearer",
        expires_in=tokens.expires_seconds,
        refresh_token=tokens.refresh_token,
        scope=" ".join(tokens.key.scopes or ()),
    )


async def revoke_token(services: Services, call: Call) -> Answer | Refused:
    body: TokenRevocation = call.body
    ended = await services.keys.end_token(body.token, client_id=body.client_id)
    services.key_cache.forget([key.hash for key in ended.keys])
    services.mail.wake()
    return Answer.of(TokenRevoked())


def _client_id(services: Services, client_id: str | None) -> str | Refused:
    """The id of a client, if it can be one."""
    if not client_id:
        return _missing("client_id")
    if is_document_url(client_id) or services.clients.registered.read(client_id) is not None:
        return client_id
    return Refused(Code.INVALID_CLIENT, "This client is unknown. Register it again.")


def _missing(*names: str) -> Refused:
    problems = tuple(Problem(name, "missing", "is required") for name in names)
    return Refused(Code.INVALID_REQUEST, "The form is not valid", problems=problems)


CLIENT_ID = "cli_4XcQ2nB8pLmV7tRw"
TOKEN_CODES = (
    Code.INVALID_GRANT,
    Code.INVALID_CLIENT,
    Code.INVALID_SCOPE,
    Code.INVALID_TARGET,
    Code.UNSUPPORTED_GRANT_TYPE,
    *POLL_CODES,
)

_from_clients = partial(
    Operation, method="POST", tag="Authorization", access=Access.PUBLIC, family=Family.DEVICE, cors=True
)

ROWS = (
    _from_clients(
        name="registerClient",
        path="/oauth/register",
        summary="Register a client",
        description="Registers a program that asks people for access (RFC 7591). Nothing is stored: a registration that is "
        "not used ends after 30 days. Programs that have a metadata document use its address as `client_id` instead.",
        handler=register,
        result=ClientRegistered,
        status=CREATED,
        body=ClientRegistration,
        example={"client_name": "An agent", "redirect_uris": ["http://127.0.0.1:8123/callback"]},
        codes=(Code.INVALID_REDIRECT_URI, Code.INVALID_CLIENT_METADATA),
        budget=Budget.REGISTER,
    ),
    _from_clients(
        name="issueToken",
        path="/oauth/token",
        summary="Issue a token",
        description="Exchanges the code of an approved request, or a refresh token, for a key of the account and the next "
        "refresh token (RFC 6749). Also takes polls of device logins. Takes a form, or JSON with the same fields.",
        handler=issue_token,
        result=AccessToken,
        body=TokenRequest,
        form=True,
        example={"grant_type": REFRESH_TOKEN, "refresh_token": "rft_4XcQ2nB8pLmV7tRw", "client_id": CLIENT_ID},
        codes=TOKEN_CODES,
        budget=Budget.DEVICE_POLL,
    ),
    _from_clients(
        name="revokeToken",
        path="/oauth/revoke",
        summary="Revoke a token",
        description="Revokes the key of an access token or refresh token of the client (RFC 7009). Takes a form, or JSON "
        "with the same fields. A token that does not exist is no error.",
        handler=revoke_token,
        result=TokenRevoked,
        body=TokenRevocation,
        form=True,
        example={"token": "rft_4XcQ2nB8pLmV7tRw", "client_id": CLIENT_ID},
        budget=Budget.DEVICE_POLL,
    ),
)
"""Operations that clients call. Those of the person who decides are in `authorizations`."""
