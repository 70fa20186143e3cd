"""Parsing the answer to a readiness probe, and choosing the main error line, without any process."""

import pytest

from storage.embedded.children import main_error
from storage.embedded.postmaster import _read_answer


def message(kind: bytes, payload: bytes) -> bytes:
    return kind + (len(payload) + 4).to_bytes(4, "big") + payload


AUTHENTICATED = message(b"R", bytes(4))
PARAMETER = message(b"S", b"TimeZone\0UTC\0")
READY = message(b"Z", b"I")


def error(code: bytes) -> bytes:
    return message(b"E", b"SFATAL\0C" + code + b"\0Mwhy\0\0")


@pytest.mark.parametrize(
    ("received", "code", "ready", "refused"),
    [
        (b"", "", False, False),
        (AUTHENTICATED, "", False, False),
        (AUTHENTICATED + PARAMETER + READY, "00000", True, False),
        (error(b"57P03"), "57P03", False, False),
        (error(b"53300"), "53300", True, False),
        (error(b"28000"), "28000", False, True),
        (AUTHENTICATED + error(b"3D000"), "3D000", False, True),
    ],
)
def test_a_probe_tells_ready_from_not_yet_and_never(received: bytes, code: str, ready: bool, refused: bool) -> None:
    answer = _read_answer(received)
    assert (answer.code, answer.ready, answer.refused) == (code, ready, refused)


def test_an_answer_cut_anywhere_is_no_answer_yet() -> None:
    whole = AUTHENTICATED + PARAMETER + READY
    assert {_read_answer(whole[:size]).code for size in range(len(whole))} == {""}


def test_the_main_error_is_the_error_with_its_hint_or_else_the_last_line() -> None:
    assert main_error(["creating ... initdb: error: no room", "removing"]) == "error: no room"
    assert main_error(["12:00 FATAL:  too small", "12:00 HINT:  Make room."]) == "FATAL:  too small (Make room.)"
    full = "FATAL:  could not write: No space left on device"
    assert (
        main_error([full]) == f"{full} (the file system of the data directory, or /dev/shm, is full: make room on it)"
    )
    assert main_error(["first", "last"]) == "last"
    assert main_error([]) == "no output"
