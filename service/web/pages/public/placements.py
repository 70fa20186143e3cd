"""The placements of sponsors beside the public pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.clock import MINUTE_MS
from service.web.pages.parts.page import PageRequest

Placements = Sequence[Mapping[str, Any]]

MOST_BESIDE = 3
"""Placements beside a page of the catalog, so that they do not outgrow it. The front page always shows all."""


async def sponsored(request: PageRequest) -> Placements:
    """The placements that are live now, left side first. None if they cannot be read: the page itself does without them."""
    result = await request.ask("listPlacements")
    return () if result.refused is not None else result.json["placements"]


async def some_sponsored(request: PageRequest) -> Placements:
    """Those of them that stand beside a page of the catalog now."""
    return in_turn(await sponsored(request), request.now_ms)


def in_turn(placements: Placements, now_ms: int) -> Placements:
    """At most `MOST_BESIDE` placements, in their order. In as many minutes as there are of them, each has the same share."""
    if len(placements) <= MOST_BESIDE:
        return placements
    first = now_ms // MINUTE_MS % len(placements)
    return [*placements[first:], *placements[:first]][:MOST_BESIDE]
