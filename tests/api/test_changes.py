"""Followers of announcements survive errors of the announcer, and stop when told to."""

from collections.abc import Callable, Iterable
from typing import cast

import trio
from trio.testing import MockClock

from actors.kernel.supervision import running
from actors.keys.cache import KeyCache
from service.snapshots.catalog import Catalog
from service.snapshots.invalidation import CacheInvalidator
from service.snapshots.placements import Placements


class Announcing:
    """Fails once, then announces the given changes until cancelled."""

    def __init__(self) -> None:
        self.calls = 0

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("nobody expected this")
        on_gap()
        on_topic("key:" + "00" * 32)
        on_topic("tenant:ten_1")
        on_topic("catalog")
        on_topic("sponsorship")
        on_topic("of a newer version")
        await trio.sleep_forever()


class Told:
    """Stands in for the key cache, the catalog and the placements, and records calls."""

    def __init__(self, notes: list[object], name: str = "") -> None:
        self.notes = notes
        self.name = name

    def forget(self, hashes: Iterable[bytes] = (), tenants: Iterable[str] = ()) -> None:
        self.notes.append((*hashes, *tenants))

    def forget_all(self) -> None:
        self.notes.append("all")

    def refresh_soon(self) -> None:
        self.notes.append(self.name)


async def test_announcements_are_followed_again_after_a_failure(autojump_clock: MockClock) -> None:
    notes: list[object] = []
    announcing, keys, catalog, placements = Announcing(), *(Told(notes, name) for name in ("", "catalog", "placements"))
    changes = CacheInvalidator(announcing, cast(KeyCache, keys), cast(Catalog, catalog), cast(Placements, placements))
    with trio.fail_after(30):
        async with running([changes]):
            await trio.sleep(1)
    assert announcing.calls == 2
    assert notes == ["all", "catalog", "placements", (bytes(32),), ("ten_1",), "catalog", "placements"]
