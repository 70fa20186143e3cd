"""The commands for slots, beside a running server or alone. Each returns the exit code and prints for a person."""

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from actors.bookings.actor import BookingLedger
from actors.bookings.records import Slot
from actors.bookings.state import BookingRules
from actors.clock import Clock, SystemClock, SystemEntropy
from actors.supervision import running
from actors.values import Refused, TransientStorageError
from service.cli.commands import AGENT, CommandError
from service.config import Config
from service.limits import actor_limits
from service.main import storage_options
from service.schemas.slots import SlotCreate, SlotEdit, offer_over
from storage.opening import Opened, open_storage

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OPTIONS = {
    "id": "--id",
    "name": "--name",
    "side": "--side",
    "weekPriceCents": "--week-price-cents",
    "durationWeeks": "--weeks",
    "packageKind": "--package",
    "description": "--description",
    "offerEndsAt": "--offer-ends",
}
"""How fields are written on the command line, for complaints."""

Add = Callable[[str, str, Any], argparse.ArgumentParser]
OverStorage = Callable[..., Any]
M = TypeVar("M", SlotCreate, SlotEdit)


# The command line.


def add_slot_commands(add: Add, over_storage: OverStorage) -> None:
    """Put the commands into the parser. `add` makes one, `over_storage` runs one with its named arguments."""
    add("list-slots", "List all slots.", over_storage(list_slots))
    create = add("create-slot", "Make a new slot; prints its id.", over_storage(create_slot, "fields"))
    create.set_defaults(fields={})
    for option in ("--name", "--side", "--week-price-cents"):
        _add_field(create, option, required=True)
    _add_field(create, "--id", help="letters a to z, digits and dashes; without it the slot gets one")
    _add_shared(create)
    edit = add("edit-slot", "Change a slot; what is not named stays.", over_storage(edit_slot, "slot_id", "fields"))
    edit.set_defaults(fields={})
    edit.add_argument("slot_id", metavar="ID")
    for option in ("--name", "--side", "--week-price-cents"):
        _add_field(edit, option)
    _add_shared(edit)
    _add_flag(edit, "--active", "active", True, "sell it; brings a retired slot back")
    _add_flag(edit, "--no-coming-soon", "comingSoon", False, "it is there")
    _add_flag(edit, "--no-offer-end", "offerEndsAt", None, "the offer has no end")
    _add_flag(edit, "--no-package", "packageKind", None, "it is no package")
    _add_flag(edit, "--no-description", "description", None, "it has no description")
    retire = add("retire-slot", "Sell a slot no more; what is booked stays.", over_storage(retire_slot, "slot_id"))
    retire.add_argument("slot_id", metavar="ID")


def _add_shared(parser: argparse.ArgumentParser) -> None:
    _add_field(parser, "--weeks", help="how many weeks are sold at once, 1 to 52")
    _add_field(parser, "--package", help="website, youtube or bundle")
    _add_field(parser, "--description", help="what a sponsor gets, up to 300 characters")
    _add_flag(parser, "--coming-soon", "comingSoon", True, "show it, and do not sell it yet")
    _add_flag(parser, "--inactive", "active", False, "do not sell it")
    _add_field(parser, "--offer-ends", help="ISO 8601 in UTC: 2027-01-31T18:00Z, or a day, whose beginning it is")


