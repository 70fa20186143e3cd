"""The objects for Kubernetes follow its schemas and its restricted profile, and are in step with the service's limits."""

import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from service.config.loading import load
from service.config.model import Config
from service.http.limits import LAST_MOMENT_SECONDS
from tests.architecture import ROOT
from tests.deploy.image import image

FOLDER = ROOT / "deploy/kubernetes"
VERSIONS = ("1.30", "1.37")
"""The oldest and the newest API that the objects are meant for."""


def objects() -> list[dict[str, Any]]:
    files = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
    return [each for path in files for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def one(kind: str, name: str = "catalog") -> dict[str, Any]:
    [found] = [each for each in objects() if each["kind"] == kind and each["metadata"].get("name", name) == name]
    return found


def pod(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = one(kind)["spec"]["template"]["spec"]
    return found


def container(kind: str = "Deployment") -> dict[str, Any]:
    [found] = pod(kind)["containers"]
    assert isinstance(found, dict)
    return found


KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
SETTINGS = dict(literal.split("=", 1) for literal in KUSTOMIZATION["configMapGenerator"][0]["literals"])


def config() -> Config:
    """The configuration of a node, with the values that its Secret might have."""
    secrets = {
        "database-url": "postgresql://catalog:password@db.example.com/catalog",
        "server-secret": "a" * 64,
        "smtp-url": "smtps://catalog:password@mail.example.com",
    }
    values = {each["name"]: secrets[each["valueFrom"]["secretKeyRef"]["key"]] for each in container()["env"]}
    return load(None, {**SETTINGS, **values})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", sorted({each["kind"] for each in objects()}))
def test_each_object_follows_the_schema_of_the_api(version: str, kind: str) -> None:
    for each in objects():
        if each["kind"] == kind:
            kubernetes_validate.validate(each, version, strict=True)


def test_a_field_that_the_api_does_not_have_is_found() -> None:
    wrong = one("Deployment")
    wrong["spec"]["replica"] = 3
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


def test_the_base_names_all_files_but_the_job() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")}
    assert set(KUSTOMIZATION["resources"]) == files - {"kustomization.yaml", "migrate.yaml"}


@pytest.mark.parametrize("kind", ["Deployment", "Job"])
def test_pods_follow_the_restricted_profile(kind: str) -> None:
    shared, own = pod(kind)["securityContext"], container(kind)["securityContext"]
    user = image().final.only("USER").words[0]
    assert f"{shared['runAsUser']}:{shared['runAsGroup']}" == user
    assert shared["fsGroup"] == shared["runAsGroup"]
    assert shared["runAsNonRoot"] is True
    assert shared["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert pod(kind)["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod(kind))
    assert {volume["name"] for volume in pod(kind)["volumes"] if "emptyDir" in volume} == {"tmp", "data"}
    assert {mount["mountPath"] for mount in container(kind)["volumeMounts"]} == {"/tmp", "/data"}
    assert all(volume["emptyDir"]["sizeLimit"] for volume in pod(kind)["volumes"])
    assert container(kind)["resources"]["limits"]["memory"]


def test_its_settings_are_settings_of_the_service_and_its_ports_are_theirs() -> None:
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    assert config().server.ops_bind == f"0.0.0.0:{ports['operators']}"
    assert image().final.only("EXPOSE").words == (str(ports["http"]),)
    assert container()["args"] == list(image().final.only("CMD").words)


def test_a_pod_may_finish_before_it_is_killed() -> None:
    server, actors = config().server, config().actors
    needed = server.drain_seconds + server.graceful_seconds + LAST_MOMENT_SECONDS + actors.drain_seconds
    assert pod("Deployment")["terminationGracePeriodSeconds"] > needed


def test_balancers_learn_that_a_pod_leaves_before_it_closes_its_ports() -> None:
    ready = container()["readinessProbe"]
    assert ready["httpGet"] == {"path": "/readyz", "port": "http"}
    assert ready["failureThreshold"] * ready["periodSeconds"] + ready["timeoutSeconds"] < config().server.drain_seconds


def test_a_pod_is_replaced_when_it_is_dead_and_not_when_the_database_is() -> None:
    for probe in ("startupProbe", "livenessProbe"):
        assert container()[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    start = container()["startupProbe"]
    assert start["periodSeconds"] * start["failureThreshold"] >= 60


def test_an_update_and_a_drained_machine_leave_pods_that_serve() -> None:
    spec = one("Deployment")["spec"]
    assert spec["replicas"] >= 3
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert one("PodDisruptionBudget")["spec"]["maxUnavailable"] < spec["replicas"] - 1
    keys = {each["topologyKey"] for each in pod("Deployment")["topologySpreadConstraints"]}
    assert keys == {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}


def test_services_and_policies_choose_the_pods_and_keep_the_operators_port_apart() -> None:
    labels = one("Deployment")["spec"]["template"]["metadata"]["labels"]
    public, private = one("Service"), one("Service", "catalog-operators")
    for chosen in (
        public["spec"]["selector"],
        private["spec"]["selector"],
        one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one("Deployment")["spec"]["selector"]["matchLabels"],
    ):
        assert chosen.items() <= labels.items()
    assert [port["targetPort"] for port in public["spec"]["ports"]] == ["http"]
    assert [port["targetPort"] for port in private["spec"]["ports"]] == ["operators"]
    assert all(service["spec"].get("type", "ClusterIP") == "ClusterIP" for service in (public, private))
    rules = one("NetworkPolicy")["spec"]["ingress"]
    assert [[port["port"] for port in rule["ports"]] for rule in rules] == [["http"], ["operators"]]
    assert all(rule["from"] for rule in rules)


def test_the_ingress_leads_to_the_public_address() -> None:
    [rule], [tls] = one("Ingress")["spec"]["rules"], one("Ingress")["spec"]["tls"]
    assert config().server.base_url == f"https://{rule['host']}"
    assert tls["hosts"] == [rule["host"]]
    [path] = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": "catalog", "port": {"name": "http"}}
    notes = one("Ingress")["metadata"]["annotations"]
    nginx = (ROOT / "docs/proxies/nginx-server.conf").read_text(encoding="utf-8")
    for name in ("proxy-connect-timeout", "proxy-read-timeout", "proxy-next-upstream-tries", "proxy-buffer-size"):
        [value] = re.findall(rf"^\s*{name.replace('-', '_')} (\w+?)s?;", nginx, re.MULTILINE)
        assert notes[f"nginx.ingress.kubernetes.io/{name}"] == value


def test_the_job_runs_the_image_of_the_base() -> None:
    [renamed] = KUSTOMIZATION["images"]
    assert container()["image"] == renamed["name"]
    assert container("Job")["image"] == f"{renamed['newName']}:{renamed['newTag']}"
    assert renamed["newTag"] != "latest"
    assert container("Job")["args"] == ["migrate", "--data-dir", "/data"]
    secrets = {each["name"]: each["valueFrom"] for each in container()["env"]}
    assert {each["name"]: each["valueFrom"] for each in container("Job")["env"]}.items() <= secrets.items()
