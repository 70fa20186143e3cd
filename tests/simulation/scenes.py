"""Which areas of the service there are, with all that the simulation knows of each, and which scenes they make up.

A scene is a choice of areas and the crowd that comes to them. Small worlds that each know their callers show more than a
large one that knows all; what only areas together can show is left to the whole.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import trio

from actors.values import BatchId
from tests.simulation import (
    booking_bugs,
    buyers,
    clients,
    event_bugs,
    gadgets,
    key_bugs,
    mail_bugs,
    oracle,
    people_bugs,
    stage,
    watches,
    websites,
)
from tests.simulation.clients import Client
from tests.simulation.node import Node, Side
from tests.simulation.oracle import sights, sometimes
from tests.simulation.oracle.case import Case
from tests.simulation.planting import Bug
from tests.simulation.rules import REST_SECONDS, Scene

if TYPE_CHECKING:
    from tests.simulation.world import World

Crowd = tuple[tuple[Callable[[Client], Awaitable[None]], int], ...]
"""Kinds of clients, and how many of each."""
Watch = Callable[["World", BatchId, Callable[[], Any]], Any]
"""Does the work of one transaction, and says in `world.violations` what about it is wrong."""


async def _at_rest(world: "World") -> None:
    await trio.lowlevel.checkpoint()


async def _settled(world: "World") -> None:
    """Until every payment was told of, and then until holds have run out and what is due was paid back."""
    await trio.sleep(REST_SECONDS)
    await world.processor.all_told()
    await trio.sleep(REST_SECONDS)


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """A part of the service.

    `judge` gives the violations of a finished history, `sights` counts what it met, and `sometimes` names what a campaign
    has to have met. `bugs` can each be found in their own scene. `opens` sets up what stands before anybody comes, `side`
    is what a node has of it beyond what every node has, and `rests` waits until nothing is left to be done. `watches`
    holds the promises of each transaction, by the name of the actor that has the turn, as far as its first `-`.
    """

    judge: Callable[[Case], Iterator[str]]
    sights: Callable[[Case], Mapping[str, int]]
    sometimes: tuple[str, ...]
    bugs: Mapping[str, Bug]
    opens: Callable[["World"], None] = lambda world: None
    side: Callable[[Node], Side] | None = None
    rests: Callable[["World"], Awaitable[None]] = _at_rest
    watches: Mapping[str, Watch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """What makes up a scene: what is there, who comes, and how many nodes there are, by chance one of these numbers."""

    areas: tuple[Area, ...]
    crowd: Crowd
    nodes: tuple[int, ...] = (2, 3)


KEYS = Area(oracle.judge_keys, sights.of_keys, sometimes.KEYS, key_bugs.BUGS, watches={"keys": watches.keeping})
"""Keys, quota and the directory: in every world."""
MAIL = Area(
    oracle.judge_mail,
    sights.of_mail,
    sometimes.MAIL,
    mail_bugs.BUGS,
    side=attrgetter("mailroom"),
    rests=lambda world: world.post.empty(),
)
"""Letters on their way: in every world."""
OFFICE = Area(
    oracle.judge_office,
    sights.of_office,
    sometimes.OFFICE,
    booking_bugs.BUGS,
    opens=stage.open_office,
    side=attrgetter("office"),
    rests=_settled,
    watches={"bookings": watches.selling},
)
"""Sponsorship: campaigns, bookings and money, with scoped keys and administrators."""
SITE = Area(
    oracle.judge_site,
    sights.of_site,
    sometimes.SITE,
    event_bugs.BUGS,
    opens=stage.open_site,
    side=attrgetter("intake"),
    watches={"events": watches.counting},
)
"""What websites show and report. Needs the office, which sells what they show."""
PEOPLE = Area(
    oracle.judge_people,
    sights.of_people,
    sometimes.PEOPLE,
    people_bugs.BUGS,
    side=attrgetter("reception"),
    watches={"sessions": watches.visiting, "devices": watches.approving},
)
"""Sign-ins, browser sessions and device logins."""

SCENES: Mapping[Scene, Cast] = {
    Scene.SPONSORS: Cast((KEYS, MAIL, OFFICE), buyers.CROWD),
    Scene.KEYS: Cast((KEYS, MAIL), clients.CROWD),
    Scene.WEBSITES: Cast((KEYS, MAIL, OFFICE, SITE), websites.CROWD),
    Scene.PEOPLE: Cast((KEYS, MAIL, PEOPLE), gadgets.CROWD),
    Scene.WHOLE: Cast(
        (KEYS, MAIL, OFFICE, SITE, PEOPLE),
        (
            *((live, (size + 1) // 2) for live, size in clients.CROWD),
            *((live, (size + 1) // 2) for live, size in buyers.CROWD),
            *((live, (size + 1) // 2) for live, size in websites.CROWD),
            *((live, (size + 1) // 2) for live, size in gadgets.CROWD),
        ),
        nodes=(3,),
    ),
}
AREAS = SCENES[Scene.WHOLE].areas
BUGS: Mapping[str, Bug] = {name: bug for area in AREAS for name, bug in area.bugs.items()}


def scene_of(seed: int) -> Scene:
    """Seeds take turns, so that any few of them are a mixture."""
    return tuple(Scene)[seed % len(Scene)]
