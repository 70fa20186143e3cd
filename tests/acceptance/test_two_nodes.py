"""Two nodes over one Postgres: the same program, started twice."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from tests.acceptance.clients import Crowd
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.processes import SECRET, Service, Settings, bot, serving, until, write_catalog
from tests.acceptance.smtp import PostOffice, SmtpServer

CAP = 1_000
SEEN_SECONDS = 1.0


@pytest.fixture(scope="module")
def office() -> PostOffice:
    return PostOffice()


@pytest.fixture(scope="module")
def settings(external: PostgresServer, office: PostOffice) -> Iterator[Settings]:
    with SmtpServer(office) as smtp:
        yield {
            "database.url": external.url(external.fresh_database()),
            "server.secret": SECRET,
            "mail.smtp_url": smtp.url,
            "tiers.anonymous.daily": CAP,
            "tiers.anonymous.per_minute": 1_000_000,
            "log.level": "warning",
        }


@pytest.fixture(scope="module")
def nodes(settings: Settings, playground: Path) -> Iterator[tuple[Service, Service]]:
    """Started at the same moment over an empty catalog, so that both find the samples to be loaded."""
    with ExitStack() as stack:
        places = [playground / f"node-{number}" for number in (1, 2)]
        first, second = (stack.enter_context(serving(place, settings, wait=False)) for place in places)
        first.wait_ready()
        second.wait_ready()
        yield first, second


def test_a_key_minted_on_one_node_works_at_once_on_the_other(nodes: tuple[Service, Service]) -> None:
    first, second = nodes
    for one, other in ((first, second), (second, first)):
        key = one.mint()["apiKey"]
        assert other.get("/api/v1/bots?limit=1", key).status_code == 200
        assert one.usage(key)["requestsUsed"] == other.usage(key)["requestsUsed"] == 1


def test_a_claim_on_one_node_is_seen_on_the_other_within_a_second(
    nodes: tuple[Service, Service], office: PostOffice
) -> None:
    first, second = nodes
    minted = first.mint()
    key, claim = minted["apiKey"], {"claimToken": minted["claimToken"], "email": "two@example.com"}
    assert second.get("/api/v1/bots?limit=1", key).status_code == 200, "the other node remembers the key as anonymous"
    assert first.post("/api/v1/auth/claim", claim).status_code == 200
    code = office.code_for("two@example.com")
    assert first.post("/api/v1/auth/claim/complete", {**claim, "code": code}).status_code == 200

    def claimed() -> bool:
        policy = second.get("/api/v1/bots?limit=1", key).headers["ratelimit-policy"]
        return '"month"' in policy and second.usage(key)["status"] == "claimed"

    until(claimed, SEEN_SECONDS)
    assert [letter["To"] for letter in office.messages].count("two@example.com") == 1, "one node sends it, once"


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


async def test_the_cap_of_a_key_is_exact_over_both_nodes(nodes: tuple[Service, Service]) -> None:
    first, second = nodes
    key = first.mint()["apiKey"]
    crowds = [Crowd(node.url, "/api/v1/bots?limit=1", key, requests=CAP) for node in nodes]
    async with trio.open_nursery() as nursery:
        for crowd in crowds:
            nursery.start_soon(crowd.run, 32)
    outcomes: Counter[str] = sum((crowd.tally.outcomes for crowd in crowds), Counter())
    assert outcomes == {"200": CAP, "403 quota_exhausted": CAP}
    assert all(crowd.tally.yes > CAP // 10 for crowd in crowds), "both nodes let some through"
    assert [node.usage(key)["requestsUsed"] for node in (first, second)] == [CAP, CAP]


def test_a_node_with_another_secret_is_refused(settings: Settings, playground: Path) -> None:
    other = Service(playground / "stranger", {**settings, "server.secret": "x" * 40})
    assert other.wait() == 2
    assert other.log().splitlines()[-1].startswith("service: this database is used with another server secret")
    assert "x" * 40 not in other.log()
    assert other.out.read_text() == ""
