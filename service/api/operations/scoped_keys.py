"""Operations on scoped keys of an account (specification, 20 and 21): list, create, change, rotate and revoke."""

import re
from functools import partial

from actors.keys.messages import Key
from actors.values import Code, Problem, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer, respond
from service.api.operation import Call, account_operation
from service.schemas.keys import (
    KeyEdit,
    KeyRevoked,
    KeyRotated,
    KeyRotation,
    ScopedKey,
    ScopedKeyIssued,
    ScopedKeyRequest,
    ScopedKeys,
)
from service.schemas.rows import filled

_KEY_ID = re.compile(r"key_[0-9A-Za-z_]{1,60}", re.ASCII)


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    keys = await services.keys.scoped_keys(call.caller.owner)
    return Answer.of(ScopedKeys(items=[_scoped_key(key) for key in keys]))


def _scoped_key(key: Key) -> ScopedKey:
    return filled(ScopedKey, key, keyPrefix=key.prefix, grantedBy=key.granter_id, replacedBy=key.successor_id)


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


async def edit_key(services: Services, call: Call) -> Answer | Refused:
    kept = await edit(services, call)
    return kept if isinstance(kept, Refused) else Answer.of(_scoped_key(kept))


async def edit(services: Services, call: Call, *, full: bool = False) -> Key | Refused:
    """Change the key in the path. A full key needs `full`."""
    body: KeyEdit = call.body
    if refused := refused_end(services, body.expiresAt):
        return refused
    key_id, caller = call.path_values["id"], call.caller
    if not _KEY_ID.fullmatch(key_id):
        return _unknown_key()
    outcome = await services.keys.edit(
        key_id,
        caller.email,
        caller.agent,
        caller.granter,
        full=full,
        name=body.name,
        sets_end="expiresAt" in body.model_fields_set,
        expires_ms=body.expiresAt,
    )
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(outcome.changed)
    return outcome.key


async def rotate(services: Services, call: Call, *, full: bool = False) -> Answer | Refused:
    """Replace the key in the path. A full key needs `full`."""
    body: KeyRotation = call.body
    key_id, caller = call.path_values["id"], call.caller
    if not _KEY_ID.fullmatch(key_id):
        return _unknown_key()
    outcome = await services.keys.rotate(
        key_id,
        caller.email,
        caller.agent,
        caller.granter,
        grace_seconds=body.graceSeconds,
        full=full,
        idempotency_key=call.idempotency_key,
    )
    if isinstance(outcome, Refused):
        return outcome
    text, rotated = outcome
    services.key_cache.forget(rotated.changed)
    services.key_cache.expect(text)
    services.mail.wake()
    key = rotated.key
    return Answer.of(
        filled(
            KeyRotated,
            key,
            apiKey=text,
            keyPrefix=key.prefix,
            previousId=rotated.old.id,
            previousEndsAt=rotated.ends_ms,
        )
    )


async def revoke(services: Services, call: Call, *, full: bool = False, anybodys: bool = False) -> Answer | Refused:
    """Revoke the key in the path. A full key needs `full`, and one of another account `anybodys`."""
    key_id = call.path_values["id"]
    if not _KEY_ID.fullmatch(key_id):
        return _unknown_key()
    owner = None if anybodys else call.caller.owner
    outcome = await services.keys.revoke(key_id, call.caller.agent, owner=owner, full=full)
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(outcome.changed)
    return Answer.of(KeyRevoked(revoked=True, revokedKeys=list(outcome.ended)))


def _unknown_key() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such key.")


_managing = partial(account_operation, tag="Scoped keys", scopes=(Scope.KEYS_MANAGE,))

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
        "scopes; a session can grant all. Administrator scopes need an administrator. A key is revoked with the key that "
        "granted it, and expires no later. A repeated Idempotency-Key is refused and creates no second key.",
        handler=create_key,
        result=ScopedKeyIssued,
        body=ScopedKeyRequest,
        leads_to={"revokeScopedKey": "/id", "editScopedKey": "/id", "rotateScopedKey": "/id"},
        example={"name": "Reporting", "scopes": ["sponsor:read"]},
        codes=(Code.KEY_LIMIT,),
        keyed=True,
    ),
    _managing(
        name="editScopedKey",
        repeatable=True,
        method="PATCH",
        path="/api/v1/sponsors/keys/{id}",
        summary="Edit the name or the expiry of a scoped key",
        description="Changes the name or the expiry of a scoped key of the account; with `null` it never expires. A key "
        "expires no later than the key that granted it, so `expiresAt` in the response may be earlier, and the keys that it "
        "granted expire no later than it. A key can shorten the life of every scoped key, and extend only keys that it "
        "granted. A key that has expired or was rotated stays as it is.",
        handler=edit_key,
        result=ScopedKey,
        body=KeyEdit,
        example={"name": "Reporting", "expiresAt": 1_798_761_600_000},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _managing(
        name="rotateScopedKey",
        method="POST",
        path="/api/v1/sponsors/keys/{id}/rotate",
        summary="Rotate a scoped key",
        description="Creates a key with the same name, scopes, granter and expiry, which is returned only once. The old key "
        "works for `graceSeconds` longer. Keys that it granted belong to the new one. A key can rotate itself and keys that "
        "it granted; a session can rotate all. A repeated Idempotency-Key is refused and rotates nothing.",
        handler=rotate,
        result=KeyRotated,
        body=KeyRotation,
        leads_to={"revokeScopedKey": "/id"},
        example={"graceSeconds": 86_400},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.KEY_LIMIT),
        keyed=True,
    ),
    _managing(
        name="revokeScopedKey",
        method="DELETE",
        path="/api/v1/sponsors/keys/{id}",
        summary="Revoke a scoped key",
        description="Permanently revokes a scoped key of the account. It stops working on every node within a second. "
        "The keys that it granted are revoked with it. Repeating the request has no effect. A key can revoke itself.",
        handler=revoke,
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
)
