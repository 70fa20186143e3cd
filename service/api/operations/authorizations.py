"""The person's side of an authorization: what a program asks for, and the decision. Only the page calls these operations.

The page sends the request as the program sent it, and each operation checks all of it, so a form can change nothing. A form
belongs to the session and the request that its page showed, for `TICKET_MS`, and allows once.
"""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from actors.clock import DAY_MS, MINUTE_MS
from actors.keys.authorizations import Client
from actors.keys.messages import ByAccount
from actors.values import Code, Refused, Scope
from service.api.authentication import Caller
from service.api.context import Services
from service.api.errors import description_of, too_fast
from service.api.messages import Answer, respond
from service.api.oauth.clients import LIFE_MS, DescribedClient, RegisteredClient, host_of, is_document_url
from service.api.oauth.redirects import is_loopback, place_of, source_of, with_parameters
from service.api.oauth.requests import Asked, AuthorizationRequest, checked, read
from service.api.operation import Call
from service.api.policy import Access
from service.schemas.oauth import AuthorizationAsked, AuthorizationDecided, AuthorizationDecision, AuthorizationShown
from service.tokens.signing import BadToken

TICKET_MS = 15 * MINUTE_MS
TICKET = "approval"
ONCE_BYTES = 8
"""Random bytes that tell forms of one request apart: each allows the program once."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of a known client, and whether the client has a document. `valid` is a refusal if the request is wrong."""

    asked: Asked
    name: str
    valid: AuthorizationRequest | Refused

    @property
    def described(self) -> str | None:
        """The host of the client's document."""
        return host_of(self.asked.client_id) if is_document_url(self.asked.client_id) else None


async def show(services: Services, call: Call) -> Answer | Refused:
    query: AuthorizationAsked = call.query
    found = await _request(services, call.caller, query.request)
    return respond(found, lambda request: _shown(services, call, query.request, request))


def _shown(services: Services, call: Call, query: str, found: _Request) -> AuthorizationShown:
    redirect_uri = found.asked.redirect_uri
    shown = AuthorizationShown(
        name=found.name,
        described=found.described,
        place=place_of(redirect_uri),
        local=is_loopback(redirect_uri),
        source=source_of(redirect_uri),
    )
    if isinstance(found.valid, Refused):
        shown.error = found.valid.message
        shown.goOn = _error(services, found.asked, found.valid)
        return shown
    shown.scopes = tuple(scope.value for scope in found.valid.scopes)
    until_ms, once = services.clock.now_ms() + TICKET_MS, services.entropy.token(ONCE_BYTES).hex()
    shown.ticket = services.clients.tickets.sign(TICKET, [*_bound(call, query), once, until_ms])
    return shown


async def decide(services: Services, call: Call) -> Answer | Refused:
    body: AuthorizationDecision = call.body
    if refused := _refused_ticket(services, call, body):
        return refused
    found = await _request(services, call.caller, body.request)
    if isinstance(found, Refused):
        return found
    if isinstance(found.valid, Refused):
        return _decided(_error(services, found.asked, found.valid))
    if body.decision == "deny":
        return _decided(_error(services, found.asked, Refused(Code.ACCESS_DENIED, "The person denied the request.")))
    scopes = tuple(scope for scope in found.valid.scopes if scope in body.scopes)
    if not scopes:
        return Refused(Code.INVALID_SCOPE, "Choose at least one thing that the program may do, or deny the request.")
    return await _approve(services, call, found.asked, found.name, found.valid, scopes, body.days, body.ticket)


async def _approve(
    services: Services,
    call: Call,
    asked: Asked,
    name: str,
    valid: AuthorizationRequest,
    scopes: tuple[Scope, ...],
    days: int,
    ticket: str,
) -> Answer | Refused:
    granter = call.caller.granter
    assert isinstance(granter, ByAccount), "only sessions decide"
    code = await services.keys.authorize(
        Client(asked.client_id, name, asked.redirect_uri),
        call.caller.agent,
        granter,
        challenge=valid.challenge,
        resource=valid.resource,
        scopes=scopes,
        ends_ms=services.clock.now_ms() + days * DAY_MS,
        form=ticket,
    )
    return code if isinstance(code, Refused) else _decided(_back(services, asked, code=code))


async def _request(services: Services, caller: Caller, query: str) -> _Request | Refused:
    """The request of a query. Refused if its client or its redirect URI is not known to be right."""
    asked = read(query)
    if isinstance(asked, Refused):
        return asked
    client = await _client(services, caller, asked.client_id)
    if isinstance(client, Refused):
        return client
    if client is None or not await _is_current(services, asked.client_id):
        words = (
            "This program is not registered here any more. Remove the connection from the program, and add it again."
        )
        return Refused(Code.INVALID_REQUEST, words)
    if not client.allows(asked.redirect_uri):
        words = f"The program asked to return to {place_of(asked.redirect_uri)}, which it did not register."
        return Refused(Code.INVALID_REQUEST, words)
    return _Request(asked, client.name, checked(asked, services.base_url))


async def _client(
    services: Services, caller: Caller, client_id: str
) -> DescribedClient | RegisteredClient | Refused | None:
    """The client with an id. An account has so many documents fetched a minute as it may send requests."""
    if not is_document_url(client_id):
        return services.clients.registered.read(client_id)
    refused = too_fast(services.quota.pace(f"{caller.tenant_id} documents", caller.tier))
    return refused or await services.clients.documents.read(client_id)


async def _is_current(services: Services, client_id: str) -> bool:
    """Whether a registration is new or in use. A document is current while it is there."""
    registered = services.clients.registered.read(client_id)
    since_ms = services.clock.now_ms() - LIFE_MS
    if registered is None or registered.issued_ms > since_ms:
        return True
    return await services.keys.is_client_in_use(client_id, since_ms)


def _bound(call: Call, query: str) -> tuple[str, str]:
    """The session and the request to which a form belongs."""
    hashed = urlsafe_b64encode(sha256(query.encode("utf-8", "surrogatepass")).digest()[:16]).decode()
    return call.caller.agent.id, hashed


def _refused_ticket(services: Services, call: Call, body: AuthorizationDecision) -> Refused | None:
    try:
        *bound, _, until_ms = services.clients.tickets.verify(TICKET, body.ticket)
    except BadToken:
        bound, until_ms = [], 0
    if tuple(bound) == _bound(call, body.request) and services.clock.now_ms() < until_ms:
        return None
    words = "This page was open for too long, or you have signed in anew since. Nothing was done: check it again, and decide."
    return Refused(Code.INVALID_STATE, words)


def _error(services: Services, asked: Asked, refused: Refused) -> str:
    return _back(services, asked, error=str(refused.code), error_description=description_of(refused))


def _back(services: Services, asked: Asked, **parameters: str) -> str:
    """The redirect URI with the parameters of a response, and with the issuer, by which a client tells services apart (RFC
    9207)."""
    return with_parameters(asked.redirect_uri, {**parameters, "state": asked.state, "iss": services.base_url})


def _decided(address: str) -> Answer:
    return Answer.of(AuthorizationDecided(goOn=address))


PAGE_ROWS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (
        ("showAuthorization", "authorization", show, AuthorizationShown),
        {"access": Access.SESSION, "query": AuthorizationAsked},
    ),
    (
        ("decideAuthorization", "authorization", decide, AuthorizationDecided, "POST"),
        {"access": Access.SESSION, "body": AuthorizationDecision},
    ),
)
"""The rows of the page, which are internal."""
