"""Conventions of the repository: ports, docstrings, SQL, lock files, the package. For import rules see test_architecture."""

import ast
import json
import re
import tomllib
from importlib import import_module

import pytest

from actors.retention.store import Rows
from service.version import PROGRAM
from tests.architecture import PACKAGES, ROOT, graph, modules, name_of, tree, within


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("asyncio", {"storage.connection.asyncio_border", "storage.connection.asyncio_bridge"}),
        ("trio_asyncio", {"storage.connection.asyncio_bridge"}),
        ("asyncpg", {"storage.connection.asyncio_border", "storage.connection.error_translation"}),
    ],
)
def test_asyncio_and_asyncpg_stand_at_the_border(library: str, rooms: set[str]) -> None:
    knowing = {
        name_of(path) for path in modules(*PACKAGES) if any(within(name, library) for name in graph()[name_of(path)])
    }
    assert knowing == rooms


def test_the_package_holds_all_that_it_reads() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["packages"]) == set(PACKAGES)
    assert wheel["force-include"] == {"config.toml": "service/config.toml"}
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "service/version.py"
    scripts = project["project"]["scripts"]
    assert set(scripts) == {PROGRAM, "catalogctl"}
    for script in scripts.values():
        module, _, function = script.partition(":")
        assert callable(getattr(import_module(module), function))


def test_chance_and_wall_clocks_come_through_their_ports() -> None:
    """`actors.clock` has both ports. Only the composition roots and the secret's file use the system's own."""
    allowed = {"actors.clock", "service.running.foundation", "service.running.server_secret", "service.catalogctl.main"}
    for path in modules(*PACKAGES):
        if name_of(path) not in allowed:
            assert not [name for name in graph()[name_of(path)] if within(name, "random", "secrets", "uuid")], path
        if name_of(path) != "actors.clock":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\btime\.time(_ns)?\(|datetime\.now\(|utcnow\(", text), path


def test_only_bugs_are_shown_by_the_class_of_their_error() -> None:
    """What an operator can meet has a sentence, which names no class of a library."""
    of_bugs = {"actors.backups.scheduler", "actors.kernel.leasing", "actors.kernel.supervision"}
    of_spans = {"actors.kernel.actor"}
    shown = re.compile(r"type\((error|exc)\)\.__name__|\{error!r\}|repr\(error\)")
    assert {
        name_of(path) for path in modules(*PACKAGES) if shown.search(path.read_text(encoding="utf-8"))
    } == of_bugs | of_spans


def test_every_module_says_its_role() -> None:
    for path in modules(*PACKAGES):
        assert ast.get_docstring(tree(path)), path


def test_every_statement_is_named_explained_and_used() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules("storage"))
    code += "".join(f" SQL.{rows.name.lower()}" for rows in Rows)  # the store of retention finds them by these names
    for path in sorted((ROOT / "storage/sql").glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", text, re.MULTILINE | re.DOTALL):
            assert body.startswith("-- "), f"{path.name}: {name} does not say what it does"
            assert re.search(rf"\.{name}\b", code), f"{path.name}: {name} is not used"


def test_locks_hold_hashes_and_name_no_address() -> None:
    for path in sorted((ROOT / "requirements").glob("*.lock")):
        text = path.read_text(encoding="utf-8")
        pins = re.findall(r"^[A-Za-z0-9_.-]+(?:\[[^]]+\])?==", text, re.MULTILINE)
        assert len(pins) > (4 if path.name == "build.lock" else 15)
        assert text.count("--hash=sha256:") >= len(pins), path
        assert "://" not in text, path


def test_locks_of_npm_hold_hashes_and_name_no_registry() -> None:
    paths = sorted((ROOT / "tests").glob("*/package-lock.json"))
    assert paths
    for path in paths:
        packages = json.loads(path.read_text(encoding="utf-8"))["packages"]
        del packages[""]
        assert len(packages) > 20, path
        for name, package in packages.items():
            assert package["integrity"].startswith("sha512-"), f"{path}: {name}"
            assert "resolved" not in package, f"{path}: {name}"


def test_the_extra_is_tested_in_its_own_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(project["project"]["optional-dependencies"]["otel"]) <= set(project["dependency-groups"]["test"])


def test_every_dependency_is_explained() -> None:
    explained = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in re.findall(r'^    "([A-Za-z0-9_.-]+)(?:\[\w+\])?==', project, re.MULTILINE):
        assert f"`{name}`" in explained, f"docs/dependencies.md does not say why {name} is there"


def test_the_pictures_of_the_readme_are_small_and_come_by_day_and_by_night() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"docs/pictures/[\w-]+\.webp", text))
    assert shown == {str(path.relative_to(ROOT)) for path in (ROOT / "docs/pictures").iterdir()}
    assert {name.replace("-dark.", "-light.") for name in shown} == {name for name in shown if "-light." in name}
    assert max((ROOT / name).stat().st_size for name in shown) <= 60_000
