"""Reads metadata documents of clients, and remembers them for a while. Bounded in number and in time."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from actors.values import Code, Refused
from actors.webhooks.store import DeliveryFailed
from service.api.errors import unavailable
from service.api.oauth.clients import DescribedClient, RegisteredClients, described_client
from service.outside.client_documents import FetchedDocument
from service.tokens.signing import TokenSigner

REMEMBERED = 256
MINUTE, HOUR = 60, 3_600
AT_ONCE = 32
"""Documents that one node fetches at once."""

Fetch = Callable[[str], Awaitable[FetchedDocument]]


@dataclass(frozen=True, slots=True)
class _Kept:
    client: DescribedClient | Refused
    until: float


class ClientDocuments:
    """The documents of one node. Only signed-in people have them fetched, and their account limits how often."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._fetching = 0

    async def read(self, url: str) -> DescribedClient | Refused:
        """The client that the document at `url` describes. It is remembered for an hour, or for as long as its server says
        if that is less, and a refusal for a minute."""
        kept = self._kept.get(url)
        if kept is not None and trio.current_time() < kept.until:
            self._kept.move_to_end(url)
            return kept.client
        if self._fetching >= AT_ONCE:
            return unavailable()
        self._fetching += 1
        try:
            found, seconds = await self._read(url)
        finally:
            self._fetching -= 1
        self._kept[url] = _Kept(found, trio.current_time() + seconds)
        self._kept.move_to_end(url)
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)
        return found

    async def _read(self, url: str) -> tuple[DescribedClient | Refused, int]:
        try:
            fetched = await self._fetch(url)
        except DeliveryFailed as error:
            return _unusable(url, str(error)), MINUTE
        client = described_client(url, fetched.body)
        if isinstance(client, str):
            return _unusable(url, client), MINUTE
        seconds = fetched.max_age_seconds
        # At least for a minute: a person who approves has the document read a second time.
        return client, HOUR if seconds is None else min(HOUR, max(MINUTE, seconds))


def _unusable(url: str, why: str) -> Refused:
    words = f"The document of the program at {url} cannot be used: {why}. Tell the maker of the program."
    return Refused(Code.INVALID_REQUEST, words)


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients that a node knows, and the signer of the forms on which people decide about them."""

    registered: RegisteredClients
    documents: ClientDocuments
    tickets: TokenSigner
