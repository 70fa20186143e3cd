"""Histories as JSON lines: strict to read, small to write.

An unknown name, a value of another type, a missing one and a line that is too long are errors with the number of the line.
A last line without its end is torn: the recorder was stopped while it wrote. It is left out and told.
"""

import json
import types
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from sys import intern
from typing import IO, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tests.judge.finding import DAY_MS
from tests.judge.records import VERSION, Header, History, Operation

MAX_LINE = 1_048_576
"""Bytes of a line, its end included."""

EARLIEST_MS, LATEST_MS = -(2**45), 2**47
"""The years 855 and 6429, between which times are compared. No number of a history is beyond them."""

T = TypeVar("T")
Reader = Callable[[Any], Any]


class BadHistory(Exception):
    """A history cannot be read. Its text names the line and the fault."""


def read_history(stream: IO[bytes]) -> History:
    """Read all of a history. Raises `BadHistory`."""
    first, torn = stream.readline(MAX_LINE + 1), None
    if not first:
        raise BadHistory("it is empty")
    header = _parsed(first, 1, Header)
    if header.history != VERSION:
        raise BadHistory(f"line 1: version {header.history} of the format; this program reads version {VERSION}")
    if not (0 <= header.clock_ms <= DAY_MS and 0 <= header.visible_ms <= DAY_MS):
        raise BadHistory("line 1: clock_ms and visible_ms are from 0 to a day")
    operations: list[Operation] = []
    number = 1
    while line := stream.readline(MAX_LINE + 1):
        number += 1
        if line.startswith(b'{"history"'):
            raise BadHistory(f"line {number}: a second history begins; each has a file of its own")
        try:
            operation = _parsed(line, number, Operation)
            if operation.ended < operation.began:
                raise BadHistory(f"line {number}: it ended before it began")
            operations.append(operation)
        except BadHistory as error:
            if line.endswith(b"\n") or len(line) > MAX_LINE:
                raise
            torn = f"the last line is torn and was left out: {error}"
    return History(header, operations, torn)


def _parsed(line: bytes, number: int, shape: Callable[..., T]) -> T:
    if len(line) > MAX_LINE:
        raise BadHistory(f"line {number}: it is longer than {MAX_LINE} bytes")
    try:
        read: T = reader_of(shape)(json.loads(line.decode("utf-8-sig"), parse_constant=_no_number))
    except UnicodeDecodeError:
        raise BadHistory(f"line {number}: it is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise BadHistory(f"line {number}: {error}") from None
    return read


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def write_history(stream: IO[bytes], header: Header, operations: Iterable[Operation]) -> None:
    """Write a whole history. A recorder writes the header and then each operation as it ends."""
    stream.write(line_of(header))
    for operation in operations:
        stream.write(line_of(operation))


def line_of(record: Header | Operation) -> bytes:
    """The line of a record. Raises `BadHistory` if it is longer than `MAX_LINE`."""
    line = json.dumps(plain(record), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise BadHistory(f"a record of {len(line)} bytes is longer than a line may be ({MAX_LINE} bytes)")
    return line


# Shapes: a reader and a writer for each record, made from the types of its fields.


@cache
def reader_of(shape: Any) -> Reader:
    """The function from a value of JSON to one of this type. It raises `ValueError`."""
    if shape is str:
        return _text
    if shape in (int, bool, float):
        return _exactly(shape)
    origin, inner = get_origin(shape), get_args(shape)
    if origin in (Union, types.UnionType):
        [wanted] = [each for each in inner if each is not type(None)]
        read = reader_of(wanted)
        return lambda value: None if value is None else read(value)
    if origin is Sequence:
        return _sequence(reader_of(inner[0]))
    readers = {name: reader_of(hint) for name, hint in get_type_hints(shape).items()}
    return _object(shape, readers) if shape._field_defaults else _array(shape, [*readers.values()])


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(f"{_short(value)} is not a text")
    return intern(value) if len(value) < 40 else value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _exactly(wanted: type) -> Reader:
    allowed = (int, float) if wanted is float else (wanted,)

    def read(value: Any) -> Any:
        if type(value) not in allowed or not EARLIEST_MS <= value <= LATEST_MS:
            raise ValueError(f"{_short(value)} is not of the type {wanted.__name__}, or out of range")
        return value

    return read


def _sequence(read: Reader) -> Reader:
    def read_all(value: Any) -> Any:
        if type(value) is not list:
            raise ValueError(f"{_short(value)} is not an array")
        return tuple([read(each) for each in value])

    return read_all


def _array(shape: Any, readers: Sequence[Reader]) -> Reader:
    def read_array(value: Any) -> Any:
        if type(value) is not list or len(value) != len(readers):
            raise ValueError(f"{_short(value)} is not an array of {len(readers)} values")
        return shape(*[read(each) for read, each in zip(readers, value, strict=True)])

    return read_array


def _object(shape: Any, readers: dict[str, Reader]) -> Reader:
    """Objects are made by `_make` from the values of a copied template, which takes half the time of names."""
    template = {name: shape._field_defaults.get(name, ...) for name in readers}
    required = [name for name in readers if name not in shape._field_defaults]

    def read_object(value: Any) -> Any:
        if type(value) is not dict:
            raise ValueError(f"{_short(value)} is not an object")
        found = template.copy()
        for name, each in value.items():
            if name not in readers:
                raise ValueError(f"{name!r} is no name of a record ({shape.__name__})")
            found[name] = readers[name](each)
        for name in required:
            if found[name] is ...:
                raise ValueError(f"{name!r} is missing ({shape.__name__})")
        return shape._make(found.values())

    return read_object


def plain(value: Any) -> Any:
    """A record as a value of JSON, without fields that have their default."""
    if not isinstance(value, tuple | list):
        return value
    names, defaults = getattr(value, "_fields", None), getattr(value, "_field_defaults", None)
    if not names or not defaults:
        return [plain(each) for each in value]
    return {
        name: plain(field)
        for name, field in zip(names, value, strict=True)
        if field is not None and (name not in defaults or field != defaults[name])
    }
