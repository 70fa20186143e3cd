"""compose.yaml as Compose reads it: variables replaced, fragments merged."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.architecture import ROOT

_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")

SECRETS = {"CATALOG_SERVER_SECRET": "a" * 64, "CATALOG_DATABASE_PASSWORD": "b" * 64}
"""The variables without which Compose refuses to start."""


class Missing(Exception):
    """A variable that has no value and no default. The text is what Compose says."""


def compose(environment: Mapping[str, str] = SECRETS) -> dict[str, Any]:
    """The file with the variables of `environment`. Raises `Missing`."""

    def value(found: re.Match[str]) -> str:
        given, kind = environment.get(found["name"], ""), found["kind"]
        if not given and kind == "?":
            raise Missing(found["rest"])
        return given or (found["rest"] if kind == "-" else "")

    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    file: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(value, "\n".join(lines)))
    return file


def seconds(duration: str) -> float:
    """A duration such as `45s` or `2m`."""
    return float(duration[:-1]) * {"s": 1, "m": 60, "h": 3_600}[duration[-1]]
