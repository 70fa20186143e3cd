"""Templates are compiled when they are first needed, and other requests go on meanwhile, as while a page is rendered."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, cast

import pytest
import trio
from jinja2 import DictLoader, Environment, TemplateNotFound
from quart_trio import QuartTrio
from trio.testing import MockClock

from service.web.page_views import SLICE_SECONDS, rendered
from service.web.template_loading import TemplateLoader

SOURCES = {
    "page.html": '{% extends "base.html" %}{% import "parts.html" as own %}{% block main %}{{ own.word() }}{% endblock %}',
    "base.html": '<{% block main %}{% endblock %}>{% include "foot.html" %}',
    "parts.html": "{% macro word() %}word{% endmacro %}",
    "foot.html": "foot",
    "other.html": '{% extends "base.html" %}{% include "lost.html" %}',
}
STEPS = 4
"""Of one template: parsed, searched for others, written as a program, and compiled."""


class Counted(DictLoader):
    """Counts how often each source is read."""

    def __init__(self) -> None:
        super().__init__(SOURCES)
        self.read: list[str] = []

    def get_source(self, environment: Environment, template: str) -> tuple[str, None, Callable[[], bool]]:
        self.read.append(template)
        return super().get_source(environment, template)


@pytest.fixture
def sources() -> Counted:
    return Counted()


@pytest.fixture
def environment(sources: Counted) -> Environment:
    return Environment(loader=TemplateLoader(sources), autoescape=True, enable_async=True)


async def turns_beside(work: Callable[[], Awaitable[object]]) -> int:
    """How often another task runs during some work."""
    turns, done = 0, False

    async def other() -> None:
        nonlocal turns
        while not done:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await work()
        done = True
    return turns


async def prepare(environment: Environment, name: str) -> int:
    """Prepare a template, and count how often another task runs meanwhile."""
    loader = environment.loader
    assert isinstance(loader, TemplateLoader)
    return await turns_beside(partial(loader.prepare, environment, name))


async def test_others_run_between_all_steps_of_a_page_s_templates_which_are_compiled_once(
    environment: Environment, sources: Counted
) -> None:
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(prepare, environment, "page.html")
        turns = await prepare(environment, "page.html")
    assert turns >= 4 * STEPS - 1
    assert sorted(sources.read) == ["base.html", "foot.html", "page.html", "parts.html"]
    assert await environment.get_template("page.html").render_async() == "<word>foot"
    assert len(sources.read) == 4, "rendering compiles nothing"
    assert await prepare(environment, "page.html") <= 1


async def test_a_page_whose_template_lacks_a_part_fails_each_time_and_others_do_not(environment: Environment) -> None:
    for _ in range(2):
        with pytest.raises(ExceptionGroup) as failed:
            await prepare(environment, "other.html")
        assert failed.group_contains(TemplateNotFound)
    await prepare(environment, "page.html")


def test_a_template_that_was_not_prepared_is_compiled_as_jinja_does(environment: Environment) -> None:
    assert environment.get_template("foot.html").render() == "foot"


async def test_others_run_while_a_long_page_is_rendered(autojump_clock: MockClock) -> None:
    app, html = QuartTrio(__name__), ""
    sources = DictLoader({"long.html": "{% for each in lines %}{{ each }}{% endfor %}"})
    app.jinja_env = cast(Any, Environment(loader=TemplateLoader(sources)))

    def lines() -> Iterator[int]:
        for each in range(10):
            autojump_clock.jump(2 * SLICE_SECONDS)
            yield each

    async def render() -> None:
        nonlocal html
        html = await rendered("long.html", {"lines": lines()})

    async with app.app_context():
        assert await turns_beside(render) >= 10
    assert html == "0123456789"
