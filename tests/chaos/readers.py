"""Readers of public content: the catalog, placements, inventory and pages."""

from dataclasses import dataclass
from typing import ClassVar

from tests.chaos.caller import Caller

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
