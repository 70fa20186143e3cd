"""The documented configurations of nginx and, in `make thorough`, of Caddy, in front of real nodes."""

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, Settings, serving, until
from tests.acceptance.proxies import FILES, HOST, PACKAGES, Proxy, ask, proxying
from tests.acceptance.traps import Trap
from tests.programs import program
from tests.slow import SLOW, smoke

BASE_URL = f"https://{HOST}"
READ = "/api/v1/bots?limit=1"
EVENTS = "/api/v1/sponsors/events"
MINT = "/api/v1/auth/agent"
MINTS = 2
"""New keys per hour and address, which two nodes share."""
FORGED = {
    "X-Forwarded-For": "198.51.100.7",
    "Forwarded": "for=198.51.100.7",
    "X-Real-IP": "198.51.100.7",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Host": "elsewhere.example.com",
}

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def start_nodes(external: PostgresServer, playground: Path) -> Callable[[ExitStack, int], list[Service]]:
    """Starts nodes over one new database, as docs/operations.md says for nodes behind a proxy."""

    def start(stack: ExitStack, count: int) -> list[Service]:
        settings: Settings = {
            "database.url": external.url(external.fresh_database()),
            "server.secret": SECRET,
            "server.base_url": BASE_URL,
            "server.trusted_proxies": "127.0.0.1/32",
            "server.allow_unsafe_public": "true",  # there is no mail here
            "mint.per_hour": MINTS,
            "events.exempt_networks": "",
            "nodes.beat_seconds": 0.5,
        }
        places = [playground / f"behind-{next(_numbers)}" for _ in range(count)]
        nodes = [stack.enter_context(serving(place, settings, wait=False)) for place in places]
        for node in nodes:
            node.wait_ready()
        return nodes

    return start


@contextmanager
def proxied(kind: str, playground: Path, addresses: list[str]) -> Iterator[Proxy]:
    with proxying(kind, playground / f"{kind}-{next(_numbers)}", addresses) as proxy:
        yield proxy


def address_of(node: Service) -> str:
    return f"127.0.0.1:{node.port}"


@pytest.fixture(scope="module", params=FILES if SLOW else ["nginx"])
def kind(request: pytest.FixtureRequest) -> str:
    program(request.param, PACKAGES[request.param])
    return str(request.param)


@pytest.fixture(scope="module")
def nodes(kind: str, start_nodes: Callable[[ExitStack, int], list[Service]]) -> Iterator[list[Service]]:
    """Two nodes of this proxy, so that no test meets the spent limits of another proxy's visitors."""
    with ExitStack() as stack:
        yield start_nodes(stack, 2)


@pytest.fixture(scope="module")
def proxy(kind: str, playground: Path, nodes: list[Service]) -> Iterator[Proxy]:
    with proxied(kind, playground, [address_of(node) for node in nodes]) as running:
        yield running


@pytest.fixture
def visitor(proxy: Proxy) -> Iterator[httpx.Client]:
    with proxy.client() as client:
        yield client


def impression(booking_id: str) -> dict[str, str]:
    """An impression of a new visitor."""
    return {"bookingId": booking_id, "kind": "impression", "visitorId": str(uuid.uuid4())}


def event(client: httpx.Client) -> dict[str, str]:
    """A new impression of a placement that is shown now."""
    placements = ask(client, "GET", "/api/v1/sponsors/placements").json()["placements"]
    return impression(placements[0]["bookingId"])


def answered(client: httpx.Client) -> bool:
    """Send a few reads, of which all must be answered."""
    assert [ask(client, "GET", READ).status_code for _ in range(4)] == [200] * 4
    return True


@smoke
def test_each_visitor_has_a_budget_of_their_own_and_no_header_adds_to_it(proxy: Proxy) -> None:
    with proxy.client("127.0.0.2") as one, proxy.client("127.0.0.3") as other:
        statuses = [ask(one, "POST", MINT).status_code for _ in range(8 * MINTS)]
        assert set(statuses) == {200, 429}
        assert set(statuses[-MINTS:]) == {429}, "this visitor has nothing left at any node"
        forged = [ask(one, "POST", MINT, headers={name: value}) for name, value in FORGED.items() for _ in range(4)]
        assert {answer.status_code for answer in forged} == {429}
        assert ask(other, "POST", MINT).status_code == 200


@smoke
def test_nodes_log_the_visitors_address_and_no_warning(
    proxy: Proxy, nodes: list[Service], visitor: httpx.Client
) -> None:
    with proxy.client("127.0.0.4") as client:
        assert ask(client, "GET", READ, headers=FORGED).status_code == 200
    until(lambda: any("client=127.0.0.4" in node.log() for node in nodes))
    assert not any("198.51.100.7" in node.log() or "trusted_proxies" in node.log() for node in nodes)


@smoke
def test_visitors_get_https_addresses_and_secure_cookies(proxy: Proxy, visitor: httpx.Client) -> None:
    plain = httpx.get(
        f"http://127.0.0.1:{proxy.http}/dashboard?tab=keys", headers={"host": HOST}, trust_env=False, timeout=30.0
    )
    assert plain.status_code in (301, 308)
    assert plain.headers["location"] == f"{BASE_URL}/dashboard?tab=keys"
    other = httpx.get(f"http://127.0.0.1:{proxy.http}/x", headers={"host": "elsewhere.example.com"}, trust_env=False)
    assert "elsewhere" not in other.headers.get("location", "")
    page = ask(visitor, "GET", "/dashboard")
    assert page.status_code == 303
    assert page.headers["location"].startswith(("/", f"{BASE_URL}/"))
    assert page.headers["strict-transport-security"].startswith("max-age=")
    started = ask(
        visitor,
        "POST",
        "/api/v1/auth/session",
        json={"email": "ann@example.com"},
        headers={"origin": BASE_URL},
    )
    assert started.status_code == 200, started.text
    assert started.headers["set-cookie"].startswith("__Host-")
    assert "; Secure" in started.headers["set-cookie"]


