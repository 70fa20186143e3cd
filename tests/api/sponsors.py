"""Sponsors and administrators of the HTTP tests, with shortcuts for their requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.bookings.records import Side, Slot
from actors.shared.credentials import Kind
from actors.times import WEEK_MS, week_of
from actors.values import Scope, Tier
from tests.api.asgi import Response
from tests.api.world import NOON_MS, World

THIS_WEEK = week_of(NOON_MS)
NEXT_WEEK = THIS_WEEK + WEEK_MS
API = "/api/v1/sponsors"
ADMIN = "/api/v1/admin/sponsorships"

PROFILE = {"name": "Example Tools", "website": "https://tools.example.com/"}
CAMPAIGN = {
    "name": "Autumn launch",
    "headline": "Ship your first agent today",
    "body": "Example Tools turns a prompt into a bot that answers your mail.",
    "cta": "Try it",
    "targetUrl": "https://tools.example.com/start",
    "logoText": "ET",
}


def uuid(number: int) -> str:
    """The idempotency key of this number."""
    return f"00000000-0000-4000-8000-{number:012d}"


def add_slot(world: World, slot_id: str = "left-top", **fields: Any) -> Slot:
    """Store a slot, as if an administrator had created it earlier."""
    slot = Slot(slot_id, f"Slot {slot_id}", Side.LEFT, 12_000, NOON_MS - WEEK_MS)
    slot = Slot(**{name: getattr(slot, name) for name in slot.__slots__} | fields)
    world.memory.slots[slot.id] = slot
    return slot


@dataclass(slots=True)
class Person:
    """A person with a key. Asserts that requests succeed."""

    world: World
    key: str
    _keys: list[int] = field(default_factory=lambda: [0])

    async def get(self, path: str) -> Response:
        return await self.world.client.get(path, self.key)

    async def post(self, path: str, body: Any = None) -> Response:
        return await self.world.client.post(path, self.key, json=body)

    async def patch(self, path: str, body: Any) -> Response:
        return await self.world.client.request("PATCH", path, self.key, json=body)

    async def put(self, path: str, body: Any, **headers: str) -> Response:
        """`if_match='"..."'` is the header `If-Match`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.world.client.request("PUT", path, self.key, json=body, headers=named)

    async def delete(self, path: str, **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.world.client.request("DELETE", path, self.key, headers=named)

    async def profile(self) -> None:
        assert (await self.patch(f"{API}/profile", PROFILE)).words == "200"

    async def campaign(self, **fields: str) -> str:
        """The id of a new campaign."""
        created = await self.post(f"{API}/campaigns", CAMPAIGN | fields)
        assert created.words == "200", created.body
        return str(created.json["campaign"]["id"])

    def booking_body(self, campaign_id: str, slot_id: str = "left-top", week: int = NEXT_WEEK) -> dict[str, Any]:
        """A body with a fresh idempotency key."""
        self._keys[0] += 1
        key = uuid(self._keys[0])
        return {"campaignId": campaign_id, "slotId": slot_id, "weekStart": week, "idempotencyKey": key}

    async def booking(self, campaign_id: str, slot_id: str = "left-top", week: int = NEXT_WEEK) -> dict[str, Any]:
        """A new reservation."""
        reserved = await self.post(f"{API}/bookings", self.booking_body(campaign_id, slot_id, week))
        assert reserved.words == "200", reserved.body
        shown: dict[str, Any] = reserved.json["booking"]
        return shown

    async def checkout(self, booking_id: str) -> str:
        """The address of the checkout page."""
        opened = await self.post(f"{API}/bookings/{booking_id}/checkout")
        assert opened.words == "200", opened.body
        return str(opened.json["checkoutUrl"])

    async def pay(self, booking_id: str) -> None:
        """Go to checkout and pay."""
        path = (await self.checkout(booking_id)).removeprefix(self.world.services.base_url)
        paid = await self.world.client.post(
            path, headers={"content-type": "application/x-www-form-urlencoded"}, body=b"do=pay"
        )
        assert paid.status == 200, paid.body

    async def buys(self, slot_id: str = "left-top", week: int = NEXT_WEEK, campaign: str = "") -> str:
        """The id of a paid booking. Creates what is missing: the profile, the slot, a campaign."""
        if slot_id not in self.world.memory.slots:
            add_slot(self.world, slot_id)
        await self.profile()
        booking_id = str((await self.booking(campaign or await self.campaign(), slot_id, week))["id"])
        await self.pay(booking_id)
        return booking_id

    async def read(self, booking_id: str) -> dict[str, Any]:
        """A booking with its receipt."""
        answer = await self.get(f"{API}/bookings/{booking_id}")
        assert answer.words == "200", answer.body
        shown: dict[str, Any] = answer.json
        return shown

    async def walk(self, path: str, limit: int) -> list[dict[str, Any]]:
        """All items of a list, page by page."""
        items: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            mark = "&" if "?" in path else "?"
            target = f"{path}{mark}limit={limit}" + (f"&cursor={cursor}" if cursor else "")
            page = (await self.get(target)).json
            assert page.keys() == {"items", "cursor", "hasMore"}
            assert len(page["items"]) <= limit
            assert page["hasMore"] == (page["cursor"] is not None)
            items += page["items"]
            cursor = page["cursor"]
            if cursor is None:
                return items


def sponsor(world: World, email: str = "sponsor@example.com", scopes: Sequence[Scope] | None = None) -> Person:
    """A sponsor with a claimed key of a fresh account."""
    kind = Kind.USER if scopes is None else Kind.SCOPED
    key = world.key(kind=kind, tier=Tier.CLAIMED, email=email, scopes=None if scopes is None else tuple(scopes))
    return Person(world, key)


def administrator(world: World, email: str = "admin@example.com") -> Person:
    """An administrator with a claimed key."""
    world.memory.administrators[email] = world.now_ms
    return sponsor(world, email)


def changes(world: World) -> list[tuple[str, str]]:
    """The actions in the audit log with their agents, in order."""
    return [(record.actor_type, record.action) for record in world.memory.audits]


def tables(world: World) -> str:
    """All rows that an invalid request must not change. Usage counters are excluded."""
    memory = world.memory
    kept = (memory.sponsors, memory.slots, memory.campaigns, memory.bookings, memory.slot_weeks, memory.booking_keys)
    return repr((kept, memory.payment_events, memory.audits, memory.keys))
