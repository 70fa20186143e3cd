"""Progress bars: on terminals only."""

import io

import pytest

from service.cli.database import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar("import", "entries") as progress:
        for done in (5, 20, 10, 20):  # an interrupted change starts again
            progress(done, 20)
    last = terminal.getvalue().rstrip("\n").rpartition("\r")[2]
    assert last.startswith("import: 100%|")
    assert " 20/20 " in last


def test_bytes_of_an_unknown_number_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress_bar("backup", "bytes") as progress:
        progress(2_500_000, 0)
    assert "backup: 2.50MB" in terminal.getvalue()


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("import", "entries") as progress:
        progress(20, 20)
    assert capsys.readouterr() == ("", "")
