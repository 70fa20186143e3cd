"""Device login on two nodes with a stock client of RFC 8628 and RFC 8414, which knows only where the service is."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata

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


@pytest.fixture(autouse=True)
def _plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow addresses without TLS, which the library otherwise refuses."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


def metadata_of(node: Service) -> AuthorizationServerMetadata:
    """Finds the endpoints of a client from the address of the service alone."""
    answer = node.get("/.well-known/oauth-authorization-server")
    assert answer.status_code == 200
    metadata = AuthorizationServerMetadata(answer.json())
    metadata.validate()
    assert metadata["issuer"] == node.url, "clients compare them (RFC 8414, 3.3)"
    return metadata


def test_a_stock_client_logs_in_from_the_metadata_alone(nodes: Nodes, person: Person) -> None:
    """Started and approved on one node, polled on the other, at first too fast."""
    first, second = nodes
    here, there = metadata_of(first), metadata_of(second)
    [grant] = [each for each in there["grant_types_supported"] if each.endswith(":device_code")]
    [method] = there["token_endpoint_auth_methods_supported"]
    with OAuth2Session("a-program", token_endpoint_auth_method=method, default_timeout=15.0) as client:
        client.trust_env = False
        form = {"client_id": client.client_id, "scope": "everything"}
        device = client.post(here["device_authorization_endpoint"], data=form, withhold_token=True).json()
        redeem = partial(
            client.fetch_token, there["token_endpoint"], grant_type=grant, device_code=device["device_code"]
        )
        for error in ("authorization_pending", "slow_down"):
            with pytest.raises(OAuthError, match=error):
                redeem()
        asked = person.reads(first, device["user_code"])
        assert (asked["agent"], asked["address"], asked["status"]) == (
            client.headers["user-agent"],
            "127.0.0.1",
            "pending",
        )
        person.decides(first, device["user_code"])
        token = redeem()
        assert (token["token_type"], token["access_token"][:8]) == ("Bearer", "cs_user_")
        assert [client.get(f"{node.url}/api/v1/usage").json()["email"] for node in nodes] == [person.email] * 2
        assert redeem()["access_token"] == token["access_token"], "the answer of a poll may have been lost"
    for secret in (token["access_token"], device["device_code"]):
        assert [node.log().count(secret) for node in nodes] == [0, 0]
