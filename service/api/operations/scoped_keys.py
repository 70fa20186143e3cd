"""Operations on scoped keys of an account (specification, 20 and 21): list, create and revoke."""

import re
from functools import partial

from actors.values import Code, Problem, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.keys import KeyRevoked, ScopedKey, ScopedKeyIssued, ScopedKeyRequest, ScopedKeys

_KEY_ID = re.compile(r"key_[0-9A-Za-z_]{1,60}", re.ASCII)


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    keys = await services.keys.scoped_keys(call.caller.owner)
    items = [
        ScopedKey(
            id=key.id,
            keyPrefix=key.prefix,
            scopes=list(key.scopes or ()),
            createdAt=key.created_ms,
            name=key.name,
            expiresAt=key.expires_ms,
            grantedBy=key.granter_id,
        )
        for key in keys
    ]
    return Answer.of(ScopedKeys(items=items))


async def create_key(services: Services, call: Call) -> Answer | Refused:
    body: ScopedKeyRequest = call.body
    caller = call.caller
    if refused := refused_end(services, body.expiresAt):
        return refused
    issued = await services.keys.issue(
        caller.email,
        caller.agent,
        scopes=tuple(body.scopes),
        name=body.name,
        granted_by=caller.granter,
        idempotency_key=call.idempotency_key,
        expires_ms=body.expiresAt,
    )
    services.mail.wake()
    return respond(issued, lambda new: ScopedKeyIssued(apiKey=new.api_key, id=new.key.id, scopes=body.scopes))


def refused_end(services: Services, expires_ms: int | None) -> Refused | None:
    if expires_ms is None or expires_ms > services.clock.now_ms():
        return None
    problem = Problem("expiresAt", "not_in_future", "must lie in the future")
    return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(problem,))


async def revoke_key(services: Services, call: Call) -> Answer | Refused:
    return await revoke(services, call)


async def revoke(services: Services, call: Call, *, full: bool = False) -> Answer | Refused:
    """Revoke the key in the path. A full key needs `full`."""
    key_id = call.path_values["id"]
    if not _KEY_ID.fullmatch(key_id):
        return Refused(Code.NOT_FOUND, "There is no such key.")
    outcome = await services.keys.revoke(key_id, call.caller.agent, owner=call.caller.owner, full=full)
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(outcome.changed)
    return Answer.of(KeyRevoked(revoked=True, revokedKeys=list(outcome.ended)))


_managing = partial(
    Operation,
    tag="Scoped keys",
    access=Access.REQUIRED,
    family=Family.SPONSORSHIP,
    scopes=(Scope.KEYS_MANAGE,),
    metered=True,
)

ROWS = (
    _managing(
        name="listScopedKeys",
        method="GET",
        path="/api/v1/sponsors/keys",
        summary="List scoped keys",
        description="Returns every live scoped key of the account, newest first. This list is not paginated.",
        handler=list_keys,
        result=ScopedKeys,
    ),
    _managing(
        name="createScopedKey",
        method="POST",
        path="/api/v1/sponsors/keys",
        summary="Create a scoped key",
        description="Creates a key with the given scopes. The key is returned only once. A key can grant only its own "
        "scopes; a session can grant all. Administrator scopes need an administrator. A key ends with the key that granted "
        "it. A repeated Idempotency-Key is refused and creates no second key.",
        handler=create_key,
        result=ScopedKeyIssued,
        body=ScopedKeyRequest,
        leads_to={"revokeScopedKey": "/id"},
        example={"name": "Reporting", "scopes": ["sponsor:read"]},
        codes=(Code.KEY_LIMIT,),
        keyed=True,
    ),
    _managing(
        name="revokeScopedKey",
        method="DELETE",
        path="/api/v1/sponsors/keys/{id}",
        summary="Revoke a scoped key",
        description="Permanently revokes a scoped key of the account. It stops working on every node within a second. "
        "The keys that it granted end with it. Repeating the request has no effect. A key can revoke itself.",
        handler=revoke_key,
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
)
