"""A history is read strictly. Only a torn last line is left out."""

import io

import pytest

from tests.judge.lines import MAX_LINE, BadHistory, line_of, read_history
from tests.judge.records import VERSION, Answer, Asked, Booking, Event, Header, Operation, Usage

HEADER = b'{"history":1}\n'
LINE = b'{"client":"a","node":"n","kind":"getBooking","began":1,"ended":2,"asked":{}}\n'


def read(*lines: bytes) -> list[Operation]:
    return list(read_history(io.BytesIO(b"".join(lines))).operations)


def test_a_line_has_no_absent_fields_and_is_read_as_it_was_written() -> None:
    operation = Operation(
        "a",
        "n",
        "getBooking",
        1,
        2.5,
        Asked(caller="key-1", metered=True, events=(Event("b", "click", None),)),
        Answer(200, bookings=(Booking("b", "paid", paid=0),), usage=Usage("anonymous", 0, 5, 0)),
    )
    line = line_of(operation)
    assert line == (
        b'{"client":"a","node":"n","kind":"getBooking","began":1,"ended":2.5,'
        b'"asked":{"caller":"key-1","metered":true,"events":[["b","click",null]]},'
        b'"answer":{"status":200,"usage":{"status":"anonymous","used":0,"cap":5,"day_used":0},'
        b'"bookings":[{"id":"b","status":"paid","paid":0}]}}\n'
    )
    assert read(HEADER, line) == [operation]
    assert line_of(Header(VERSION, whole=True)) == b'{"history":1,"whole":true}\n'


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([], "it is empty"),
        ([b'{"history":1,"clock_ms":-5}\n'], "line 1: clock_ms and visible_ms are from 0 to a day"),
        ([HEADER, LINE, HEADER], "line 3: a second history begins"),
        ([HEADER, LINE.replace(b"2,", b"1e15,")], "line 2: 1000000000000000.0 is not of the type float, or out of"),
        ([HEADER, "\ufeff{}\n".encode("utf-16")], "line 2: it is not UTF-8"),
        ([b'{"history":2}\n'], "line 1: version 2"),
        ([b'{"whole":true}\n'], "line 1: 'history' is missing"),
        ([HEADER, b"[]\n"], "line 2: [] is not an object"),
        ([HEADER, LINE, b"{\n", LINE], "line 3: "),
        ([HEADER, LINE, b"{\n"], "line 3: "),
        ([HEADER, LINE.replace(b'"client"', b'"who"')], "line 2: 'who' is no name of a record (Operation)"),
        ([HEADER, LINE.replace(b"{}", b'{"x":1}')], "line 2: 'x' is no name of a record (Asked)"),
        ([HEADER, LINE.replace(b',"asked":{}', b"")], "line 2: 'asked' is missing"),
        ([HEADER, LINE.replace(b"1,", b"true,")], "line 2: True is not of the type float"),
        ([HEADER, LINE.replace(b"1,", b"NaN,")], "line 2: NaN is not a number"),
        ([HEADER, LINE.replace(b"2,", b"1e999,")], "line 2: inf is not of the type float"),
        ([HEADER, LINE.replace(b"2,", b"0,")], "line 2: it ended before it began"),
        ([HEADER, LINE.replace(b"{}", b'{"week":1.0}')], "line 2: 1.0 is not of the type int"),
        ([HEADER, LINE.replace(b"{}", b'{"events":[["a","b"]]}')], "line 2: ['a', 'b'] is not an array of 3 values"),
        ([HEADER, b" " * MAX_LINE + LINE], f"line 2: it is longer than {MAX_LINE} bytes"),
        ([HEADER, LINE, b" " * (MAX_LINE + 1)], f"line 3: it is longer than {MAX_LINE} bytes"),
        ([HEADER, b"[" * 100_000 + b"\n"], "line 2: "),
    ],
)
def test_a_fault_is_an_error_with_its_line(lines: list[bytes], fault: str) -> None:
    with pytest.raises(BadHistory) as caught:
        read(*lines)
    assert str(caught.value).startswith(fault)


def test_a_torn_last_line_is_left_out_and_told() -> None:
    history = read_history(io.BytesIO(HEADER + LINE + LINE[:-9]))
    assert len(history.operations) == 1
    assert str(history.torn).startswith("the last line is torn and was left out: line 3: ")
    whole = read_history(io.BytesIO(HEADER + LINE + LINE[:-1]))
    assert len(whole.operations) == 2
    assert whole.torn is None


def test_a_record_that_is_too_long_is_not_written() -> None:
    with pytest.raises(BadHistory, match="longer than a line"):
        line_of(Operation("a" * MAX_LINE, "n", "k", 0, 0, Asked()))