@pytest.mark.parametrize(
    "path", ["/metrics", "//metrics", "/%6detrics", "/dev/outbox", "//dev/outbox", "/dev%2foutbox", "/x/../dev/outbox"]
)
@smoke
def test_what_is_for_operators_is_not_passed_on(path: str, visitor: httpx.Client, nodes: list[Service]) -> None:
    assert nodes[0].status("/metrics") == 200, "the node itself serves it"
    answer = ask(visitor, "GET", path)
    assert answer.status_code == 404
    assert "x-request-id" not in answer.headers, "no node was asked"


@smoke
def test_an_event_is_recorded_once(visitor: httpx.Client) -> None:
    body = event(visitor)
    first, again = (ask(visitor, "POST", EVENTS, json=body) for _ in range(2))
    assert first.json()["recorded"] is True
    assert again.json()["recorded"] is False
    assert again.headers["x-event-dropped"] == "duplicate"


@pytest.mark.parametrize(
    ("path", "size"), [(EVENTS, 5_000), ("/api/v1/sponsors/events/batch", 900_000), (MINT, 20_000)]
)
def test_a_body_beyond_the_limit_gets_the_error_of_the_service(path: str, size: int, visitor: httpx.Client) -> None:
    answer = ask(visitor, "POST", path, content=b"x" * size, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/json"
    assert "payload_too_large" in answer.text


def test_a_body_beyond_all_limits_is_refused_too(visitor: httpx.Client) -> None:
    assert ask(visitor, "POST", MINT, content=b"x" * 3_000_000).status_code == 413


@pytest.mark.parametrize("path", ["/dashboard?x=", "/sign-in?next=/", "/usecases?q=", "/api/v1/bots?limit=1&q="])
@pytest.mark.parametrize("filling", ["/" * 1_300, "%C3%A4" * 1_200])
def test_no_address_that_a_visitor_asks_for_makes_the_nodes_seem_broken(
    path: str, filling: str, visitor: httpx.Client
) -> None:
    for _ in range(3):
        # 503 is the service's own answer, of a search that found no time.
        assert ask(visitor, "GET", path + filling).status_code not in (500, 502, 504)
    assert answered(visitor)


def test_large_documents_arrive_whole(visitor: httpx.Client, nodes: list[Service]) -> None:
    assert ask(visitor, "GET", "/openapi.json").content == nodes[0].get("/openapi.json").content


@pytest.mark.parametrize("coding", ["br", "gzip", "identity"])
def test_responses_arrive_in_the_coding_of_the_service(
    coding: str, visitor: httpx.Client, nodes: list[Service]
) -> None:
    headers = {"Accept-Encoding": coding}
    passed = ask(visitor, "GET", "/openapi.json", headers=headers)
    direct = nodes[0].http.get("/openapi.json", headers=headers)
    assert passed.headers.get("content-encoding", "identity") == coding
    for name in ("content-encoding", "content-length", "etag", "vary"):
        assert passed.headers.get(name) == direct.headers.get(name)


def test_the_other_node_answers_when_one_is_killed(
    kind: str, playground: Path, start_nodes: Callable[[ExitStack, int], list[Service]]
) -> None:
    with ExitStack() as stack:
        lost, left = start_nodes(stack, 2)
        proxy = stack.enter_context(proxied(kind, playground, [address_of(lost), address_of(left)]))
        client = stack.enter_context(proxy.client())
        until(lambda: answered(client) and "/api/v1/bots" in lost.log(), what="requests to both nodes")
        lost.kill()
        for _ in range(5):
            assert answered(client)
        answer = ask(client, "POST", EVENTS, json=event(client))
        assert answer.json() == {"recorded": True}


def test_a_post_that_may_have_been_carried_out_is_not_sent_again(
    kind: str, playground: Path, start_nodes: Callable[[ExitStack, int], list[Service]]
) -> None:
    with ExitStack() as stack:
        [node] = start_nodes(stack, 1)
        trap = stack.enter_context(Trap())
        proxy = stack.enter_context(proxied(kind, playground, [trap.address, address_of(node)]))
        client = stack.enter_context(proxy.client())

        booking = node.get("/api/v1/sponsors/placements").json()["placements"][0]["bookingId"]

        statuses: list[int] = []

        def trapped() -> bool:
            statuses.append(ask(client, "POST", EVENTS, json=impression(booking)).status_code)
            return trap.count("POST") > 0

        until(trapped, what="a POST to the trap")
        assert trap.count("POST") == 1
        assert statuses[-1] == 502
        assert set(statuses[:-1]) <= {200}
        until(
            lambda: node.log().count(f" POST {EVENTS}") == len(statuses) - 1, what="the log of the others, and no more"
        )

        # A GET is sent again, and its visitor sees nothing of the trap.
        until(lambda: answered(client) and trap.count("GET"), what="a GET to the trap")
        assert answered(client)
