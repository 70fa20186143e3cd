"""The metrics of the process and its machine."""

import os
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from service.observability.host_metrics import process_page
from service.observability.metrics import Metrics


def values(page: bytes) -> dict[str, float]:
    """The samples without labels, by name."""
    families = text_string_to_metric_families(page.decode())
    return {each.name: each.value for family in families for each in family.samples if not each.labels}


def test_a_process_tells_its_cpu_memory_files_and_start() -> None:
    found = values(process_page())
    assert found["process_cpu_seconds_total"] <= sum(os.times()[:2])
    assert found["process_resident_memory_bytes"] > 1024 * 1024
    assert 0 < found["process_open_fds"] < found["process_max_fds"]
    assert 0 < found["process_start_time_seconds"] < time.time()
    assert b'python_gc_collections_total{generation="2"}' in process_page()


def test_the_disk_is_that_of_the_data_directory(tmp_path: Path) -> None:
    metrics = Metrics()
    metrics.observe_machine(tmp_path, None)
    found, disk = values(metrics.page()), os.statvfs(tmp_path)
    assert found["catalog_disk_size_bytes"] == disk.f_blocks * disk.f_frsize
    assert 0 < found["catalog_disk_free_bytes"] <= found["catalog_disk_size_bytes"]
    assert "catalog_certificate_expires_seconds" not in found


def test_a_directory_that_is_gone_spoils_no_scrape(tmp_path: Path) -> None:
    metrics = Metrics()
    metrics.observe_machine(tmp_path / "gone", 1_800_000_000.0)
    found = values(metrics.page())
    assert "catalog_disk_free_bytes" not in found
    assert found["catalog_certificate_expires_seconds"] == 1_800_000_000
