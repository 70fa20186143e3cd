"""The ads that a page view shows on a side of the page, and the share of page views that each has. Pure: randomness is passed
in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.bookings.records import Side
from actors.bookings.store import SoldPlacement
from actors.clock import Entropy

RANDOM_BYTES = 4
"""For each place of an order. The remainder of so large a number favours no place by more than one in a million."""


def share(ads: int, at_once: int) -> float:
    """The share of page views on which each of `ads` ads of a side stands, if at most `at_once` stand there at a time."""
    return min(1.0, at_once / max(ads, 1))


@dataclass(slots=True)
class Turns:
    """The turns of each side on this node.

    In a round, each ad stands first once, followed by those after it. So each ad of a side is on as many views of a round as
    any other, and as often in each place. The order of a round is random: whoever reloads every second page, or looks once a
    minute, sees each ad as often as others do. Each node counts its own rounds, so their sum is as fair.
    """

    _rounds: dict[Side, tuple[tuple[str, ...], list[int]]] = field(default_factory=dict)
    """By side: the ids of its ads, and which of them are first on the views that are left of the round."""

    def next(self, side: Side, ads: Sequence[SoldPlacement], at_once: int, entropy: Entropy) -> Sequence[SoldPlacement]:
        """The ads of the next view, at most `at_once`."""
        if len(ads) < 2:
            return ads
        ids = tuple(each.booking_id for each in ads)
        known, left = self._rounds.get(side, ((), []))
        if not left or known != ids:
            left = _shuffled(len(ads), entropy)
            self._rounds[side] = ids, left
        first = left.pop()
        return [*ads[first:], *ads[:first]][:at_once]


def _shuffled(number: int, entropy: Entropy) -> list[int]:
    """The numbers below `number` in a random order, each order as likely as any other (Fisher and Yates)."""
    order = list(range(number))
    random = entropy.token(RANDOM_BYTES * number)
    for place in range(number - 1, 0, -1):
        drawn = int.from_bytes(random[RANDOM_BYTES * place :][:RANDOM_BYTES]) % (place + 1)
        order[place], order[drawn] = order[drawn], order[place]
    return order
