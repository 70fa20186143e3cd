"""Operations of administrators on accounts."""

from actors.values import Code, Refused, Scope, Tier
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.keys import AccountTier, TierOrder


async def set_tier(services: Services, call: Call) -> Answer | Refused:
    body: TierOrder = call.body
    outcome = await services.keys.set_tier(body.email, Tier(body.tier), call.caller.agent)
    if isinstance(outcome, Refused):
        return outcome
    services.key_cache.forget(tenants=[outcome.tenant.id])
    return Answer.of(AccountTier(email=body.email, tier=body.tier, tenantId=outcome.tenant.id))


ROWS = (
    Operation(
        name="setAccountTier",
        method="POST",
        path="/api/v1/admin/accounts/tier",
        summary="Set an account's tier",
        description="Sets the tier of the account with this email. It applies on every node within a second.",
        tag="Administration",
        handler=set_tier,
        result=AccountTier,
        access=Access.REQUIRED,
        body=TierOrder,
        example={"email": "agent-owner@example.com", "tier": "upgraded"},
        codes=(Code.NOT_FOUND,),
        family=Family.SPONSORSHIP,
        scopes=(Scope.ADMIN_WRITE,),
        admin=True,
        metered=True,
    ),
)
