"""docs/deployment.md says what the files do. `make unit-boot` carries out its commands for systemd."""

import re

import pytest
import yaml

from service.config.loading import load
from tests.architecture import ROOT
from tests.deploy.compose import SECRETS
from tests.deploy.test_kubernetes import KUSTOMIZATION, container, pod

TEXT = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")


def section(name: str) -> str:
    return re.split(r"^## ", TEXT.partition(f"\n## {name}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)


def test_each_file_that_it_names_is_here() -> None:
    named = re.findall(r"`((?:deploy|docs|requirements)/[\w./-]+)`", TEXT)
    named += [f"docs/{link}" for link in re.findall(r"\]\(((?!#|http)[^)#]+)", TEXT)]
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_target_of_make_that_it_names_exists() -> None:
    targets = set(re.findall(r"\bmake ([a-z-]+)", TEXT))
    assert targets == {"image", "image-steps", "unit-boot"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_the_secrets_of_compose_are_made_as_its_file_says() -> None:
    made, started = blocks(section("Compose"), "sh")[0].splitlines()
    assert f"#     {made}\n" in COMPOSE
    assert f"#     {started}\n" in COMPOSE


def test_its_table_has_all_variables_of_compose_with_their_defaults() -> None:
    rows = dict(re.findall(r"^\| `(CATALOG_\w+)` \| (\S+) \|", section("Compose"), re.MULTILINE))
    defaults = dict(re.findall(r"\$\{(CATALOG_\w+):-([^}]*)\}", COMPOSE))
    assert {name: value.strip("`") for name, value in rows.items()} == {
        name: value or "none" for name, value in defaults.items()
    }
    assert set(re.findall(r"\$\{(CATALOG_\w+):\?", COMPOSE)) == set(SECRETS)


def test_the_secret_for_kubernetes_has_all_keys_that_the_pods_need() -> None:
    [commands, *_] = blocks(section("Kubernetes"), "sh")
    made = set(re.findall(r"--from-literal=([\w-]+)=", commands))
    references = [each["valueFrom"]["secretKeyRef"] for each in container()["env"]]
    assert made == {reference["key"] for reference in references}
    assert {reference["name"] for reference in references} == {"catalog-secrets"}
    assert "secret generic catalog-secrets" in commands


def test_the_overlay_changes_what_the_base_has() -> None:
    overlay = yaml.safe_load(blocks(section("Kubernetes"), "yaml")[0])
    assert [image["name"] for image in overlay["images"]] == [image["name"] for image in KUSTOMIZATION["images"]]
    [generator] = overlay["configMapGenerator"]
    assert generator["name"] == KUSTOMIZATION["configMapGenerator"][0]["name"]
    changed = dict(literal.split("=", 1) for literal in generator["literals"])
    load(None, {**changed, "CATALOG__SERVER__ALLOW_UNSAFE_PUBLIC": "true"})


@pytest.mark.parametrize(
    ("said", "held"),
    [
        (r"Only then Kubernetes may kill it \((\d+) seconds\)", pod("Deployment")["terminationGracePeriodSeconds"]),
        (r"serves for `server.drain_seconds` \((\d+)\)", 10),
        (r"`database.connections` \+ 2 \((\d+)\)", load(None, {}).database.connections + 2),
    ],
)
def test_its_numbers_are_those_of_the_files(said: str, held: int) -> None:
    [number] = re.findall(said, TEXT)
    assert int(number) == held
