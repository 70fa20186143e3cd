"""The body readers agree with a simple oracle on content and rest, however the bytes are split."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http.request_body import (
    LONGEST_CHUNK_LINE,
    LONGEST_EXTRAS,
    BadBody,
    Body,
    ChunkedReader,
    ContentLengthReader,
)
from service.http.request_head import REMEMBERED_BYTES, parse_head
from tests.http.corpus import BODIES

PLAIN = re.compile(rb"([0-9A-Fa-f]{1,8})(;[\t -~\x80-\xff]*)?")
FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")


def oracle(data: bytes) -> tuple[bytes, bytes] | None:
    """Content and rest of a whole chunked body, parsed by splitting; None if it is malformed or incomplete."""
    content, extras = b"", 0
    while True:
        line, end, data = data.partition(b"\r\n")
        match = PLAIN.fullmatch(line)
        if not end or match is None or len(line) > LONGEST_CHUNK_LINE:
            return None
        extras += len(match[2] or b"")
        size = int(match[1], 16)
        if not size:
            break
        if data[size : size + 2] != b"\r\n":
            return None
        content, data = content + data[:size], data[size + 2 :]
    while True:
        line, end, data = data.partition(b"\r\n")
        if not end:
            return None
        if not line:
            return (content, data) if extras <= LONGEST_EXTRAS else None
        if not FIELD.fullmatch(line):
            return None
        extras += len(line)


def fed(body: Body, pieces: list[bytes]) -> tuple[bytes, bytes] | None:
    """Content and rest that `body` makes of `pieces`, in the form of `oracle`."""
    content, rest = b"", b""
    for piece in pieces:
        rest += piece
        if body.done:
            continue
        try:
            whole = body.ends_within(rest)
            more, rest = body.feed(rest)
        except BadBody:
            return None
        assert whole == body.done
        content += more
    return (content, rest) if body.done else None


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


places = st.lists(st.integers(0, 10_000), max_size=12)
extension = st.one_of(st.just(b""), st.sampled_from([b";a", b";a=b", b';a="x;y"', b";" + b"e" * 50]))
chunk = st.tuples(st.binary(min_size=1, max_size=40), extension, st.booleans())


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Well-formed chunked bodies."""
    parts = [
        (b"%X" if upper else b"%04x") % len(content) + extra + b"\r\n" + content + b"\r\n"
        for content, extra, upper in draw(st.lists(chunk, max_size=6))
    ]
    trailers = draw(st.sampled_from([b"", b"X: a\r\n", b"X: a\r\nY:\r\n"]))
    return b"".join(parts) + b"0" + draw(extension) + b"\r\n" + trailers + b"\r\n"


@given(body=bodies(), rest=st.binary(max_size=20), where=places)
def test_a_chunked_body_is_read_alike_however_it_is_cut(body: bytes, rest: bytes, where: list[int]) -> None:
    expected = oracle(body + rest)
    assert expected is not None
    assert expected[1] == rest
    assert fed(ChunkedReader(), cut(body + rest, where)) == expected


@given(body=bodies(), where=places, data=st.data())
def test_a_chunked_body_with_a_wrong_byte_is_judged_as_the_oracle_judges_it(
    body: bytes, where: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(body) - 1))
    instead = data.draw(st.sampled_from([b"\r", b"\n", b"\0", b" ", b";", b"0", b"a", b"", b"\r\n", b"GG"]))
    changed = body[:place] + instead + body[place + 1 :]
    assert fed(ChunkedReader(), cut(changed, where)) == oracle(changed)


@given(data=st.binary(max_size=60), where=places)
def test_any_bytes_are_judged_as_the_oracle_judges_them(data: bytes, where: list[int]) -> None:
    assert fed(ChunkedReader(), cut(data, where)) == oracle(data)


@given(length=st.integers(1, 60), data=st.binary(max_size=90), where=places)
def test_a_body_by_length_takes_its_length_and_no_byte_more(length: int, data: bytes, where: list[int]) -> None:
    expected = (data[:length], data[length:]) if len(data) >= length else None
    assert fed(ContentLengthReader(length), cut(data, where)) == expected


@pytest.mark.parametrize("data", [pytest.param(case.data, id=case.what) for case in BODIES])
def test_what_the_corpus_refuses_the_oracle_refuses_too(data: bytes) -> None:
    assert oracle(data.partition(b"\r\n\r\n")[2]) is None or b"X: aaaaaaaaaa" in data


@pytest.mark.parametrize("beginning", [b"", b"0\r\n"])
def test_a_line_without_an_end_is_refused_before_much_of_it_is_kept(beginning: bytes) -> None:
    body, rest = ChunkedReader(), beginning
    most = LONGEST_EXTRAS if beginning else LONGEST_CHUNK_LINE
    for _ in range(most + 1):
        _, rest = body.feed(rest + b"1")
    assert len(rest) == most + 1
    with pytest.raises(BadBody):
        body.feed(rest + b"1")


def test_requests_with_the_same_short_head_share_it_and_read_bodies_of_their_own() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nCookie: a=b\r\nCookie: c=d\r\nContent-Length: 3\r\n\r\n"
    first, second = parse_head(head), parse_head(bytes(bytearray(head)))
    assert first is second
    assert first.headers.by_name == {"host": "a", "cookie": "a=b; c=d", "content-length": "3"}
    readers = [each.reader() for each in (first, second)]
    assert [reader.feed(body) for reader, body in zip(readers, (b"abc", b"de"), strict=True) if reader] == [
        (b"abc", b""),
        (b"de", b""),
    ]
    assert [reader.done for reader in readers if reader] == [True, False]
    long = head.replace(b"Host: a", b"Host: a\r\nX: " + b"y" * REMEMBERED_BYTES)
    assert parse_head(long) is not parse_head(long)
