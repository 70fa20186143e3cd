"""docs/monitoring.md, held against a real service with two workers, HTTPS and a collector of spans."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tests.acceptance.processes import Service, serving, until
from tests.acceptance.workers import operators_of, workers_of
from tests.observability.collector import Collector

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
TABLE = {
    name: (kind, {label.strip() for label in labels.split(",")} - {""})
    for name, kind, labels in re.findall(
        r"^\| `(\w+)` \| (counter|gauge|histogram) \| ([\w, ]*)\|", DOCUMENT, re.MULTILINE
    )
}
"""The metrics of the document: name -> type and labels."""

TRACE = "0af7651916cd43dd8448eb211c80319c"


@dataclass(frozen=True, slots=True)
class Monitored:
    """A service, the address of its operators' listener, and the collector of its spans."""

    service: Service
    operators: str
    collector: Collector

    def page(self) -> str:
        return httpx.get(f"{self.operators}/metrics").text

    def samples(self) -> list[Sample]:
        return [sample for family in text_string_to_metric_families(self.page()) for sample in family.samples]

    def value(self, name: str, **labels: str) -> float | None:
        """The sample with these labels."""
        found = [each.value for each in self.samples() if each.name == name and labels.items() <= each.labels.items()]
        return sum(found) if found else None


@pytest.fixture(scope="module")
def monitored(new_data_dir: Callable[[str], Path]) -> Iterator[Monitored]:
    with Collector().serving() as collector:
        collector.released.set()
        data_dir = new_data_dir("monitoring")
        for name in ("localhost.pem", "localhost.key"):
            shutil.copy(ROOT / "tests/http" / name, data_dir.parent / name)
            (data_dir.parent / name).chmod(0o644)
        settings = {
            "server.workers": 2,
            "server.ops_bind": "127.0.0.1:0",
            "tls.bind": "127.0.0.1:0",
            "tls.certificate": data_dir.parent / "localhost.pem",
            "tls.key": data_dir.parent / "localhost.key",
            "nodes.beat_seconds": 0.2,
            "log.format": "json",
            "backup.every_hours": 1,
            "tracing.otlp_url": collector.url,
            "tracing.sample": 1,
        }
        with serving(data_dir, settings) as service:
            operators = operators_of(service)
            yield Monitored(service, operators, collector)


def asked(monitored: Monitored, number: int) -> str:
    """Ask over new connections until the worker of this number has answered. Returns the key of its last response."""
    key = ""
    while not monitored.value("catalog_requests_total", worker=str(number), operation="mintKey", status="200"):
        monitored.service.close()
        key = monitored.service.mint()["apiKey"]
    return key


def test_the_document_lists_each_metric_of_a_scrape_with_type_and_labels_and_no_other(monitored: Monitored) -> None:
    for number in (1, 2):
        asked(monitored, number)
    until(lambda: monitored.value("catalog_loop_lag_seconds_count", worker="2"))
    page = monitored.page()
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", page, re.MULTILINE))
    created = {f"{name}_created" for name, kind in types.items() if kind == "histogram"}
    assert {name: kind for name, (kind, _) in TABLE.items()} == {
        name: kind for name, kind in types.items() if name not in created
    }
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            name = family.name if family.type == "histogram" else sample.name
            labels.setdefault(name, set()).update(sample.labels.keys() - {"worker", "le"})
    for name, (_, documented) in TABLE.items():
        assert labels.get(name, documented) == documented - {"worker"}, name


def test_all_samples_differ_and_the_parent_has_those_of_a_process_only(monitored: Monitored) -> None:
    samples = monitored.samples()
    series = [(each.name, *sorted(each.labels.items())) for each in samples]
    assert len(set(series)) == len(series)
    named: dict[str | None, set[str]] = {}
    for sample in samples:
        named.setdefault(sample.labels.get("worker"), set()).add(sample.name.partition("_")[0])
    assert named.keys() == {"1", "2", "parent", None}
    assert named["parent"] == {"process", "python"}
    assert {each.name for each in samples if "worker" not in each.labels} <= {
        "catalog_backups_total",
        "catalog_backup_age_seconds",
    }
    assert monitored.value("process_open_fds", worker="parent")


def test_the_certificate_and_the_disk_are_those_of_the_service(monitored: Monitored) -> None:
    disk = shutil.disk_usage(monitored.service.data_dir)
    assert monitored.value("catalog_disk_size_bytes", worker="1") == disk.total
    expires = monitored.value("catalog_certificate_expires_seconds", worker="2")
    assert expires is not None
    assert expires > 1_700_000_000


def test_the_spans_of_each_worker_are_its_own_and_continue_the_trace_of_the_caller(monitored: Monitored) -> None:
    nodes = {each.labels["node"] for each in monitored.samples() if each.name == "catalog_node_info"}
    for number in (1, 2):
        asked(monitored, number)
    headers = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01", "x-request-id": "req-traced"}
    assert httpx.post(f"{monitored.service.url}/api/v1/auth/agent", headers=headers).status_code == 200
    until(lambda: len(mine(monitored)) == 3)
    request, batch, commit = mine(monitored)
    assert (request, batch, commit) == ("mintKey", "keys batch", "keys commit")
    until(lambda: {resource["service.instance.id"] for resource, _ in monitored.collector.with_resources()} == nodes)
    [line] = [line for line in monitored.service.log().splitlines() if "req-traced" in line]
    assert f'"trace_id": "{TRACE}"' in line


def mine(monitored: Monitored) -> list[str]:
    """The names of the spans of `TRACE`, in their order."""
    spans = [span for _, span in monitored.collector.with_resources() if span.trace_id.hex() == TRACE]
    return [span.name for span in sorted(spans, key=lambda span: (span.start_time_unix_nano, span.name))]


def test_a_killed_worker_begins_its_series_again_and_those_of_the_others_go_on(monitored: Monitored) -> None:
    for number in (1, 2):
        asked(monitored, number)
    before, started = counters(monitored), start_times(monitored)
    victim = min(workers_of(monitored.service))
    os.kill(victim, signal.SIGKILL)
    until(lambda: set(start_times(monitored)) == {"1", "2", "parent"} and start_times(monitored) != started)
    after = counters(monitored)
    [again] = [worker for worker, moment in start_times(monitored).items() if moment != started[worker]]
    for (worker, *series), value in before.items():
        if worker != again:
            assert after[worker, *series] >= value, series
    minted = ("catalog_requests_total", ("operation", "mintKey"), ("status", "200"))
    assert before[again, *minted] > 0
    assert after.get((again, *minted), 0.0) == 0
    assert monitored.value("catalog_worker_up", worker=again) == 1


def counters(monitored: Monitored) -> Mapping[tuple[object, ...], float]:
    """The counters by worker, name and labels."""
    return {
        (
            each.labels.get("worker"),
            each.name,
            *sorted((name, text) for name, text in each.labels.items() if name != "worker"),
        ): each.value
        for each in monitored.samples()
        if each.name.endswith("_total")
    }


def start_times(monitored: Monitored) -> Mapping[str, float]:
    return {
        each.labels["worker"]: each.value for each in monitored.samples() if each.name == "process_start_time_seconds"
    }
