"""A node under observation: its open files, memory, CPU time, and the complaints in its log."""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.abuse.probe import VISITOR, Errand
from tests.acceptance.postgres import free_port
from tests.acceptance.processes import Service, Settings, serving

HOST = "127.0.0.1"
DATABASE_CONNECTIONS = 2
PLACEMENTS = Errand("GET", "/api/v1/sponsors/placements", 200)
_COMPLAINT = re.compile(r"Traceback|\b(error|critical) \S+ |failed|exception", re.IGNORECASE)
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Watched:
    """A running node, its TLS port, and the most connections that it may have to the database."""

    service: Service
    tls_port: int
    connections: int

    @property
    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.service.process.pid}/fd"))

    @property
    def memory_mib(self) -> float:
        return self._status("VmRSS") / 1024

    def peak_mib(self) -> float:
        """The peak memory since the last reset."""
        return self._status("VmHWM") / 1024

    def forget_peak(self) -> None:
        Path(f"/proc/{self.service.process.pid}/clear_refs").write_text("5")

    @property
    def core_seconds(self) -> float:
        """CPU seconds of the process since its start."""
        fields = Path(f"/proc/{self.service.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @property
    def process_seconds(self) -> float:
        """The same by the process's clock, to the nanosecond (clock_getcpuclockid(3))."""
        return time.clock_gettime(~self.service.process.pid << 3 | 2)

    @property
    def idle(self) -> bool:
        """Whether the process waits for something: it neither runs nor waits for a core."""
        return Path(f"/proc/{self.service.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    @property
    def waited_seconds(self) -> float:
        """Seconds in which the process was ready but had no core, since its start."""
        return int(Path(f"/proc/{self.service.process.pid}/schedstat").read_text().split()[1]) / 1e9

    def complaints(self) -> list[str]:
        """Log lines that report a bug, each with the lines that follow it."""
        lines = self.service.log().splitlines()
        return [" | ".join(lines[at : at + 30]) for at, line in enumerate(lines) if _COMPLAINT.search(line)]

    def errands(self) -> list[Errand]:
        """The probe's requests: placements, and one that writes."""
        placement = self.service.get(PLACEMENTS.path).json()["placements"][0]
        body = f'{{"bookingId": "{placement["bookingId"]}", "kind": "impression", "visitorId": "{VISITOR}"}}'
        return [PLACEMENTS, Errand("POST", "/api/v1/sponsors/events", 200, body)]

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.service.process.pid}/status").read_text()
        return int(text.partition(f"{name}:")[2].split()[0])


@dataclass(frozen=True, slots=True)
class Certificate:
    """A self-signed certificate for this machine, and its key."""

    certificate: Path
    key: Path

    @classmethod
    def make(cls, directory: Path) -> "Certificate":
        made = cls(directory / "certificate.pem", directory / "key.pem")
        new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
        files = ["-keyout", str(made.key), "-out", str(made.certificate)]
        subprocess.run([*new, *subject, *files], check=True, capture_output=True)
        return made


@contextmanager
def watched(data_dir: Path, certificate: Certificate, settings: Mapping[str, object]) -> Iterator[Watched]:
    """A ready node that has opened all its connections to Postgres, so that their number is stable."""
    tls_port = free_port()
    tls = {"tls.bind": f"{HOST}:{tls_port}", "tls.certificate": certificate.certificate, "tls.key": certificate.key}
    chosen: Settings = {
        "log.level": "warning",
        "database.connections": DATABASE_CONNECTIONS,
        # Attacks hold more connections than one address may, and the probe reports more events.
        "events.exempt_networks": "127.0.0.0/8",
        # Slow readers hold many responses of a large document.
        "pages.per_minute": 1_000_000,
        **tls,
        **settings,
    }
    with serving(data_dir, chosen) as service:
        yield Watched(service, tls_port, int(str(chosen["database.connections"])))
