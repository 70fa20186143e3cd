"""64 clients race for 200 weeks of slots with repeated and reused idempotency keys while the process is killed."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import trio

from actors.clock import SystemClock
from actors.shared.weeks import WEEK_MS, week_of
from tests.acceptance.postgres import free_port
from tests.acceptance.processes import Service, serving
from tests.acceptance.races import Race, accounts, bookings_of, judge
from tests.slow import SLOW

WEEKS = 25
KILLS_AFTER, ATTEMPTS = ((300, 900), 30) if SLOW else ((150, 450), 15)
"""Numbers of responses at which the process is killed, and attempts of each client."""

SETTINGS = {
    "bookings.open_holds": 1_000,
    "bookings.holds_per_day": 1_000,
    "tiers.claimed.per_minute": 1_000_000,
    "tiers.claimed.daily": 100_000,
    "log.level": "warning",
}


@dataclass(slots=True)
class Executioner:
    """Counts responses and signals when the process should be killed."""

    answered: int = 0
    now: trio.Event = field(default_factory=trio.Event)

    def note(self) -> None:
        self.answered += 1
        if self.answered in KILLS_AFTER:
            self.now.set()

    async def run(self, services: ExitStack, service: Service, data_dir: Path) -> None:
        """Kill the process at each signal and restart it at its address."""
        for _ in KILLS_AFTER:
            await self.now.wait()
            self.now = trio.Event()
            await trio.to_thread.run_sync(service.kill)
            bind = service.url.removeprefix("http://")
            service = services.enter_context(serving(data_dir, SETTINGS, bind=bind, wait=False))
            await trio.to_thread.run_sync(service.wait_ready)


async def test_a_race_for_200_weeks_over_two_kills_sells_no_week_twice_and_loses_no_answer(data_dir: Path) -> None:
    this_week, executioner = week_of(SystemClock().now_ms()), Executioner()
    with ExitStack() as services:
        first = services.enter_context(serving(data_dir, SETTINGS, bind=f"127.0.0.1:{free_port()}"))
        racing = await trio.to_thread.run_sync(accounts, first)
        weeks = [this_week + week * WEEK_MS for week in range(1, WEEKS + 1)]
        race = Race([first.url], weeks, racing, ATTEMPTS, on_answer=executioner.note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(executioner.run, services, first, data_dir)
            nursery.start_soon(race.run)
        bookings = await trio.to_thread.run_sync(bookings_of, first.url, racing)
    codes = judge(race, bookings)
    assert codes["lost"] > 0, codes
