"""The same random history through all event stores: they return and store the same."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.events.messages import Kind, Row
from actors.values import BatchId
from storage.connection.pool import Connection, open_database
from storage.connection.target import Target
from tests.slow import shortened
from tests.stores.conftest import stores_in_memory, stores_over, stores_over_workers
from tests.stores.tallies import Tally, counted, row

DAY = 20_000
days = st.integers(DAY, DAY + 3)


class Recorded(NamedTuple):
    """A batch. `again` is how often it is retried under the same id."""

    owner: str
    day: int
    rows: Sequence[Row]
    again: int


class Prepared(NamedTuple):
    days: Sequence[int]


class Dropped(NamedTuple):
    day: int


Step = Recorded | Prepared | Dropped
batches = st.lists(
    st.builds(row, st.integers(0, 5), st.integers(1, 3), st.sampled_from(Kind)), unique=True, max_size=12
).map(sorted)
steps = st.one_of(
    st.builds(Recorded, st.sampled_from(["one/events", "two/events"]), days, batches, st.sampled_from([0, 0, 0, 1, 2])),
    st.builds(Prepared, st.lists(days, max_size=3)),
    st.builds(Dropped, days),
)


async def take(tally: Tally, batch_id: BatchId, step: Step) -> list[Any]:
    """The results of a step, with the keys sorted."""
    match step:
        case Recorded(_, day, rows, again):
            return [sorted(await tally.record(day, rows, batch_id)) for _ in range(1 + again)]
        case Prepared(some):
            await tally.stores.events.prepare(some)
            return []
        case Dropped(day):
            return list(await tally.stores.events.drop_before(day))


async def wipe(connection: Connection) -> None:
    """Empty tables, as after the migration."""
    for each in await connection.fetch("select relid::text from pg_partition_tree('event_keys') where isleaf"):
        await connection.execute(f"drop table {each['relid']}")
    await connection.execute("truncate event_counts, event_journal")


async def play(target: Target, history: list[Step], *, sharded: bool = False) -> None:
    async with open_database(target) as database:
        await database.transact(wipe)
        stores = await stores_over_workers(database) if sharded else stores_over(database)
        memory, postgres = Tally(stores_in_memory()), Tally(stores)
        for number, step in enumerate(history, 1):
            owner = step.owner if isinstance(step, Recorded) else ""
            one, other = [await take(tally, BatchId(owner, number), step) for tally in (memory, postgres)]
            assert one == other, step
        keys, counts = await memory.keys(), await memory.counts()
        assert await postgres.keys() == keys
        assert await postgres.counts() == counts
        if not any(isinstance(step, Dropped) for step in history):
            assert counted(keys) == counts


def drawn(examples: int) -> settings:
    checks = [HealthCheck.function_scoped_fixture]
    return settings(
        max_examples=shortened(examples), derandomize=True, database=None, deadline=None, suppress_health_check=checks
    )


@drawn(60)
@given(history=st.lists(steps, max_size=20))
def test_both_stores_answer_and_keep_the_same(database_target: Target, history: list[Step]) -> None:
    trio.run(play, database_target, history)


@drawn(30)
@given(history=st.lists(steps, max_size=20))
def test_a_store_of_shards_answers_and_keeps_the_same(divided: Target, history: list[Step]) -> None:
    trio.run(partial(play, sharded=True), divided, history)
