"""Garbage of a serving node: what outlives the young objects is collected, too."""

import gc
from collections import deque
from weakref import WeakSet

from service.running.node import COLLECTIONS

PAGES, AT_ONCE = 12_000, 50


class Page:
    """A page refers to itself, as templates do, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self
        self.parts: list[list[object]] = [[] for _ in range(100)]


def test_pages_that_a_collection_met_half_rendered_do_not_stay_for_long() -> None:
    before, found = gc.get_threshold(), WeakSet[Page]()
    gc.collect()
    gc.set_threshold(*COLLECTIONS)
    try:
        most, rendering = 0, deque[Page](maxlen=AT_ONCE)
        for _ in range(PAGES):
            rendering.append(Page())
            found.add(rendering[-1])
            most = max(most, len(found))
    finally:
        gc.set_threshold(*before)
    assert most < PAGES / 8
