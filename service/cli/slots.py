"""The commands for slots."""

import argparse
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from actors.bookings.actor import BookingLedger
from actors.bookings.records import Slot
from actors.bookings.state import BookingRules
from actors.clock import Clock, SystemClock, SystemEntropy
from actors.kernel.supervision import running
from service.cli.command import CommandError, Commands, Parser
from service.cli.database import AGENT, accepted, open_beside
from service.cli.slot_table import EPOCH, table
from service.config.model import Config
from service.running.limits import actor_limits
from service.schemas.problems import problems_of
from service.schemas.slots import SlotCreate, SlotEdit, offer_over

FIELDS = {
    "--id": "id",
    "--name": "name",
    "--side": "side",
    "--week-price-cents": "weekPriceCents",
    "--weeks": "durationWeeks",
    "--package": "packageKind",
    "--description": "description",
    "--offer-ends": "offerEndsAt",
}
"""The options that take a value, and their fields on the wire."""
OPTIONS = {field: option for option, field in FIELDS.items()}

M = TypeVar("M", SlotCreate, SlotEdit)


def add_slot_commands(commands: Commands) -> None:
    commands.add("list-slots", list_slots)
    create = commands.add("create-slot", create_slot, "fields")
    create.set_defaults(fields={})
    _add_required_fields(create, required=True)
    _add_field(create, "--id", help="letters a to z, digits and dashes; generated if not given")
    _add_optional_fields(create)
    edit = commands.add("edit-slot", edit_slot, "slot_id", "fields")
    edit.set_defaults(fields={})
    edit.add_argument("slot_id", metavar="ID")
    _add_required_fields(edit, required=False)
    _add_optional_fields(edit)
    _add_flag(edit, "--active", "active", True, "sell it; also brings back a retired slot")
    _add_flag(edit, "--no-coming-soon", "comingSoon", False, "no longer show it as coming soon")
    _add_flag(edit, "--no-offer-end", "offerEndsAt", None, "let the offer run without an end")
    _add_flag(edit, "--no-package", "packageKind", None, "make it no package")
    _add_flag(edit, "--no-description", "description", None, "remove the description")
    retire = commands.add("retire-slot", retire_slot, "slot_id")
    retire.add_argument("slot_id", metavar="ID")


def _add_required_fields(parser: Parser, *, required: bool) -> None:
    _add_field(parser, "--name", required=required)
    _add_field(parser, "--side", metavar="left|right", required=required)
    _add_field(parser, "--week-price-cents", type=_number, metavar="N", required=required)


def _add_optional_fields(parser: Parser) -> None:
    _add_field(parser, "--weeks", type=_number, metavar="N", help="how many weeks are sold at once, 1 to 52")
    _add_field(parser, "--package", help="website, youtube or bundle")
    _add_field(parser, "--description", help="what a sponsor gets, up to 300 characters")
    _add_flag(parser, "--coming-soon", "comingSoon", True, "show it, but do not sell it yet")
    _add_flag(parser, "--inactive", "active", False, "do not sell it")
    _add_field(
        parser,
        "--offer-ends",
        type=moment,
        metavar="TIME",
        help="ISO 8601 in UTC: 2027-01-31T18:00Z, or the start of a day",
    )


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


def _add_field(parser: Parser, option: str, metavar: str = "TEXT", **settings: Any) -> None:
    parser.add_argument(
        option, dest=FIELDS[option], action=_Field, default=argparse.SUPPRESS, metavar=metavar, **settings
    )


def _add_flag(parser: Parser, option: str, field: str, value: object, summary: str) -> None:
    parser.add_argument(
        option, dest=field, action=_Field, nargs=0, const=value, default=argparse.SUPPRESS, help=summary
    )


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


async def list_slots(config: Config, data_dir: Path) -> None:
    async with open_beside(config, data_dir) as opened:
        _print(await opened.sponsorship.slots())


async def create_slot(config: Config, data_dir: Path, *, fields: Mapping[str, Any]) -> None:
    wanted = checked(SlotCreate, fields, SystemClock())
    async with _open_ledger(config, data_dir) as ledger:
        print(accepted(await ledger.create_slot(agent=AGENT, **wanted.arguments())).id)


async def edit_slot(config: Config, data_dir: Path, *, slot_id: str, fields: Mapping[str, Any]) -> None:
    if not fields:
        raise CommandError("nothing to change was given; see edit-slot --help")
    wanted = checked(SlotEdit, fields, SystemClock())
    async with _open_ledger(config, data_dir) as ledger:
        _print([accepted(await ledger.edit_slot(slot_id, AGENT, **wanted.arguments()))])


async def retire_slot(config: Config, data_dir: Path, *, slot_id: str) -> None:
    async with _open_ledger(config, data_dir) as ledger:
        _print([accepted(await ledger.retire_slot(slot_id, AGENT))])


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


def _print(slots: Sequence[Slot]) -> None:
    for line in table(slots, SystemClock().now_ms()):
        print(line)


@asynccontextmanager
async def _open_ledger(config: Config, data_dir: Path) -> AsyncIterator[BookingLedger]:
    """A running booking ledger over open storage. Raises `CommandError` if the database fails during the block."""
    async with open_beside(config, data_dir) as opened:
        clock, entropy = SystemClock(), SystemEntropy()
        node = f"cli-{entropy.token(6).hex()}"
        # None of the booking rules concerns slots.
        ledger = BookingLedger(opened.ledger, clock, entropy, BookingRules(), node=node, limits=actor_limits(config))
        async with running([ledger]):
            yield ledger
