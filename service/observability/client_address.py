"""Tells the client of a request behind trusted proxies, and warns of proxies that are not trusted.

Behind a proxy that is not trusted all visitors share its address, and with it one limit.
"""

import logging
from collections.abc import Mapping, Sequence

from actors.clock import MINUTE_MS, Clock
from service.http.addresses import Network, Networks, client_address

HEADERS = ("x-forwarded-for", "forwarded", "x-forwarded-proto")
"""Headers that proxies add."""

log = logging.getLogger(__name__)


class Proxies:
    """The trusted proxies of a node. `ignored` counts the requests that another address forwarded."""

    def __init__(self, trusted: Sequence[Network], clock: Clock) -> None:
        self.ignored = 0
        self._trusted = Networks(trusted)
        self._clock = clock
        self._quiet_until_ms = 0

    def client_of(self, peer: str, headers: Mapping[str, str]) -> str:
        """The address of the client. `headers` have lower-case names."""
        for name in HEADERS:
            if name in headers and peer not in self._trusted:
                self._ignore(peer, name)
                break
        return client_address(peer, headers.get("x-forwarded-for"), self._trusted)

    def _ignore(self, peer: str, name: str) -> None:
        self.ignored += 1
        now_ms = self._clock.now_ms()
        if now_ms < self._quiet_until_ms:
            return
        self._quiet_until_ms = now_ms + MINUTE_MS
        log.warning(
            "ignored the header %s from %s: if that is your proxy, add it to server.trusted_proxies, or all its visitors "
            "share one limit (%d such requests so far; logged at most once a minute)",
            name,
            peer,
            self.ignored,
        )

    def __repr__(self) -> str:
        return f"<Proxies: {self._trusted!r} trusted, {self.ignored} requests of others>"
