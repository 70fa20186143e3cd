"""Checks of the document by other programs: two linters, and a stock generator of clients for Python.

`python -m tests.document.linting NODE_MODULES GENERATOR FOLDER` writes the document into the folder and stops at the first
finding. `make document-lint` installs what it needs. `NODE_MODULES` holds the packages of `package.json`, and `GENERATOR` is
the program `openapi-python-client`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.api.conformity import DOCUMENT

HERE = Path(__file__).parent
MOST_MODELS = 2.1
"""Files of models that the generator may make for each operation. With a class for each refusal of each there were 16."""

SECONDS = 120
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
"""The linters are to look at the document alone, and not at the network."""

IMPORT_ALL = """
import importlib, pkgutil, client
for module in pkgutil.walk_packages(client.__path__, "client."):
    importlib.import_module(module.name)
    print(module.name)
"""


def lint(modules: Path, document: Path) -> None:
    """Fail on an error, a warning or a hint of either linter."""
    programs = modules / ".bin"
    _run(programs / "redocly", "lint", "--config", HERE / "redocly.yaml", document)
    _run(programs / "spectral", "lint", "--ruleset", HERE / "spectral.yaml", "--fail-severity", "hint", document)


def generate(generator: Path, document: Path, folder: Path) -> None:
    """Fail if the generator makes too many models, leaves out an operation, or makes a module that cannot be imported."""
    client = folder / "client"
    _run(generator, "generate", "--path", document, "--output-path", client, "--meta", "none", "--overwrite")
    models = [path for path in (client / "models").glob("*.py") if path.name != "__init__.py"]
    operations = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]
    assert len(models) <= MOST_MODELS * len(operations), (
        f"{len(models)} files of models: share schemas, as service/api/openapi/enums.py does"
    )
    imported = _run(generator.with_name("python"), "-c", IMPORT_ALL, cwd=folder).split()
    made = {name for name in imported if name.startswith("client.api.") and name.count(".") == 3}
    assert len(made) == len(operations), f"{len(made)} modules for {len(operations)} operations"
    sys.stdout.write(f"{len(models)} models and {len(made)} operations are generated, and can be imported.\n")


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    """The output of a program. Exit with what it says if it fails."""
    # The generator formats what it made with ruff, which stands beside this Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | QUIET | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if ran.returncode != 0:
        sys.exit(f"{Path(str(command[0])).name} says:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    node_modules, generator, folder = map(Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    document = folder.resolve() / "openapi.json"
    document.write_text(json.dumps(DOCUMENT, indent=1, ensure_ascii=False), encoding="utf-8")
    lint(node_modules.resolve(), document)
    generate(generator.absolute(), document, folder.resolve())
