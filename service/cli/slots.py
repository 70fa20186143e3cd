"""The commands for slots."""

import argparse
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import ValidationError

from actors.bookings.actor import BookingLedger
from actors.bookings.records import Slot
from actors.bookings.state import BookingRules
from actors.clock import Clock, SystemClock, SystemEntropy
from service.cli.command import CommandError, Declared, Parser, SlotId
from service.cli.database import AGENT, accepted, open_actor, open_to_read
from service.config.model import Config
from service.running.foundation import clock_of
from service.running.limits import actor_limits
from service.schemas.problems import problems_of
from service.schemas.slots import SlotCreate, SlotEdit, offer_over
from service.terminal.layout import Column, table
from storage.opening import Opened

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HEADS = ("ID", "NAME", "SIDE", "CENTS A WEEK", "WEEKS", "PACKAGE", "STATE")
COLUMNS = [Column(head, right=head in ("CENTS A WEEK", "WEEKS")) for head in HEADS]

OFFER_ENDS = "ISO 8601 in UTC: 2027-01-31T18:00Z, or the start of a day"
M = TypeVar("M", SlotCreate, SlotEdit)


class _Field(argparse.Action):
    """Stores a value in `fields` under its name on the wire. The last of contradicting options wins."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        value = self.const if self.nargs == 0 else values
        namespace.fields = {**namespace.fields, self.dest: value}


def _number(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def moment(text: str) -> int:
    """Epoch milliseconds of a time in ISO 8601; without an offset it is UTC."""
    try:
        read = datetime.fromisoformat(text)
        at = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
        return (at - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in ISO 8601") from None


FIELDS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("--name", "name", {}),
    ("--side", "side", {"metavar": "left|right"}),
    ("--week-price-cents", "weekPriceCents", {"metavar": "N", "type": _number}),
    ("--id", "id", {"help": "letters a to z, digits and dashes; generated if not given"}),
    ("--weeks", "durationWeeks", {"metavar": "N", "type": _number, "help": "how many weeks are sold at once, 1 to 52"}),
    ("--package", "packageKind", {"help": "website, youtube or bundle"}),
    ("--description", "description", {"help": "what a sponsor gets, up to 300 characters"}),
    ("--coming-soon", "comingSoon", {"const": True, "help": "show it, but do not sell it yet"}),
    ("--inactive", "active", {"const": False, "help": "do not sell it"}),
    ("--offer-ends", "offerEndsAt", {"metavar": "TIME", "type": moment, "help": OFFER_ENDS}),
    ("--active", "active", {"const": True, "help": "sell it; also brings back a retired slot"}),
    ("--no-coming-soon", "comingSoon", {"const": False, "help": "no longer show it as coming soon"}),
    ("--no-offer-end", "offerEndsAt", {"const": None, "help": "let the offer run without an end"}),
    ("--no-package", "packageKind", {"const": None, "help": "make it no package"}),
    ("--no-description", "description", {"const": None, "help": "remove the description"}),
)
"""The options, their fields on the wire, and their settings. `const` is the value of one that takes none."""
OPTIONS = {field: option for option, field, settings in FIELDS if "const" not in settings}
NEEDED = ("--name", "--side", "--week-price-cents")
OF_NEW, OF_OLD = ("--id",), ("--active", "--no-coming-soon", "--no-offer-end", "--no-package", "--no-description")


def _fields(needed: Sequence[str], left_out: Sequence[str]) -> Declared:
    """The options of a slot, which make a parameter of all fields that are given."""

    def add(parser: Parser, _: Parameter) -> None:
        parser.set_defaults(fields={})
        for option, field, settings in FIELDS:
            kind: dict[str, Any] = {"nargs": 0} if "const" in settings else {"metavar": "TEXT"}
            shared: dict[str, Any] = {"dest": field, "action": _Field, "default": argparse.SUPPRESS}
            if option not in left_out:
                parser.add_argument(option, required=option in needed, **{**shared, **kind, **settings})

    return add


async def list_slots(config: Config, data_dir: Path) -> None:
    async with open_to_read(config, data_dir) as opened:
        _print(await opened.sponsorship.slots(), await clock_of(config, opened))


async def create_slot(
    config: Config, data_dir: Path, *, fields: Annotated[Mapping[str, Any], _fields(NEEDED, OF_OLD)]
) -> None:
    wanted = checked(SlotCreate, fields, SystemClock())
    async with open_actor(config, data_dir, _new_ledger) as (ledger, _):
        print(accepted(await ledger.create_slot(agent=AGENT, **wanted.arguments())).id)


async def edit_slot(
    config: Config,
    data_dir: Path,
    *,
    slot_id: SlotId,
    fields: Annotated[Mapping[str, Any], _fields((), OF_NEW)],
) -> None:
    if not fields:
        raise CommandError("nothing to change was given; see edit-slot --help")
    wanted = checked(SlotEdit, fields, SystemClock())
    async with open_actor(config, data_dir, _new_ledger) as (ledger, opened):
        _print([accepted(await ledger.edit_slot(slot_id, AGENT, **wanted.arguments()))], await clock_of(config, opened))


async def retire_slot(config: Config, data_dir: Path, *, slot_id: SlotId) -> None:
    async with open_actor(config, data_dir, _new_ledger) as (ledger, opened):
        _print([accepted(await ledger.retire_slot(slot_id, AGENT))], await clock_of(config, opened))


def checked(model: type[M], fields: Mapping[str, Any], clock: Clock) -> M:
    """The fields as a model. Raises `CommandError` with the name of the first wrong option."""
    try:
        wanted = model.model_validate(dict(fields))
    except ValidationError as error:
        first = problems_of(error)[0]
        raise CommandError(f"{OPTIONS.get(first.field, first.field)}: {first.message}") from None
    if offer_over(wanted, clock.now_ms()) is not None:
        raise CommandError("--offer-ends: must be in the future")
    return wanted


def _print(slots: Sequence[Slot], clock: Clock) -> None:
    for line in lines(slots, clock.now_ms()):
        print(line)


def lines(slots: Sequence[Slot], now_ms: int) -> list[str]:
    """A header line and one line per slot."""
    return table(COLUMNS, [_row(slot, now_ms) for slot in slots], None)


def _row(slot: Slot, now_ms: int) -> tuple[str, ...]:
    state = state_of(slot, now_ms) + (", demo" if slot.demo else "")
    price, weeks = str(slot.week_price_cents), str(slot.weeks)
    return slot.id, slot.name, slot.side, price, weeks, slot.package_kind or "-", state


def state_of(slot: Slot, now_ms: int) -> str:
    """The state of sale, such as `on sale until 2027-01-31 18:00 UTC`."""
    if slot.retired_ms is not None:
        return "retired"
    if not slot.active:
        return "inactive"
    if slot.coming_soon:
        return "coming soon"
    if slot.offer_ends_ms is None:
        return "on sale"
    return f"on sale until {_written(slot.offer_ends_ms)}" if now_ms < slot.offer_ends_ms else "offer ended"


def _written(at_ms: int) -> str:
    try:
        return (EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%d %H:%M UTC")
    except OverflowError:
        return "after the year 9999"


async def _new_ledger(config: Config, data_dir: Path, opened: Opened, node: str) -> BookingLedger:
    # None of the booking rules concerns slots.
    rules, limits = BookingRules(), actor_limits(config)
    clock = await clock_of(config, opened)
    return BookingLedger(opened.ledger, clock, SystemEntropy(), rules, node=node, limits=limits)
