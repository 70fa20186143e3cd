"""Operations 20 and 21, and their extension: list, create and revoke the scoped keys of an account."""

import re
from functools import partial

from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.keys import KeyRevoked, ScopedKey, ScopedKeyIssued, ScopedKeyRequest, ScopedKeys

_KEY_ID = re.compile(r"key_[0-9A-Za-z_]{1,60}", re.ASCII)


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    keys = await services.keys.scoped_keys(call.caller.owner)
    items = [
        ScopedKey(
            id=key.id, keyPrefix=key.prefix, scopes=list(key.scopes or ()), createdAt=key.created_ms, name=key.name
        )
        for key in keys
    ]
    return Answer.of(ScopedKeys(items=items), [*NO_STORE])


async def create_key(services: Services, call: Call) -> Answer | Refused:
    """What the caller may grant is decided where the new key is kept: see `Issue.granted_by`."""
    body: ScopedKeyRequest = call.body
    caller = call.caller
    issued = await services.keys.issue(
        caller.email,
        caller.agent,
        scopes=tuple(body.scopes),
        name=body.name,
        granted_by=caller.granter,
        idempotency_key=call.idempotency_key,
    )
    if isinstance(issued, Refused):
        return issued
    shown = ScopedKeyIssued(apiKey=issued.api_key, id=issued.key.id, scopes=body.scopes)
    return Answer.of(shown, [*NO_STORE])


async def revoke_key(services: Services, call: Call) -> Answer | Refused:
    return await revoked(services, call)


async def revoked(services: Services, call: Call, *, full: bool = False) -> Answer | Refused:
    """End the key of the account that the path names, a full one only with `full`."""
    key_id = call.path_values["id"]
    if not _KEY_ID.fullmatch(key_id):
        return Refused(Code.NOT_FOUND, "There is no such key.")
    outcome = await services.keys.revoke(key_id, call.caller.agent, owner=call.caller.owner, full=full)
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(outcome.changed)
    return Answer.of(KeyRevoked(revoked=True), [*NO_STORE])


_managing = partial(
    Operation,
    tag="Scoped keys",
    access=Access.REQUIRED,
    family=Family.SPONSORSHIP,
    scopes=(Scope.KEYS_MANAGE,),
    metered=True,
)
"""What all three have in common."""

ROWS = (
    _managing(
        name="listScopedKeys",
        method="GET",
        path="/api/v1/sponsors/keys",
        summary="List scoped keys",
        description="The live scoped keys of the account, the newest first; all of them, without a cursor.",
        handler=list_keys,
        result=ScopedKeys,
    ),
    _managing(
        name="createScopedKey",
        method="POST",
        path="/api/v1/sponsors/keys",
        summary="Create a scoped key",
        description="A key with these scopes only; it is shown once. A key can grant only scopes that it holds itself, "
        "a session all, and those of administrators only while the account is one. Repeating an Idempotency-Key creates no "
        "second key and is refused.",
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
        description="Ends a scoped key of the account for good, on every node within a second. Repeating it changes "
        "nothing. A key may revoke itself.",
        handler=revoke_key,
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
)
