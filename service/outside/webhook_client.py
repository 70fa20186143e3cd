"""Posts events to receivers, signed as Standard Webhooks says, with h11."""

import hmac
import re
import ssl
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import h11
import trio

from actors.clock import Clock, MovableClock
from actors.times import SECOND_MS
from actors.webhooks.messages import Task
from actors.webhooks.store import DeliveryFailed
from service.outside.checked_connections import Resolve, SystemResolver, connected
from service.outside.public_addresses import Network
from service.version import PROGRAM, VERSION

HEAD_BYTES = 32 * 1024
RESPONSE_BYTES = 64 * 1024
"""Most of a response that is read: all interim heads, the framing, and the body, which is not used. Without this bound, a
flood of small parts would keep the node busy until the deadline."""

BODY_SECONDS = 1.0
"""Time for the body after a 2xx status. To read it spares the receiver an error; it does not change the outcome."""

_SECONDS = re.compile(r"[0-9]{1,9}")

READ_BYTES = 16 * 1024
PORTS = {"https": 443, "http": 80}

PREFIX = "whsec_"


class WebhookSigner:
    """Knows the key from which the secrets of all webhooks derive."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def secret(self, webhook_id: str) -> str:
        """The secret that the owner of a webhook gets when it is created."""
        return PREFIX + b64encode(self._bytes(webhook_id)).decode()

    def sign(self, webhook_id: str, event_id: str, timestamp: int, body: bytes) -> str:
        """The value of `webhook-signature`. `timestamp` counts seconds since the epoch."""
        signed = b"%s.%d.%s" % (event_id.encode(), timestamp, body)
        return "v1," + b64encode(hmac.digest(self._bytes(webhook_id), signed, "sha256")).decode()

    def _bytes(self, webhook_id: str) -> bytes:
        return hmac.digest(self._key, webhook_id.encode(), "sha256")


class HttpReceivers:
    """Sends each event over a connection of its own. Redirects are not followed.

    `resolve` stands in for the system's resolver, and `tls` for its trusted certificates, in tests.
    """

    def __init__(
        self,
        signer: WebhookSigner,
        clock: Clock,
        allowed: Sequence[Network],
        base_url: str,
        *,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._signer = signer
        # Receivers compare the time of a signature with their own clocks.
        self._clock = clock.machine if isinstance(clock, MovableClock) else clock
        self._allowed = allowed
        self._agent = f"{PROGRAM}/{VERSION} (+{base_url})"
        self._resolve = resolve or SystemResolver().resolve
        # Threads of their own: names whose servers are silent keep theirs for long after the attempt.
        self._resolve_slow = resolve or SystemResolver().resolve
        self._tls = tls

    async def post(self, task: Task) -> int:
        """Send the event once. Returns the status, which is 2xx. Raises `DeliveryFailed`."""
        parts = urlsplit(task.webhook.url)
        if self._tls is None:
            # Reading the system's certificates takes time, so the first delivery does it, and in a thread.
            self._tls = await trio.to_thread.run_sync(ssl.create_default_context)
        tls = self._tls if parts.scheme == "https" else None
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        body = task.delivery.body.encode()
        request = h11.Request(method="POST", target=target, headers=self._headers(task, parts.netloc, body))
        resolve = self._resolve_slow if task.webhook.slow else self._resolve
        async with connected(host, port, tls, resolve, self._allowed) as stream:
            return await _exchange(stream, request, body, self._clock.now_ms())

    def _headers(self, task: Task, netloc: str, body: bytes) -> list[tuple[str, str]]:
        delivery, seconds = task.delivery, self._clock.now_ms() // SECOND_MS
        return [
            ("Host", netloc),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("User-Agent", self._agent),
            ("Connection", "close"),
            ("webhook-id", delivery.event_id),
            ("webhook-timestamp", str(seconds)),
            ("webhook-signature", self._signer.sign(delivery.webhook_id, delivery.event_id, seconds, body)),
        ]


async def _exchange(stream: trio.abc.Stream, request: h11.Request, body: bytes, now_ms: int) -> int:
    """Send a request and read its response; returns the status. Raises `DeliveryFailed`.

    The receiver has the event once its status is 2xx, whatever becomes of the body: another attempt would repeat the event.
    """
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    parts = (request, h11.Data(data=body), h11.EndOfMessage())
    await stream.send_all(b"".join(connection.send(part) or b"" for part in parts))
    response = ResponseReader(stream, connection)
    while isinstance(head := await response.part(), h11.InformationalResponse):
        pass
    if not isinstance(head, h11.Response):
        raise DeliveryFailed("the response is not valid HTTP")
    status = head.status_code
    if not 200 <= status <= 299:
        raise DeliveryFailed(f"status {status}", status, _wait_ms(head, now_ms))
    with suppress(DeliveryFailed, trio.BrokenResourceError), trio.move_on_after(BODY_SECONDS):
        while isinstance(await response.part(), h11.Data):
            pass
    return status


def _wait_ms(head: h11.Response, now_ms: int) -> int:
    """The `Retry-After` of a response, which is seconds or a date (RFC 9110, 10.2.3), in milliseconds. 0 without one."""
    value = next((value.decode("latin-1") for name, value in head.headers if name == b"retry-after"), "")
    if _SECONDS.fullmatch(value):
        return int(value) * SECOND_MS
    try:
        return max(0, int(parsedate_to_datetime(value).timestamp() * SECOND_MS) - now_ms)
    except (ValueError, OverflowError):
        return 0


class ResponseReader:
    """Reads a response in parts, up to `RESPONSE_BYTES`."""

    def __init__(self, stream: trio.abc.Stream, connection: h11.Connection) -> None:
        self._stream = stream
        self._connection = connection
        self._left = RESPONSE_BYTES

    async def part(self) -> Any:
        """The next event of h11. Raises `DeliveryFailed` if the response is not valid or too long."""
        try:
            while (event := self._connection.next_event()) is h11.NEED_DATA:
                data = bytes(await self._stream.receive_some(READ_BYTES))
                self._left -= len(data)
                if self._left < 0:
                    raise DeliveryFailed(f"the response has more than {RESPONSE_BYTES // 1024} KiB")
                self._connection.receive_data(data)
        except h11.RemoteProtocolError:
            raise DeliveryFailed("the response is not valid HTTP") from None
        return event
