"""The attacks over plain HTTP/1.1. Each runs until it is cancelled, and leaves its connections open and silent."""

import json
import random
from collections.abc import Awaitable, Callable
from string import ascii_letters

import trio

from actors.shared.credentials import AUTHORIZATION_CODE, REFRESH_TOKEN
from tests.abuse.ground import Ground, wait_closed

VICTIM = "owner@example.com"
"""The email whose codes are asked for and guessed."""
LARGE_PAGE = "/openapi.json"
HEAD = b"GET /healthz HTTP/1.1\r\nhost: node.example.com\r\n"
DRIP_SECONDS = 0.2

MALFORMED = (
    b"\x00" * 64,
    b"\r\n" * 64 + b"\xff",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    HEAD + b"host: other.example.com\r\n\r\n",
    HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello",
    HEAD + b"content-length: -1\r\n\r\n",
    HEAD + b"transfer-encoding: chunked\r\n\r\nxyz\r\n",
    HEAD + b"transfer-encoding: gzip, chunked, chunked\r\n\r\n",
    HEAD + b"transfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
    HEAD + b" folded: yes\r\n\r\n",
    HEAD + b"na me: x\r\n\r\n",
    HEAD + b"nul: \x00\r\n\r\n",
    HEAD + b"x: " + b"a" * 70_000 + b"\r\n\r\n",
    HEAD + b"".join(b"x-%d: y\r\n" % number for number in range(500)) + b"\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nhost: node.example.com\r\n\r\n",
    b"CONNECT node.example.com:443 HTTP/1.1\r\nhost: node.example.com\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x42" * 200,
)
"""Requests that a server must reject. The last is the beginning of a TLS handshake."""


async def slowloris(ground: Ground) -> None:
    """500 connections whose heads never end."""

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            await stream.send_all(HEAD)
            while True:
                await trio.sleep(DRIP_SECONDS * random.uniform(0.5, 1.5))
                await stream.send_all(b"x-drip: %d\r\n" % random.randrange(10**6))
                ground.counts["drops"] += 1

    await ground.many(500, one)


async def dripped_bodies(ground: Ground) -> None:
    """200 connections whose bodies arrive a few bytes at a time: half with a length, half in chunks."""

    async def one(ground: Ground) -> None:
        chunked = random.random() < 0.5
        kind = b"transfer-encoding: chunked" if chunked else b"content-length: 4000"
        async with ground.connection() as stream:
            await stream.send_all(
                b"POST /api/v1/auth/agent HTTP/1.1\r\nhost: node.example.com\r\n" + kind + b"\r\n\r\n"
            )
            while True:
                await trio.sleep(DRIP_SECONDS * random.uniform(0.5, 1.5))
                await stream.send_all(b"1\r\n \r\n" if chunked else b" ")
                ground.counts["drops"] += 1

    await ground.many(200, one)


async def unread_bodies(ground: Ground) -> None:
    """200 connections that announce an unwanted body, send some of it, and fall silent."""
    targets = (b"GET /healthz", b"POST /nowhere", b"POST /api/v1/auth/agent", b"DELETE /healthz")

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            size = random.choice((100, 20_000, 10_000_000))
            head = random.choice(targets) + b" HTTP/1.1\r\nhost: node.example.com\r\ncontent-length: %d\r\n\r\n" % size
            await stream.send_all(head + b"x" * random.choice((0, 10, min(size, 65_536) - 1)))
            ground.counts["bodies"] += 1
            await wait_closed(stream)

    await ground.many(200, one)


async def slow_readers(ground: Ground) -> None:
    """20 connections that request a large page 64 times and read none of it."""

    async def one(ground: Ground) -> None:
        async with ground.connection(receive_bytes=4_096) as stream:
            await stream.send_all(f"GET {LARGE_PAGE} HTTP/1.1\r\nhost: node.example.com\r\n\r\n".encode() * 64)
            ground.counts["requests"] += 64
            while True:
                # After a drop, further sends would only cause a reset.
                await trio.sleep(1)
                await stream.send_all(b"\r\n")

    await ground.many(20, one)


