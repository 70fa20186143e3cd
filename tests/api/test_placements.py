"""Operations 10 and 11: inventory and live placements, exact to the millisecond and during database outages."""

import pytest
import trio

from actors.bookings.records import Booking, BookingStatus, Side, Slot
from actors.clock import MINUTE_MS
from tests.api.asgi import Response
from tests.api.world import World, away, open_world
from tests.snapshots.rows import NOON_MS, booking, hold, slot, week

INVENTORY, PLACEMENTS = "/api/v1/sponsors/inventory", "/api/v1/sponsors/placements"
BOTH = [INVENTORY, PLACEMENTS]


def free(response: Response) -> list[str]:
    """The slots that can be booked."""
    assert response.words == "200"
    return [each["id"] for each in response.json["slots"] if each["available"]]


def live(response: Response) -> list[str]:
    assert response.words == "200"
    return [each["bookingId"] for each in response.json["placements"]]


@pytest.fixture
async def stocked(world: World) -> World:
    """Two slots: one booked this week and the week after, the other with a hold."""
    await stored(world, slot(), slot("right-1", side=Side.RIGHT), booking("a"), booking("b", start=1))
    await stored(world, hold("c", NOON_MS + 30 * MINUTE_MS, "right-1"))
    return world


async def stored(world: World, *rows: Slot | Booking, silently: bool = False) -> None:
    """Commit rows and refresh the node."""
    world.sponsorship_store.keep(*rows, silently=silently)
    await world.settled()


# Weeks.


@pytest.mark.parametrize(
    ("query", "number"),
    [
        *((query, 0) for query in ("", "?weekStart", "?weekStart=", "?other=1")),
        *((f"?weekStart={start}", 0) for start in (week(0), NOON_MS, week(1) - 1)),
        *((f"?weekStart={week(number)}", number) for number in (1, -1, 26)),
        (f"?weekStart=000{week(1)}", 1),
        (f"?weekStart={week(27) - 1}", 26),
        (f"?%77eekStart={week(2)}", 2),
    ],
)
async def test_this_query_means_this_week(world: World, query: str, number: int) -> None:
    response = await world.client.get(f"{INVENTORY}{query}")
    assert response.words == "200"
    assert (response.json["weekStart"], response.json["weekEnd"]) == (week(number), week(number + 1))


