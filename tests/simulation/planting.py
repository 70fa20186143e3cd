"""How bugs are planted: other classes for the nodes, or another value for an attribute, for the duration of a block."""

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

import trio

from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable
from tests.doubles.tables import MemoryStore, decided
from tests.simulation.faults import Link, SimulatedBug
from tests.simulation.node import Parts
from tests.simulation.rules import Scene

Plant = Callable[[Parts], AbstractContextManager[Parts]]


@dataclass(frozen=True, slots=True)
class Bug:
    """A planted bug. `plant` makes the parts of a run's nodes wrong until its block ends.

    `scene` is the kind of world that can show it.
    """

    sentence: str
    plant: Plant
    scene: Scene = Scene.KEYS


F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


class Bugs(dict[str, Bug]):
    """Bugs by name, which one kind of world can show, or else the given one. A bug that is a function or a class has its
    name, and its docstring is the sentence."""

    def __init__(self, scene: Scene = Scene.KEYS) -> None:
        super().__init__()
        self._scene = scene

    def add(self, name: str, sentence: str, plant: Plant, scene: Scene | None = None) -> None:
        self[name] = Bug(sentence, plant, scene or self._scene)

    def function(self, owner: object, name: str, scene: Scene | None = None) -> Callable[[F], F]:
        """The decorated function replaces that of a module, or a method of a class."""

        def add(wrong: F) -> F:
            self.add(wrong.__name__.replace("_", "-"), wrong.__doc__ or "", replaced(owner, name, wrong), scene)
            return wrong

        return add

    def around(self, owner: object, name: str, scene: Scene | None = None) -> Callable[[F], F]:
        """The same for a function that calls the right one, which is its first argument."""
        right = getattr(owner, name)

        def add(wrong: F) -> F:
            @wraps(wrong)
            def planted(*arguments: Any, **named: Any) -> Any:
                return wrong(right, *arguments, **named)

            self.function(owner, name, scene)(planted)
            return wrong

        return add

    def part(self, name: str, scene: Scene | None = None) -> Callable[[C], C]:
        """The decorated class replaces a part of the nodes."""

        def add(wrong: C) -> C:
            words = re.sub("(?<!^)(?=[A-Z])", "-", wrong.__name__).lower()
            self.add(words, wrong.__doc__ or "", swapped(**{name: wrong}), scene)
            return wrong

        return add


@contextmanager
def patched(owner: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute for the duration of the block."""
    right = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, right)


def swapped(**parts: Any) -> Plant:
    """Replace classes of the nodes."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        yield replace(right, **parts)

    return plant


def replaced(owner: object, name: str, value: object) -> Plant:
    """Replace a function of a module, or a method of a class."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        with patched(owner, name, value):
            yield right

    return plant


def both(*plants: Plant) -> Plant:
    """Plant several bugs together, where another check would catch one of them alone."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        with ExitStack() as stack:
            for each in plants:
                right = stack.enter_context(each(right))
            yield right

    return plant


class ReadsOutside(MemoryStore):
    """A mixin for a store, placed before its own class: it reads rows before it locks them."""

    async def transact(self, batch_id: BatchId, locks: Any, decide: Callable[[Any], Any], *now_ms: int) -> Any:
        store = cast("Any", super())
        found = store._snapshot(locks, *now_ms)
        return await store.transact(batch_id, locks, lambda locked: decide(found), *now_ms)


class AnswersFirst(MemoryStore):
    """A mixin for a store, placed before its own class: it answers from a snapshot and commits in the background."""

    async def transact(self, batch_id: BatchId, locks: Any, decide: Callable[[Any], Any], *now_ms: int) -> Any:
        link, store, turn = self._memory, cast("Any", super()), self.__dict__.setdefault("_turn", trio.Lock())
        assert isinstance(link, Link)

        async def later() -> None:
            async with turn:
                await ignoring_faults(store.transact(batch_id, locks, decide, *now_ms))

        link.node.server.start_soon(later)
        decision = decided(decide(store._snapshot(locks, *now_ms)))
        await trio.lowlevel.checkpoint()
        return decision


async def ignoring_faults(commit: Awaitable[object]) -> None:
    with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
        await commit
