"""Two nodes on one Postgres."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from service.version import VERSION
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, Settings, bot, serving, until, write_catalog
from tests.acceptance.smtp import MailServer, SmtpServer, text_of
from tests.slow import smoke

SEEN_SECONDS = 1.0
LIVE_SECONDS = 3.0
HEARD_SECONDS = 10.0
"""Much longer than a heartbeat, for a busy machine."""


def _ready(node: Service) -> dict[str, Any]:
    status: dict[str, Any] = node.get("/readyz").json()
    return status


@pytest.fixture(scope="module")
def mail_server() -> MailServer:
    return MailServer()


@pytest.fixture(scope="module")
def settings(external: PostgresServer, mail_server: MailServer) -> Iterator[Settings]:
    with SmtpServer(mail_server) as smtp:
        yield {
            "database.url": external.url(external.fresh_database()),
            "server.secret": SECRET,
            "mail.smtp_url": smtp.url,
            "log.level": "warning",
            "nodes.beat_seconds": 0.5,
            "nodes.live_seconds": LIVE_SECONDS,
        }


@pytest.fixture(scope="module")
def nodes(settings: Settings, playground: Path) -> Iterator[tuple[Service, Service]]:
    """Nodes started together on an empty catalog, so that both find the samples missing."""
    with ExitStack() as stack:
        places = [playground / f"node-{number}" for number in (1, 2)]
        first, second = (stack.enter_context(serving(place, settings, wait=False)) for place in places)
        first.wait_ready()
        second.wait_ready()
        yield first, second


@smoke
def test_each_node_names_itself_and_counts_both(nodes: tuple[Service, Service]) -> None:
    until(lambda: [_ready(node)["liveNodes"] for node in nodes] == [2, 2], HEARD_SECONDS)
    first, second = (_ready(node)["node"] for node in nodes)
    assert first != second
    report = nodes[0].command("doctor")
    assert "ok: live nodes: 2" in report
    for name, node in ((first, nodes[0]), (second, nodes[1])):
        assert f"ok: node {name} on " in report
        assert f"at {node.url}, heartbeat " in report
        assert f'catalog_node_info{{node="{name}",version="{VERSION}"}} 1.0' in node.get("/metrics").text


def test_a_node_that_is_killed_counts_no_longer_once_its_beat_is_old(
    nodes: tuple[Service, Service], settings: Settings, playground: Path
) -> None:
    with serving(playground / "node-3", settings) as third:
        until(lambda: [_ready(node)["liveNodes"] for node in nodes] == [3, 3], HEARD_SECONDS)
        third.kill()
    until(lambda: [_ready(node)["liveNodes"] for node in nodes] == [2, 2], LIVE_SECONDS + HEARD_SECONDS)


@smoke
def test_a_key_minted_on_one_node_works_at_once_on_the_other(nodes: tuple[Service, Service]) -> None:
    first, second = nodes
    for one, other in ((first, second), (second, first)):
        key = one.mint()["apiKey"]
        assert other.get("/api/v1/bots?limit=1", key).status_code == 200
        assert one.usage(key)["requestsUsed"] == other.usage(key)["requestsUsed"] == 1


@smoke
def test_a_claim_on_one_node_is_seen_on_the_other_within_a_second(
    nodes: tuple[Service, Service], mail_server: MailServer
) -> None:
    first, second = nodes
    minted = first.mint()
    key, claim = minted["apiKey"], {"claimToken": minted["claimToken"], "email": "two@example.com"}
    assert second.get("/api/v1/bots?limit=1", key).status_code == 200, "the other node remembers the key as anonymous"
    assert first.post("/api/v1/auth/claim", claim).status_code == 200
    code = mail_server.code_for("two@example.com")
    assert first.post("/api/v1/auth/claim/complete", {**claim, "code": code}).status_code == 200

    def claimed() -> bool:
        policy = second.get("/api/v1/bots?limit=1", key).headers["ratelimit-policy"]
        return '"month"' in policy and second.usage(key)["status"] == "claimed"

    until(claimed, SEEN_SECONDS)
    codes = [letter for letter in mail_server.messages if code in text_of(letter)]
    assert [letter["To"] for letter in codes] == ["two@example.com"], "one node sends it, once"


@smoke
def test_an_import_is_seen_by_both_nodes_within_a_second(nodes: tuple[Service, Service], tmp_path: Path) -> None:
    catalog = write_catalog(tmp_path / "catalog.jsonl", *map(bot, range(1, 30)))
    nodes[0].command("import-catalog", catalog, "--prune")
    until(lambda: [node.status("/api/v1/bots/bot-29") for node in nodes] == [200, 200], SEEN_SECONDS)
    pages = [node.get("/api/v1/bots?limit=100") for node in nodes]
    assert pages[0].content == pages[1].content
    assert pages[0].headers["etag"] == pages[1].headers["etag"]
    cursor = nodes[0].get("/api/v1/bots?limit=20").json()["nextCursor"]
    rest = nodes[1].get(f"/api/v1/bots?limit=20&cursor={cursor}").json()["data"]
    assert [entry["slug"] for entry in rest] == [f"bot-{number}" for number in range(9, 0, -1)]


def test_a_node_with_another_secret_is_refused(settings: Settings, playground: Path) -> None:
    other = Service(playground / "stranger", {**settings, "server.secret": "x" * 40})
    assert other.wait() == 2
    assert other.log().splitlines()[-1].startswith("service: this database is used with another server secret")
    assert "x" * 40 not in other.log()
    assert other.out.read_text() == ""
