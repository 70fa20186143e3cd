"""The settings with which storage is opened."""

import pytest

from storage.connection.pool import PoolLimits
from storage.opening import StorageOptions, _room


@pytest.mark.parametrize(
    ("nodes", "connections", "settings"),
    [
        (1, 8, {}),
        (3, 8, {}),
        (4, 8, {"max_connections": "60"}),
        (64, 8, {"max_connections": "660"}),
        (1, 500, {"max_connections": "522"}),
    ],
)
def test_the_embedded_postgres_has_room_for_all_nodes(nodes: int, connections: int, settings: dict[str, str]) -> None:
    """Each node has its pool and two connections more. 20 remain for other uses."""
    assert _room(StorageOptions(PoolLimits(connections=connections), nodes=nodes)) == settings
