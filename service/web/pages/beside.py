"""What sponsors show beside the public pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.clock import MINUTE_MS
from service.web.pages.page import PageRequest

MOST_BESIDE = 3
"""Placements beside one page, so that they do not outgrow it. More take turns, by the minute."""


async def sponsored(request: PageRequest) -> Sequence[Mapping[str, Any]]:
    """The placements to show now. None if they cannot be read: the page itself does without them."""
    result = await request.ask("listPlacements")
    return () if result.refused is not None else in_turn(result.json["placements"], request.now_ms)


def in_turn(placements: Sequence[Mapping[str, Any]], now_ms: int) -> Sequence[Mapping[str, Any]]:
    """At most `MOST_BESIDE` placements, in their order. In as many minutes as there are of them, each has the same share."""
    if len(placements) <= MOST_BESIDE:
        return placements
    first = now_ms // MINUTE_MS % len(placements)
    return [*placements[first:], *placements[:first]][:MOST_BESIDE]
