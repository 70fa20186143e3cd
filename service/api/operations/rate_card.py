"""The public rate card, served from the snapshot in memory. It extends the specification."""

from actors.values import Refused
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.placements import fresh
from service.api.policy import Access
from service.schemas.inventory import RateCard


async def get_rate_card(services: Services, call: Call) -> Answer | Refused:
    now_ms = services.clock.now_ms()
    return fresh(call, services.placements.rate_card(now_ms), now_ms)


ROWS = (
    Operation(
        name="getRateCard",
        method="GET",
        path="/api/v1/sponsors/rate-card",
        summary="Get the rate card",
        description="Returns the slots that are for sale, their prices and next free weeks, and what past sponsors reached.",
        tag="Sponsorship",
        handler=get_rate_card,
        result=RateCard,
        access=Access.OPTIONAL,
        family=Family.SPONSORSHIP,
        metered=True,
        cacheable=True,
    ),
)
