"""What people change in a large service: they book, pay, review and revoke."""

from collections.abc import Awaitable, Callable, Mapping

from actors.times import WEEK_MS, week_of
from tests.api.asgi import Response
from tests.growth.filling import ADMIN, FEW, MOST, Size
from tests.growth.node import Node

API = "/api/v1/sponsors"
FREE_WEEKS = 5
"""Weeks from this one on after which all slots are free."""


class People:
    """Does each change again and again, each time to other rows."""

    def __init__(self, node: Node, size: Size) -> None:
        self._node, self._size = node, size
        self._booked = 0
        self._bookings: dict[int, list[str]] = {MOST: [], FEW: []}
        self._revoked: dict[int, int] = {MOST: 0, FEW: 0}

    async def book(self, person: int) -> Response:
        self._booked += 1
        week_ms = week_of(self._node.services.clock.now_ms()) + (FREE_WEEKS + self._booked // 20) * WEEK_MS
        body = {
            "slotId": f"slot-{1 + self._booked % 20}",
            "weekStart": week_ms,
            "idempotencyKey": f"3f2a8c1e-5b7d-4e90-a1c6-{self._booked:012}",
            "campaignId": f"cmp_{person - 2 + self._size.accounts - 1}",
        }
        answer = await self._node.ask("POST", f"{API}/bookings", person, json=body)
        self._bookings[person].append(answer.json["booking"]["id"])
        return answer

    async def pay(self, person: int) -> Response:
        """Pay a booking that was made before, on the page of its checkout."""
        booking_id = self._bookings[person].pop()
        view = await self._node.services.sponsorship.booking(None, booking_id)
        assert view is not None
        path = self._node.services.links.checkout_url(view.booking).removeprefix(self._node.services.base_url)
        return await self._node.ask("POST", path, person, browser=True, body=b"do=pay")

    async def review(self, _: int) -> Response:
        """Approve the campaign that waits longest."""
        waiting = await self._node.services.sponsorship.review_queue(self._node.services.clock.now_ms(), None, 1)
        path = f"/api/v1/admin/sponsorships/campaigns/{waiting[0].view.campaign.id}/review"
        return await self._node.ask("POST", path, ADMIN, json={"decision": "approve"})

    async def revoke(self, person: int) -> Response:
        """Create a scoped key, and revoke it."""
        body = {"name": "Reports", "scopes": ["sponsor:read"]}
        made = await self._node.ask("POST", f"{API}/keys", person, json=body)
        return await self._node.ask("DELETE", f"{API}/keys/{made.json['id']}", person)


Change = Callable[[People, int], Awaitable[Response]]

CHANGES: Mapping[str, tuple[Change, int]] = {
    f"{change.__name__} of {person}": (change, person)
    for change, persons in (
        (People.book, (FEW, MOST)),
        (People.pay, (FEW, MOST)),
        (People.review, (ADMIN,)),
        (People.revoke, (FEW, MOST)),
    )
    for person in persons
}
"""The changes by their names, in an order in which each finds what it needs, and who makes them."""
