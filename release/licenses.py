"""Checks the licences of all packages of a lock against those that are allowed: `python -m release.licenses LOCK FOLDER`.

FOLDER is the site-packages in which the lock is installed.
"""

import sys
from collections.abc import Mapping
from email.message import Message
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing
from packaging.utils import canonicalize_name

from release.lock import requirements_of

ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CNRI-Python",  # of `regex`, whose engine comes from Python 1.6: keep its notice, summarize changes
        "ISC",
        "MIT",
        "MIT-0",
        "MPL-2.0",  # the packages are used as they are: their files stay under their licence
        "PostgreSQL",
        "PSF-2.0",
        "Unlicense",
    }
)
"""SPDX identifiers. Nothing here puts a condition on the service's own source."""

CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""The names of trove classifiers. Another name is a licence that is not allowed."""

IN_A_FILE: Mapping[str, str] = {"crawler-user-agents": "MIT"}
"""Packages whose metadata name no licence, with that of the file that they carry."""

_SPDX = get_spdx_licensing()


def expression_of(metadata: Message) -> str:
    """The licence that a package names, as an SPDX expression where it is one; empty if it names none."""
    if metadata["License-Expression"]:
        return str(metadata["License-Expression"])
    names = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or () if line.startswith("License ::")]
    names = [name for name in names if name != "OSI Approved"]
    # Several classifiers may mean "and" as well as "or".
    return " AND ".join(CLASSIFIERS.get(name, name) for name in names) or str(metadata["License"] or "")


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met with licences of `ALLOWED` alone."""
    try:
        parsed: Any = _SPDX.parse(expression, validate=True)
    except ExpressionError:
        return False
    if parsed is None:
        return False
    known = {symbol: _SPDX.TRUE if str(symbol) in ALLOWED else _SPDX.FALSE for symbol in parsed.symbols}
    return bool(parsed.subs(known, simplify=True) == _SPDX.TRUE)


def problems_of(lock: Path, folder: Path) -> list[str]:
    """A line for each package of the lock whose licence is not allowed, not known, or not installed here."""
    installed = {canonicalize_name(each.metadata["Name"]): each.metadata for each in distributions(path=[str(folder)])}
    problems = []
    for requirement in requirements_of(lock):
        metadata = installed.get(canonicalize_name(requirement.name))
        if metadata is None:
            if requirement.marker is None or requirement.marker.evaluate():
                problems.append(f"{requirement.name}: it is not installed in {folder}")
            continue
        expression = expression_of(metadata)  # type: ignore[arg-type]  # a Message, in fact
        expression = expression or IN_A_FILE.get(canonicalize_name(requirement.name), "")
        if not is_allowed(expression):
            shown = " ".join(expression.split())[:80] or "none"
            problems.append(f"{requirement.name}: its licence is not in the list of release/licenses.py: {shown}")
    return problems


def main(lock: str, folder: str) -> int:
    problems = problems_of(Path(lock), Path(folder))
    for problem in problems:
        sys.stderr.write(f"licences: {problem}\n")
    if not problems:
        sys.stdout.write(f"licences: all {len(requirements_of(Path(lock)))} packages of {lock} have an allowed one\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
