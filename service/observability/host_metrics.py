"""Metrics of the process and its machine: CPU, memory and files, garbage collection, the disk, and the TLS certificate."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


def register_process(registry: CollectorRegistry) -> None:
    """Add CPU time, memory, open files and garbage collection of this process, read at each scrape."""
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)


def process_page() -> bytes:
    """The metrics of a process that is no node, in Prometheus text format."""
    registry = CollectorRegistry()
    register_process(registry)
    return generate_latest(registry)


class Reading(Collector):
    """Metrics that a function reads at each scrape."""

    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        return self._read()


def disk_metrics(directory: Path) -> Iterable[Metric]:
    """The file system of a directory. No metrics while it cannot be read."""
    try:
        usage = shutil.disk_usage(directory)
    except OSError:
        return
    text = "Bytes of the data directory's file system that the service may still use."
    yield GaugeMetricFamily("catalog_disk_free_bytes", text, value=usage.free)
    yield GaugeMetricFamily("catalog_disk_size_bytes", "Size of that file system.", value=usage.total)


def certificate_metrics(expires: float) -> Iterable[Metric]:
    """The certificate of the TLS listener."""
    text = "Unix time at which the first certificate of tls.certificate expires."
    yield GaugeMetricFamily("catalog_certificate_expires_seconds", text, value=expires)
