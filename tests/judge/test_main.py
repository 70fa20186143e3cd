"""The program tells what it found in sentences, and by its exit code."""

from pathlib import Path

import pytest

from tests.judge.__main__ import main
from tests.judge.lines import line_of
from tests.judge.records import VERSION, Header
from tests.judge.small import event, op

HEADER = line_of(Header(VERSION, "a test", whole=True, fresh=True))
ONCE, TWICE = line_of(event(0, "v")), line_of(event(1, "v", by="d"))


def told(path: Path, *lines: bytes, options: tuple[str, ...] = ()) -> int:
    path.write_bytes(b"".join(lines))
    return main([str(path), *options])


def test_a_broken_promise_is_told_with_its_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(tmp_path / "history", HEADER, ONCE, TWICE, ONCE[:-9]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 operations of a fresh history by a test"
    assert lines[1].startswith("the last line is torn and was left out: line 4: ")
    assert lines[2] == "it is judged as one that is not whole: its last line is torn"
    assert "1. a slot's week has one owner at a time: 0 judged (nothing to judge)" in lines
    assert "5. an event is recorded once a day: 2 judged, 1 broken" in lines
    at = lines.index("Promise 5 is broken: an event is recorded once a day.")
    assert lines[at + 1] == "- the impression of visitor v on booking b was recorded twice in one day."
    assert lines[at + 3] == "    2026-11-18T12:00:01.000Z to 12:00:01.100Z, d at n: recordEvent: 200; recorded"


def test_the_exit_code_tells_a_clean_history_from_one_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history"
    assert told(path, HEADER, ONCE, options=("--clock-ms", "0", "--visible-ms", "0")) == 0
    assert "not judged" not in capsys.readouterr().out
    assert told(path, HEADER, b"{}\n") == told(path, b"") == main([str(tmp_path / "none")]) == 2
    assert told(path, HEADER, line_of(op("clock", 0))) == 2
    assert told(path, HEADER, line_of(op("clock", 0, status=404))) == 0
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert all(f"{tmp_path}" in each and " cannot be read: " in each for each in errors)
    for wrong in ("-5", "100000000000", "x"):
        with pytest.raises(SystemExit) as ended:
            told(path, HEADER, options=("--clock-ms", wrong))
        assert ended.value.code == 2


def test_a_history_is_not_whole_with_a_form_that_was_not_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for status, words in (
        (403, "1 operations of a whole"),
        (303, "what the request of 2026-11-18T12:00:00.000Z to a page"),
    ):
        assert told(tmp_path / "history", HEADER, line_of(op("page", 0, status=status))) == 0
        assert words in capsys.readouterr().out


def test_names_do_nothing_to_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line_of(event(at, "v", by="a\x1b[31m\n- b")) for at in (0, 1)]
    assert told(tmp_path / "history", HEADER, *lines) == 1
    assert "a\ufffd[31m - b at n: recordEvent" in capsys.readouterr().out
