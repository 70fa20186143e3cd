"""Bugs to plant in the sides of slots and in links to reports, one at a time: see `key_bugs`."""

from typing import Any

from actors.bookings import sharing
from actors.bookings.messages import EndSharedReport
from actors.bookings.records import OPEN
from actors.bookings.reports import SharedReport
from actors.bookings.unit_of_work import UnitOfWork
from tests.simulation.planting import Bugs
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.SPONSORS)


@BUGS.around(sharing, "end_shared_report")
def ended_link_answers(right: Any, unit: UnitOfWork, message: EndSharedReport) -> Any:
    """A link that was ended still leads to its report."""
    ended = right(unit, message)
    unit.decision.unshared.clear()
    return ended


@BUGS.function(UnitOfWork, "shared")
def links_of_the_batch_not_counted(unit: UnitOfWork, tenant_id: str) -> list[SharedReport]:
    """Links of the same batch do not count towards the limit."""
    return list(unit._snapshot.shared.get(tenant_id, []))


@BUGS.around(UnitOfWork, "_is_kept")
def held_slot_moves(right: Any, unit: UnitOfWork, booking_id: str) -> bool:
    """A slot moves to the other side while its weeks are held."""
    booking = unit.booking(booking_id)
    return right(unit, booking_id) and booking is not None and booking.status not in OPEN


@BUGS.function(UnitOfWork, "booked_weeks")
def sold_slot_moves(unit: UnitOfWork, slot_id: str) -> list[int]:
    """A slot moves to the other side while its weeks are sold."""
    return []
