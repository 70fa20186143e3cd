"""Garbage of a serving node: what outlives the young objects is collected, too."""

import gc
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from service.running.node import COLLECTIONS

PAGES, AT_ONCE = 12_000, 50


class Page:
    """A page refers to itself, as templates do, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self
        self.parts: list[list[object]] = [[] for _ in range(100)]


@contextmanager
def collecting_as_a_node() -> Iterator[None]:
    """Collect garbage as a node does, and exempt what other tests have left: the more of it there is, the rarer are full
    collections."""
    before, exempt = gc.get_threshold(), gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    gc.collect()
    gc.set_threshold(*COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not exempt:
            gc.unfreeze()


def test_pages_that_a_collection_met_half_rendered_do_not_stay_for_long() -> None:
    most, found, rendering = 0, WeakSet[Page](), deque[Page](maxlen=AT_ONCE)
    with collecting_as_a_node():
        for _ in range(PAGES):
            rendering.append(Page())
            found.add(rendering[-1])
            most = max(most, len(found))
    assert most < PAGES / 8
