"""The errors that all commands share. No storage is opened."""

import pytest
import trio

from actors.values import Code, OutcomeUnknown, Refused, StorageUnavailable
from service.cli.command import CommandError
from service.cli.database import accepted, database_errors


@pytest.mark.parametrize("kind", [StorageUnavailable, OutcomeUnknown])
async def test_a_database_that_fails_inside_a_nursery_is_a_command_error(kind: type[Exception]) -> None:
    with pytest.raises(CommandError, match=r"^the database is not available: no connection$"), database_errors():
        async with trio.open_nursery():
            raise kind("no connection")


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(CommandError, match="there is no such key"), database_errors():
        raise CommandError("there is no such key")


def test_a_refused_change_is_a_command_error() -> None:
    assert accepted(7) == 7
    with pytest.raises(CommandError, match="no such slot"):
        accepted(Refused(Code.NOT_FOUND, "There is no such slot."))
