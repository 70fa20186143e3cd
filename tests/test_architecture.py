"""The shape of the code: who may import whom, and what a module may use. A failure names the rule and its reason."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import (
    DRIVERS,
    FRAMEWORKS,
    PACKAGES,
    ROOMS,
    ROOT,
    RULES,
    Rule,
    arrows,
    cycles,
    graph,
    modules,
    name_of,
    reachable,
    tree,
    within,
)

LONGEST_FILE = 400
LONGEST_FUNCTION = 70
MOST_LOOSE = {"service": 8, "actors": 14, "storage": 14}
MOST_ROOMS = {"service": (20, 70), "service.web": (30, 80), "actors": (24, 80), "storage": (14, 24)}
"""The most rooms of a package, and the most imports among them."""

SEES_STORAGE = (
    "service.running.foundation",
    "service.running.node",
    "service.running.scheduled_backups",
    "service.running.unprivileged",
    "service.cli",
    "service.process",
)

PURE = (
    "actors/values.py",
    "actors/times.py",
    "actors/*/state.py",
    "actors/*/messages.py",
    "actors/*/records.py",
    "service/api/authorization.py",
    "service/api/errors.py",
    "service/api/policy.py",
    "service/api/validation.py",
    "service/http/addresses.py",
    "service/http/frames.py",
    "service/http/request_body.py",
    "service/http/request_head.py",
    "service/running/limits.py",
    "service/schemas/*.py",
    "service/snapshots/etags.py",
    "service/snapshots/catalog_entries.py",
    "service/tokens/*.py",
    "service/web/requests.py",
    "service/web/pages/parts/words.py",
)
"""Modules without I/O, clocks and randomness, beside those whose docstring says that they are pure."""

STARTED_BY_NAME = ("service.asgi", "service.process.worker_process")

NO_CERTIFICATES = "import ssl; del ssl.SSLContext.load_default_certs"
"""Makes an import fail that loads the certificates of authorities, which take 2 MiB and a twentieth of a second."""

IMPURE = ("trio", "random", "secrets", "os", "socket", "uuid", "logging", "subprocess")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.where)
def test_imports_follow_the_rules_of_the_rooms(rule: Rule) -> None:
    assert any(within(name, rule.where) for name in graph()), f"no module is within {rule.where}"
    assert rule.breaches() == [], rule


def test_nothing_is_imported_in_a_circle() -> None:
    assert cycles(graph()) == []


def test_only_the_composition_sees_storage() -> None:
    seeing = {name for name, imports in graph().items() if any(within(each, "storage") for each in imports)}
    assert [name for name in sorted(seeing) if not within(name, "storage", *SEES_STORAGE)] == []


def test_a_concern_imports_no_other_concern() -> None:
    packages = {path.parent.name for path in (ROOT / "actors").glob("*/__init__.py")}
    concerns = [f"actors.{package}" for package in packages - {"kernel", "shared"}]
    assert len(concerns) >= 9
    for concern in concerns:
        others = tuple(other for other in concerns if other != concern)
        assert Rule(concern, others, "handlers compose concerns").breaches() == []


def test_pure_modules_use_no_clock_no_randomness_and_no_input_or_output() -> None:
    pure = {name_of(path) for pattern in PURE for path in ROOT.glob(pattern)} | set(_claiming())
    assert len(pure) >= 60
    breaches = [breach for name in sorted(pure) for breach in Rule(name, IMPURE, "").breaches()]
    assert breaches == [], "pure modules take time, randomness and data as arguments"


def _claiming() -> list[str]:
    """The modules whose docstring says that they are pure."""
    roles = {path: ast.get_docstring(tree(path)) or "" for path in modules(*PACKAGES)}
    return [name_of(path) for path, role in roles.items() if re.search(r"\bPure\b", role)]


def test_the_engine_loads_nothing_of_the_project_but_the_clock() -> None:
    loaded = _loaded_by("service.http.server", "service.http.listeners")
    own = {name for name in loaded if within(name, *PACKAGES)}
    assert {name for name in own if not within(name, "service.http", "actors.clock", "actors.times")} == {
        "service",
        "actors",
    }
    assert {name for name in loaded if within(name, "pydantic", "quart", "prometheus_client")} == set()


def test_a_worker_process_does_not_load_the_operators_commands() -> None:
    reached = reachable("service.process.worker_process")
    assert "service.running.node" in reached
    assert [name for name in reached if within(name, "service.cli")] == []


def test_the_product_holds_no_module_and_no_function_that_only_tests_use() -> None:
    """Doubles of the stores, and all else that serves tests alone, belong to `tests`."""
    roots = [name for name in graph() if name.endswith(".__main__") or within(name, "service.cli", *STARTED_BY_NAME)]
    used = set().union(*map(reachable, roots))
    assert [name for name in graph() if name not in used and not _path_of(name).is_dir()] == []
    words = Counter(word for path in modules(*PACKAGES) for word in _words_of(path))
    assert [name for path in modules(*PACKAGES) for name in _public_names(path) if not words[name]] == []


def _path_of(name: str) -> Path:
    return ROOT / name.replace(".", "/")


def _words_of(path: Path) -> Iterator[str]:
    """The names that a module uses, also those in texts that are no docstrings."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.Call(args=arguments):
                yield from (word for each in arguments for word in _words_in(each))
            case ast.Dict(values=values):
                yield from (word for each in values for word in _words_in(each))


