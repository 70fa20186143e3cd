"""The cost of frames does not depend on how the bytes are split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http.frames import (
    CONTINUATION,
    DATA,
    END_STREAM,
    HEADERS,
    LONGEST_BLOCK,
    LONGEST_FRAME,
    RESET_COST,
    RST_STREAM,
    SMALL_DATA,
    FrameScanner,
    TooLong,
)
from tests.http.test_framing import cut, places

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
PING, SETTINGS, PRIORITY, WINDOW_UPDATE, UNKNOWN = 0x6, 0x4, 0x2, 0x8, 0xFE


def frame(kind: int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def cost(*frames: bytes) -> int:
    return FrameScanner().cost_of(PREFACE + b"".join(frames))


def test_frames_that_carry_requests_are_free() -> None:
    assert (
        cost(frame(HEADERS, b"abc"), frame(CONTINUATION, b"d" * 300), frame(DATA, b"e" * 16_384), frame(HEADERS)) == 0
    )


def test_frames_that_carry_nothing_cost_their_bytes() -> None:
    assert cost(frame(PING, bytes(8))) == 17
    assert cost(frame(SETTINGS)) == 9
    assert cost(frame(PRIORITY, bytes(5)), frame(WINDOW_UPDATE, bytes(4))) == 14 + 13
    assert cost(frame(UNKNOWN, bytes(16_000))) == 16_009
    assert cost(frame(DATA)) == 9


def test_small_pieces_of_a_body_cost_their_bytes_unless_they_end_it() -> None:
    assert cost(frame(DATA, bytes(SMALL_DATA - 1))) == 9 + SMALL_DATA - 1
    assert cost(frame(DATA, bytes(SMALL_DATA))) == 0
    assert cost(frame(DATA, b"a", flags=END_STREAM)) == 0
    assert cost(frame(DATA, flags=END_STREAM)) == 9


@pytest.mark.parametrize(
    "frames",
    [
        frame(DATA, bytes(LONGEST_FRAME + 1)),
        frame(UNKNOWN, bytes(LONGEST_FRAME + 1)),
        frame(HEADERS, bytes(LONGEST_FRAME)) + frame(CONTINUATION, bytes(LONGEST_BLOCK - LONGEST_FRAME + 1)),
        frame(HEADERS) + frame(CONTINUATION, b"a") * (LONGEST_BLOCK + 1),
    ],
)
def test_what_is_too_long_is_rejected_before_it_is_buffered(frames: bytes) -> None:
    with pytest.raises(TooLong):
        cost(frames)
    assert cost(frame(HEADERS, bytes(LONGEST_FRAME)), frame(HEADERS, bytes(LONGEST_FRAME))) == 0


def test_a_reset_costs_the_request_that_was_begun_for_it() -> None:
    assert cost(frame(RST_STREAM, bytes(4))) == 13 + RESET_COST


kinds = st.sampled_from([DATA, HEADERS, CONTINUATION, PING, SETTINGS, RST_STREAM, UNKNOWN])


@given(frames=st.lists(st.tuples(kinds, st.binary(max_size=40)), max_size=10), where=places)
def test_the_cost_is_the_same_however_the_bytes_are_cut(frames: list[tuple[int, bytes]], where: list[int]) -> None:
    data = PREFACE + b"".join(frame(kind, payload) for kind, payload in frames)
    free = (HEADERS, CONTINUATION)
    expected = sum(9 + len(payload) for kind, payload in frames if kind not in free)
    expected += RESET_COST * [kind for kind, _ in frames].count(RST_STREAM)
    scanner = FrameScanner()
    assert sum(scanner.cost_of(piece) for piece in cut(data, where)) == expected
