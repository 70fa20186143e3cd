"""Posts events to receivers. The library that does it is loaded by the first delivery, so that a start stays fast."""

import socket
import ssl
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from actors.clock import Clock
from actors.times import SECOND_MS
from actors.webhooks.messages import Task
from actors.webhooks.store import DeliveryFailed
from service.version import PROGRAM, VERSION
from service.webhooks.addresses import Network
from service.webhooks.signing import WebhookSigner

if TYPE_CHECKING:
    import httpcore

    from service.webhooks.connecting import Resolve

RESPONSE_BYTES = 64 * 1024
"""A receiver whose response has a longer body has failed. The body itself is not used."""

RESOLVER_THREADS = 64
"""Resolving takes a thread, and one that is given up goes on until the system gives up, too."""


class HttpReceivers:
    """Sends each event over a connection of its own, and reads at most `RESPONSE_BYTES` of the response.

    `resolve` stands in for the system's resolver, and `tls` for its trusted certificates, in tests.
    """

    def __init__(
        self,
        signer: WebhookSigner,
        clock: Clock,
        allowed: Sequence[Network],
        base_url: str,
        *,
        resolve: "Resolve | None" = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._signer = signer
        self._clock = clock
        self._allowed = allowed
        self._agent = f"{PROGRAM}/{VERSION} (+{base_url})"
        self._resolve = resolve or SystemResolver().resolve
        self._tls = tls

    async def post(self, task: Task) -> int:
        import httpcore

        from service.webhooks.connecting import AddressRefused, CheckedBackend, NameUnknown

        parts = urlsplit(task.webhook.url)
        secure = parts.scheme == "https"
        if secure and self._tls is None:
            self._tls = await trio.to_thread.run_sync(ssl.create_default_context)
        url = httpcore.URL(task.webhook.url)
        connection = httpcore.AsyncHTTPConnection(
            url.origin,
            ssl_context=self._tls,
            network_backend=CheckedBackend(self._resolve, self._allowed, secure=secure),
        )
        request = httpcore.Request("POST", url, headers=self._headers(task, parts.netloc), content=_body(task))
        try:
            async with connection:
                return await _status(await connection.handle_async_request(request))
        except (AddressRefused, NameUnknown) as error:
            raise DeliveryFailed(str(error)) from None
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            raise DeliveryFailed(_words(error)) from None

    def _headers(self, task: Task, netloc: str) -> list[tuple[str, str]]:
        delivery, seconds = task.delivery, self._clock.now_ms() // SECOND_MS
        return [
            ("host", netloc),
            ("content-type", "application/json"),
            ("content-length", str(len(_body(task)))),
            ("user-agent", self._agent),
            ("connection", "close"),
            ("webhook-id", delivery.event_id),
            ("webhook-timestamp", str(seconds)),
            (
                "webhook-signature",
                self._signer.sign(delivery.webhook_id, delivery.event_id, seconds, _body(task)),
            ),
        ]


class SystemResolver:
    """The resolver of the system, in threads of its own."""

    def __init__(self) -> None:
        self._threads = trio.CapacityLimiter(RESOLVER_THREADS)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host. Raises `OSError`."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await trio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=self._threads)
        return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _body(task: Task) -> bytes:
    return task.delivery.body.encode()


async def _status(response: "httpcore.Response") -> int:
    """The status, which is 2xx, after the body. Raises `DeliveryFailed`. Redirects are not followed."""
    status = response.status
    if not 200 <= status <= 299:
        raise DeliveryFailed(f"status {status}", status)
    size = 0
    async for part in response.aiter_stream():
        size += len(part)
        if size > RESPONSE_BYTES:
            raise DeliveryFailed(f"status {status} with a body of more than {RESPONSE_BYTES // 1024} KiB", status)
    return status


def _words(error: BaseException) -> str:
    """What went wrong with a connection, without the words of the receiver."""
    import httpcore

    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case ssl.SSLCertVerificationError(verify_message=why):
                return f"the certificate is not valid: {why}"
            case ssl.SSLError():
                return "the TLS handshake failed"
            case ConnectionRefusedError():
                return "the connection was refused"
            case httpcore.TimeoutException():
                return "no connection in time"
            case httpcore.ProtocolError():
                return "the response is not valid HTTP"
        cause = cause.__cause__ or cause.__context__
    return "the connection failed"
