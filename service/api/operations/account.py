"""What an account sees of itself and does with its keys: usage by day, all keys, full keys issued and any key revoked."""

from functools import partial

from actors.clock import DAY_MS
from actors.keys.messages import Key
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.operations.scoped_keys import revoked
from service.api.policy import Access
from service.schemas.account import (
    AccountKey,
    AccountKeyIssued,
    AccountKeyRequest,
    AccountKeys,
    UsageDay,
    UsageDays,
    UsageDaysQuery,
)
from service.schemas.keys import KeyRevoked


async def usage_days(services: Services, call: Call) -> Answer | Refused:
    query: UsageDaysQuery = call.query
    days = await services.quota.days(call.caller.owner, query.days)
    return Answer.of(UsageDays(items=[UsageDay(day=day * DAY_MS, used=used) for day, used in days]), [*NO_STORE])


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    keys = await services.keys.live_keys(call.caller.owner)
    used = await services.key_uses.last([key.id for key in keys])
    return Answer.of(AccountKeys(items=[_shown(key, used.get(key.id)) for key in keys]), [*NO_STORE])


def _shown(key: Key, used_ms: int | None) -> AccountKey:
    return AccountKey(
        id=key.id,
        keyPrefix=key.prefix,
        kind=key.kind.value,
        scopes=None if key.scopes is None else list(key.scopes),
        name=key.name,
        createdAt=key.created_ms,
        lastUsedAt=used_ms,
    )


async def create_key(services: Services, call: Call) -> Answer | Refused:
    body: AccountKeyRequest | None = call.body
    caller = call.caller
    issued = await services.keys.issue(
        caller.email,
        caller.agent,
        name=None if body is None else body.name,
        granted_by=caller.granter,
        idempotency_key=call.idempotency_key,
    )
    if isinstance(issued, Refused):
        return issued
    shown = AccountKeyIssued(apiKey=issued.api_key, id=issued.key.id, keyPrefix=issued.key.prefix)
    return Answer.of(shown, [*NO_STORE])


async def revoke_key(services: Services, call: Call) -> Answer | Refused:
    return await revoked(services, call, full=True)


_of_the_account = partial(Operation, tag="Account", family=Family.SPONSORSHIP)
_reading = partial(_of_the_account, method="GET", access=Access.REQUIRED, metered=True)
_deciding = partial(_of_the_account, access=Access.SESSION)
"""What only a person decides, so that a key that got into other hands makes no more of its kind."""

ROWS = (
    _reading(
        name="listUsageDays",
        path="/api/v1/account/usage/days",
        summary="Usage of the account by day",
        description="Requests of the last days that counted, today the last, as of the last answered request.",
        handler=usage_days,
        result=UsageDays,
        query=UsageDaysQuery,
        scopes=(Scope.LIBRARY_READ,),
    ),
    _reading(
        name="listAccountKeys",
        path="/api/v1/account/keys",
        summary="List all keys of the account",
        description="The live keys of the account, full and scoped, the newest first; all of them, without a cursor.",
        handler=list_keys,
        result=AccountKeys,
        scopes=(Scope.KEYS_MANAGE,),
    ),
    _deciding(
        name="createAccountKey",
        method="POST",
        path="/api/v1/account/keys",
        summary="Create a full key",
        description="A key that may do all that the account may; it is shown once. A body is not needed. "
        "Repeating an Idempotency-Key creates no second key and is refused.",
        handler=create_key,
        result=AccountKeyIssued,
        body=AccountKeyRequest,
        body_optional=True,
        leads_to={"revokeAccountKey": "/id"},
        example={"name": "Laptop"},
        codes=(Code.KEY_LIMIT,),
        keyed=True,
    ),
    _deciding(
        name="revokeAccountKey",
        method="DELETE",
        path="/api/v1/account/keys/{id}",
        summary="Revoke a key of the account",
        description="Ends a key of the account for good, full or scoped, on every node within a second. Repeating it "
        "changes nothing.",
        handler=revoke_key,
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
)
