"""The documented proxies as real processes: nginx and Caddy with the files of docs/proxies."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.acceptance.postgres import free_port
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import until
from tests.programs import program

HOST = "catalog.example.com"
"""The host name in the documented files."""
START_SECONDS = 20.0
FILES = {"nginx": "nginx.conf", "caddy": "Caddyfile"}
PACKAGES = {"nginx": "nginx-light", "caddy": "caddy"}
"""Debian's packages."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy on 127.0.0.1."""

    https: int
    http: int
    trust: ssl.SSLContext

    def client(self, address: str = "127.0.0.1") -> httpx.Client:
        """A visitor with this address, which is one of the loopback network."""
        transport = httpx.HTTPTransport(verify=self.trust, local_address=address)
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.https}", headers={"host": HOST}, transport=transport, timeout=30.0
        )


def ask(client: httpx.Client, method: str, path: str, **options: object) -> httpx.Response:
    """Send a request as to the documented host name, whose certificate is checked. `path` is sent letter by letter."""
    extensions = {"sni_hostname": HOST, "target": path.encode()}
    return client.request(method, "/", extensions=extensions, **options)  # type: ignore[arg-type]


@contextmanager
def proxying(kind: str, place: Path, nodes: Sequence[str], changes: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """Run the documented file in front of two nodes, given as host:port. Only ports, paths and `changes` differ from the
    document."""
    place.mkdir()
    certificate, key = place / "certificate.pem", place / "key.pem"
    _make_certificate(certificate, key)
    proxy = Proxy(free_port(), free_port(), ssl.create_default_context(cafile=str(certificate)))
    common = {
        "/etc/ssl/catalog/certificate.pem": str(certificate),
        "/etc/ssl/catalog/key.pem": str(key),
        "127.0.0.1:8080": nodes[0],
        "127.0.0.1:8081": nodes[1],
    }
    if kind == "nginx":
        own = {
            "/run/nginx.pid": f"{place}/nginx.pid",
            "/var/log/nginx/error.log": f"{place}/error.log",
            "listen 80;": f"listen 127.0.0.1:{proxy.http};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{proxy.https} ssl http2;",
        }
    else:
        own = {
            "/run/caddy/admin.sock": f"{place}/admin.sock",
            "http_port 80": f"http_port {proxy.http}",
            "https_port 443": f"https_port {proxy.https}",
        }
    file = place / FILES[kind]
    for included in (REPOSITORY / "docs/proxies").glob("nginx-*.conf"):
        shutil.copy(included, place)
    file.write_text(
        substituted((REPOSITORY / "docs/proxies" / file.name).read_text(), {**common, **own, **(changes or {})})
    )
    with running(kind, file, lambda: _answers(proxy)):
        yield proxy


@contextmanager
def running(kind: str, file: Path, ready: Callable[[], bool]) -> Iterator[None]:
    """A proxy with this file, once it is `ready`."""
    place = file.parent
    options = ["-g", "daemon off;", "-c"] if kind == "nginx" else ["run", "--adapter", "caddyfile", "--config"]
    home = {name: str(place) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with (place / "output").open("wb") as output:
        process = subprocess.Popen(
            [program(kind, PACKAGES[kind]), *options, str(file)],
            cwd=place,
            env={**os.environ, **home},
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: process.poll() is not None or ready(), START_SECONDS, what=kind)
        assert process.poll() is None, (place / "output").read_text()
        yield
    finally:
        process.terminate()
        process.wait(START_SECONDS)


def substituted(text: str, changes: Mapping[str, str]) -> str:
    """`text` with each of `changes`, all of which must occur exactly once."""
    for old in changes:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def _answers(proxy: Proxy) -> bool:
    with proxy.client() as client:
        try:
            return ask(client, "GET", "/healthz").status_code == 200
        except httpx.TransportError:
            return False


def _make_certificate(certificate: Path, key: Path) -> None:
    new = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*new, *subject, *files], check=True, capture_output=True)
