"""Generates clients from the document of a running node, type-checks them, and uses them on it: `make clients`.

Needs Node.js and npm, and the environment of `make clients`. All that is generated or installed lies in `build/clients`. The
node's log tells which operations each client called and how they were answered, because it keeps the request ids they send.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from service.api.operations import OPERATIONS
from tests.acceptance.processes import Service, serving
from tests.architecture import ROOT
from tests.browser.conftest import NO_CHROMIUM, chromium_here, running_browser
from tests.clients import connecting
from tests.clients.connecting import Connecting, ways
from tests.memory import in_memory
from tests.webhooks.listeners import CERTIFICATE

HERE = Path(__file__).parent
BUILD = ROOT / "build" / "clients"
ENVIRONMENT = ROOT / os.environ.get("CLIENTS_VENV", ".venv-clients") / "bin"
OLD_ENVIRONMENT = ROOT / os.environ.get("OLD_CLIENTS_VENV", ".venv-old-clients") / "bin"
PACKAGE = "catalog_client"
CONFIG = f"project_name_override: {PACKAGE}\npackage_name_override: {PACKAGE}\npost_hooks: []\n"
"""Without hooks, the generator leaves its output unformatted, which saves time."""

TYPESCRIPT = ("with_old_mcp.mjs", "connect_with_mcp.mjs")
"""Scripts that run as they are."""

STEP_SECONDS = 300.0
LEAST_OPERATIONS = 12
REFUSALS = frozenset({"not_found", "invalid_request", "invalid_api_key", "unauthorized", "authorization_pending"})
"""Refusals that each generated client must have met."""

SETTINGS: Mapping[str, object] = {
    "log.format": "json",
    "keyless.per_minute": 150,
    "tiers.anonymous.lifetime": 10,
    "tiers.anonymous.daily": 10,
    "tiers.anonymous.usecase_reads": 10,
}
"""Limits that an agent reaches in a moment."""


def main() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    _use_generated(began)
    _connect(began)
    _told("in all", began)


def _use_generated(began: float) -> None:
    with tempfile.TemporaryDirectory(prefix="clients-", dir=in_memory()) as place:
        Path(place).chmod(0o711)
        with serving(Path(place) / "data", SETTINGS) as service:
            _told("the node serves", began)
            given = _variables(service)
            document = service.get("/openapi.json")
            (BUILD / "openapi.json").write_bytes(document.content)
            _use_python(given | _account(service, "sponsor@example.com"))
            _use_models(given)
            _use_typescript(given | _account(service, "other-sponsor@example.com"))
            older = given | _account(service, "older-agent@example.com")
            _run([OLD_ENVIRONMENT / "python", shutil.copy(HERE / "with_old_mcp.py", BUILD)], BUILD, older)
            _run(["node", "with_old_mcp.mjs"], BUILD / "typescript", older)
            # Last, because it uses up the limit of keyless readers.
            agent = given | _account(service, "agent@example.com")
            _run([ENVIRONMENT / "python", "with_mcp.py"], BUILD / "python", agent)
            lines = _lines(service)
        for name in ("with-python", "with-typescript"):
            _check_generated(name, lines[name])
        _check_mcp(lines["with-mcp"])
        _check_old_mcp(lines["with-old-mcp"])


def _connect(began: float) -> None:
    """Connect clients of MCP by the address of a node of their own. It trusts the server of a client's metadata document."""
    chromium = chromium_here()
    if chromium is None:
        sys.exit(NO_CHROMIUM)
    for name in connecting.SCRIPTS:
        shutil.copy(HERE / name, BUILD / "python")
    os.environ["SSL_CERT_FILE"] = str(CERTIFICATE)
    with tempfile.TemporaryDirectory(prefix="connecting-", dir=in_memory()) as place:
        Path(place).chmod(0o711)
        with serving(Path(place) / "data", connecting.SETTINGS) as service, running_browser(chromium) as browser:
            _told("the node and the browser run", began)
            given = {**os.environ, "CATALOG_URL": service.url}
            modules = BUILD / "typescript" / "node_modules"
            clients = ways(ENVIRONMENT / "python", OLD_ENVIRONMENT / "python", modules, service.url)
            for line in Connecting(service, browser, Path(place), given).all(clients):
                _told(line, began)


def _variables(service: Service) -> dict[str, str]:
    """The arguments of all clients: the node's address, and an anonymous key that is used up."""
    used_up = str(service.mint()["apiKey"])
    statuses = [service.get("/api/v1/bots", used_up).status_code for _ in range(11)]
    assert statuses == [200] * 10 + [403], statuses
    return {**os.environ, "CATALOG_URL": service.url, "CATALOG_USED_UP": used_up}


def _account(service: Service, email: str) -> dict[str, str]:
    """An account's key. Each client has its own account, because an account may hold a week once in an hour."""
    return {"CATALOG_KEY": service.command("issue-key", "--email", email).strip()}


