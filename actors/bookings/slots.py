"""Slots: commands of administrators, and when a slot is sold. Pure; source: ADR 0021."""

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

from actors.bookings.messages import Answer, CreateSlot, EditSlot, RetireSlot
from actors.bookings.records import Slot
from actors.bookings.unit_of_work import UnitOfWork
from actors.shared.dates import days
from actors.times import WEEK_MS
from actors.values import Code, Problem, Refused, unknown

unknown_slot = partial(unknown, "slot")

_UNAUDITED = ("id", "created_ms", "demo")
"""Fields that never change, and so are not part of a difference."""

MAX_CENTS = 99_999_999
"""The largest amount of one booking: the most that card processors accept."""


def sells(slot: Slot, now_ms: int) -> bool:
    """Whether a slot is sold now, whichever weeks are free."""
    offered = slot.offer_ends_ms is None or now_ms < slot.offer_ends_ms
    return slot.active and not slot.coming_soon and slot.retired_ms is None and offered


def create_slot(unit: UnitOfWork, message: CreateSlot) -> Answer:
    slot = message.slot
    if unit.slot(slot.id) is not None:
        return Refused(Code.INVALID_STATE, f"A slot with the id {slot.id} already exists. Choose another id.")
    if _too_dear(slot):
        return too_expensive()
    unit.save_slot(slot)
    unit.audit(message.origin, "slot.created", "slot", slot.id, _audited_fields(slot))
    return slot


def edit_slot(unit: UnitOfWork, message: EditSlot) -> Answer:
    slot = unit.slot(message.slot_id)
    if slot is None:
        return unknown_slot()
    given = {field.name: getattr(message, field.name, None) for field in fields(Slot)}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes |= dict.fromkeys(message.clear)
    if changes.get("active"):
        changes["retired_ms"] = None
    edited = replace(slot, **changes)
    if _too_dear(edited):
        return too_expensive()
    if edited.side is not slot.side and (booked := unit.booked_weeks(slot.id)):
        return _booked_there(slot, booked, unit.now_ms)
    if edited != slot:
        unit.save_slot(edited)
        old, new = _audited_fields(slot), _audited_fields(edited)
        difference = {name: [old[name], new[name]] for name in old if old[name] != new[name]}
        unit.audit(message.origin, "slot.edited", "slot", slot.id, difference)
    return edited


MOST_PERIODS = 5
"""The periods of booked weeks that a refusal names."""


def _booked_there(slot: Slot, weeks: Sequence[int], now_ms: int) -> Refused:
    """The refusal to move a slot while weeks are booked: all else that a sponsor booked is stored with the booking."""
    periods: list[tuple[int, int]] = []
    for week_ms in weeks:
        first_ms = periods.pop()[0] if periods and periods[-1][1] == week_ms else week_ms
        periods.append((first_ms, week_ms + WEEK_MS))
    named = [days(*period, now_ms) for period in periods[:MOST_PERIODS]]
    more = ["later weeks"] if len(periods) > MOST_PERIODS else []
    return Refused(
        Code.INVALID_STATE,
        f"The side of this slot cannot change: the {slot.side} side is booked for {', '.join([*named, *more])}. Create "
        "another slot, or change the side after these weeks.",
    )


def retire_slot(unit: UnitOfWork, message: RetireSlot) -> Answer:
    slot = unit.slot(message.slot_id)
    if slot is None:
        return unknown_slot()
    if slot.retired_ms is None:
        slot = replace(slot, active=False, retired_ms=unit.now_ms)
        unit.save_slot(slot)
        unit.audit(message.origin, "slot.retired", "slot", slot.id)
    return slot


def too_expensive() -> Refused:
    message = f"All weeks of a booking together may cost at most {MAX_CENTS} cents."
    problem = Problem("weekPriceCents", "too_expensive", f"times the weeks may be at most {MAX_CENTS} cents")
    return Refused(Code.INVALID_REQUEST, message, problems=(problem,))


def _too_dear(slot: Slot) -> bool:
    return slot.weeks * slot.week_price_cents > MAX_CENTS


def _audited_fields(slot: Slot) -> dict[str, Any]:
    return {name: value for name, value in asdict(slot).items() if name not in _UNAUDITED}
