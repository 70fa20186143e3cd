"""Compiles templates when a page first needs them, in slices between which other requests go on.

A page needs up to ten templates. Compiled at once, they stall the event loop for a tenth of a second. At a start, all would
take a second.
"""

from collections.abc import MutableMapping, Sequence
from types import CodeType
from typing import Any

import trio
from jinja2 import BaseLoader, Environment, Template
from jinja2.meta import find_referenced_templates


class TemplateLoader(BaseLoader):
    """Loads templates by another loader. One that was not prepared is compiled at once, as Jinja does."""

    def __init__(self, sources: BaseLoader) -> None:
        self._sources = sources
        # By name: the program, and the names of the templates that it extends, imports and includes.
        self._compiled: dict[str, tuple[CodeType, Sequence[str]]] = {}
        self._prepared: set[str] = set()
        self._compiling = trio.Lock()

    async def prepare(self, environment: Environment, name: str) -> None:
        """Compile a template and all that it needs."""
        if name in self._prepared:
            return
        async with self._compiling:
            known, names = set[str](), [name]
            while names:
                each = names.pop()
                if each not in known:
                    known.add(each)
                    names += await self._compile(environment, each)
        self._prepared.add(name)

    async def _compile(self, environment: Environment, name: str) -> Sequence[str]:
        """Compile a template unless it is. Returns the names of those that it needs."""
        if name not in self._compiled:
            source, filename, _ = self._sources.get_source(environment, name)
            tree = environment.parse(source, name, filename)
            await trio.lowlevel.checkpoint()
            needed = [each for each in find_referenced_templates(tree) if each is not None]
            await trio.lowlevel.checkpoint()
            program = environment.compile(tree, name, filename, raw=True)
            await trio.lowlevel.checkpoint()
            self._compiled[name] = compile(program, filename or name, "exec"), needed
            await trio.lowlevel.checkpoint()
        return self._compiled[name][1]

    def load(self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None) -> Template:
        if name not in self._compiled:
            return self._sources.load(environment, name, globals)
        code, _ = self._compiled[name]
        return environment.template_class.from_code(environment, code, globals if globals is not None else {})
