"""Readers: of public content, and the owner of the bookings that are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tests.chaos.caller import Caller
from tests.chaos.sponsors import BOOKINGS

PATHS = {
    "list bots": "/api/v1/bots?limit=5",
    "list use cases": "/api/v1/usecases?limit=5",
    "search": "/api/v1/usecases?q=invoice",
    "see placements": "/api/v1/sponsors/placements",
    "see the inventory": "/api/v1/sponsors/inventory",
    "see the calendar": "/api/v1/sponsors/calendar?weeks=4",
    "see the front page": "/",
    "browse": "/bots?q=agent",
}


@dataclass(slots=True)
class Visitor(Caller):
    """Reads one thing after another, and sometimes searches for a text never searched for before."""

    name: ClassVar[str] = "reader"

    async def once(self) -> None:
        what = self.chance.choice(list(PATHS))
        path = PATHS[what]
        if what == "search":
            path += str(self.chance.randrange(10_000))
        await self.ask(what, path)


@dataclass(slots=True)
class Owner(Caller):
    """Reads how often the bookings were seen, in all and by day."""

    name: ClassVar[str] = "owner"

    key: str = ""
    bookings: Sequence[str] = ()

    async def once(self) -> None:
        path = f"{BOOKINGS}/{self.chance.choice(self.bookings)}"
        await self.ask("read counts", path, key=self.key)
        await self.ask("read counts by day", f"{path}/delivery", key=self.key)
        await self.think()
