"""compose.yaml is valid, hardened, without a password that anybody knows, and in step with the service's limits."""

import ipaddress
import json
import re
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from service.config.loading import load
from service.http.limits import LAST_MOMENT_SECONDS
from tests.architecture import ROOT
from tests.deploy.compose import SECRETS, Missing, compose, seconds
from tests.deploy.image import image

FILE = compose()
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
NODES = ("node-1", "node-2")
OWN = ("migrate", *NODES)


def test_it_follows_the_schema_of_compose_files() -> None:
    schema = json.loads(
        (files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text(encoding="utf-8")
    )
    jsonschema.Draft202012Validator(schema).validate(FILE)
    with pytest.raises(jsonschema.ValidationError, match="read_only"):
        jsonschema.Draft202012Validator(schema).validate({"services": {"a": {"image": "b", "read_only": [1]}}})


@pytest.mark.parametrize("name", SECRETS)
def test_it_refuses_to_start_without_its_secrets_and_says_what_to_do(name: str) -> None:
    others = {other: value for other, value in SECRETS.items() if other != name}
    with pytest.raises(Missing, match=r"^create \.env as compose\.yaml says$"):
        compose(others)


def test_the_command_that_it_names_makes_the_secrets_and_git_ignores_their_file() -> None:
    head = (ROOT / "compose.yaml").read_text(encoding="utf-8").partition("name: catalog")[0]
    assert set(re.findall(r"(CATALOG_\w+)=%s", head)) == set(SECRETS)
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_no_value_in_it_is_a_secret() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for line in text.splitlines():
        if re.search(r"(?i)(password|secret)\w*: ", line):
            assert "${" in line, line
            assert ":-" not in line, f"a default would be public: {line}"


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_hardened(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert "cap_add" not in service
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    assert {"/tmp"} <= set(service["tmpfs"])
    assert service["logging"]["options"]["max-size"]


@pytest.mark.parametrize("name", SERVICES)
def test_each_image_has_a_version_and_each_service_a_health_check(name: str) -> None:
    service = SERVICES[name]
    if name in OWN:
        assert service["build"] == "."
        assert image().final.only("HEALTHCHECK")
        return
    assert re.search(r":v?\d+\.\d+", service["image"]), "a version, not latest"
    check = service["healthcheck"]
    assert check["test"][0] == "CMD"
    assert seconds(check["timeout"]) <= seconds(check["interval"])


def test_what_is_published_is_on_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 4
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert not any("ports" in SERVICES[name] for name in ("database", *OWN))


def test_each_file_that_it_mounts_is_here_and_read_only() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, _, rest = volume.partition(":")
            if source.startswith("."):
                assert (ROOT / source).exists(), source
                assert rest.endswith(":ro"), volume
            else:
                assert source in FILE["volumes"]


@pytest.mark.parametrize("name", OWN)
def test_its_settings_are_settings_of_the_service(name: str) -> None:
    config = load(None, SERVICES[name]["environment"])
    assert config.server.secret == SECRETS["CATALOG_SERVER_SECRET"]
    assert config.database.url.endswith(f":{SECRETS['CATALOG_DATABASE_PASSWORD']}@database/catalog")
    assert config.server.ops_bind


@pytest.mark.parametrize("name", NODES)
def test_a_node_may_finish_before_it_is_killed(name: str) -> None:
    config = load(None, SERVICES[name]["environment"])
    server = config.server
    needed = server.drain_seconds + server.graceful_seconds + LAST_MOMENT_SECONDS + config.actors.drain_seconds
    assert server.drain_seconds > 8, "nginx keeps idle connections to a node for 8 seconds"
    assert seconds(SERVICES[name]["stop_grace_period"]) > needed


def test_the_nodes_trust_the_proxy_alone_and_nginx_finds_them() -> None:
    network = ipaddress.ip_network(FILE["networks"]["front"]["ipam"]["config"][0]["subnet"])
    proxy = ipaddress.ip_address(SERVICES["proxy"]["networks"]["front"]["ipv4_address"])
    addresses = [ipaddress.ip_address(SERVICES[name]["networks"]["front"]["ipv4_address"]) for name in NODES]
    assert len({proxy, *addresses}) == 3
    assert all(address in network for address in (proxy, *addresses))
    for name in NODES:
        [trusted] = load(None, SERVICES[name]["environment"]).server.trusted_proxies
        assert ipaddress.ip_network(str(trusted)) == ipaddress.ip_network(f"{proxy}/32")
    text = (ROOT / "deploy/nginx/nginx.conf").read_text(encoding="utf-8")
    assert re.findall(r"server (\S+):8080 ", text) == list(NODES)


def test_the_database_has_no_way_out_and_starts_before_the_nodes() -> None:
    assert SERVICES["database"]["networks"] == ["inner"]
    assert FILE["networks"]["inner"]["internal"] is True
    assert SERVICES["migrate"]["depends_on"]["database"]["condition"] == "service_healthy"
    for name in NODES:
        assert SERVICES[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_only_the_profiles_start_what_a_service_does_not_need() -> None:
    profiles = {name: service.get("profiles") for name, service in SERVICES.items() if "profiles" in service}
    assert profiles == {"mailpit": ["mail"], "prometheus": ["watch"], "grafana": ["watch"]}
