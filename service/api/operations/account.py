"""Operations on the calling account: its usage and limits, and its full and scoped keys (specification, 5)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from actors.clock import DAY_MS
from actors.keys.messages import Key
from actors.quota.state import Caps, exhausted
from actors.shared.credentials import SESSION_TOKEN
from actors.values import Code, Refused, Scope, Tenant, Tier
from service.api.context import Services
from service.api.cookies import SESSION
from service.api.errors import Family, unavailable
from service.api.messages import Answer, respond
from service.api.operation import Call, Operation, Tool, account_operation
from service.api.operations.scoped_keys import edit, refused_end, revoke, rotate
from service.api.policy import Access
from service.schemas.account import (
    AccountKey,
    AccountKeyIssued,
    AccountKeyRequest,
    AccountKeys,
    AllEnded,
    EndAllRequest,
    KeyUsage,
    UsageByKey,
    UsageDay,
    UsageDays,
    UsageDaysQuery,
)
from service.schemas.keys import KeyEdit, KeyRevoked, KeyRotated, KeyRotation, Usage
from service.schemas.rows import filled


async def usage_days(services: Services, call: Call) -> Answer | Refused:
    query: UsageDaysQuery = call.query
    days = await services.quota.days(call.caller.owner, query.days)
    return Answer.of(UsageDays(items=[UsageDay(day=day * DAY_MS, used=used) for day, used in days]))


async def usage_by_key(services: Services, call: Call) -> Answer | Refused:
    query: UsageDaysQuery = call.query
    keys = await services.keys.live_keys(call.caller.owner)
    days = await services.quota.days_by_key(call.caller.owner, [key.id for key in keys], query.days)
    items, of_keys = [], Counter[int]()
    for key in keys:  # Those that ended since the list was read are still in it.
        own = days.get(key.id, ())
        of_keys.update(dict(own))
        used = sum(used for _, used in own)
        items.append(KeyUsage(id=key.id, keyPrefix=key.prefix, name=key.name, used=used, days=_used_days(own)))
    whole = days.get(None, ())
    rest = [(day, used - of_keys[day]) for day, used in whole]
    return Answer.of(UsageByKey(items=items, other=_used_days(rest), used=sum(used for _, used in whole)))


def _used_days(days: Iterable[tuple[int, int]]) -> list[UsageDay]:
    return [UsageDay(day=day * DAY_MS, used=used) for day, used in days if used > 0]


async def list_keys(services: Services, call: Call) -> Answer | Refused:
    keys = await services.keys.live_keys(call.caller.owner)
    used = await services.key_uses.last([key.id for key in keys])
    return Answer.of(AccountKeys(items=[account_key(key, used.get(key.id)) for key in keys]))


def account_key(key: Key, used_ms: int | None) -> AccountKey:
    return filled(
        AccountKey,
        key,
        keyPrefix=key.prefix,
        grantedBy=key.granter_id,
        replacedBy=key.successor_id,
        lastUsedAt=used_ms,
    )


async def create_key(services: Services, call: Call) -> Answer | Refused:
    body: AccountKeyRequest = call.body or AccountKeyRequest()
    caller = call.caller
    if refused := refused_end(services, body.expiresAt):
        return refused
    issued = await services.keys.issue(
        caller.email,
        caller.agent,
        name=body.name,
        granted_by=caller.granter,
        idempotency_key=call.idempotency_key,
        expires_ms=body.expiresAt,
        admin=bool(body.admin),
    )
    services.mail.wake()
    return respond(issued, lambda new: AccountKeyIssued(apiKey=new.api_key, id=new.key.id, keyPrefix=new.key.prefix))


async def end_all(services: Services, call: Call) -> Answer | Refused:
    """Sessions end first, because they can create keys. Repeating the request ends what an interrupted one left."""
    body: EndAllRequest = call.body or EndAllRequest()
    caller = call.caller
    kept = None if body.keepCurrent is False else caller.agent.id
    sessions = await services.sessions.end_all(caller.email, caller.agent, except_id=kept)
    await services.devices.end_approved(caller.email)
    keys = (await services.keys.end_keys(caller.email, caller.agent)).keys
    services.key_cache.forget((key.hash for key in keys), [caller.owner])
    dropped = [] if kept else [SESSION.delete(services.base_url)]
    return Answer.of(AllEnded(sessions=sessions, keys=len(keys)), *dropped)


async def edit_key(services: Services, call: Call) -> Answer | Refused:
    kept = await edit(services, call, full=True)
    if isinstance(kept, Refused):
        return kept
    used = await services.key_uses.last([kept.id])
    return Answer.of(account_key(kept, used.get(kept.id)))


_reading = partial(account_operation, method="GET", tag="Account")
_deciding = partial(Operation, tag="Account", family=Family.SPONSORSHIP, access=Access.SESSION)
"""Only a person in a browser, so that a stolen key cannot create more keys."""


async def usage(services: Services, call: Call) -> Answer | Refused:
    resolved, caps = call.caller.resolved, services.quota.caps
    tenant = await services.quota.read(call.caller.tenant_id)
    if tenant is None:
        services.key_cache.forget([] if resolved is None else [resolved.key.hash])
        return unavailable("This key is being claimed. Try again in a moment.")
    if refused := exhausted(tenant, caps[tenant.tier]):
        return refused
    if resolved is None:
        return Answer.of(usage_of(tenant, SESSION_TOKEN.prefix, call.caller.email, caps))
    return Answer.of(usage_of(tenant, resolved.key.prefix, resolved.email, caps, expires_ms=resolved.key.expires_ms))


def usage_of(
    tenant: Tenant, prefix: str, email: str | None, caps: Mapping[Tier, Caps], *, expires_ms: int | None = None
) -> Usage:
    """The usage of a tenant. `prefix` is the start of the caller's key or session token."""
    cap = caps[tenant.tier]
    anonymous = tenant.tier is Tier.ANONYMOUS
    limit = cap.lifetime if anonymous else cap.monthly
    assert limit is not None, f"the tier {tenant.tier} has no cap to show"
    return Usage(
        tenantId=tenant.id,
        status=tenant.tier.value,
        keyPrefix=prefix,
        requestsUsed=tenant.lifetime_used if anonymous else tenant.month_used,
        requestLimit=limit,
        dailyRequestsUsed=tenant.day_used,
        dailyRequestLimit=cap.daily,
        expiresAt=expires_ms,
        email=email,
    )


