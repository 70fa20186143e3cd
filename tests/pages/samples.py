"""An address and a visitor for each page of the table, so that every page is looked at as somebody who may."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from service.links import Page as Link
from service.pages.page import Page, Who
from tests.http.asgi import Response
from tests.http.sponsors import add_slot, sponsor
from tests.http.world import World

ANN, ADMIN = "ann@example.com", "admin@example.com"
HERE = "127.0.0.1"
"""Some pages are for this machine only."""


async def _checkout(world: World) -> str:
    """A booking that is to be paid."""
    add_slot(world)
    person = sponsor(world)
    await person.profile()
    booking = await person.booking(await person.campaign())
    return (await person.checkout(booking["id"])).removeprefix(world.services.base_url)


async def _receipt(world: World) -> str:
    path = await _checkout(world)
    booking_id = world.services.links.booking_id(Link.CHECKOUT, path.rpartition("/")[2])
    paid = await world.client.post(path, body=b"do=pay")
    assert paid.status == 200
    assert booking_id is not None
    url = world.services.links.receipt_url(world.memory.bookings[booking_id])
    assert url is not None
    return url.removeprefix(world.services.base_url)


def at(path: str) -> Callable[[World], Awaitable[str]]:
    async def address(world: World) -> str:
        return path

    return address


ADDRESSES: Mapping[str, Callable[[World], Awaitable[str]]] = {
    "/usecases/{slug}": at("/usecases/case-04"),
    "/bots/{slug}": at("/bots/bot-00"),
    "/checkout/{token}": _checkout,
    "/receipt/{token}": _receipt,
}
"""Pages whose path has parameters, by that path: what they show is made first."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody with a browser; `token` is of his session, where he is signed in."""

    world: World
    token: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        told = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "Sec-Fetch-Site": "same-origin"}
        return told if self.token is None else told | {"Cookie": f"__Host-session={self.token}"}

    async def get(self, path: str) -> Response:
        return await self.world.client.get(path, headers=self.headers, address=HERE)

    async def send(self, path: str, body: bytes, **headers: str) -> Response:
        """Send a form; `headers` stand in the place of those of a browser on our page."""
        told = {**self.headers, "Content-Type": "application/x-www-form-urlencoded"}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.world.client.post(path, headers=told, body=body, address=HERE)


def visitors_of(world: World, page: Page) -> list[Visitor]:
    """All kinds of visitors that may see a page."""
    stranger = Visitor(world)
    person = Visitor(world, world.session(ANN))
    admin = Visitor(world, world.session(ADMIN, admin=True))
    return {
        Who.ANYBODY: [stranger, person, admin],
        Who.ACCOUNT: [person, admin],
        Who.ADMIN: [admin],
    }[page.who]


async def address_of(world: World, page: Page) -> str:
    """Where a page is looked at."""
    if "{" not in page.path:
        return page.path
    assert page.path in ADDRESSES, f"ADDRESSES of {__name__} needs a row for {page.path}"
    return await ADDRESSES[page.path](world)
