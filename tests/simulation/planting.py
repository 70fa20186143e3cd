"""How bugs are planted: other parts for the nodes, or another value for an attribute, for the life of a block."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from tests.simulation.node import Parts
from tests.simulation.rules import Scene

Plant = Callable[[Parts], AbstractContextManager[Parts]]


@dataclass(frozen=True, slots=True)
class Bug:
    """`plant` makes the parts of a run's nodes wrong, and all is right again when its block is left.

    `scene` says which kind of world can show it.
    """

    sentence: str
    plant: Plant
    scene: Scene = Scene.KEYS


@contextmanager
def patched(owner: object, name: str, value: object) -> Iterator[None]:
    """Another value for an attribute, for the life of the block."""
    right = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, right)


def swapped(**parts: Any) -> Plant:
    """Other classes for the nodes."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        yield replace(right, **parts)

    return plant


def replaced(owner: object, name: str, value: object) -> Plant:
    """Another function in a module, or method of a class."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        with patched(owner, name, value):
            yield right

    return plant


def both(*plants: Plant) -> Plant:
    """Several of them, where one alone is caught by the next."""

    @contextmanager
    def plant(right: Parts) -> Iterator[Parts]:
        with ExitStack() as stack:
            for each in plants:
                right = stack.enter_context(each(right))
            yield right

    return plant
