"""Who may know whom, and what may stand where: the shape of the house, held by a test."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from service.catalogctl import VERSION

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ("service", "actors", "storage")
CONCERNS = ("quota", "keys", "mail", "catalog", "bookings", "events", "sessions", "devices", "nodes")
LONGEST_FILE = 420
LONGEST_FUNCTION = 70


def modules(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The full names of modules that a file imports."""
    names: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names.append(node.module or "")
    return tuple(names)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


COMPOSITION = {
    "service.main",
    "service.process.exit_status",
    "service.cli.command",
    "service.cli.backup",
    "service.cli.doctor",
}
"""The modules that know storage: the composition root, the commands, and the exit codes, which name its error."""


def test_only_the_composition_roots_of_the_service_know_storage():
    knowing = {name_of(path) for path in modules("service") if any(within(n, "storage") for n in imported(path))}
    assert knowing == COMPOSITION


def test_storage_knows_actors_and_never_the_service():
    for path in modules("storage"):
        assert not [name for name in imported(path) if within(name, "service")], path


def test_actors_know_neither_storage_nor_the_service_nor_http_nor_sql():
    foreign = (
        "storage",
        "service",
        "quart",
        "quart_trio",
        "hypercorn",
        "pydantic",
        "asyncpg",
        "trio_asyncio",
        "asyncio",
    )
    for path in modules("actors"):
        assert not [name for name in imported(path) if within(name, *foreign)], path


@pytest.mark.parametrize("concern", CONCERNS)
def test_a_concern_does_not_know_another(concern: str):
    others = [f"actors.{other}" for other in CONCERNS if other != concern]
    for path in modules(f"actors/{concern}"):
        assert not [name for name in imported(path) if within(name, *others)], path


def test_pure_modules_know_neither_trio_nor_clocks_nor_chance():
    foreign = ("trio", "time", "random", "secrets", "os", "datetime", "uuid", "logging")
    pure = [*(ROOT / "actors").glob("*/state.py"), *(ROOT / "actors").glob("*/messages.py"), ROOT / "actors/values.py"]
    assert len(pure) >= 5
    for path in pure:
        assert not [name for name in imported(path) if within(name, *foreign)], path


@pytest.mark.parametrize(
    ("library", "rooms"),
    [
        ("asyncio", {"storage.asyncio_border"}),
        ("trio_asyncio", {"storage.asyncio_border"}),
        ("asyncpg", {"storage.asyncio_border", "storage.error_translation"}),
    ],
)
def test_asyncio_and_asyncpg_stand_at_the_border(library: str, rooms: set[str]):
    knowing = {name_of(path) for path in modules(*HOUSE) if any(within(name, library) for name in imported(path))}
    assert knowing == rooms


@pytest.mark.parametrize(
    ("packages", "rooms"),
    [
        (
            ("quart", "quart_trio", "werkzeug"),
            {"service.web.app", "service.web.routing", "service.web.documents", "service.web.page_views"},
        ),
        (("httptools",), {"service.http.request_head"}),
        (("hypercorn",), {"service.http.http2"}),
    ],
)
def test_each_framework_of_the_edge_stands_in_its_own_rooms(packages: tuple[str, ...], rooms: set[str]):
    knowing = {name_of(path) for path in modules(*HOUSE) if any(within(name, *packages) for name in imported(path))}
    assert knowing == rooms


def test_handlers_and_the_dispatcher_know_no_framework():
    for path in [
        *modules("service/api/operations", "service/schemas"),
        ROOT / "service/api/dispatch.py",
        ROOT / "service/api/messages.py",
    ]:
        foreign = ("quart", "quart_trio", "werkzeug", "hypercorn", "storage")
        assert not [name for name in imported(path) if within(name, *foreign)], path


def test_the_command_line_for_callers_needs_nothing_but_python():
    own = modules("service/catalogctl")
    assert own
    assert not list(imported(ROOT / "service/__init__.py"))
    for path in own:
        foreign = [name for name in imported(path) if not within(name, "service.catalogctl", *sys.stdlib_module_names)]
        assert not foreign, path


def test_the_package_holds_all_that_it_reads():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["packages"]) == set(HOUSE)
    assert wheel["force-include"] == {"config.toml": "service/config.toml"}
    assert project["project"]["version"] == VERSION
    module, _, function = project["project"]["scripts"]["catalogctl"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_chance_and_wall_clocks_come_through_their_ports():
    """`actors.clock` holds both ports; the composition roots and the secret's file are where the system's own is used."""
    allowed = {"actors.clock", "service.main", "service.server_secret", "service.catalogctl.main"}
    for path in modules(*HOUSE):
        if name_of(path) not in allowed:
            assert not [name for name in imported(path) if within(name, "random", "secrets", "uuid")], path
        if name_of(path) != "actors.clock":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\btime\.time(_ns)?\(|datetime\.now\(|utcnow\(", text), path


def test_every_module_says_its_role():
    for path in modules(*HOUSE):
        assert ast.get_docstring(parsed(path)), path


def test_files_and_functions_stay_readable():
    for path in modules(*HOUSE):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= LONGEST_FILE, path
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, f"{path}: {node.name}"


def test_every_concern_has_the_same_rooms():
    for concern in ("quota", "keys", "mail", "bookings"):
        names = {path.name for path in (ROOT / "actors" / concern).glob("*.py")}
        assert {"__init__.py", "messages.py", "state.py", "actor.py", "store.py"} <= names, concern


def test_every_statement_is_named_explained_and_used():
    code = "\n".join(path.read_text(encoding="utf-8") for path in modules("storage"))
    for path in sorted((ROOT / "storage/sql").glob("*.sql")):
        text = path.read_text(encoding="utf-8")
        for name, body in re.findall(r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)", text, re.MULTILINE | re.DOTALL):
            assert body.startswith("-- "), f"{path.name}: {name} does not say what it does"
            assert re.search(rf"\.{name}\b", code), f"{path.name}: {name} is not used"


def test_locks_hold_hashes_and_name_no_address():
    for path in sorted((ROOT / "requirements").glob("*.lock")):
        text = path.read_text(encoding="utf-8")
        pins = re.findall(r"^[A-Za-z0-9_.-]+(?:\[[^]]+\])?==", text, re.MULTILINE)
        assert len(pins) > 20
        assert text.count("--hash=sha256:") >= len(pins), path
        assert "://" not in text, path


def test_every_dependency_is_explained():
    explained = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in re.findall(r'^    "([A-Za-z0-9_.-]+)(?:\[\w+\])?==', project, re.MULTILINE):
        assert f"`{name}`" in explained, f"docs/dependencies.md does not say why {name} is there"
