"""Writes the demo as of now into a store, or removes it."""

from actors.bookings.demo import DemoCounts
from actors.bookings.messages import Origin
from actors.bookings.store import DemoStore
from actors.clock import Clock, Entropy
from actors.ids import ID_BYTES, new_id
from actors.values import Agent
from service.seed.demo import demo_data
from service.seed.retries import retried


async def replace_demo(
    store: DemoStore, clock: Clock, entropy: Entropy, agent: Agent, *, remove: bool = False, first: bool = False
) -> DemoCounts | None:
    """Replace the demo of the store, or `remove` it. Returns what was done. Raises `StorageUnavailable`.

    With `first`, a store that has been used before stays as it is, and None is returned.
    """

    async def replace() -> DemoCounts | None:
        now_ms = clock.now_ms()
        origin = Origin(agent, "", new_id("aud", entropy.token(ID_BYTES)))
        return await store.replace_demo(None if remove else demo_data(now_ms), origin, now_ms, first=first)

    return await retried(replace)
