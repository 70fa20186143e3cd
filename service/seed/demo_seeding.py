"""Putting the demo of this moment into a store, or taking it away: runs again where something came between."""

import trio

from actors.bookings.demo import DemoCounts
from actors.bookings.messages import Origin
from actors.bookings.store import DemoStore
from actors.clock import Clock, Entropy
from actors.ids import ID_BYTES, new_id
from actors.values import Agent, Contended, OutcomeUnknown, StorageUnavailable
from service.seed.catalog_import import ATTEMPTS, PAUSE_SECONDS
from service.seed.demo import demo_data


async def replace_demo(
    store: DemoStore, clock: Clock, entropy: Entropy, agent: Agent, *, remove: bool = False, first: bool = False
) -> DemoCounts | None:
    """What was done; None where `first` is asked for and it is not the first. Raises `StorageUnavailable`."""
    for attempt in range(ATTEMPTS):
        now_ms = clock.now_ms()
        origin = Origin(agent, "", new_id("aud", entropy.token(ID_BYTES)))
        try:
            return await store.replace_demo(None if remove else demo_data(now_ms), origin, now_ms, first=first)
        except (Contended, OutcomeUnknown):
            await trio.sleep(PAUSE_SECONDS * (attempt + 1))
    raise StorageUnavailable("other changes kept coming between")