async def idle_connections(ground: Ground) -> None:
    """1,500 silent connections, half of them after one request."""

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            if random.random() < 0.5:
                await stream.send_all(HEAD + b"\r\n")
            await wait_closed(stream)

    await ground.many(1_500, one)


async def malformed_flood(ground: Ground) -> None:
    """32 connections at a time, each with a malformed request."""

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            await stream.send_all(random.choice(MALFORMED))
            ground.counts["requests"] += 1
            await wait_closed(stream)

    await _without_pause(ground, 32, one)


async def churn(ground: Ground) -> None:
    """32 connections at a time, each reset in the middle of a request."""
    requests = (
        b"",
        HEAD[:20],
        HEAD + b"\r\n",
        b"POST /api/v1/auth/agent HTTP/1.1\r\nhost: node.example.com\r\ncontent-length: 100\r\n\r\nhalf",
        b"GET %s HTTP/1.1\r\nhost: node.example.com\r\n\r\n" % LARGE_PAGE.encode(),
    )

    async def one(ground: Ground) -> None:
        async with ground.connection() as stream:
            await stream.send_all(random.choice(requests))
            ground.counts["requests"] += 1
            await trio.sleep(random.choice((0, 0, 0.001, 0.01)))

    await _without_pause(ground, 32, one)


async def code_guesses(ground: Ground) -> None:
    """16 strangers at a time, each at an address of its own, who ask for a sign-in code of one email and guess at it."""

    async def one(ground: Ground) -> None:
        source = f"127.{random.randint(1, 200)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        async with ground.connection(source=source) as stream:
            await stream.send_all(_posted("/api/v1/auth/session", {"email": VICTIM}))
            for number in range(4):
                body = {"email": VICTIM, "code": f"{random.randrange(10**6):06d}"}
                await stream.send_all(_posted("/api/v1/auth/session/complete", body, last=number == 3))
                ground.counts["guesses"] += 1
            await wait_closed(stream)

    await _without_pause(ground, 16, one)


async def token_guesses(ground: Ground) -> None:
    """16 strangers at a time, each at an address of its own, who register clients and guess at codes and refresh tokens."""

    async def one(ground: Ground) -> None:
        source = f"127.{random.randint(1, 200)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        redirect_uri, client_id = "http://127.0.0.1:8123/callback", "https://client.example.com/metadata.json"
        async with ground.connection(source=source) as stream:
            for number in range(8):
                await stream.send_all(_posted("/oauth/register", {"redirect_uris": [redirect_uri]}))
                guess = "".join(random.choices(ascii_letters, k=43))
                exchange = {
                    "grant_type": "authorization_code",
                    "code": f"{AUTHORIZATION_CODE.prefix}{guess}",
                    "redirect_uri": redirect_uri,
                }
                exchange |= {"client_id": client_id, "code_verifier": guess}
                await stream.send_all(_posted("/oauth/token", exchange))
                refresh = {"grant_type": "refresh_token", "refresh_token": f"{REFRESH_TOKEN.prefix}{guess}{guess}"}
                await stream.send_all(_posted("/oauth/token", refresh | {"client_id": client_id}, last=number == 7))
                ground.counts["registrations"] += 1
                ground.counts["guesses"] += 2
            await wait_closed(stream)

    await _without_pause(ground, 16, one)


def _posted(path: str, body: object, *, last: bool = False) -> bytes:
    """A request in JSON with the headers of a page of the node."""
    text = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: node.example.com\r\nsec-fetch-site: same-origin\r\ncontent-length: {len(text)}"
    )
    return f"{head}\r\nconnection: {'close' if last else 'keep-alive'}\r\n\r\n".encode() + text


async def _without_pause(ground: Ground, number: int, one: Callable[[Ground], Awaitable[None]]) -> None:
    """Repeat as fast as possible, with `number` at once."""

    async def on_and_on(ground: Ground) -> None:
        while True:
            with trio.move_on_after(15) as bound:
                await one(ground)
            if bound.cancelled_caught:
                ground.counts["held for 15 s"] += 1

    await ground.many(number, on_and_on)
