"""Windows of bookings that are missing from a node's snapshot: looked up in batches, and current."""

from dataclasses import replace
from functools import partial

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.events.messages import NEVER, Window
from actors.events.windows import WindowReader
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.times import WEEK_MS
from actors.values import Overloaded, StorageUnavailable
from tests.actors.events import a_memory
from tests.doubles.events import MemoryEvents
from tests.doubles.tables import Memory
from tests.fakes import Step, after, kinds, now, together
from tests.stores.books import booking, campaign, week


def a_world(before: list[Step] | None = None) -> Memory:
    """Bookings 1 to 9, paid and approved, each in its own week."""
    memory = a_memory(before=before or [])
    memory.campaigns = {"cmp_1": campaign(1)}
    for number in range(1, 10):
        row = booking(number, status=BookingStatus.PAID, week_start_ms=week(number))
        memory.bookings[row.id] = row
        memory.slot_weeks[row.slot_id, row.week_start_ms] = row.id
    return memory


def window(number: int) -> Window:
    return Window(week(number), week(number) + WEEK_MS)


def reader(memory: Memory, limits: ActorLimits | None = None) -> WindowReader:
    return WindowReader(MemoryEvents(memory), node="one", limits=limits or ActorLimits())


async def test_known_bookings_have_windows_and_unknown_ones_are_left_out() -> None:
    windows = reader(a_world())
    async with running([windows]):
        assert await windows.windows(["bok_2", "bok_1", "unknown"]) == {"bok_1": window(1), "bok_2": window(2)}
        assert await windows.windows(["unknown"]) == {}


async def test_queued_questions_share_one_lookup_and_each_caller_gets_its_own_answer() -> None:
    windows = reader(a_world(before=[1.0]))
    asked = [["bok_1"], ["bok_2", "bok_1"], ["unknown", "bok_3"], ["bok_1", "bok_1"]]
    async with running([windows]):
        _, *answers = await together(
            now(windows.windows, ["bok_9"]), *(after(0.5, windows.windows, some) for some in asked)
        )
    assert [sorted(answer) for answer in answers] == [["bok_1"], ["bok_1", "bok_2"], ["bok_3"], ["bok_1"]]
    assert windows.statistics().batches == 2
    assert windows.statistics().messages == 1 + 7


async def test_nothing_is_remembered() -> None:
    memory = a_world()
    windows = reader(memory)
    async with running([windows]):
        assert await windows.windows(["bok_1"]) == {"bok_1": window(1)}
        memory.campaigns["cmp_1"] = replace(memory.campaigns["cmp_1"], status=CampaignStatus.PAUSED)
        assert await windows.windows(["bok_1"]) == {"bok_1": NEVER}
        del memory.bookings["bok_1"]
        assert await windows.windows(["bok_1"]) == {}


async def test_a_store_that_is_away_is_told() -> None:
    windows = reader(a_world(before=[StorageUnavailable("away")]))
    async with running([windows]):
        assert kinds(await together(now(windows.windows, ["bok_1"]))) == [StorageUnavailable]
        assert await windows.windows(["bok_1"]) == {"bok_1": window(1)}


async def test_more_look_ups_than_may_wait_are_refused_at_once() -> None:
    windows = reader(a_world(before=[5.0]), ActorLimits(mailbox=3, batch=3))
    async with running([windows]):
        results = await together(
            now(windows.windows, ["bok_1"]),
            after(1, windows.windows, ["bok_1", "bok_2"]),
            after(2, windows.windows, ["bok_3", "bok_4"]),
            after(3, partial(windows.windows, ["bok_5"])),
        )
    assert kinds(results) == [dict, dict, Overloaded, dict]
