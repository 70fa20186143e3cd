"""The contract of the secrets of days, over Postgres and in memory: one a day for all nodes, and none that is over."""

from collections.abc import Mapping
from functools import partial

from actors.events.secrets import SecretStore
from storage.connection.pool import open_database
from storage.connection.target import Target
from storage.postgres.visitor_secrets import PostgresVisitorSecrets
from tests.doubles.visitor_secrets import MemoryVisitorSecrets
from tests.fakes import together
from tests.stores.conftest import Stores, beside

ONE, OTHER = b"1" * 32, b"2" * 32


async def test_the_first_secret_of_a_day_stays_and_those_of_earlier_days_go(stores: Stores) -> None:
    store: SecretStore = beside(stores, MemoryVisitorSecrets, PostgresVisitorSecrets)
    steps: list[tuple[Mapping[int, bytes], int, Mapping[int, bytes]]] = [
        ({5: ONE}, 4, {5: ONE}),
        ({5: OTHER}, 5, {5: ONE}),
        ({5: OTHER, 6: OTHER}, 5, {5: ONE, 6: OTHER}),
        ({6: ONE}, 6, {6: OTHER}),
        ({6: ONE, 7: ONE}, 7, {7: ONE}),
        ({}, 9, {}),
    ]
    for offered, first_day, stored in steps:
        assert await store.agree(offered, first_day) == stored


async def test_many_nodes_at_once_make_one_secret_a_day(database_target: Target) -> None:
    async with open_database(database_target) as database:
        stores = [PostgresVisitorSecrets(database) for _ in range(8)]
        offers = [{day: bytes([number]) * 32 for day in (5, 6)} for number in range(8)]
        found = await together(*(partial(each.agree, offer, 5) for each, offer in zip(stores, offers, strict=True)))
        assert all(each == found[0] for each in found)
        assert found[0].keys() == {5, 6}
