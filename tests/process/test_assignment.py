"""A parent's assignment reaches the worker unchanged."""

import json
import socket
import sys
from pathlib import Path

import pytest

from service.config.loading import load
from service.config.user_errors import ConfigError
from service.process.supervisor import WorkerFailed
from service.process.worker import Assignment, spawn
from service.process.worker_process import main

SETTINGS = {
    "CATALOG__SERVER__SECRET": "a secret of this test, with \n and \u00fc",
    "CATALOG__SERVER__TRUSTED_PROXIES": "10.0.0.0/8, fd00::/8",
    "CATALOG__ADMIN__EMAILS": "ann@example.com",
    "CATALOG__DATABASE__URL": "postgresql://catalog@/catalog?host=/run",
}


def assignment() -> Assignment:
    return Assignment(3, load(None, SETTINGS), Path("data"), ("http://127.0.0.1:1", "https://[::1]:2"), ((4, 5), (6,)))


def test_an_assignment_is_one_line_and_is_read_as_it_was_written() -> None:
    line = assignment().line()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert Assignment.read(line) == assignment()


@pytest.mark.parametrize("change", ["one more", "one less"])
def test_a_parent_with_other_settings_is_refused_in_words(change: str) -> None:
    facts = json.loads(assignment().line())
    if change == "one more":
        facts["config"]["server"]["mood"] = "good"
    else:
        del facts["config"]["events"]
    with pytest.raises(ConfigError, match=r"^this version's settings differ from its parent's: restart the service$"):
        Assignment.read(json.dumps(facts).encode())


@pytest.mark.parametrize("sent", [b"", b'{"number": 1, "con'])
def test_a_worker_whose_parent_ended_before_the_whole_assignment_exits_silently(
    sent: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(sent)
    assert main([str(theirs.detach())]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_worker_that_refuses_while_nobody_hears_it_ends_all_the_same() -> None:
    ours, theirs = socket.socketpair()
    facts = json.loads(assignment().line())
    del facts["config"]["events"]
    with ours:
        ours.sendall(json.dumps(facts).encode() + b"\n")
    assert main([str(theirs.detach())]) == 2


async def test_a_process_that_cannot_be_started_is_a_worker_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example because an upgrade removed the interpreter: the other workers serve on, and the start is retried."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(WorkerFailed, match=r"^cannot start worker 3: No such file or directory$"):
        await spawn(3, load(None, SETTINGS), tmp_path, (), [])
