"""The areas of the service, with everything the simulation has for each, and the scenes that they form.

A scene is a choice of areas with a crowd of clients. Small worlds cover their callers more closely than a large one;
the whole covers what only areas together can show.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import trio

from actors.values import BatchId
from tests.simulation import (
    authorization_bugs,
    booking_bugs,
    buyers,
    catalog_bugs,
    clients,
    connectors,
    day_bugs,
    dispute_bugs,
    editors,
    event_bugs,
    filtered_bugs,
    gadgets,
    journey_bugs,
    key_bugs,
    mail_bugs,
    oracle,
    people_bugs,
    processor_bugs,
    renewal_bugs,
    rotators,
    share_bugs,
    sharers,
    stage,
    submission_bugs,
    submissions,
    watches,
    websites,
    worker_bugs,
)
from tests.simulation.clients import Client
from tests.simulation.node import Node
from tests.simulation.oracle import shelf, sights, sometimes
from tests.simulation.oracle import submissions as submitted
from tests.simulation.oracle.case import Case
from tests.simulation.planting import Bug
from tests.simulation.rules import REST_SECONDS, Scene
from tests.simulation.sides import NodeSide

if TYPE_CHECKING:
    from tests.simulation.world import World

Crowd = tuple[tuple[Callable[[Client], Awaitable[None]], int], ...]
"""Kinds of clients, with their numbers."""
Watch = Callable[["World", BatchId, Callable[[], Any]], Any]
"""Runs the work of one transaction, and reports violations to `world.violations`."""


async def _at_rest(world: "World") -> None:
    await trio.lowlevel.checkpoint()


async def _settled(world: "World") -> None:
    """Wait for all payment events, then for holds to expire and due refunds to be made."""
    await trio.sleep(REST_SECONDS)
    await world.processor.all_answered()
    await trio.sleep(REST_SECONDS)


async def _mailed(world: "World") -> None:
    await world.post.empty()


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """A part of the service.

    `judge` yields the violations of a finished history, `sights` counts what it met, and `sometimes` names what a
    campaign must meet. `bugs` can each be found in their own scene. `opens` creates the initial data, `side` is the
    area's part of a node, and `rests` waits until nothing is left to do. `watches` checks each transaction, by the name
    of its actor up to the first `-`.
    """

    judge: Callable[[Case], Iterator[str]]
    sights: Callable[[Case], Mapping[str, int]]
    sometimes: tuple[str, ...]
    bugs: Mapping[str, Bug]
    opens: Callable[["World"], None] = lambda world: None
    side: Callable[[Node], NodeSide] | None = None
    rests: Callable[["World"], Awaitable[None]] = _at_rest
    watches: Mapping[str, Watch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """The content of a scene: its areas, its clients, and possible numbers of nodes, one of which is drawn. Its `readers` ask
    for what only the judge of answers needs, and make other runs of the same seeds."""

    areas: tuple[Area, ...]
    crowd: Crowd
    readers: Crowd = ()
    nodes: tuple[int, ...] = (2, 3)


KEYS = Area(
    oracle.judge_keys,
    sights.of_keys,
    sometimes.KEYS,
    {**key_bugs.BUGS, **renewal_bugs.BUGS, **day_bugs.BUGS},
    watches={"keys": watches.keeping},
)
"""Keys, quota and the key cache: in every world."""
MAIL = Area(oracle.judge_mail, sights.of_mail, (), mail_bugs.BUGS, side=attrgetter("mailroom"), rests=_mailed)
"""Mail: in every world."""
SPONSORSHIP = Area(
    oracle.judge_sponsorship,
    sights.of_sponsorship,
    sometimes.SPONSORSHIP,
    {**booking_bugs.BUGS, **dispute_bugs.BUGS, **journey_bugs.BUGS, **processor_bugs.BUGS, **share_bugs.BUGS},
    opens=stage.open_sponsorship,
    side=attrgetter("sponsorship"),
    rests=_settled,
    watches={"bookings": watches.selling},
)
"""Sponsorship: campaigns, bookings and money, with scoped keys and administrators."""
SITE = Area(
    oracle.judge_site,
    sights.of_site,
    sometimes.SITE,
    {**event_bugs.BUGS, **filtered_bugs.BUGS, **worker_bugs.BUGS},
    opens=stage.open_site,
    side=attrgetter("intake"),
    watches={"events": watches.counting, "filtered": watches.filtering},
)
"""Placements and events of websites. Needs sponsorship, which sells the placements."""
PEOPLE = Area(
    oracle.judge_people,
    sights.of_people,
    sometimes.PEOPLE,
    {**people_bugs.BUGS, **authorization_bugs.BUGS},
    side=attrgetter("identity"),
    watches={"sessions": watches.visiting, "devices": watches.approving},
)
"""Sign-ins, browser sessions, device logins, and programs that people allow."""

SUBMISSIONS = Area(
    oracle.judge_submissions,
    submitted.sights,
    submitted.SOMETIMES,
    submission_bugs.BUGS,
    opens=submissions.open_submissions,
    side=attrgetter("submission_side"),
    watches=dict.fromkeys(("submissions", "catalog_editor", "imports"), watches.submitting),
)
"""Submissions to the catalog and their reviews. Needs the catalog."""

CATALOG = Area(
    oracle.judge_catalog,
    sights.of_catalog,
    sometimes.CATALOG,
    catalog_bugs.BUGS,
    side=attrgetter("desk"),
    rests=editors.current,
    watches={"catalog_editor": shelf.editing, "imports": shelf.importing},
)
"""Entries that administrators edit, their readers, and mirrors."""

SCENES: Mapping[Scene, Cast] = {
    Scene.SPONSORS: Cast(
        (KEYS, MAIL, SPONSORSHIP), (*buyers.CROWD, (sharers.sharer, 2)), readers=((buyers.looker, 1),)
    ),
    Scene.KEYS: Cast(
        (KEYS, MAIL), (*clients.CROWD, (rotators.rotator, 2), (rotators.mover, 1), (rotators.night_reader, 1))
    ),
    Scene.WEBSITES: Cast((KEYS, MAIL, SPONSORSHIP, SITE), websites.CROWD, readers=((websites.sleepless, 1),)),
    Scene.PEOPLE: Cast((KEYS, MAIL, PEOPLE), (*gadgets.CROWD, *connectors.CROWD)),
    Scene.CATALOG: Cast((KEYS, MAIL, CATALOG), editors.CROWD, readers=((editors.late_importer, 1),)),
    Scene.WHOLE: Cast(
        (KEYS, MAIL, SPONSORSHIP, SITE, PEOPLE, CATALOG),
        (
            *((live, (size + 1) // 2) for live, size in clients.CROWD),
            (rotators.rotator, 1),
            *((live, (size + 1) // 2) for live, size in buyers.CROWD),
            *((live, (size + 1) // 2) for live, size in websites.CROWD),
            *((live, (size + 1) // 2) for live, size in gadgets.CROWD),
            (connectors.connector, 1),
            (editors.editor, 1),
            (editors.mirror, 1),
            (editors.importer, 1),
        ),
        nodes=(3,),
    ),
    Scene.SUBMISSIONS: Cast((KEYS, MAIL, CATALOG, SUBMISSIONS), submissions.CROWD),
}
AREAS = (*SCENES[Scene.WHOLE].areas, SUBMISSIONS)
BUGS: Mapping[str, Bug] = {name: bug for area in AREAS for name, bug in area.bugs.items()}


def scene_of(seed: int) -> Scene:
    """Scenes alternate, so any few consecutive seeds are a mixture."""
    return tuple(Scene)[seed % len(Scene)]
