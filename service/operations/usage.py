"""Operation 5: usage and limits of the calling key."""

from collections.abc import Mapping

from actors.keys.messages import Key
from actors.quota.state import Caps
from actors.values import Refused, Scope, Tenant, Tier
from service.errors import unavailable
from service.operation import Access, Call, Operation
from service.schemas.keys import Usage
from service.services import Services
from service.wire import Answer


async def usage(services: Services, call: Call) -> Answer | Refused:
    resolved = call.caller.resolved
    assert resolved is not None, "usage needs a key"
    tenant = await services.quota.read(resolved.key.tenant_id)
    if tenant is None:
        services.directory.forget([resolved.key.hash])
        return unavailable("This key is being claimed. Try again in a moment.")
    shown = usage_of(tenant, resolved.key, resolved.email, services.quota.caps)
    return Answer.of(shown, [("cache-control", "no-store")])


def usage_of(tenant: Tenant, key: Key, email: str | None, caps: Mapping[Tier, Caps]) -> Usage:
    """A tenant's counters as its key's owner sees them."""
    cap = caps[tenant.tier]
    anonymous = tenant.tier is Tier.ANONYMOUS
    limit = cap.lifetime if anonymous else cap.monthly
    assert limit is not None, f"the tier {tenant.tier} has no cap to show"
    return Usage(
        tenantId=tenant.id,
        status=tenant.tier.value,
        keyPrefix=key.prefix,
        requestsUsed=tenant.lifetime_used if anonymous else tenant.month_used,
        requestLimit=limit,
        dailyRequestsUsed=tenant.day_used,
        dailyRequestLimit=cap.daily,
        expiresAt=key.expires_ms,
        email=email,
    )


ROWS = (
    Operation(
        name="getUsage",
        method="GET",
        path="/api/v1/usage",
        summary="Usage of the calling key",
        description="Counters and limits of the key's tenant, as of the last answered request. Does not count itself.",
        tag="Account",
        handler=usage,
        result=Usage,
        access=Access.REQUIRED,
        scopes=(Scope.LIBRARY_READ,),
    ),
)
