"""How bugs are planted: other classes for the nodes, or another value for an attribute, for the duration of a block."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

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