ROWS = (
    Operation(
        name="getUsage",
        tool=Tool("get_usage", "Use it to see how many requests a key has left, and until when it works."),
        method="GET",
        path="/api/v1/usage",
        summary="Get usage",
        description="Returns the counters and limits of the calling key. The request itself does not count. For a session, "
        f"returns those of the account, with `{SESSION_TOKEN.prefix}` as `keyPrefix`. "
        "An anonymous key that has used its lifetime cap is refused.",
        tag="Account",
        handler=usage,
        result=Usage,
        access=Access.REQUIRED,
        scopes=(Scope.LIBRARY_READ,),
        codes=(Code.QUOTA_EXHAUSTED,),
    ),
    _reading(
        name="listUsageDays",
        path="/api/v1/account/usage/days",
        summary="List the days of usage",
        description="Returns the account's counted requests for each of the last days, ending with today.",
        handler=usage_days,
        result=UsageDays,
        query=UsageDaysQuery,
        scopes=(Scope.LIBRARY_READ,),
    ),
    _reading(
        name="listUsageByKey",
        path="/api/v1/account/usage/keys",
        summary="List daily usage by key",
        description="Returns the requests of each live key of the account on each of the last days, ending with today, and "
        "under `other` those of keys that no longer exist. They add up to the daily usage of the account.",
        handler=usage_by_key,
        result=UsageByKey,
        query=UsageDaysQuery,
        scopes=(Scope.KEYS_MANAGE,),
    ),
    _reading(
        name="listAccountKeys",
        path="/api/v1/account/keys",
        summary="List all keys of the account",
        description="Returns every live key of the account, full and scoped, newest first. This list is not paginated.",
        handler=list_keys,
        result=AccountKeys,
        scopes=(Scope.KEYS_MANAGE,),
    ),
    _deciding(
        name="createAccountKey",
        method="POST",
        path="/api/v1/account/keys",
        summary="Create a full key of the account",
        description="Creates a key with all the rights of the account, except administration unless `admin` asks for it. The "
        "key is returned only once. The body is optional. "
        "A repeated Idempotency-Key is refused and creates no second key.",
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
        name="editAccountKey",
        repeatable=True,
        method="PATCH",
        path="/api/v1/account/keys/{id}",
        summary="Edit the name or the expiry of a key of the account",
        description="Changes the name or the expiry of a full or scoped key of the account; with `null` it never expires. "
        "A key expires no later than the key that granted it, so `expiresAt` in the response may be earlier, and the keys "
        "that it granted expire no later than it. A key that has expired or was rotated stays as it is.",
        handler=edit_key,
        result=AccountKey,
        body=KeyEdit,
        example={"name": "Laptop", "expiresAt": 1_798_761_600_000},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _deciding(
        name="rotateAccountKey",
        method="POST",
        path="/api/v1/account/keys/{id}/rotate",
        summary="Rotate a key of the account",
        description="Creates a key with the same scopes, name and expiry, which is returned only once. The old key works for "
        "`graceSeconds` longer. Keys that it granted belong to the new one. The rights of an administrator take a session "
        "that may grant them. A repeated Idempotency-Key is refused and rotates nothing.",
        handler=partial(rotate, full=True),
        result=KeyRotated,
        body=KeyRotation,
        leads_to={"revokeAccountKey": "/id"},
        example={"graceSeconds": 86_400},
        codes=(Code.NOT_FOUND, Code.INVALID_STATE, Code.KEY_LIMIT),
        keyed=True,
    ),
    _deciding(
        name="revokeAccountKey",
        method="DELETE",
        path="/api/v1/account/keys/{id}",
        summary="Revoke a key of the account",
        description="Permanently revokes a full or scoped key of the account. It stops working on every node within a "
        "second. The keys that it granted are revoked with it. Repeating the request has no effect.",
        handler=partial(revoke, full=True),
        result=KeyRevoked,
        codes=(Code.NOT_FOUND,),
    ),
    _deciding(
        name="endAll",
        while_suspended=True,
        method="POST",
        path="/api/v1/account/end-all",
        summary="End all sessions and revoke all keys",
        description="Revokes every key of the account, and ends every device login that has not fetched its key and every "
        "browser session, except the one of this request unless `keepCurrent` is false. The body is optional.",
        handler=end_all,
        result=AllEnded,
        body=EndAllRequest,
        body_optional=True,
        example={"keepCurrent": True},
        headers=("Set-Cookie",),
    ),
)