@pytest.mark.parametrize(
    "value",
    [
        *(
            "0",
            "-1",
            str(week(-1) - 1),
            str(week(27)),
            str(NOON_MS // 1_000),
            "253402300800000",
            str(2**63),
            "9" * 5_000,
        ),
        *(f"{NOON_MS}.5", f"%2B{NOON_MS}", f"%20{NOON_MS}", f"{NOON_MS}%00", "%20", "٣", "true", "2026-11-16"),
        *(f"{NOON_MS}&weekStart={NOON_MS}", "&weekStart="),
    ],
    ids=lambda value: value[:20],
)
async def test_any_other_week_is_refused(world: World, value: str) -> None:
    response = await world.client.get(f"{INVENTORY}?weekStart={value}")
    assert response.words == "400 invalid_request"
    assert "weekStart: " in response.json["message"]


async def test_the_horizon_comes_from_the_configuration() -> None:
    async with open_world(BOOKINGS__HORIZON_WEEKS=2) as world:
        assert (await world.client.get(f"{INVENTORY}?weekStart={week(2)}")).words == "200"
        response = await world.client.get(f"{INVENTORY}?weekStart={week(3)}")
        assert response.words == "400 invalid_request"
        assert "2 weeks ahead" in response.json["message"]


async def test_placements_take_no_parameters(stocked: World) -> None:
    plain = await stocked.client.get(PLACEMENTS)
    assert (await stocked.client.get(f"{PLACEMENTS}?weekStart=x&limit=0&cursor=y")).body == plain.body


# Placements.


async def test_the_inventory_says_what_can_be_booked(stocked: World) -> None:
    client = stocked.client
    assert free(await client.get(INVENTORY)) == []
    assert free(await client.get(f"{INVENTORY}?weekStart={week(1)}")) == ["right-1"]
    assert free(await client.get(f"{INVENTORY}?weekStart={week(2)}")) == ["left-1", "right-1"]
    assert free(await client.get(f"{INVENTORY}?weekStart={week(-1)}")) == [], "a past week can be read, not booked"


async def test_the_billing_mode_comes_from_the_configuration(world: World) -> None:
    assert (await world.client.get(INVENTORY)).json["billingMode"] == "test"
    keys = {"BILLING__STRIPE_SECRET_KEY": "sk_live_x", "BILLING__STRIPE_WEBHOOK_SECRET": "whsec_x"}
    async with open_world(BILLING__MODE="live", **keys) as live_world:
        assert (await live_world.client.get(INVENTORY)).json["billingMode"] == "live"


async def test_placements_are_those_that_are_live(stocked: World) -> None:
    response = await stocked.client.get(PLACEMENTS)
    assert live(response) == ["a"]
    creative = {"headline", "body", "cta", "targetUrl", "logoText"}
    assert response.json["placements"][0].keys() == creative | {"bookingId", "sponsorName", "side", "demo", "slotId"}


async def test_a_change_is_seen_at_once(stocked: World) -> None:
    await stored(stocked, booking("a", status=BookingStatus.REFUNDING), booking("d", "right-1"))
    assert live(await stocked.client.get(PLACEMENTS)) == ["d"]
    assert free(await stocked.client.get(INVENTORY)) == ["left-1"]


# Caching.


@pytest.mark.parametrize(
    ("left_ms", "seconds"), [(15_001, 15), (15_000, 15), (14_999, 14), (1_000, 1), (999, 0), (1, 0), (0, 15)]
)
async def test_no_answer_is_kept_beyond_the_weeks_turn(stocked: World, left_ms: int, seconds: int) -> None:
    stocked.clock.at_ms = week(1) - left_ms
    for target in (*BOTH, f"{INVENTORY}?weekStart={week(9)}"):
        response = await stocked.client.get(target)
        assert response.header("cache-control") == f"public, max-age={seconds}"
        assert response.header("vary") == "Authorization, Accept-Encoding"


# Metrics.


async def test_the_snapshots_are_seen_in_the_metrics(stocked: World) -> None:
    page = (await stocked.client.get("/metrics")).body.decode()
    revision = stocked.services.placements.revision
    assert revision == 2
    for line in (
        'catalog_snapshot_revision{snapshot="catalog"} 1.0',
        'catalog_snapshot_revision{snapshot="placements"} 2.0',
        'catalog_snapshot_away{snapshot="placements"} 0.0',
        "catalog_placements_live 1.0",
    ):
        assert f"\n{line}\n" in page
    stocked.clock.at_ms = week(2)
    stocked.memory.before = away
    await trio.sleep(1)
    page = (await stocked.client.get("/metrics")).body.decode()
    assert "\ncatalog_placements_live 0.0\n" in page
    assert '\ncatalog_snapshot_away{snapshot="placements"} 1.0\n' in page


async def test_ads_have_a_limit_of_their_own_for_each_address() -> None:
    async with open_world(KEYLESS__PER_MINUTE=1, PLACEMENTS__PER_MINUTE=3) as world:
        paths = ("/sponsors/placements", "/sponsors/inventory", "/sponsors/placements", "/sponsors/inventory")
        words = [(await world.client.get(f"/api/v1{path}")).words for path in paths]
        assert words == ["200", "200", "200", "429 rate_limited"]
        assert [(await world.client.get("/api/v1/usecases")).words for _ in range(2)] == ["200", "429 rate_limited"]
        assert (await world.client.get("/api/v1/sponsors/placements", world.key())).words == "200"
