"""Health of the node: alive, and ready to serve."""

from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.observability.health import not_ready
from service.schemas.watching import Alive, Ready


async def healthz(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(Alive(status="ok"), [("cache-control", "no-store")])


async def readyz(services: Services, call: Call) -> Answer | Refused:
    problems = await not_ready(services.health)
    if problems:
        return Refused(Code.SERVICE_UNAVAILABLE, "; ".join(problems), 1)
    ready = Ready(status="ok", node=services.nodes.node.id, liveNodes=services.nodes.live())
    return Answer.of(ready, [("cache-control", "no-store")])


ROWS = (
    Operation(
        name="isAlive",
        method="GET",
        path="/healthz",
        summary="Whether the process is alive",
        description="200 as long as the process answers at all.",
        tag="Operation",
        handler=healthz,
        result=Alive,
        access=Access.PUBLIC,
    ),
    Operation(
        name="isReady",
        method="GET",
        path="/readyz",
        summary="Whether the node can serve",
        description="200 when the database answers and every actor runs and accepts; otherwise 503 and what is wrong.",
        tag="Operation",
        handler=readyz,
        result=Ready,
        access=Access.PUBLIC,
    ),
)
