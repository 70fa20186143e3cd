"""The operation on usage and limits of a key, or of a session's account (specification, 5)."""

from collections.abc import Mapping

from actors.quota.state import Caps, exhausted
from actors.shared.credentials import SESSION_TOKEN
from actors.values import Code, Refused, Scope, Tenant, Tier
from service.api.context import Services
from service.api.errors import unavailable
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.keys import Usage


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
        tool="get_usage",
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
)
