"""The rules of Prometheus fire when they should, as promtool judges, and the dashboard of Grafana is well formed."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.architecture import ROOT
from tests.deploy.dashboard import DASHBOARD, expressions
from tests.programs import program
from tests.slow import repeats

FOLDER = ROOT / "deploy/prometheus"
RULES = [rule for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def promtool() -> str:
    return program("promtool", "prometheus")


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def test_the_configuration_and_the_rules_are_valid(promtool: str) -> None:
    done = run(promtool, "check", "config", FOLDER / "prometheus.yml")
    assert done.returncode == 0, done.stderr
    assert f"{len(RULES)} rules found" in done.stdout


@repeats("the checks of the rules; this starts promtool")
def test_each_alert_fires_when_it_should_and_none_for_a_healthy_service(promtool: str) -> None:
    done = run(promtool, "test", "rules", FOLDER / "alerts_test.yml")
    assert done.returncode == 0, done.stdout


@repeats("every alert fires when it should")
@pytest.mark.parametrize(("right", "wrong"), [("> 300", "> 3000"), ("< 0.1", "< 0.2"), ("for: 1m", "for: 0s")])
def test_a_rule_with_another_limit_fails_its_test(promtool: str, right: str, wrong: str, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "alerts_test.yml", tmp_path)
    text = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "alerts.yml").write_text(text.replace(right, wrong))
    assert run(promtool, "test", "rules", tmp_path / "alerts_test.yml").returncode != 0


def test_each_alert_is_tested_and_says_what_happened_and_what_to_do() -> None:
    tested = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert f'alertname="{rule["alert"]}"' in tested, rule["alert"]
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")


# The dashboard.


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DASHBOARD["panels"]
    return found


def test_the_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    assert max(Counter(panel["id"] for panel in panels()).values()) == 1
    taken: Counter[tuple[int, int]] = Counter()
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        taken.update(
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        )
    assert max(taken.values()) == 1


def test_each_panel_explains_itself_and_asks_the_chosen_data_source() -> None:
    charts = [panel for panel in panels() if panel["type"] != "row"]
    assert len({panel["title"] for panel in charts}) == len(charts) > 20
    for panel in charts:
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {source["uid"] for source in sources} == {"${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


def test_the_variables_of_the_dashboard_are_all_defined() -> None:
    defined = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))) - {"__rate_interval", "__all"}
    assert used == defined == {"datasource", "instance"}


def test_each_expression_is_valid(promtool: str, tmp_path: Path) -> None:
    rules = [{"record": f"e{number}", "expr": text} for number, text in enumerate(expressions())]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = run(promtool, "check", "rules", file)
    assert done.returncode == 0, done.stderr
    assert f"{len(rules)} rules found" in done.stdout


def test_grafana_finds_the_data_source_and_the_dashboard_where_compose_mounts_them() -> None:
    folder = ROOT / "deploy/grafana/provisioning"
    [source] = yaml.safe_load((folder / "datasources/prometheus.yml").read_text())["datasources"]
    [provider] = yaml.safe_load((folder / "dashboards/catalog.yml").read_text())["providers"]
    assert source["url"] == "http://prometheus:9090"
    compose = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert f"./deploy/grafana/catalog.json:{provider['options']['path']}/catalog.json:ro" in compose
