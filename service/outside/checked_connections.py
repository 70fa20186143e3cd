"""Connections to receivers: a host is resolved once, every address is checked, and a checked one is connected to.

The name is not resolved again, so an answer that changes leads nowhere else. No proxy is used, whatever the environment says.
"""

import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import trio

from actors.webhooks.store import DeliveryFailed
from service.outside.public_addresses import Address, Network, is_listed, is_public, parsed

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as text. Raises `OSError`."""

MAX_ADDRESSES = 16
"""A name with more addresses is refused: each one is checked."""

MAX_TRIED = 3
RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
"""The time to connect to one address."""

RESOLVER_THREADS = 64
"""Resolving takes a thread, and one that is given up goes on until the system gives up, too."""


class SystemResolver:
    """The resolver of the system, in threads of its own."""

    def __init__(self) -> None:
        self._threads = trio.CapacityLimiter(RESOLVER_THREADS)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host. Raises `OSError`."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await trio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=self._threads)
        return list(dict.fromkeys(str(place[0]) for *_, place in found))


def checked(addresses: Sequence[str], allowed: Sequence[Network], *, secure: bool) -> list[Address]:
    """The addresses, if all of them may be reached. One that is refused refuses all, because the next connection may go to
    it. Without TLS, only the operator's networks may be reached. Raises `DeliveryFailed`."""
    if len(addresses) > MAX_ADDRESSES:
        raise DeliveryFailed(f"the host has more than {MAX_ADDRESSES} addresses")
    found = []
    for text in addresses:
        address = parsed(text)
        if address is None or not (is_listed(address, allowed) or (secure and is_public(address))):
            raise DeliveryFailed("the host has an address that is not public" if secure else "the URL must use https")
        found.append(address)
    if not found:
        raise DeliveryFailed("the host has no address")
    return found


@asynccontextmanager
async def connected(
    host: str, port: int, tls: ssl.SSLContext | None, resolve: Resolve, allowed: Sequence[Network]
) -> AsyncIterator[trio.abc.Stream]:
    """A connection to a receiver for the life of the block; over TLS, its certificate is one of `host`. Raises
    `DeliveryFailed`."""
    addresses = [host] if parsed(host) is not None else await _resolved(host, port, resolve)
    stream = await _opened(checked(addresses, allowed, secure=tls is not None)[:MAX_TRIED], port)
    try:
        if tls is None:
            yield stream
        else:
            yield trio.SSLStream(stream, tls, server_hostname=host, https_compatible=True)
    except trio.BrokenResourceError as error:
        raise DeliveryFailed(_words(error)) from None
    finally:
        # Not aclose(): it says goodbye, which a receiver can delay.
        stream.socket.close()


async def _resolved(host: str, port: int, resolve: Resolve) -> Sequence[str]:
    try:
        with trio.fail_after(RESOLVE_SECONDS):
            return await resolve(host, port)
    except (OSError, UnicodeError):
        raise DeliveryFailed("the host has no address") from None
    except trio.TooSlowError:
        raise DeliveryFailed("the name servers of the host do not answer") from None


async def _opened(addresses: Sequence[Address], port: int) -> trio.SocketStream:
    words = "no connection in time"
    for address in addresses:
        with trio.move_on_after(CONNECT_SECONDS):
            try:
                return await trio.open_tcp_stream(str(address), port)
            except OSError:
                words = "the connection was refused"
    raise DeliveryFailed(words)


def _words(error: BaseException) -> str:
    """The reason why a connection failed, without the words of the receiver."""
    cause = error.__cause__ or error.__context__
    match cause:
        case ssl.SSLCertVerificationError(verify_message=why):
            return f"the certificate is not valid: {why}"
        case ssl.SSLError():
            return "the TLS handshake failed"
    return "the connection broke"
