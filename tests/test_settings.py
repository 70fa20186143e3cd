"""Every setting has an effect: it fills a field of a rules class by its name, or the service names it.

Every number has a least value."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from service.config.bounds import AN_ORIGIN, Section
from service.config.loading import load
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.running.foundation import storage_options
from service.running.limits import Limits, backup_rules, mail_about, serving_limits
from tests.architecture import ROOT, modules, name_of, tree, within

Path = tuple[str, ...]

MAY_BE_ZERO = {
    "backup.every_hours",
    "billing.tax_percent",
    "bookings.cooldown_minutes",
    "claim.code_pause_seconds",
    "events.per_booking_per_hour",
    "server.drain_seconds",
    "server.hsts_seconds",
    "tracing.sample",
}
"""Numbers for which 0 means off, none or never."""


def values(section: Section, place: Path = ()) -> Iterator[tuple[Path, Any]]:
    for name, value in section:
        if isinstance(value, Section):
            yield from values(value, (*place, name))
        else:
            yield (*place, name), value


def changed(section: Section, place: Path) -> Section:
    """The same settings with another value in one place."""
    name, *rest = place
    value = getattr(section, name)
    other: Any
    if rest:
        other = changed(value, tuple(rest))
    elif isinstance(value, bool):
        other = not value
    elif isinstance(value, str):
        other = f"{value}x"
    else:
        other = value * 1.01 if isinstance(value, float) else value + 1
    return section.model_copy(update={name: other})


def filled(config: Section) -> str:
    assert isinstance(config, Config)
    limits = Limits.of(config), serving_limits(config), backup_rules(config), mail_about(config)
    return repr((*limits, storage_options(config)))


def test_every_setting_fills_a_rule_or_is_named_by_the_service() -> None:
    config = load(None, {"CATALOG__BACKUP__EVERY_HOURS": "24"})
    code = [path for path in modules("service") if not within(name_of(path), "service.config")]
    named = {node.attr for path in code for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    places = [place for place, _ in values(config)]
    assert len(places) > 100
    before = filled(config)
    unnamed = [place for place in places if place[-1] not in named]
    assert len(unnamed) > 15
    assert [place for place in unnamed if filled(changed(config, place)) == before] == []


def test_a_number_below_its_least_value_is_refused_by_its_name() -> None:
    numbers = [place for place, value in values(load(None, {})) if type(value) in (int, float)]
    assert len(numbers) > 100
    for place in numbers:
        name = ".".join(place)
        refused = (-1,) if name in MAY_BE_ZERO else (0, -1)
        for number in (0, -1):
            environment = {f"CATALOG__{'__'.join(place).upper()}": str(number)}
            if number in refused:
                with pytest.raises(ConfigError, match=re.escape(f"{name}: ")):
                    load(None, environment)
            else:
                load(None, environment)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://catalog.example.com", "https://catalog.example.com"),
        ("HTTPS://Catalog.Example.com:443", "https://catalog.example.com"),
        ("http://catalog.lan:80", "http://catalog.lan"),
        ("https://catalog.example.com:08443", "https://catalog.example.com:8443"),
        ("https://Bücher.example", "https://xn--bcher-kva.example"),
        ("http://catalog_app:8080", "http://catalog_app:8080"),
        ("http://[0:0:0:0:0:0:0:1]:8080", "http://[::1]:8080"),
        ("https://user:secret@example.com", None),
        ("https://example.com?x", None),
        ("https://example.com#", None),
        ("https://example.com\\", None),
        ("https://example.com:65536", None),
        ("https://:443", None),
        ("https://[::1", None),
        ("https://b\u2028cher.example", None),
    ],
)
def test_an_origin_is_read_as_browsers_send_it(url: str, origin: str | None) -> None:
    """Forms and passkeys are compared with `server.base_url`, and other sites' pages with `server.mcp_origins`."""
    environment = {"CATALOG__SERVER__BASE_URL": url, "CATALOG__SERVER__MCP_ORIGINS": json.dumps(["*", url])}
    if origin is None:
        with pytest.raises(ConfigError, match=f"server.base_url: {AN_ORIGIN}; server.mcp_origins.1: {AN_ORIGIN}"):
            load(None, environment)
        return
    server = load(None, environment).server
    assert (server.base_url, server.mcp_origins) == (origin, ["*", origin])


def test_the_bench_and_the_deployments_name_settings_that_exist() -> None:
    known = {"__".join(place).upper() for place, _ in values(load(None, {}))}
    places = [*(ROOT / "bench").rglob("*.py"), *(path for path in (ROOT / "deploy").rglob("*") if path.is_file())]
    named = {name for path in places for name in re.findall(r"CATALOG__(\w+[A-Z])\b", path.read_text(encoding="utf-8"))}
    assert named
    assert {name.removesuffix("__FILE") for name in named} - known <= {"SECTION__NAME"}
