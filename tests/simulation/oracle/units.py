"""Both units of visitors: the random secrets of days, and the keys that nobody can test without them (ADR 0100)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from actors.clock import DAY_MS, HOUR_MS
from actors.events.messages import Unit
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.events import Rows, counted_day, unit_of
from tests.simulation.rules import SECRET

if TYPE_CHECKING:
    from tests.simulation.world import World

LATE_MS = 12 * HOUR_MS
"""How long after its day a secret stays, for nodes whose clocks are behind."""
ANOTHER_SECRET = b"the secret of another server"


def judge(world: "World", node: str, before: Mapping[int, bytes], wall_ms: int) -> Iterator[str]:
    """One write of a node: a day has one secret from its first to its last moment, and none after it was deleted."""
    after, ever = world.memory.visitor_secrets, world.tally.secrets
    for day, secret in after.items():
        if ever.get(day, secret) != secret:
            yield f"{node} gave the day {day} a second secret"
        elif day in ever and day not in before:
            yield f"{node} stored the secret of the day {day} again after it was deleted"
    for day in before.keys() - after.keys():
        if wall_ms < (day + 1) * DAY_MS + LATE_MS:
            yield f"{node} deleted the secret of the day {day} at {wall_ms}"


def secrets_are_one_a_day_and_gone_in_time(case: Case, rows: Rows) -> Iterator[str]:
    """No day has the secret of another, and none is kept for more than 48 hours after its day began."""
    secrets = case.memory.visitor_secrets
    if len(set(case.world.tally.secrets.values())) < len(case.world.tally.secrets):
        yield f"days share a secret: {case.world.tally.secrets}"
    now_ms = min(case.now_ms(node.name, case.world.ended_at - 1.0) for node in case.world.nodes)
    for day in secrets:
        if (day + 2) * DAY_MS <= now_ms:
            yield f"the secret of the day {day} is still there"


def nobody_tests_a_key_without_the_secrets(case: Case, rows: Rows) -> Iterator[str]:
    """A stored key follows from the server's secret and, in the unit day, from that of its day. Without one of them, the
    same visitor has another key."""
    secrets = case.world.tally.secrets
    other_server, other_days = case.world.parts.hasher(ANOTHER_SECRET), case.world.parts.hasher(SECRET)
    other_server.learn(secrets, 0)
    other_days.learn({day: secret[::-1] for day, secret in secrets.items()}, 0)
    for event, found in rows.of_event.items():
        unit = unit_of(event)
        for stored in found:
            day, key = counted_day(case, stored), stored.row.key
            if other_server.key(day, event, unit) == key:
                yield f"{event} of the day {day} has its key without the server's secret"
            if unit is Unit.DAY and other_days.key(day, event, unit) == key:
                yield f"{event} of the day {day} has its key without the secret of the day"
