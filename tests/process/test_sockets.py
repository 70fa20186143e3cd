"""Shared ports: reserved sockets, rejected addresses, and the queues of dead workers."""

import os
import re
import resource
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count, islice

import pytest

from actors.clock import SystemClock
from service.config.user_errors import ConfigError
from service.http.listen_address import ListenAddress, ListenError
from service.http.listeners import open_listeners
from service.process.shared_sockets import Reservation, reserve
from tests.http.memory_server import LIMITS

LOOPBACK = ListenAddress("127.0.0.1", 0)


@contextmanager
def reserved(*places: ListenAddress, workers: int = 2) -> Iterator[Reservation]:
    with closing(reserve(places, workers)) as reservation:
        yield reservation


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def connect(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port_of(url)), timeout=5)


def accepted_of(listener: socket.socket) -> int:
    """Accept and close all queued connections. Returns their number."""
    accepted = 0
    with suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            accepted += 1
    return accepted


def test_port_0_takes_one_free_port_for_all_workers_and_each_has_a_socket_of_its_own() -> None:
    with reserved(LOOPBACK, ListenAddress("127.0.0.1", 0, "tls.bind"), workers=3) as reservation:
        for place, url in enumerate(reservation.urls):
            ports = {each.getsockname()[1] for number in (1, 2, 3) for each in reservation.of(number)[place]}
            assert ports == {port_of(url)}
        assert len(set(reservation.urls)) == 2
        descriptors = [each.fileno() for number in (1, 2, 3) for place in reservation.of(number) for each in place]
        assert len(set(descriptors)) == 6


def test_nobody_is_connected_before_a_worker_listens_and_then_those_who_listen_share() -> None:
    with reserved(LOOPBACK, workers=3) as reservation:
        [url] = reservation.urls
        with pytest.raises(ConnectionRefusedError):
            connect(url)
        listening = [reservation.of(number)[0][0] for number in (1, 3)]
        for each in listening:
            each.listen(200)
        clients = [connect(url) for _ in range(100)]
        accepted = [accepted_of(each) for each in listening]
        for client in clients:
            client.close()
        assert sum(accepted) == 100
        assert min(accepted) > 10


@pytest.mark.parametrize("other", ["somebody else", "a parent like this one", "a parent that still starts"])
def test_a_port_that_is_taken_is_refused_with_one_line_that_names_the_setting(other: str) -> None:
    with socket.socket() as somebody, reserved(LOOPBACK) as parent:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        if other == "a parent like this one":
            parent.of(1)[0][0].listen()
        port = somebody.getsockname()[1] if other == "somebody else" else port_of(parent.urls[0])
        with pytest.raises(ListenError, match=f"^tls.bind: cannot listen on 127.0.0.1:{port}: the address is in use "):
            reserve([LOOPBACK, ListenAddress("127.0.0.1", port, "tls.bind")], 2)


def test_a_host_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ListenError, match=r"^server.bind: cannot listen on nowhere.invalid:0: "):
        reserve([ListenAddress("nowhere.invalid", 0)], 2)


def test_more_sockets_than_files_may_be_open_are_refused() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = {int(name) for name in os.listdir("/proc/self/fd")}
    # The lowest limit with ten free numbers below it, wherever the open ones are.
    limit = list(islice((number + 1 for number in count() if number not in opened), 10))[-1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        text = r"^server.workers: cannot open sockets for 64 workers: Too many open files$"
        with pytest.raises(ConfigError, match=text):
            reserve([LOOPBACK], 64)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".example.com"])
async def test_a_host_that_is_no_name_is_refused(host: str) -> None:
    line = f"^server.bind: cannot listen on {re.escape(host)}:0: the host name cannot be resolved$"
    with pytest.raises(ListenError, match=line):
        reserve([ListenAddress(host, 0)], 2)
    with pytest.raises(ListenError, match=line):
        async with open_listeners([ListenAddress(host, 0)], LIMITS, SystemClock()):
            raise AssertionError("it listens")


def test_an_ipv6_address_that_is_taken_is_named_as_it_was_written() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as somebody:
        port = somebody.getsockname()[1]
        with pytest.raises(ListenError, match=rf"^server.bind: cannot listen on \[::1\]:{port}: "):
            reserve([ListenAddress("::1", port)], 2)


def test_who_waits_in_the_queue_of_a_worker_that_is_gone_is_accepted_by_its_successor() -> None:
    with reserved(LOOPBACK) as reservation:
        [[kept]] = reservation.of(1)
        with kept.dup() as dying:
            dying.listen(5)
            client = connect(reservation.urls[0])
        with client, kept.dup() as successor:
            successor.listen(5)
            accepted, _ = successor.accept()
            with accepted:
                assert accepted.getpeername() == client.getsockname()


def test_a_queue_that_is_given_up_leaves_the_port_to_the_others_and_can_be_taken_up_again() -> None:
    with reserved(LOOPBACK) as reservation:
        [url] = reservation.urls
        for number in (1, 2):
            reservation.of(number)[0][0].listen(50)
        reservation.renew(1)
        clients = [connect(url) for _ in range(20)]
        [[other]] = reservation.of(2)
        for client in clients:
            other.accept()[0].close()
            client.close()
        [[fresh]] = reservation.of(1)
        assert fresh.getsockname()[1] == port_of(url)
        other.close()
        fresh.listen(5)
        with connect(url):
            fresh.accept()[0].close()


def test_all_addresses_of_a_host_have_the_same_port() -> None:
    with reserved(ListenAddress("localhost", 0)) as reservation:
        ports = {each.getsockname()[1] for number in (1, 2) for each in reservation.of(number)[0]}
        assert ports == {port_of(reservation.urls[0])}
