"""The dashboard of Grafana, and the metrics that it and the rules of Prometheus ask for."""

import json
import re
from typing import Any

import yaml

from tests.architecture import ROOT

DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/catalog.json").read_text(encoding="utf-8"))

_METRIC = re.compile(r"\b(?:catalog|process)_\w+|\bup\b")


def expressions() -> list[str]:
    """All expressions of the dashboard, with its variables replaced as Grafana does for all instances."""
    found = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    found += [each["expr"] for each in DASHBOARD["annotations"]["list"]]
    return [text.replace("$__rate_interval", "1m").replace("$instance", ".*") for text in found]


def rules() -> list[str]:
    """All expressions of the alerts."""
    groups = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def metrics(expression: str) -> set[str]:
    """The names of the metrics in an expression."""
    return set(_METRIC.findall(re.sub(r'"[^"]*"', "", expression)))
