"""The operators' listener: the metrics and the readiness of several nodes as one."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families
from trio.testing import MockClock

from actors.backups.scheduler import BackupScheduler
from actors.backups.state import BackupRules, Room, name_at
from actors.clock import HOUR_MS, SystemClock
from actors.kernel.supervision import running
from service.http.limits import ServingLimits
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from service.observability.collectors import backup_metrics
from service.observability.health import Report
from service.observability.host_metrics import Reading
from service.observability.operators_app import merged, serve_operators
from tests.fakes import TrioClock

ONE = """\
# HELP catalog_requests_total Requests answered.
# TYPE catalog_requests_total counter
catalog_requests_total{operation="listBots",status="200"} 3.0
# HELP catalog_commit_seconds Time of one commit.
# TYPE catalog_commit_seconds histogram
catalog_commit_seconds_bucket{actor="keys",le="0.1"} 1.0
catalog_commit_seconds_bucket{actor="keys",le="+Inf"} 2.0
catalog_commit_seconds_count{actor="keys"} 2.0
catalog_commit_seconds_sum{actor="keys"} 0.75
"""
TWO = (
    ONE.replace("3.0", "40.0")
    + "# HELP catalog_nodes_live Nodes.\n# TYPE catalog_nodes_live gauge\ncatalog_nodes_live 2.0\n"
)


def samples(page: bytes) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """Name of a sample -> sorted labels -> value."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in text_string_to_metric_families(page.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def test_the_metrics_of_all_workers_stand_on_one_page_with_the_number_of_each() -> None:
    page = merged({1: Report(ONE, []), 2: Report(TWO, []), 3: None})
    found = samples(page)
    assert found["catalog_requests_total"] == {
        (("operation", "listBots"), ("status", "200"), ("worker", "1")): 3,
        (("operation", "listBots"), ("status", "200"), ("worker", "2")): 40,
    }
    assert found["catalog_commit_seconds_sum"] == {
        (("actor", "keys"), ("worker", "1")): 0.75,
        (("actor", "keys"), ("worker", "2")): 0.75,
    }
    assert len(found["catalog_commit_seconds_bucket"]) == 4
    assert found["catalog_nodes_live"] == {(("worker", "2"),): 2}
    assert found["catalog_worker_up"] == {(("worker", "1"),): 1, (("worker", "2"),): 1, (("worker", "3"),): 0}
    lines = page.decode().splitlines()
    assert lines.count("# TYPE catalog_commit_seconds histogram") == 1
    assert lines.count("# TYPE catalog_requests_total counter") == 1


async def test_metrics_of_the_parent_have_no_worker(autojump_clock: MockClock) -> None:
    class Files:
        """A directory with the backup of an hour ago."""

        async def names(self) -> Sequence[str]:
            return [name_at(0)]

        async def room(self) -> Room:
            raise AssertionError("no backup is due")

        async def make(self, name: str, now_ms: int) -> int:
            raise AssertionError("no backup is due")

        async def delete(self, name: str) -> None:
            raise AssertionError("no backup is made")

    backups = BackupScheduler(Files(), TrioClock(HOUR_MS), BackupRules(every_ms=24 * HOUR_MS, keep=1))
    own = [Reading(partial(backup_metrics, backups))]
    assert "catalog_backup_age_seconds" not in samples(merged({}, own)), "it has not looked yet"
    async with running([backups]):
        await trio.sleep(1)
        found = samples(merged({1: Report(ONE, [])}, own))
    assert found["catalog_backup_age_seconds"] == {(): 3_601}
    assert found["catalog_backups_total"] == {(("outcome", "made"),): 0, (("outcome", "failed"),): 0}
    assert found["catalog_worker_up"] == {(("worker", "1"),): 1}


def test_a_report_survives_its_line() -> None:
    report = Report(ONE, ['the actor "keys"\nis failed'], ready=False)
    assert report.line().count(b"\n") == 1
    assert Report.read(report.line()) == report


def test_the_parent_is_a_process_beside_its_workers() -> None:
    worker = "# HELP process_open_fds Files.\n# TYPE process_open_fds gauge\nprocess_open_fds 3000000.0\n"
    reports = {1: Report(worker, []), 2: None}
    found = samples(merged(reports, []))
    files = found["process_open_fds"]
    assert files.pop((("worker", "1"),)) == 3_000_000
    assert 0 < files.pop((("worker", "parent"),)) < 3_000_000
    assert files == {}
    assert found["catalog_worker_up"] == {(("worker", "1"),): 1, (("worker", "2"),): 0}
    assert "parent" not in merged(reports).decode(), "a process without workers has none"


LIMITS = ServingLimits(
    head_seconds=10, request_seconds=10, stall_seconds=10, connections=4, connections_per_address=4, graceful_seconds=1
)


async def asked(reports: Mapping[int, Report | None], path: str, method: str = "GET") -> tuple[int, str]:
    """Status and body of a request to a real listener."""

    async def ask_all() -> Mapping[int, Report | None]:
        return reports

    address = ListenAddress("127.0.0.1", 0)
    async with open_listeners([address], LIMITS, SystemClock()) as server, trio.open_nursery() as nursery:
        nursery.start_soon(serve_operators, server, ask_all)
        stream = await trio.open_tcp_stream("127.0.0.1", int(server.url.rpartition(":")[2]))
        request = f"{method} {path} HTTP/1.1\r\nhost: operators\r\nconnection: close\r\n\r\n"
        await stream.send_all(request.encode())
        with trio.fail_after(10):
            response = b"".join([part async for part in stream])
        await stream.aclose()
        nursery.cancel_scope.cancel()
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


@pytest.mark.parametrize(
    ("reports", "status", "ready"),
    [
        ({1: Report(ONE, [])}, 200, 1),
        ({1: Report(ONE, []), 2: None}, 200, 1),
        ({1: Report(ONE, ["the database is not available"], ready=False), 2: None}, 503, 0),
        ({1: Report(ONE, ["the coordinator cannot be used"]), 2: None}, 200, 1),
    ],
)
async def test_the_machine_is_ready_if_one_of_its_workers_is(
    reports: Mapping[int, Report | None], status: int, ready: int
) -> None:
    answered, body = await asked(reports, "/readyz")
    facts = json.loads(body)
    assert (answered, facts["ready"], facts["workers"]) == (status, ready, len(reports))
    silent = {str(number): ["the worker does not answer"] for number, report in reports.items() if report is None}
    assert silent.items() <= facts["problems"].items()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/healthz", 200),
        ("GET", "/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/", 404),
        ("GET", "/api/v1/bots", 404),
        ("GET", "/dev/outbox", 404),
        ("get", "/metrics", 400),
    ],
)
async def test_the_operators_listener_serves_three_addresses_and_nothing_else(
    method: str, path: str, status: int
) -> None:
    answered, body = await asked({1: Report(ONE, [])}, path, method)
    assert answered == status
    if (method, path) == ("GET", "/metrics"):
        assert 'catalog_requests_total{operation="listBots",status="200",worker="1"} 3.0' in body