def _use_python(given: Mapping[str, str]) -> None:
    """Generate a Python package, type-check it and both scripts, and use it."""
    home = BUILD / "python"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    (home / "config.yaml").write_text(CONFIG)
    scripts = [str(shutil.copy(HERE / name, home)) for name in ("with_python.py", "with_mcp.py")]
    options = ["--path", "../openapi.json", "--meta", "none", "--config", "config.yaml", "--output-path", PACKAGE]
    _run([ENVIRONMENT / "openapi-python-client", "generate", *options], home, given)
    api = sum(1 for file in (home / PACKAGE / "api").rglob("*.py") if file.name != "__init__.py")
    _write(f"python: {api} operations, {sum(1 for _ in (home / PACKAGE / 'models').glob('*.py'))} model files")
    names = [f"{PACKAGE}.api.{file.parent.name}.{file.stem}" for file in (home / PACKAGE / "api").glob("*/*.py")]
    _run([ENVIRONMENT / "python", "-c", f"import {', '.join(names)}"], home, given)
    _run([*_checker(), "--python-executable", ENVIRONMENT / "python", *scripts], home, given)
    _run([ENVIRONMENT / "python", "with_python.py"], home, given)


def _use_models(given: Mapping[str, str]) -> None:
    """Generate models by the other common generator, and type-check them."""
    home = BUILD / "models"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    options = ["--input", "../openapi.json", "--input-file-type", "openapi", "--output", "models.py"]
    options += [
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--target-python-version",
        "3.11",
        "--use-annotated",
        "--disable-timestamp",
    ]
    _run([ENVIRONMENT / "datamodel-codegen", *options], home, given)
    _run([*_checker(), "--python-executable", ENVIRONMENT / "python", "models.py"], home, given)


def _checker() -> list[str | Path]:
    return [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", BUILD / "mypy"]


def _use_typescript(given: Mapping[str, str]) -> None:
    """Generate types, compile the script that uses them, and run it."""
    home = BUILD / "typescript"
    home.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", "tsconfig.json", "with_typescript.ts", *TYPESCRIPT):
        shutil.copy(HERE / name, home)
    lock, installed = (home / "package-lock.json").read_bytes(), home / "installed"
    if not installed.exists() or installed.read_bytes() != lock:
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], home, given)
        installed.write_bytes(lock)
    programs = home / "node_modules" / ".bin"
    _run([programs / "openapi-typescript", "../openapi.json", "--output", "schema.ts"], home, given)
    _run([programs / "tsc", "--project", "."], home, given)
    _run(["node", "with_typescript.js"], home, given)


def _run(words: Sequence[str | Path], home: Path, variables: Mapping[str, str]) -> None:
    """Run a program that must succeed."""
    began = time.monotonic()
    done = subprocess.run(
        words, cwd=home, env=variables, capture_output=True, text=True, timeout=STEP_SECONDS, check=False
    )
    shown = " ".join(Path(word).name for word in words[:3])[:60]
    if done.returncode != 0:
        sys.exit(f"{shown} failed with {done.returncode}\n{done.stdout[-8_000:]}\n{done.stderr[-8_000:]}")
    _told(shown, began)


def _told(what: str, began: float) -> None:
    _write(f"{time.monotonic() - began:5.1f} s  {what}")


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _lines(service: Service) -> dict[str, list[dict[str, Any]]]:
    """The lines of the access log, by request id."""
    found: dict[str, list[dict[str, Any]]] = {}
    for text in service.log().splitlines():
        line = json.loads(text)
        if line["logger"] == "service.access":
            found.setdefault(line["request_id"], []).append(line)
    return found


def _check_generated(name: str, lines: Sequence[Mapping[str, Any]]) -> None:
    succeeded = {line["operation"] for line in lines if line["status"] == 200}
    refusals = {line["refusal"] for line in lines if line["status"] >= 400}
    _write(f"{name}: {len(succeeded)} operations succeeded; refused as {', '.join(sorted(refusals))}")
    assert len(succeeded) >= LEAST_OPERATIONS, succeeded
    assert succeeded <= {operation.name for operation in OPERATIONS}
    assert refusals >= REFUSALS, refusals
    assert not [line for line in lines if line["status"] >= 500]


def _check_mcp(lines: Sequence[Mapping[str, Any]]) -> None:
    """The client has called each tool with and without a key, and every line is that of an operation."""
    tools = {operation.name for operation in OPERATIONS if operation.tool is not None}
    called = {line["operation"] for line in lines if line["status"] == 200} - {"mcp"}
    refusals = {line["refusal"] for line in lines if line["status"] >= 400}
    _write(f"with-mcp: {len(lines)} messages, {len(called)} tools; refused as {', '.join(sorted(refusals))}")
    assert called == tools, called ^ tools
    keyless = {line["operation"] for line in lines if line["caller"] == "-" and line["status"] in (200, 401)} - {"mcp"}
    assert keyless == tools, keyless ^ tools
    assert refusals >= {"not_found", "rate_limited", "quota_exhausted", "unauthorized", "invalid_api_key"}, refusals


def _check_old_mcp(lines: Sequence[Mapping[str, Any]]) -> None:
    """Both clients have called tools at both addresses."""
    called = [line["operation"] for line in lines if line["status"] == 200]
    _write(f"with-old-mcp: {len(lines)} messages, {len(set(called) - {'mcp'})} tools")
    assert called.count("getUsage") == 4, called
    assert {line["refusal"] for line in lines if line["status"] >= 400} <= {"not_found", "method_not_allowed"}


if __name__ == "__main__":
    main()
