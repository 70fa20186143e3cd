"""Connection limits: addresses that share one, networks that are exempt, and the log of rejected connections."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import ip_network

import pytest
import trio

from service.config.loading import load
from service.http.connections import LOG_SECONDS, Connections
from service.http.limits import ServingLimits
from service.running.limits import serving_limits
from tests.http.memory_server import LIMITS
from tests.http.test_bounds import fake

RELAYED = replace(LIMITS, exempt_networks=(ip_network("10.0.0.0/8"),))


@pytest.fixture
def full_of() -> Iterator[Callable[[str], Connections]]:
    """Makes a `Connections` in which one address has reached its limit."""
    with ExitStack() as stack:

        def make(address: str, limits: ServingLimits = RELAYED) -> Connections:
            connections = Connections(replace(limits, connections_per_address=1))
            stack.enter_context(connections.holding(fake(address)))
            return connections

        yield make


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", "2001:db8:0:2::1"), ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2")],
)
def test_a_network_that_one_client_has_shares_one_limit(
    full_of: Callable[..., Connections], address: str, same: str, other: str
) -> None:
    connections = full_of(address)
    assert not connections.has_room(same)
    assert connections.has_room(other)


def test_trusted_proxies_have_no_limit_since_they_speak_for_all_clients(full_of: Callable[..., Connections]) -> None:
    config = load(None, {"CATALOG__SERVER__TRUSTED_PROXIES": "172.17.0.0/16"})
    connections = full_of("172.17.0.1", serving_limits(config))
    assert connections.has_room("172.17.0.1")


async def test_the_log_says_once_in_a_while_how_many_were_turned_away(
    full_of: Callable[..., Connections], caplog: pytest.LogCaptureFixture, autojump_clock: trio.testing.MockClock
) -> None:
    connections = full_of("192.0.2.1")
    connections.log_rejected()
    assert caplog.messages == []
    for _ in range(3):
        connections.reject()
        connections.log_rejected()
    await trio.sleep(LOG_SECONDS)
    connections.log_rejected()
    connections.log_rejected()
    assert [words.split()[1] for words in caplog.messages] == ["1", "2"]
    assert "at most 2000 may be open (http.connections), and 1 from one address" in caplog.messages[0]
    caplog.clear()
    for _ in range(3):
        connections.note_failure("Too many open files")
        connections.log_rejected()
    await trio.sleep(LOG_SECONDS)
    connections.log_rejected()
    assert len(caplog.messages) == 2
    assert "cannot accept them (Too many open files)" in caplog.messages[0]