class _Field(argparse.Action):
    """Keeps a value under its name on the wire, in `fields`; the last of contradicting options counts."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        value = self.const if self.nargs == 0 else values
        namespace.fields = {**namespace.fields, self.dest: value}


def _add_field(parser: argparse.ArgumentParser, option: str, **settings: Any) -> None:
    name = next(name for name, written in OPTIONS.items() if written == option)
    match name:
        case "side":
            settings |= {"metavar": "left|right"}
        case "weekPriceCents" | "durationWeeks":
            settings |= {"type": int, "metavar": "N"}
        case "offerEndsAt":
            settings |= {"type": moment, "metavar": "TIME"}
        case _:
            settings |= {"metavar": "TEXT"}
    parser.add_argument(option, dest=name, action=_Field, default=argparse.SUPPRESS, **settings)


def _add_flag(parser: argparse.ArgumentParser, option: str, name: str, value: object, words: str) -> None:
    parser.add_argument(option, dest=name, action=_Field, nargs=0, const=value, default=argparse.SUPPRESS, help=words)


def moment(text: str) -> int:
    """Epoch milliseconds of a time in ISO 8601; without an offset it is UTC."""
    try:
        read = datetime.fromisoformat(text)
        at = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
        return (at - EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time in ISO 8601") from None


# The commands.


async def list_slots(config: Config, data_dir: Path) -> int:
    async with open_storage(storage_options(config), data_dir, beside=True, create=False) as opened:
        try:
            slots = await opened.sponsorship.slots()
        except TransientStorageError as error:
            raise CommandError(f"the database is not available: {error}") from None
    for line in table(slots, SystemClock().now_ms()):
        print(line)
    return 0


async def create_slot(config: Config, data_dir: Path, *, fields: Mapping[str, Any]) -> int:
    wanted = checked(SlotCreate, fields, SystemClock())

    async def work(ledger: BookingLedger) -> int:
        slot = await ledger.create_slot(agent=AGENT, **wanted.arguments())
        print(_kept(slot).id)
        return 0

    return await _with_ledger(config, data_dir, work)


async def edit_slot(config: Config, data_dir: Path, *, slot_id: str, fields: Mapping[str, Any]) -> int:
    if not fields:
        raise CommandError("nothing to change was named; see edit-slot --help")
    wanted = checked(SlotEdit, fields, SystemClock())

    async def work(ledger: BookingLedger) -> int:
        slot = await ledger.edit_slot(slot_id, AGENT, **wanted.arguments())
        _print(_kept(slot))
        return 0

    return await _with_ledger(config, data_dir, work)


async def retire_slot(config: Config, data_dir: Path, *, slot_id: str) -> int:
    async def work(ledger: BookingLedger) -> int:
        slot = await ledger.retire_slot(slot_id, AGENT)
        _print(_kept(slot))
        return 0

    return await _with_ledger(config, data_dir, work)


def checked(model: type[M], fields: Mapping[str, Any], clock: Clock) -> M:
    """The fields as one model, or a `CommandError` that names the option."""
    try:
        wanted = model.model_validate(dict(fields))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = str(first["loc"][0])
        words = first["msg"].removeprefix("Value error, ")
        raise CommandError(f"{OPTIONS.get(name, name)}: {words}") from None
    if offer_over(wanted, clock.now_ms()) is not None:
        raise CommandError("--offer-ends: must lie ahead")
    return wanted


def _kept(outcome: Slot | Refused) -> Slot:
    if isinstance(outcome, Refused):
        raise CommandError(outcome.message)
    return outcome


def _print(slot: Slot) -> None:
    for line in table([slot], SystemClock().now_ms()):
        print(line)


async def _with_ledger(config: Config, data_dir: Path, work: Callable[[BookingLedger], Awaitable[int]]) -> int:
    """Run `work` with a ledger of its own, over the storage of a running server or alone."""
    async with open_storage(storage_options(config), data_dir, beside=True, create=False) as opened:
        ledger = _ledger(config, opened)
        try:
            async with running([ledger]):
                return await work(ledger)
        except TransientStorageError as error:
            raise CommandError(f"the database is not available: {error}") from None


def _ledger(config: Config, opened: Opened) -> BookingLedger:
    entropy = SystemEntropy()
    return BookingLedger(
        opened.ledger,
        SystemClock(),
        entropy,
        # None of these rules concerns slots.
        BookingRules(),
        node=f"cli-{entropy.token(6).hex()}",
        limits=actor_limits(config),
    )


# What is printed.

HEADS = ("ID", "NAME", "SIDE", "CENTS A WEEK", "WEEKS", "PACKAGE", "STATE")
NUMBERS = (3, 4)
"""Columns that are aligned to the right."""


def table(slots: Sequence[Slot], now_ms: int) -> list[str]:
    """Slots as lines under a head."""
    rows = [HEADS, *(_row(slot, now_ms) for slot in slots)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    return [
        "  ".join(_cell(*cell) for cell in zip(row, widths, range(len(HEADS)), strict=True)).rstrip() for row in rows
    ]


def _row(slot: Slot, now_ms: int) -> tuple[str, ...]:
    state = state_of(slot, now_ms) + (", demo" if slot.demo else "")
    return (
        slot.id,
        slot.name,
        slot.side,
        str(slot.week_price_cents),
        str(slot.weeks),
        slot.package_kind or "-",
        state,
    )


def _cell(text: str, width: int, column: int) -> str:
    return text.rjust(width) if column in NUMBERS else text.ljust(width)


def state_of(slot: Slot, now_ms: int) -> str:
    """Whether a slot is sold, in words."""
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
