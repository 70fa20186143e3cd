"""Connections to receivers: a host is resolved once, every address is checked, and a checked one is connected to.

`httpcore` knows no proxies, redirects and cookies, and takes its connections from here.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore
import trio

from service.webhooks.addresses import Address, Network, is_listed, is_public, parsed

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, as text. Raises `OSError`."""

MOST_ADDRESSES = 16
"""A name with more addresses is refused: each one is checked."""

MOST_TRIED = 3
RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
"""The time to connect to one address."""


class AddressRefused(Exception):
    """The host has an address that webhooks may not reach. The text is a sentence for its owner."""


class NameUnknown(Exception):
    """The host has no address, or its servers did not answer."""


def checked(addresses: Sequence[str], allowed: Sequence[Network], *, secure: bool) -> list[Address]:
    """The addresses, if all of them may be reached. Raises `AddressRefused`: one that is refused refuses all, because the
    next connection may go to it. Without TLS, only the operator's networks may be reached."""
    if len(addresses) > MOST_ADDRESSES:
        raise AddressRefused(f"the host has more than {MOST_ADDRESSES} addresses")
    found = []
    for text in addresses:
        address = parsed(text)
        if address is None or not (is_listed(address, allowed) or (secure and is_public(address))):
            raise AddressRefused("the host has an address that is not public" if secure else "the URL must use https")
        found.append(address)
    if not found:
        raise NameUnknown("the host has no address")
    return found


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connects to checked addresses only. The name is not resolved a second time, so an answer that changes is of no use."""

    def __init__(self, resolve: Resolve, allowed: Sequence[Network], *, secure: bool) -> None:
        self._resolve = resolve
        self._allowed = allowed
        self._secure = secure
        self._trio = httpcore.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = [host] if parsed(host) is not None else await self._addresses(host, port)
        failure: Exception = NameUnknown("the host has no address")
        for address in checked(addresses, self._allowed, secure=self._secure)[:MOST_TRIED]:
            try:
                return await self._trio.connect_tcp(str(address), port, timeout=CONNECT_SECONDS)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            with trio.fail_after(RESOLVE_SECONDS):
                return await self._resolve(host, port)
        except (OSError, UnicodeError):
            raise NameUnknown("the host has no address") from None
        except trio.TooSlowError:
            raise NameUnknown("the name servers of the host do not answer") from None

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise AddressRefused("a receiver is never a file")

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(seconds)
