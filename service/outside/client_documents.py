"""Fetches metadata documents of OAuth clients with h11, from checked addresses only. Redirects are not followed."""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11
import trio

from actors.webhooks.store import DeliveryFailed
from service.outside.checked_connections import Resolve, SystemResolver, connected
from service.outside.public_addresses import Network
from service.outside.webhook_client import HEAD_BYTES, ResponseReader
from service.version import PROGRAM, VERSION

FETCH_SECONDS = 3.0
DOCUMENT_BYTES = 10_000

_JSON = re.compile(r"application/(?:json|[a-z0-9.-]+\+json)\s*(?:;.*)?", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """A document, and the seconds for which its server lets it be kept; None if it does not say."""

    body: bytes
    max_age_seconds: int | None


class HttpDocuments:
    """Fetches each document over a connection of its own. `resolve` and `tls` are for tests, as those of `HttpReceivers`."""

    def __init__(
        self,
        allowed: Sequence[Network],
        base_url: str,
        *,
        resolve: Resolve | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = allowed
        self._agent = f"{PROGRAM}/{VERSION} (+{base_url})"
        self._resolve = resolve or SystemResolver().resolve
        self._tls = tls

    async def fetch(self, url: str) -> FetchedDocument:
        """The JSON document at an https address. Raises `DeliveryFailed` with the reason."""
        try:
            with trio.fail_after(FETCH_SECONDS):
                return await self._fetched(url)
        except trio.TooSlowError:
            raise DeliveryFailed(f"it took more than {FETCH_SECONDS:.0f} s") from None

    async def _fetched(self, url: str) -> FetchedDocument:
        parts = urlsplit(url)
        if self._tls is None:
            self._tls = await trio.to_thread.run_sync(ssl.create_default_context)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        headers = [
            ("Host", parts.netloc),
            ("Accept", "application/json"),
            ("User-Agent", self._agent),
            ("Connection", "close"),
        ]
        request = h11.Request(method="GET", target=target, headers=headers)
        host, port = parts.hostname or "", parts.port or 443
        async with connected(host, port, self._tls, self._resolve, self._allowed) as stream:
            return await _exchange(stream, request)


async def _exchange(stream: trio.abc.Stream, request: h11.Request) -> FetchedDocument:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    await stream.send_all(b"".join(connection.send(part) or b"" for part in (request, h11.EndOfMessage())))
    response = ResponseReader(stream, connection)
    while isinstance(head := await response.part(), h11.InformationalResponse):
        pass
    if not isinstance(head, h11.Response):
        raise DeliveryFailed("the response is not valid HTTP")
    if head.status_code != 200:
        raise DeliveryFailed(f"status {head.status_code}", head.status_code)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    if not _JSON.fullmatch(headers.get("content-type", "")):
        raise DeliveryFailed("its type is not application/json")
    body = bytearray()
    while isinstance(part := await response.part(), h11.Data):
        body += part.data
        if len(body) > DOCUMENT_BYTES:
            raise DeliveryFailed(f"it has more than {DOCUMENT_BYTES:,} bytes")
    return FetchedDocument(bytes(body), _kept_for(headers.get("cache-control", "").lower()))


def _kept_for(cache_control: str) -> int | None:
    if "no-store" in cache_control or "no-cache" in cache_control:
        return 0
    age = _MAX_AGE.search(cache_control)
    return int(age[1]) if age else None
