"""Operations on a node: its status for administrators, and the health checks of balancers."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

from actors.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from actors.events.router import EventOutcome
from actors.events.servers import ServerReport
from actors.kernel.statistics import ActorStatistics
from actors.nodes.heartbeat import Heartbeat
from actors.values import Code, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Operation, admin_read
from service.api.policy import Access
from service.observability.health import readiness_of
from service.observability.refusal_log import RefusalLog
from service.observability.request_counts import AnswerSummary, Load
from service.schemas.internal import LoadHour, ReadinessDay, ReadyHour, UnreadySpan
from service.schemas.node_status import (
    ActorStatus,
    Alive,
    AnswersStatus,
    EventServers,
    EventServerStatus,
    EventsStatus,
    LiveNode,
    MailStatus,
    NodeStatus,
    OperationsStatus,
    PoolStatus,
    Ready,
    RefusalCount,
    RefusalRecord,
    RefusalStatus,
    SnapshotStatus,
)
from service.schemas.rows import filled
from service.snapshots.follower import SnapshotFollower
from service.version import VERSION

SHOWN_HOURS = 24
MAX_SPANS = 20


async def read_status(services: Services, call: Call) -> Answer | Refused:
    readiness = await readiness_of(services.health)
    now_ms = services.clock.now_ms()
    refusal_log = services.refusal_log
    status = OperationsStatus(
        ready=readiness.ready,
        problems=readiness.problems,
        node=NodeStatus(
            id=refusal_log.node,
            version=VERSION,
            startedAt=refusal_log.started_ms,
            now=now_ms,
            uptimeSeconds=max(0, now_ms - refusal_log.started_ms) // SECOND_MS,
        ),
        liveNodes=_live_nodes(services.nodes),
        actors=[_actor(actor) for actor in services.health.actors()],
        answers=_answers(services.answers.summary()),
        mail=MailStatus(waiting=services.mail.backlog.waiting, oldestSeconds=round(services.mail.oldest_seconds(), 1)),
        database=filled(PoolStatus, refusal_log.pool()),
        eventServers=[_event_server(report) for report in services.event_servers.reports],
        snapshots=[_snapshot(services.catalog), _snapshot(services.placements)],
        events=EventsStatus(**{each.value: services.events.outcomes.get(each, 0) for each in EventOutcome}),
        refusals=_refusals(refusal_log),
    )
    return Answer.of(status)


def _live_nodes(nodes: Heartbeat) -> list[LiveNode]:
    return [
        filled(
            LiveNode,
            each.node,
            beatAgeSeconds=round(each.age_seconds, 1),
            thisOne=each.node.id == nodes.node.id,
        )
        for each in nodes.nodes()
    ]


def _actor(actor: ActorStatistics) -> ActorStatus:
    batches = max(1, actor.batches)
    return filled(
        ActorStatus,
        actor,
        meanBatch=round(actor.messages / batches, 1),
        meanCommitMs=round(actor.commit_seconds / batches * SECOND_MS, 2),
    )


def _answers(summary: AnswerSummary) -> AnswersStatus:
    return AnswersStatus(
        count=summary.requests,
        failures=summary.failures,
        halfWithinMs=_milliseconds(summary.half_seconds),
        mostWithinMs=_milliseconds(summary.most_seconds),
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * SECOND_MS


def _event_server(report: ServerReport) -> EventServerStatus:
    return EventServerStatus(
        name=report.name,
        available=not report.error,
        places=report.places,
        preparedSeconds=round(report.prepared_seconds, 1),
        problems=report.problems(),
    )


def _snapshot(follower: SnapshotFollower) -> SnapshotStatus:
    age = follower.age_seconds
    return filled(SnapshotStatus, follower, ageSeconds=None if age is None else round(age, 1))


def _refusals(log: RefusalLog) -> RefusalStatus:
    most = sorted(log.last_hour().items(), key=lambda pair: (-pair[1], pair[0]))
    return RefusalStatus(
        lastHour=[RefusalCount(operation=operation, error=code, count=count) for (operation, code), count in most],
        recent=[
            RefusalRecord(at=each.at_ms, operation=each.operation, error=each.code, status=each.status)
            for each in log.recent()
        ],
    )


def sample_load(services: Services) -> None:
    """Keep the load of the process for its last hour."""
    services.health.hour.sample(partial(_load, services))


def _load(services: Services) -> Load:
    summary, recorded = services.answers.summary(), services.events.outcomes.get(EventOutcome.RECORDED, 0)
    busy, mails = services.refusal_log.pool().busy, services.mail.backlog.waiting
    return Load(summary.requests, summary.failures, services.answers.refusals(), recorded, busy, mails)


async def read_load(services: Services, call: Call) -> Answer | Refused:
    """The load of the process that answers in the last hour."""
    sample_load(services)
    spans = services.health.hour.spans(_load(services))
    return Answer.of(
        LoadHour(**{name: [None if each is None else getattr(each, name) for each in spans] for name in Load._fields})
    )


async def read_readiness(services: Services, call: Call) -> Answer | Refused:
    """The readiness of the node now and in the last 24 hours. Its problems are left out, because anybody may read this."""
    readiness, history = await readiness_of(services.health), services.health.history
    minutes = history.minutes()
    last = services.clock.now_ms() // HOUR_MS
    return Answer.of(
        ReadinessDay(
            ready=readiness.ready,
            sinceMs=history.since_ms,
            hours=[_hour(minutes, hour) for hour in range(last - SHOWN_HOURS + 1, last + 1)],
            spans=unready_spans(minutes)[::-1][:MAX_SPANS],
        )
    )


def _hour(minutes: Sequence[tuple[int, bool]], hour: int) -> ReadyHour:
    found = [ready for minute, ready in minutes if minute * MINUTE_MS // HOUR_MS == hour]
    return ReadyHour(startMs=hour * HOUR_MS, checked=len(found), unready=found.count(False))


def unready_spans(minutes: Sequence[tuple[int, bool]]) -> list[UnreadySpan]:
    """The spans of minutes that were not ready, oldest first. Minutes without a check between two belong to a span."""
    runs = [list(run) for ready, run in groupby(minutes, key=itemgetter(1)) if not ready]
    return [UnreadySpan(fromMs=run[0][0] * MINUTE_MS, untilMs=(run[-1][0] + 1) * MINUTE_MS) for run in runs]


async def healthz(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(Alive(status="ok"))


async def readyz(services: Services, call: Call) -> Answer | Refused:
    readiness = await readiness_of(services.health)
    if not readiness.ready:
        return Refused(Code.SERVICE_UNAVAILABLE, "; ".join(readiness.problems), 1)
    ready = Ready(status="ok", node=services.nodes.node.id, liveNodes=services.nodes.live())
    if readiness.problems:
        ready.problems = readiness.problems
    if reports := services.event_servers.reports:
        # A server that is away does not turn the node away, which records all events but that server's.
        ready.eventServers = EventServers(total=len(reports), unavailable=sum(bool(each.error) for each in reports))
    return Answer.of(ready)


ROWS = (
    admin_read(
        name="getOperationsStatus",
        path="/api/v1/admin/operations/status",
        summary="Get the operations status of the node",
        description="Returns the live nodes, and the readiness, load and recent refusals of the responding node.",
        handler=read_status,
        result=OperationsStatus,
    ),
)

# Hot, because a probe alone should not load the framework.
_health_check = partial(Operation, method="GET", tag="Operation", access=Access.PUBLIC, hot=True)

HEALTH = (
    _health_check(
        name="isAlive",
        path="/healthz",
        summary="Check that the process is alive",
        description="Returns 200 as long as the process can respond.",
        handler=healthz,
        result=Alive,
    ),
    _health_check(
        name="isReady",
        path="/readyz",
        summary="Check that the node is ready",
        description=(
            "Returns 200 if the database responds and every component accepts work, otherwise 503 with the problems. With a "
            "distributed database, it also returns 200 with the `problems` while the coordinator is unavailable and the "
            "node can record events on a worker."
        ),
        handler=readyz,
        result=Ready,
    ),
)
