"""The files of compose.yaml at work: its nodes behind its nginx, watched by its Prometheus."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.config.loading import PREFIX
from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import Service, serving, until
from tests.acceptance.proxies import substituted
from tests.deploy.compose import compose
from tests.deploy.dashboard import expressions, metrics, rules
from tests.programs import program

NODES = ("node-1", "node-2")
SETTINGS_OF = {
    "database.distributed": "catalog_event_server_",
    "tls.bind": "catalog_certificate_",
    "backup.every_hours": "catalog_backup",
    "tracing.otlp_url": "catalog_spans_",
    "an embedded Postgres": "catalog_disk_",
}
"""What has metrics of its own, and how their names begin. The nodes of compose.yaml have none of it."""


@dataclass(frozen=True, slots=True)
class Node:
    service: Service
    operators: str
    """The address of server.ops_bind."""


@pytest.fixture(scope="module")
def nodes(external: PostgresServer, playground: Path) -> Iterator[list[Node]]:
    """The nodes with the settings of compose.yaml, on ports and over a database of this test."""
    services, database = compose()["services"], external.url(external.fresh_database())
    with ExitStack() as stack:
        running = []
        for name in NODES:
            settings = {
                variable.removeprefix(PREFIX).replace("__", ".").lower(): value
                for variable, value in services[name]["environment"].items()
            }
            own = {
                "database.url": database,
                "server.ops_bind": f"127.0.0.1:{free_port()}",
                "server.trusted_proxies": "127.0.0.1/32",
                "server.drain_seconds": 0,
            }
            service = stack.enter_context(serving(playground / f"compose-{name}", {**settings, **own}, wait=False))
            running.append(Node(service, str(own["server.ops_bind"])))
        for node in running:
            node.service.wait_ready()
        yield running


@pytest.fixture(scope="module")
def proxy(nodes: list[Node], playground: Path) -> Iterator[str]:
    """The URL of nginx with the file of compose.yaml, beside the files that it mounts."""
    binary, place, port = program("nginx", "nginx-light"), playground / "compose-nginx", free_port()
    place.mkdir()
    text = (REPOSITORY / "deploy/nginx/nginx.conf").read_text(encoding="utf-8")
    for name in ("nginx-http.conf", "nginx-server.conf"):
        shutil.copy(REPOSITORY / "docs/proxies" / name, place)
    changes = {f"{name}:8080": f"127.0.0.1:{node.service.port}" for name, node in zip(NODES, nodes, strict=True)}
    changes |= {"listen 8080;": f"listen 127.0.0.1:{port};", "/etc/nginx/nginx-http": f"{place}/nginx-http"}
    changes |= {"/etc/nginx/nginx-server": f"{place}/nginx-server", "pid /tmp/nginx.pid": f"pid {place}/nginx.pid"}
    changes |= {f"/tmp/{name};": f"{place}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")}
    file = place / "nginx.conf"
    file.write_text(substituted(text, changes))
    tested = subprocess.run([binary, "-t", "-c", str(file)], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert "warn" not in tested.stderr, tested.stderr
    with process([binary, "-c", str(file), "-g", "daemon off;"], place):
        until(lambda: _ok(f"http://127.0.0.1:{port}/healthz"), what="nginx")
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def prometheus(nodes: list[Node], playground: Path) -> Iterator[str]:
    """The URL of Prometheus with the files of compose.yaml, which looks every half second."""
    binary, place, port = program("prometheus", "prometheus"), playground / "compose-prometheus", free_port()
    place.mkdir()
    shutil.copy(REPOSITORY / "deploy/prometheus/alerts.yml", place)
    text = (REPOSITORY / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8")
    changes = {f"{name}:9090": node.operators for name, node in zip(NODES, nodes, strict=True)}
    changes |= {
        "scrape_interval: 15s": "scrape_interval: 500ms",
        "evaluation_interval: 15s": "evaluation_interval: 500ms",
    }
    changes |= {"scrape_timeout: 5s": "scrape_timeout: 500ms"}
    file = place / "prometheus.yml"
    file.write_text(substituted(text, changes))
    options = [f"--config.file={file}", f"--storage.tsdb.path={place}/data", f"--web.listen-address=127.0.0.1:{port}"]
    with process([binary, *options], place):
        until(lambda: _ok(f"http://127.0.0.1:{port}/-/ready"), what="Prometheus")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def process(command: list[str], place: Path) -> Iterator[None]:
    with (place / "output").open("wb") as output:
        running = subprocess.Popen(command, cwd=place, stdout=output, stderr=output)
    try:
        yield
    finally:
        running.terminate()
        running.wait(20)


def _ok(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=10).status_code == 200
    except httpx.TransportError:
        return False


def query(prometheus: str, expression: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": expression}, trust_env=False, timeout=20)
    assert answer.status_code == 200, f"{expression}: {answer.text}"
    found: list[dict[str, Any]] = answer.json()["data"]["result"]
    return found


def test_visitors_reach_both_nodes_through_nginx_and_see_nothing_of_the_operators(
    proxy: str, nodes: list[Node]
) -> None:
    with httpx.Client(base_url=proxy, trust_env=False, timeout=20) as visitor:
        before = [node.service.log().count("/api/v1/bots") for node in nodes]
        assert {visitor.get("/api/v1/bots?limit=1").status_code for _ in range(20)} == {200}
        until(
            lambda: all(node.service.log().count("/api/v1/bots") > old for node, old in zip(nodes, before, strict=True))
        )
        assert visitor.post("/api/v1/auth/agent").status_code == 200
        for path in ("/metrics", "/dev/outbox"):
            assert visitor.get(path).status_code == 404
    for node in nodes:
        line = next(line for line in node.service.log().splitlines() if "/api/v1/bots" in line)
        assert json.loads(line)["client"] == "127.0.0.1", "the log is in JSON, as compose.yaml says"


def test_prometheus_finds_both_nodes_up_and_no_alert_fires(prometheus: str, nodes: list[Node]) -> None:
    up = 'up{job="catalog"}'
    until(lambda: [each["value"][1] for each in query(prometheus, up)] == ["1", "1"], what="two scrapes")
    assert {each["metric"]["instance"] for each in query(prometheus, up)} == {node.operators for node in nodes}
    until(lambda: query(prometheus, "ALERTS") or _evaluated(prometheus), what="the rules")
    assert query(prometheus, 'ALERTS{alertstate="firing"}') == []


def _evaluated(prometheus: str) -> bool:
    groups = httpx.get(f"{prometheus}/api/v1/rules", trust_env=False, timeout=20).json()["data"]["groups"]
    assert groups
    found = [rule for group in groups for rule in group["rules"]]
    assert not [rule for rule in found if rule["health"] == "err"], found
    return all(rule["health"] == "ok" for rule in found)


def test_the_rules_and_the_dashboard_ask_for_metrics_that_the_service_has(
    prometheus: str, proxy: str, nodes: list[Node]
) -> None:
    httpx.post(f"{proxy}/api/v1/auth/agent", trust_env=False, timeout=20)
    httpx.get(f"{proxy}/api/v1/bots?limit=0", trust_env=False, timeout=20)  # refused
    asked = set().union(*(metrics(text) for text in [*rules(), *expressions()]))
    assert len(asked) > 20

    def missing() -> set[str]:
        names = f"{prometheus}/api/v1/label/__name__/values"
        return asked - set(httpx.get(names, trust_env=False, timeout=20).json()["data"])

    def unexpected() -> set[str]:
        return {name for name in missing() if not name.startswith(tuple(SETTINGS_OF.values()))}

    until(lambda: not unexpected(), what="the metrics")
    sources = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "service/observability").glob("*.py"))
    for name in missing():
        assert f'"{name.removesuffix("_total")}"' in sources, f"no setting makes the service tell {name}"
    for text in expressions():
        query(prometheus, text)


def status_of(node: Node) -> Mapping[str, Any]:
    found: Mapping[str, Any] = httpx.get(f"http://{node.operators}/readyz", trust_env=False, timeout=20).json()
    return found


def test_operators_ask_each_node_at_its_private_address(nodes: list[Node]) -> None:
    for node in nodes:
        assert status_of(node)["ready"] == 1
        assert node.service.status("/metrics") == 404
