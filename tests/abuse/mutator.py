"""Makes the bytes of a mutation, and the way to send them, from a seed and a number. Deterministic."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tests.abuse.seeds import NUMBER, SEEDS

MOST_CHANGES = 6
LONGEST = 100_000
INTERESTING = (
    b"\r", b"\n", b"\x00", b":", b" ", b"\xff", b"\t", b",", b";", b"%", b"\x0b", b"\x7f", b"\x80", b"\r\n", b"\r\n\r\n",
    b"\n\n", b"\r\n ", b"0\r\n\r\n", b"%00", b"%0d%0a", b"../", b"HTTP/1.1", b"HTTP/1.0", b"chunked", b"close",
    b"content-length: 1\r\n", b"transfer-encoding: chunked\r\n", b"host: other.example.com\r\n", b"a" * 20_000,
)  # fmt: skip
SIZES = (
    b"0", b"1", b"2", b"-1", b"+1", b"00", b"0x10", b"1e3", b"1_0", b" 7", b"7 ", b"3,3", b"4096", b"16384", b"16385",
    b"2147483648", b"4294967296", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"9" * 30,
    b"ffffffff", b"fffffffffffffffff", b"\xd9\xa3", b"",
)  # fmt: skip
_SIZE = re.compile(rb"(?<=content-length: )\d+|(?<=\r\n)[0-9a-f]+(?=\r\n)|(?<=HTTP/)\d\.\d|(?<=limit=)\d+")


class Manner(StrEnum):
    """The way to send a mutation: `OPEN` on a connection shared with others, `ENDED` with the client's side closed after it,
    `DROPPED` with a reset before a response is possible, `PIECES` like `ENDED`, but in pieces.
    """

    OPEN = "open"
    ENDED = "ended"
    PIECES = "pieces"
    DROPPED = "dropped"


SHARES = {Manner.OPEN: 50, Manner.ENDED: 20, Manner.PIECES: 10, Manner.DROPPED: 20}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation. `changes` names the changes to the seed request."""

    number: int
    data: bytes
    manner: Manner
    changes: tuple[str, ...]


def mutation(seed: int, number: int) -> Mutation:
    """The mutation of this number."""
    chance = random.Random(f"{seed}:{number}")
    data = chance.choice(SEEDS)
    names = []
    for _ in range(chance.randint(1, MOST_CHANGES)):
        change = chance.choice(CHANGES)
        data = change(chance, data)[:LONGEST]
        names.append(change.__name__.strip("_"))
    manner = chance.choices(list(SHARES), list(SHARES.values()))[0]
    return Mutation(number, data.replace(NUMBER, b"%d" % number), manner, tuple(names))


def _place(chance: random.Random, data: bytes) -> int:
    return chance.randrange(len(data) + 1)


def _piece(chance: random.Random, data: bytes, longest: int = 64) -> tuple[int, int]:
    start = _place(chance, data)
    return start, min(len(data), start + chance.randint(1, longest))


def _flip(chance: random.Random, data: bytes) -> bytes:
    """Flip bits in up to eight bytes."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _insert(chance: random.Random, data: bytes) -> bytes:
    at = _place(chance, data)
    return data[:at] + chance.randbytes(chance.randint(1, 16)) + data[at:]


def _delete(chance: random.Random, data: bytes) -> bytes:
    start, end = _piece(chance, data)
    return data[:start] + data[end:]


def _splice(chance: random.Random, data: bytes) -> bytes:
    """Join the beginning of one and the end of another."""
    other = chance.choice(SEEDS)
    return data[: _place(chance, data)] + other[_place(chance, other) :]


def _duplicate(chance: random.Random, data: bytes) -> bytes:
    start, end = _piece(chance, data, longest=300)
    return data[:end] + data[start:end] * chance.choice((1, 1, 1, 2, 50)) + data[end:]


def _truncate(chance: random.Random, data: bytes) -> bytes:
    return data[: _place(chance, data)]


def _interest(chance: random.Random, data: bytes) -> bytes:
    """Insert bytes with a meaning to parsers, or overwrite others with them."""
    word = chance.choice(INTERESTING)
    at = _place(chance, data)
    return data[:at] + word + data[at + chance.choice((0, len(word))) :]


def _size(chance: random.Random, data: bytes) -> bytes:
    """Replace the number of a length, a chunk size or a version."""
    places = list(_SIZE.finditer(data))
    if not places:
        return _interest(chance, data)
    place = chance.choice(places)
    return data[: place.start()] + chance.choice(SIZES) + data[place.end() :]


def _repeat_line(chance: random.Random, data: bytes) -> bytes:
    """Repeat a line somewhere else."""
    lines = data.split(b"\r\n")
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
    return b"\r\n".join(lines)


CHANGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip,
    _insert,
    _delete,
    _splice,
    _duplicate,
    _truncate,
    _interest,
    _size,
    _size,
    _repeat_line,
)
