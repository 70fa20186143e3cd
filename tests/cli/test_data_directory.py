"""The default data directory."""

import os
from pathlib import Path

import pytest

from service.cli import data_directory
from service.cli.command import CommandError
from service.cli.main import main

NOBODY_KNOWN = 4_242_424


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation, run by a user without a home directory: no entry in /etc/passwd, and no HOME."""
    monkeypatch.setattr(data_directory, "INSTALLED", True)
    for name in ("getuid", "geteuid"):
        monkeypatch.setattr(os, name, lambda: NOBODY_KNOWN)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("homeless")
def test_a_user_without_a_home_directory_has_to_name_a_data_directory() -> None:
    with pytest.raises(
        CommandError, match=r"^this user has no home directory: give --data-dir DIR, or set server.data_dir$"
    ):
        data_directory.default_data_dir()


@pytest.mark.usefixtures("homeless")
def test_a_folder_for_data_in_the_environment_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")
    assert data_directory.default_data_dir() == Path("/srv/data/catalog-service")


@pytest.mark.usefixtures("homeless", "own_logging")
@pytest.mark.parametrize("command", [("openapi",), ("completion", "bash")])
def test_a_command_that_stores_nothing_needs_no_data_directory(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    assert capsys.readouterr().err == ""
