"""Websites that serve `/embed.js` from their own domain, as docs/embedding.md says, before a service behind a proxy."""

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import SECRET, Service, serving, until
from tests.acceptance.proxies import FILES, HOST, Proxy, ask, proxying, running

GUIDE = (REPOSITORY / "docs/embedding.md").read_text()
WEBSITE = "blog.example.com"
PROXY = "192.0.2.10"
"""The address of the website's proxy in the guide."""
VISITOR, FORGED = "127.0.0.5", "198.51.100.7"
PLACEMENTS, EVENTS = "/api/v1/sponsors/placements", "/api/v1/sponsors/events"
HEADERS = {"X-Forwarded-For": FORGED, "Cookie": "a=b", "Authorization": "Basic YTpi", "Origin": f"https://{WEBSITE}"}


def lines(language: str, title: str) -> str:
    """The lines of the guide below this comment."""
    [found] = re.findall(rf"^```{language}\n# {re.escape(title)}.*?\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    return str(found)


def website(kind: str, place: Path, port: int, service: Proxy) -> str:
    """The file of a website's proxy: the lines of the guide, with the port and the certificate of this service."""
    authority, upstream = place.parent / "service/certificate.pem", f"127.0.0.1:{service.https}"
    if kind == "nginx":
        own = lines(kind, "nginx, in the server block of the website").replace("HOST", HOST)
        own = own.replace("/etc/ssl/certs/ca-certificates.crt", str(authority))
        return (
            f"pid {place}/nginx.pid; error_log {place}/error.log; events {{ }} http {{ access_log off;"
            f"upstream {HOST} {{ server {upstream}; }}"
            f"server {{ listen 127.0.0.1:{port}; server_name {WEBSITE}; location / {{ return 404; }}\n{own}\n}} }}"
        )
    tls = f"transport http {{\ntls_server_name {HOST}\ntls_trusted_ca_certs {authority}\n}}"
    own = lines(kind, "Caddy, in the block of the website").replace("https://HOST {", f"https://{upstream} {{\n{tls}")
    own = own.replace("HOST", HOST)
    return f"{{\nadmin off\nauto_https off\n}}\nhttp://{WEBSITE}:{port} {{\nbind 127.0.0.1\nrespond 404\n{own}\n}}"


def trusted(kind: str) -> dict[str, str]:
    """What the guide changes in the documented file of the service's proxy. Here, both proxies have one address."""
    if kind == "nginx":
        more = lines(kind, "nginx.conf, in the server block of the service").replace(PROXY, "127.0.0.1")
        return {"include nginx-server.conf;": f"{more}include nginx-server.conf;"}
    more = lines(kind, "Caddyfile, in place of the line").replace(PROXY, "127.0.0.1")
    return {"header_up X-Forwarded-For {remote_host}\n": more}


@contextmanager
def serving_website(kind: str, place: Path, service: Proxy) -> Iterator[Callable[..., httpx.Response]]:
    """The proxy of a website. Yields what sends a request to it as a visitor."""
    place.mkdir()
    port, file = free_port(), place / FILES[kind]
    # Visitors of one network are told apart by their browsers.
    agent = f"Mozilla/5.0 (X11; Linux x86_64; {uuid.uuid4()}) Gecko/20100101 Firefox/140.0"
    file.write_text(website(kind, place, port, service))
    transport = httpx.HTTPTransport(local_address=VISITOR)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=30.0) as client:

        def send(method: str, path: str, **options: object) -> httpx.Response:
            headers = {"host": WEBSITE, "user-agent": agent, **HEADERS}
            return client.request(method, path, headers=headers, **options)  # type: ignore[arg-type]

        def ready() -> bool:
            try:
                return send("GET", "/").status_code == 404
            except httpx.TransportError:
                return False

        with running(kind, file, ready):
            yield send


@pytest.fixture(scope="module")
def node(external: PostgresServer, playground: Path) -> Iterator[Service]:
    """A node behind a proxy. Its limit shows whom it takes visitors for."""
    settings = {
        "database.url": external.url(external.fresh_database()),
        "server.secret": SECRET,
        "server.base_url": f"https://{HOST}",
        "server.trusted_proxies": "127.0.0.1/32",
        "server.allow_unsafe_public": "true",
        "events.exempt_networks": "",
    }
    with serving(playground / "own-domain", settings) as service:
        yield service


@pytest.mark.parametrize("trust", [False, True], ids=["unknown", "trusted"])
@pytest.mark.parametrize("kind", FILES)
def test_a_website_serves_the_script_from_its_own_domain(kind: str, trust: bool, node: Service, tmp_path: Path) -> None:
    upstream = [f"127.0.0.1:{node.port}"] * 2
    with proxying(kind, tmp_path / "service", upstream, trusted(kind) if trust else None) as service:
        with serving_website(kind, tmp_path / "website", service) as send:
            script = send("GET", "/embed.js")
            assert script.content == node.http.get("/embed.js").content
            placements = send("GET", PLACEMENTS).json()["placements"]
            assert [send("GET", path).status_code for path in ("/api/v1/bots", "/dashboard", "/embed.js/x")] == [
                404
            ] * 3
            event = {"bookingId": placements[0]["bookingId"], "kind": "impression", "visitorId": str(uuid.uuid4())}
            arrived = node.log().count(f" POST {EVENTS} ")
            assert send("POST", f"{EVENTS}?unit=day", json=event).json() == {"recorded": True}
        until(lambda: node.log().count(f" POST {EVENTS} ") > arrived)
        [line] = [each for each in node.log().splitlines() if f" POST {EVENTS} " in each][arrived:]
        assert f"client={VISITOR if trust else '127.0.0.1'}" in line
        with service.client("127.0.0.6") as direct:
            ask(direct, "GET", "/api/v1/bots?limit=1", headers=HEADERS | {"Authorization": ""})
        until(lambda: "client=127.0.0.6" in node.log())
        assert FORGED not in node.log()
