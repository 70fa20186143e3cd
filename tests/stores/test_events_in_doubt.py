"""Events whose single statement is its own transaction, while the network breaks: nothing is lost or counted twice, and a
retry learns the outcome."""

import pytest

from actors.events.messages import Kind, Row
from actors.values import BatchId, OutcomeUnknown
from storage.connection.pool import Connection, open_database
from storage.connection.target import Target
from storage.events.store import PostgresEvents
from tests.storage.proxy import Weather, proxied

DAY = 20_775
ROWS = [Row("bok_1", bytes([number]) * 16, Kind.CLICK if number % 3 == 0 else Kind.IMPRESSION) for number in range(9)]
KEPT = "select (select count(*) from event_keys), sum(impressions)::int, sum(clicks)::int from deliveries"


async def _kept(connection: Connection) -> tuple[int, ...]:
    return tuple(await connection.fetchrow(KEPT))


@pytest.mark.parametrize("weather", [Weather.CUT_BEFORE_COMMIT, Weather.CUT_AFTER_COMMIT])
@pytest.mark.parametrize("known", [0, 4])
async def test_a_batch_is_settled_after_its_connection_broke(
    database_target: Target, weather: Weather, known: int
) -> None:
    """Also one with known keys, whose statement tells which were new."""
    async with proxied(database_target) as proxy, open_database(proxy.target) as database:
        events = PostgresEvents(database)
        await events.prepare([DAY])
        for seq in (1, 2):
            await events.record(BatchId("one/events", seq), DAY, ROWS[:known])
        before = await database.read(_kept)
        batch_id = BatchId("one/events", 3)
        proxy.weather = weather
        with pytest.raises(OutcomeUnknown):
            await events.record(batch_id, DAY, ROWS)
        proxy.weather = Weather.FAIR
        assert await database.read(_kept) == (before if weather is Weather.CUT_BEFORE_COMMIT else (9, 6, 3))
        for _ in range(2):
            assert sorted(await events.record(batch_id, DAY, ROWS)) == [row.key for row in ROWS[known:]]
            assert await database.read(_kept) == (9, 6, 3)
        assert not await events.record(BatchId("one/events", 4), DAY, ROWS)
        assert await database.read(_kept) == (9, 6, 3)
