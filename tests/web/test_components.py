"""The page of the parts of pages: it shows all of them, and only to this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

import service.web
from service.web.pages.ops.components import TEXTS
from tests.api.world import LOCAL, World, open_world
from tests.web.markup import faults_of, parsed
from tests.web.visitors import Visitor

TEMPLATES = Path(service.web.__file__).parent / "templates"
LIBRARIES = ("components.html", "fields.html", "charts.html")


def tree_of(name: str) -> nodes.Template:
    return Environment().parse((TEMPLATES / name).read_text(encoding="utf-8"))


def macros_of(name: str) -> dict[str, nodes.Macro]:
    return {macro.name: macro for macro in tree_of(name).find_all(nodes.Macro)}


def called(node: nodes.Node) -> Iterator[str]:
    for call in node.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name):
            yield call.node.name


def shown(macros: dict[str, nodes.Macro], page: nodes.Node) -> set[str]:
    """The macros that the page calls itself or through others."""
    found: set[str] = set()
    new = set(called(page)) & macros.keys()
    while new:
        found |= new
        new = {name for each in new for name in called(macros[each])} & macros.keys() - found
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_macro_is_on_the_page(library: str) -> None:
    macros = macros_of(library)
    assert len(macros) > 3
    assert macros.keys() - shown(macros, tree_of("dev_components.html")) == set()


def test_a_macro_that_no_page_calls_is_found() -> None:
    library = Environment().parse(
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{% endmacro %}{% macro c() %}{% endmacro %}"
    )
    macros = {macro.name: macro for macro in library.find_all(nodes.Macro)}
    assert shown(macros, Environment().parse("{% call a() %}{% endcall %}")) == {"a", "b"}


async def test_typed_text_is_shown_as_it_is() -> None:
    async with open_world(**LOCAL) as world:
        response = await Visitor(world).get("/dev/components")
    html = response.body.decode()
    assert faults_of(html) == []
    words = [each.text for each in parsed(html).all("bdi")]
    assert {text for text in TEXTS.values() if text} <= set(words)


async def test_only_this_machine_sees_it(world: World) -> None:
    assert (await Visitor(world).get("/dev/components")).status == 404
    async with open_world(**LOCAL) as local:
        assert (await local.client.get("/dev/components", address="203.0.113.7")).status == 404
        assert (await local.client.get("/dev/components", address="127.0.0.1")).status == 200
