"""The packages of a lock file."""

import re
from pathlib import Path

from packaging.requirements import Requirement

_PIN = re.compile(r"^(?P<pin>[A-Za-z0-9][^\\\n]*?)\s*(\\|$)", re.MULTILINE)


def requirements_of(lock: Path) -> list[Requirement]:
    """The pinned requirements, with their markers."""
    return [Requirement(match["pin"]) for match in _PIN.finditer(lock.read_text(encoding="utf-8"))]
