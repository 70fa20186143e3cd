"""A small campaign against a running node: short attacks and a few thousand mutations.

`make abuse` runs the full campaign. Here the node's time limits are shorter, so that a short attack reaches all of them.
"""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.abuse.attacker import ATTACKS, Attacker
from tests.abuse.attacks import VICTIM
from tests.abuse.campaign import end_under, endure, mutate
from tests.abuse.ground import RESET
from tests.abuse.node import HOST, Certificate, Watched, watched
from tests.abuse.search import ERRANDS, SEARCHED, import_large_catalog
from tests.acceptance.processes import Service, Settings, serving, until
from tests.slow import SLOW

SECONDS, BEFORE_SECONDS = (2.0, 0.6) if SLOW else (1.0, 0.3)
SEED, MUTATIONS = 4, 5_000 if SLOW else 2_000
GRACEFUL_SECONDS = 2.0
IMPATIENT: Settings = {
    "http.head_seconds": SECONDS,
    "http.request_seconds": 0.75 * SECONDS,
    "http.stall_seconds": 0.5 * SECONDS,
    "server.graceful_seconds": GRACEFUL_SECONDS,
}
TOGETHER = (
    ("slowloris", "dripped bodies", "unread bodies"),
    ("slow readers",),
    ("idle connections",),
    ("malformed flood", "churn", "http2 on the plain port"),
    ("code guesses", "token guesses"),
    ("ping flood", "settings flood", "rapid reset"),
    ("unread http2",),
)
SEARCH_HOG = "search hog"
CATALOG_ENTRIES = 4_000
CAPPED: Settings = {"events.exempt_networks": "10.0.0.0/8", "http.connections": 300, "log.level": "warning"}
PER_ADDRESS = 200
LETTERS = 30


@pytest.fixture(scope="module")
def certificate(playground: Path) -> Certificate:
    directory = playground / "certificate"
    directory.mkdir()
    return Certificate.make(directory)


@pytest.fixture(scope="module")
def node(new_data_dir: Callable[[str], Path], certificate: Certificate) -> Iterator[Watched]:
    with watched(new_data_dir("abuse"), certificate, IMPATIENT) as node:
        yield node


def test_every_attack_is_tried() -> None:
    assert sorted([SEARCH_HOG, *(name for names in TOGETHER for name in names)]) == sorted(ATTACKS)


@pytest.mark.parametrize("names", TOGETHER if SLOW else TOGETHER[:1], ids=" and ".join)
def test_an_attack_neither_hurts_others_nor_leaves_anything_behind(node: Watched, names: tuple[str, ...]) -> None:
    outcome = endure(node, names, seconds=SECONDS, before_seconds=BEFORE_SECONDS, tries=1)
    # Only `make abuse` judges the probe's latency, because its attacks are longer and run alone.
    assert not outcome.faults, f"{outcome}\n{outcome.faults}"


def test_one_network_with_many_addresses_and_keys_does_not_keep_search_from_others(
    new_data_dir: Callable[[str], Path], certificate: Certificate, tmp_path: Path
) -> None:
    with watched(new_data_dir("searched"), certificate, {**IMPATIENT, **SEARCHED}) as node:
        import_large_catalog(node, CATALOG_ENTRIES, tmp_path)
        outcome = endure(node, [SEARCH_HOG], seconds=SECONDS, before_seconds=BEFORE_SECONDS, tries=1, errands=ERRANDS)
    assert not outcome.faults, f"{outcome}\n{outcome.faults}"


def test_every_mutation_ends_in_an_answer_or_in_the_end_of_its_connection(node: Watched) -> None:
    # The bound is loose for a busy machine: a forgotten connection would never end.
    volleyed = mutate(node, SEED, range(MUTATIONS), deadline_seconds=30.0)
    assert not volleyed.faults, f"{volleyed}\n{volleyed.faults}"
    assert volleyed.tally.outcomes.total() == MUTATIONS


def test_the_owner_of_an_email_signs_in_while_strangers_ask_for_its_codes_and_guess(
    data_dir: Path, certificate: Certificate
) -> None:
    email = {"email": VICTIM}
    with watched(data_dir, certificate, IMPATIENT) as node:
        service = node.service
        with httpx.Client(base_url=service.url, headers={"sec-fetch-site": "same-origin"}) as browser:
            assert browser.post("/api/v1/auth/session", json=email).status_code == 200
            [code] = re.findall(r"^\s*(\d{6})\s*$", service.get("/dev/outbox").text, re.MULTILINE)
            attacker = Attacker.start(["code guesses"], HOST, service.port, node.tls_port)
            try:
                attacker.wait_begun()
                until(lambda: service.get("/dev/outbox").text.count(VICTIM) > LETTERS, what="letters for strangers")
                done = browser.post("/api/v1/auth/session/complete", json={**email, "code": code})
                counts = attacker.fall_silent()
            finally:
                attacker.hang_up()
        assert done.status_code == 200, done.text
        assert counts["guesses"] > LETTERS
        assert not node.complaints()


def test_a_node_that_is_told_to_stop_under_all_attacks_at_once_does_so_in_time(
    data_dir: Path, certificate: Certificate
) -> None:
    with watched(data_dir, certificate, IMPATIENT) as node:
        _, faults = end_under(node, list(ATTACKS), graceful_seconds=GRACEFUL_SECONDS)
    assert not faults


def test_an_address_has_200_connections_unless_it_is_exempt_and_all_of_them_as_many_as_are_configured(
    data_dir: Path,
) -> None:
    with ExitStack() as held, serving(data_dir, CAPPED) as service:
        first = [_connected(held, service, "127.0.0.2") for _ in range(PER_ADDRESS)]
        assert all(_is_answered(connection) for connection in first)
        assert not _is_answered(_connected(held, service, "127.0.0.2"))
        second = [_connected(held, service, "127.0.0.3") for _ in range(300 - PER_ADDRESS)]
        assert all(_is_answered(connection) for connection in second)
        assert not _is_answered(_connected(held, service, "127.0.0.4"))
        first[0].close()
        until(lambda: _is_answered(_connected(held, service, "127.0.0.2")), what="the room that a connection left")


def _connected(held: ExitStack, service: Service, address: str) -> socket.socket:
    connection = socket.create_connection((HOST, service.port), timeout=10, source_address=(address, 0))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    return held.enter_context(connection)


def _is_answered(connection: socket.socket) -> bool:
    """Whether the node serves this connection, or has closed it without a response."""
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: node.example.com\r\n\r\n")
        return connection.recv(4_096).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False