def _words_in(node: ast.expr) -> list[str]:
    return re.findall(r"\w+", str(node.value)) if isinstance(node, ast.Constant) else []


def _public_names(path: Path) -> list[str]:
    defined = (
        node for node in tree(path).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    return [node.name for node in defined if not node.name.startswith("_") and not node.decorator_list]


def test_commands_load_no_app_unless_they_serve_it_or_describe_it_and_parsers_load_no_library() -> None:
    commands = [name for name in graph() if within(name, "service.cli") and name != "service.cli.documents"]
    app = ("service.running.node", "service.web", "service.api", "service.http.server", *FRAMEWORKS)
    assert [name for name in _loaded_by(*commands) if within(name, *app)] == []
    assert [name for name in _loaded_by("service.cli.main") if within(name, "storage", "trio", "pydantic")] == []


def test_no_start_loads_libraries_that_few_processes_need() -> None:
    """Those of passkeys take a tenth of a second and 14 MiB. Those of tracing are an extra, which a node loads if its spans
    are to be sent. Those of pages are loaded by the first request for one."""
    loaded = _loaded_by(
        "service.running.node",
        "service.process.parent",
        "service.process.worker_process",
        "service.cli.accounts",
        "service.cli.doctor",
        first=NO_CERTIFICATES,
    )
    passkeys = ("webauthn", "cryptography", "cbor2", "OpenSSL")
    tracing = ("opentelemetry", "google.protobuf")
    # Pages, documents and their libraries take 14 MiB and a quarter of a start.
    pages = (
        *FRAMEWORKS,
        "flask",
        "click",
        "service.web.app",
        "service.web.pages",
        "service.api.openapi",
        "service.api.mcp",
    )
    # Mails and their templates take 3 MiB, tables of Unicode 2 MiB, patterns of addresses a fiftieth of a second.
    texts = ("jinja2", "actors.mail.rendering", "regex", "email_validator")
    # HTTP/2 is served over TLS only.
    others = ("h2", "hpack", "hyperframe", "tqdm", "platformdirs")
    assert [name for name in loaded if within(name, *passkeys, *tracing, *pages, *texts, *others)] == []


def test_the_help_of_catalogctl_loads_nothing_that_only_requests_need() -> None:
    """It takes half the time without: `dataclasses` compiles its methods at each start, and loads `inspect`."""
    loaded = _loaded_by("service.catalogctl.main")
    network = ("http.client", "urllib.request", "ssl", "email", "hashlib", "uuid")
    assert [
        name for name in loaded if within(name, *network, "webbrowser", "subprocess", "dataclasses", "inspect")
    ] == []


def _loaded_by(*names: str, first: str = "") -> list[str]:
    """The modules that a fresh interpreter has loaded after it has run `first` and imported `names`."""
    program = f"{first}\nimport sys, {', '.join(names)}; print(*sys.modules, sep='\\n')"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.split()


def test_each_library_of_the_edge_and_of_the_store_is_used_in_one_room() -> None:
    rooms = {
        ("quart", "quart_trio", "werkzeug"): "service.web",
        ("h2", "hpack", "httptools", "hypercorn"): "service.http",
        ("prometheus_client",): "service.observability",
        ("opentelemetry", "requests"): "service.observability.otel",
        ("tantivy",): "service.snapshots.search_index service.snapshots.search_query",
        ("regex",): "service.schemas.texts",
        ("stripe",): "service.payments",
        # Hypercorn's HTTP/1.1 is h11, and a limit of heads has to be set within it.
        ("h11",): "service.outside.webhook_client service.outside.client_documents service.http.hypercorn_engine",
        ("webauthn", "cbor2"): "service.outside.webauthn",
        ("cryptography",): "service.http.certificates service.tokens.scanners",
        DRIVERS: "storage",
    }
    for libraries, room in rooms.items():
        users = [name for name, imports in graph().items() if any(within(each, *libraries) for each in imports)]
        assert users, libraries
        assert [name for name in users if not within(name, *room.split())] == [], libraries


@pytest.mark.parametrize("package", MOST_LOOSE)
def test_few_modules_lie_loose_in_a_package(package: str) -> None:
    loose = [path.name for path in (ROOT / package).glob("*.py") if path.name != "__init__.py"]
    assert len(loose) <= MOST_LOOSE[package], loose


@pytest.mark.parametrize("place", MOST_ROOMS)
def test_few_imports_connect_the_rooms_of_a_package_and_none_makes_a_circle(place: str) -> None:
    rooms = arrows(place, "service.web.pages")
    most_rooms, most_arrows = MOST_ROOMS[place]
    assert len(rooms) <= most_rooms
    assert sum(map(len, rooms.values())) <= most_arrows
    assert cycles(rooms) == []


def test_every_folder_of_the_service_package_is_known_to_the_rules() -> None:
    folders = {path.name for path in (ROOT / "service").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*ROOMS, "catalogctl"}


def test_files_and_functions_stay_short() -> None:
    for path in modules(*PACKAGES):
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= LONGEST_FILE, path
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert _length_of(node) <= LONGEST_FUNCTION, f"{path}: {node.name}"


def _length_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def test_every_concern_has_the_same_files() -> None:
    for concern in ("quota", "keys", "mail", "bookings", "sessions", "devices", "events", "webhooks"):
        names = {path.name for path in Path(ROOT / "actors" / concern).glob("*.py")}
        assert {"__init__.py", "messages.py", "state.py", "actor.py", "store.py"} <= names, concern
