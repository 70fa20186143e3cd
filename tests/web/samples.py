"""An address and permitted visitors for each page of the table."""

from collections.abc import Awaitable, Callable, Mapping

from actors.bookings.reports import Days, Only
from actors.clock import day_of
from actors.shared.announcements import Topic
from actors.values import Agent, Refused
from service.web.pages.parts.page import Audience, Page
from tests.api.callers import OUR_PAGE
from tests.api.oauth import agent
from tests.api.sponsors import NEXT_WEEK, add_slot, sponsor
from tests.api.test_submissions import SUBMISSIONS, bot, edit
from tests.api.world import World
from tests.web.visitors import Visitor

ANN, ADMIN = "ann@example.com", "admin@example.com"


async def _sold(world: World) -> str:
    """The id of Ann's booking, created if needed: it is in checkout, and its campaign waits for review."""
    if not world.memory.bookings:
        world.sponsorship_store.keep(add_slot(world))
        person = sponsor(world, ANN)
        await person.profile()
        await person.checkout((await person.booking(await person.campaign()))["id"])
        await world.settled()
    [booking_id] = world.memory.bookings
    return booking_id


async def _checkout(world: World) -> str:
    booking = world.memory.bookings[await _sold(world)]
    return world.services.links.checkout_url(booking).removeprefix(world.services.base_url)


async def _receipt(world: World) -> str:
    paid = await world.client.post(await _checkout(world), body=b"do=pay")
    assert paid.status == 200
    url = world.services.links.receipt_url(world.memory.bookings[await _sold(world)])
    assert url is not None
    return url.removeprefix(world.services.base_url)


async def _bookings_paid(world: World) -> str:
    await _receipt(world)
    return f"/admin/bookings/{await _sold(world)}"


async def _account(world: World) -> str:
    booking = world.memory.bookings[await _sold(world)]
    return f"/admin/accounts/{booking.tenant_id}"


async def _campaign(world: World) -> str:
    return f"/sponsor/campaigns/{world.memory.bookings[await _sold(world)].campaign_id}"


async def _booking(world: World) -> str:
    return f"/sponsor/bookings/{await _sold(world)}"


async def _report(world: World) -> str:
    return f"/sponsor/bookings/{await _sold(world)}/report"


async def _invoice(world: World) -> str:
    await _receipt(world)
    return f"{await _booking(world)}/invoice"


def at(path: str) -> Callable[[World], Awaitable[str]]:
    async def address(world: World) -> str:
        return path

    return address


def with_something(path: str) -> Callable[[World], Awaitable[str]]:
    """The address of a page whose lists are not empty."""

    async def address(world: World) -> str:
        await _sold(world)
        return path

    return address


async def _ending(world: World) -> str:
    facts = {"ends": "key", "target": "key_unknown", "label": "cs_user_abcd"}
    return world.services.links.ending_url(facts, ANN, world.now_ms).removeprefix(world.services.base_url)


async def _stopping(world: World) -> str:
    return world.services.links.stop_url(ANN, Topic.REPORTS).removeprefix(world.services.base_url)


async def _shared(world: World) -> str:
    await _sold(world)
    tenant_id = world.memory.accounts[ANN].tenant_id
    day = day_of(world.now_ms)
    agent = Agent("cli", "test")
    made = await world.services.ledger.share_report(tenant_id, Days(day, day), Only(), agent, costs=True)
    assert not isinstance(made, Refused)
    return f"/shared/{made[1]}"


async def _mail(world: World) -> str:
    """The address of a mail's HTML, which only a service for this machine alone shows."""
    await world.client.post("/api/v1/auth/session", headers=OUR_PAGE, json={"email": ANN})
    [*_, message_id] = world.memory.messages
    return f"/dev/outbox/{message_id}"


async def _key(world: World) -> str:
    world.session(ANN)
    return f"/dashboard/keys/{world.id_of(world.key_of(ANN))}"


async def _submissions(world: World) -> str:
    if not world.memory.submissions:
        for body in (bot(), edit("bot-00", name="Better"), edit("bot-01", name="Old"), edit("bot-01", name="New")):
            world.clock.at_ms += 1
            assert (await sponsor(world, ANN).post(SUBMISSIONS, body)).words == "200"
        newest = max(world.memory.submissions.values(), key=lambda row: row.created_ms)
        await world.services.submissions.review(
            newest.id, Agent("cli", "test"), accept=True, note="Thanks.", seen=newest.version(newest.base)
        )
    return "/submissions"


async def _submissions_waiting(world: World) -> str:
    return f"/admin{await _submissions(world)}"


async def _webhook(world: World) -> str:
    if not world.memory.webhooks:
        body = {"url": "https://tools.example.com/hook", "events": ["booking.paid"]}
        assert (await sponsor(world, ANN).post("/api/v1/sponsors/webhooks", body)).status == 200
    [webhook_id] = world.memory.webhooks
    return f"/sponsor/webhooks/{webhook_id}"


async def _authorize(world: World) -> str:
    return (await agent(world)).request()


ADDRESSES: Mapping[str, Callable[[World], Awaitable[str]]] = {
    "/usecases/{slug}": at("/usecases/case-04"),
    "/bots/{slug}": at("/bots/bot-00"),
    "/submissions": _submissions,
    "/admin/submissions": _submissions_waiting,
    "/checkout/{token}": _checkout,
    "/receipt/{token}": _receipt,
    "/end/{token}": _ending,
    "/unsubscribe/{token}": _stopping,
    "/shared/{token}": _shared,
    "/dev/outbox/{id}": _mail,
    "/oauth/authorize": _authorize,
    "/sponsor/campaigns/{id}": _campaign,
    "/sponsor/bookings/{id}": _booking,
    "/sponsor/bookings/{id}/report": _report,
    "/sponsor/reports": with_something("/sponsor/reports"),
    "/advertise": with_something("/advertise"),
    "/sponsor/webhooks/{id}": _webhook,
    "/dashboard/keys/{id}": _key,
    "/sponsor/bookings/{id}/invoice": _invoice,
    "/sponsor/book": with_something(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}"),
    "/admin/bookings": with_something("/admin/bookings"),
    "/admin/bookings/{id}": _bookings_paid,
    "/admin/accounts/{id}": _account,
    "/admin/usecases/{slug}": at("/admin/usecases/case-04"),
    "/admin/bots/{slug}": at("/admin/bots/bot-00"),
    "/admin/slots/{id}": with_something("/admin/slots/left-top"),
}
"""Functions by path that create the content of a page and return its address."""

OF_ANN = {
    "/dashboard/keys/{id}",
    "/sponsor/bookings/{id}/report",
    "/sponsor/campaigns/{id}",
    "/sponsor/bookings/{id}",
    "/sponsor/bookings/{id}/invoice",
    "/sponsor/webhooks/{id}",
}
"""Pages that only their owner may see."""


def visitors_of(world: World, page: Page) -> list[Visitor]:
    """A visitor of each kind that may see the page."""
    stranger = Visitor(world)
    person = Visitor(world, world.session(ANN), ANN)
    admin = Visitor(world, world.session(ADMIN, admin=True), ADMIN)
    if page.path in OF_ANN:
        return [person]
    return {Audience.ANYBODY: [stranger, person, admin], Audience.ACCOUNT: [person, admin], Audience.ADMIN: [admin]}[
        page.who
    ]


async def address_of(world: World, page: Page) -> str:
    """The address of a page, after its content was created."""
    assert "{" not in page.path or page.path in ADDRESSES, f"ADDRESSES of {__name__} needs a row for {page.path}"
    return await ADDRESSES.get(page.path, with_something(page.path))(world)
