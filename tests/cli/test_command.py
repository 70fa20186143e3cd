"""The errors that all commands share. No storage is opened."""

import pytest

from actors.values import Code, Refused
from service.cli.command import CommandError
from service.cli.database import accepted


def test_a_refused_change_is_a_command_error() -> None:
    assert accepted(7) == 7
    with pytest.raises(CommandError, match="no such slot"):
        accepted(Refused(Code.NOT_FOUND, "There is no such slot."))
