"""Health checks of the node."""

from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.observability.health import not_ready
from service.schemas.node_status import Alive, EventServers, Ready


async def healthz(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(Alive(status="ok"))


async def readyz(services: Services, call: Call) -> Answer | Refused:
    problems = await not_ready(services.health)
    if problems:
        return Refused(Code.SERVICE_UNAVAILABLE, "; ".join(problems), 1)
    ready = Ready(status="ok", node=services.nodes.node.id, liveNodes=services.nodes.live())
    if reports := services.event_servers.reports:
        # A server that is away does not turn the node away, which records all events but that server's.
        ready.eventServers = EventServers(total=len(reports), unavailable=sum(bool(each.error) for each in reports))
    return Answer.of(ready)


ROWS = (
    Operation(
        name="isAlive",
        method="GET",
        path="/healthz",
        summary="Check that the process is alive",
        description="Returns 200 as long as the process can respond.",
        tag="Operation",
        handler=healthz,
        result=Alive,
        access=Access.PUBLIC,
    ),
    Operation(
        name="isReady",
        method="GET",
        path="/readyz",
        summary="Check that the node is ready",
        description="Returns 200 if the database responds and every component accepts work, otherwise 503 with the problems.",
        tag="Operation",
        handler=readyz,
        result=Ready,
        access=Access.PUBLIC,
    ),
)
