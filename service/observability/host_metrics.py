"""Metrics of the process and its machine: CPU, memory and files, garbage collection, the disk, and the TLS certificate."""

import shutil
from collections.abc import Iterable
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


class Disk(Collector):
    """The file system of a directory. Without metrics while it cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        try:
            usage = shutil.disk_usage(self._directory)
        except OSError:
            return
        text = "Bytes of the data directory's file system that the service may still use."
        yield GaugeMetricFamily("catalog_disk_free_bytes", text, value=usage.free)
        yield GaugeMetricFamily("catalog_disk_size_bytes", "Size of that file system.", value=usage.total)


class Certificate(Collector):
    """The certificate of the TLS listener."""

    def __init__(self, expires: float) -> None:
        self._expires = expires

    def collect(self) -> Iterable[Metric]:
        text = "Unix time at which the first certificate of tls.certificate expires."
        yield GaugeMetricFamily("catalog_certificate_expires_seconds", text, value=self._expires)
