"""Operation 5: usage and limits of the calling key, or of the account of a session."""

from collections.abc import Mapping

from actors.credentials import SESSION_PREFIX
from actors.quota.state import Caps
from actors.values import Refused, Scope, Tenant, Tier
from service.api.context import Services
from service.api.errors import unavailable
from service.api.messages import NO_STORE, Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.keys import Usage


async def usage(services: Services, call: Call) -> Answer | Refused:
    resolved, caps = call.caller.resolved, services.quota.caps
    tenant = await services.quota.read(call.caller.tenant_id)
    if tenant is None:
        services.key_cache.forget([] if resolved is None else [resolved.key.hash])
        return unavailable("This key is being claimed. Try again in a moment.")
    if resolved is None:
        # A session presents no key: what it does present begins with this.
        shown = usage_of(tenant, SESSION_PREFIX, call.caller.email, caps)
    else:
        shown = usage_of(tenant, resolved.key.prefix, resolved.email, caps, expires_ms=resolved.key.expires_ms)
    return Answer.of(shown, [*NO_STORE])


def usage_of(
    tenant: Tenant, prefix: str, email: str | None, caps: Mapping[Tier, Caps], *, expires_ms: int | None = None
) -> Usage:
    """A tenant's counters as its owner sees them, who calls with what begins with `prefix`."""
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
        method="GET",
        path="/api/v1/usage",
        summary="Usage of the calling key",
        description="Counters and limits of the key's tenant, as of the last answered request. Does not count itself. "
        f"A session sees those of its account, and `{SESSION_PREFIX}` in the place of a key's prefix.",
        tag="Account",
        handler=usage,
        result=Usage,
        access=Access.REQUIRED,
        scopes=(Scope.LIBRARY_READ,),
    ),
)
