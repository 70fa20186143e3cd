"""Every setting has an effect: it fills a field of a rules class by its name, or the service names it."""

import ast
from collections.abc import Iterator

from service.config.bounds import Section
from service.config.loading import load
from service.config.model import Config
from service.limits import Limits, backup_rules, serving_limits
from tests.architecture import modules, name_of, tree, within

Path = tuple[str, ...]


def settings(section: Section, place: Path = ()) -> Iterator[Path]:
    for name, value in section:
        if isinstance(value, Section):
            yield from settings(value, (*place, name))
        else:
            yield (*place, name)


def changed(section: Section, place: Path) -> Section:
    """The same settings with another value in one place."""
    name, *rest = place
    value = getattr(section, name)
    other = changed(value, tuple(rest)) if rest else not value if isinstance(value, bool) else value + 1
    return section.model_copy(update={name: other})


def filled(config: Section) -> str:
    assert isinstance(config, Config)
    return repr((Limits.of(config), serving_limits(config), backup_rules(config)))


def test_every_setting_fills_a_rule_or_is_named_by_the_service() -> None:
    config = load(None, {"CATALOG__BACKUP__EVERY_HOURS": "24"})
    code = [path for path in modules("service") if not within(name_of(path), "service.config")]
    named = {node.attr for path in code for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    places = list(settings(config))
    assert len(places) > 100
    before = filled(config)
    unnamed = [place for place in places if place[-1] not in named]
    assert len(unnamed) > 15
    assert [place for place in unnamed if filled(changed(config, place)) == before] == []
