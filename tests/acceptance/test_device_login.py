"""Device login on two nodes with stock clients of RFC 8628 and RFC 8414, which know only where the service is."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from oauthlib.oauth2 import OAuth2Error
from oauthlib.oauth2.rfc8628.clients import DeviceClient

from tests.acceptance.people import Person
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, serving

Nodes = tuple[Service, Service]


@pytest.fixture(scope="module")
def database(external: PostgresServer) -> str:
    return external.fresh_database()


@pytest.fixture(scope="module")
def nodes(external: PostgresServer, database: str, playground: Path) -> Iterator[Nodes]:
    settings = {
        "database.url": external.url(database),
        "server.secret": SECRET,
        "device.interval_seconds": 1,
        "device.starts_per_hour": 1_000,
        "log.level": "warning",
    }
    with ExitStack() as stack:
        places = [playground / f"device-node-{number}" for number in (1, 2)]
        first, second = (stack.enter_context(serving(place, settings, wait=False)) for place in places)
        first.wait_ready()
        second.wait_ready()
        yield first, second


@pytest.fixture
def person(external: PostgresServer, database: str, nodes: Nodes) -> Person:
    return Person(external, database)


class Program:
    """A program that uses only the library to write requests and read responses."""

    def __init__(self, device_authorization_url: str, token_url: str) -> None:
        self.client = DeviceClient("a-program")
        self.token_url = token_url
        self.http = httpx.Client(trust_env=False, timeout=15.0, headers={"user-agent": "a-program/1.0"})
        answer = self.http.post(
            self.client.prepare_request_uri(device_authorization_url, scope=["everything"]),
            data={"client_id": self.client.client_id, "scope": "everything"},
        )
        answer.raise_for_status()
        self.device: dict[str, Any] = answer.json()
        self.pause_seconds = self.device.get("interval", 5)

    def poll(self) -> str:
        """The access token, or the error of RFC 8628 (3.5)."""
        body = self.client.prepare_request_body(self.device["device_code"], include_client_id=True)
        headers = {"content-type": "application/x-www-form-urlencoded"}
        answer = self.http.post(self.token_url, content=body, headers=headers)
        try:
            return str(self.client.parse_request_body_response(answer.text)["access_token"])
        except OAuth2Error as error:
            return str(error.error)

    def wait(self) -> str:
        """Poll as the RFC describes until there is a result."""
        while True:
            time.sleep(self.pause_seconds)
            told = self.poll()
            if told not in ("authorization_pending", "slow_down"):
                return told
            self.pause_seconds += 5 if told == "slow_down" else 0

    def headers(self) -> dict[str, str]:
        """The headers that the library adds once it has a token."""
        _, headers, _ = self.client.add_token("https://catalog.example.com/", "GET")
        return dict(headers)


@pytest.fixture(autouse=True)
def _plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow addresses without TLS, which the libraries otherwise refuse."""
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    begun: list[Program] = []
    yield begun
    for program in begun:
        program.http.close()


def metadata_of(node: Service) -> AuthorizationServerMetadata:
    """Finds the endpoints of a client from the address of the service alone."""
    answer = node.get("/.well-known/oauth-authorization-server")
    assert answer.status_code == 200
    metadata = AuthorizationServerMetadata(answer.json())
    metadata.validate()
    assert metadata["issuer"] == node.url, "clients compare them (RFC 8414, 3.3)"
    return metadata


def begin(programs: list[Program], start: Service, poll: Service) -> Program:
    program = Program(metadata_of(start)["device_authorization_endpoint"], metadata_of(poll)["token_endpoint"])
    programs.append(program)
    return program


def test_a_stock_client_logs_in_and_its_key_works(nodes: Nodes, person: Person, programs: list[Program]) -> None:
    """Started and approved on one node, polled on the other."""
    first, second = nodes
    program = begin(programs, first, second)
    assert program.poll() == "authorization_pending"
    asked = person.reads(first, program.device["user_code"])
    assert (asked["agent"], asked["address"], asked["status"]) == ("a-program/1.0", "127.0.0.1", "pending")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(program.wait)
        person.decides(first, program.device["user_code"])
        key = waiting.result(30)
    assert key.startswith("cs_user_")
    for node in nodes:
        usage = node.http.get("/api/v1/usage", headers=program.headers())
        assert (usage.status_code, usage.json()["email"]) == (200, person.email)
    assert program.poll() == "invalid_code", "nobody gets it twice"
    assert [node.log().count(key) for node in nodes] == [0, 0]
    assert [node.log().count(program.device["device_code"]) for node in nodes] == [0, 0]


def test_authlib_logs_in_from_the_metadata_alone(nodes: Nodes, person: Person) -> None:
    node = nodes[0]
    metadata = metadata_of(node)
    [grant] = metadata["grant_types_supported"]
    [method] = metadata["token_endpoint_auth_methods_supported"]
    with OAuth2Session("a-program", token_endpoint_auth_method=method, default_timeout=15.0) as client:
        client.trust_env = False
        start = metadata["device_authorization_endpoint"]
        device = client.post(start, data={"client_id": client.client_id}, withhold_token=True).json()
        redeem = partial(client.fetch_token, metadata["token_endpoint"], grant_type=grant)
        with pytest.raises(OAuthError, match="authorization_pending"):
            redeem(device_code=device["device_code"])
        person.decides(node, device["user_code"])
        time.sleep(device["interval"])
        token = redeem(device_code=device["device_code"])
        assert (token["token_type"], token["access_token"][:8]) == ("Bearer", "cs_user_")
        assert client.get(f"{node.url}/api/v1/usage").json()["email"] == person.email


def test_a_stock_client_that_polls_too_fast_is_told_and_still_logs_in(
    nodes: Nodes, person: Person, programs: list[Program]
) -> None:
    first, second = nodes
    program = begin(programs, first, second)
    assert [program.poll() for _ in range(2)] == ["authorization_pending", "slow_down"]
    person.decides(second, program.device["user_code"])
    assert program.poll().startswith("cs_user_")
