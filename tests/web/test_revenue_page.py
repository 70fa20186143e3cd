"""The page of the revenue: months, the year before, slots, sponsors, and the weeks ahead."""

from dataclasses import replace
from typing import Any

from actors.times import DAY_MS
from tests.api.sponsors import sponsor
from tests.api.world import World
from tests.web.test_administration import boss


async def test_revenue_is_a_table_by_month(world: World) -> None:
    person = sponsor(world)
    await person.buys()
    visitor = boss(world)
    seen = await visitor.look("/admin/revenue")
    assert "In test mode, no money moved" in seen.text
    assert "After refunds $120 November 2026 Paid $120 1 payment Refunded $0 0.00 % of what was paid" in seen.text
    assert "November 2026 1 $120 $0 $120" in seen.text
    [form] = [each for each in seen.forms if "from" in each.fields]
    assert form.fields == {"from": "2025-12", "to": "2026-11"}
    assert (form.options["from"][0], len(form.options["from"]), form.options["from"][-1]) == ("2026-11", 60, "2021-12")
    spans = [each for each in seen.links if each.startswith("/admin/revenue?")]
    assert [each.partition("?")[2] for each in spans] == [
        f"from={first}&to=2026-11" for first in ("2026-11", "2026-09", "2025-12")
    ]
    chosen = [each["href"] for each in seen.all("a") if each.get("aria-current") == "true" and each["href"] in spans]
    assert chosen == spans[2:]
    assert "Nothing was paid in these months" in (await visitor.look("/admin/revenue?from=2026-01&to=2026-02")).text


async def test_revenue_has_the_year_before_slots_sponsors_and_the_next_weeks_each_in_its_currency(world: World) -> None:
    person = sponsor(world)
    row = world.memory.bookings[await person.buys()]
    last_year = (row.paid_ms or 0) - 365 * DAY_MS
    others: dict[str, dict[str, Any]] = {
        "before": {"paid_ms": last_year, "paid_cents": 10_000, "refunded_cents": 1_000},
        "gone": {"paid_ms": last_year - 40 * DAY_MS},
        "euros": {"paid_currency": "eur", "paid_cents": 7_700},
        "sample": {"demo": True, "paid_cents": 99_900},
    }
    for name, changed in others.items():
        world.memory.bookings[name] = replace(row, id=name, payment_id=f"pay_{name}", **changed)
    seen = await boss(world).look("/admin/revenue")
    for words in (
        "November 2026 1 $120 $0 $120 $90",
        "October 2026 0 $0 $0 $0 $120",
        "November 2026 1 EUR 77.00 EUR 0.00 EUR 77.00 None",
        "Payments by slot, most first, in test mode, USD Slot Payments Paid Refunded Slot left-top 1 $120 $0",
        "Payments by sponsor, most first, in test mode, EUR",
        "Sponsor Payments Paid Refunded Example Tools 1 EUR 77.00 EUR 0.00",
        "Next 8 weeks Sold 12 % 1 of 8 weeks of slots for sale Open $840 at the prices of now Held 0",
    ):
        assert words in seen.text, words
    assert "/admin/bookings?slot=left-top" in seen.links
    assert "$197" not in seen.text, "currencies are never added up"


async def test_slots_that_are_not_among_the_first_are_summed_in_one_row(world: World) -> None:
    row = world.memory.bookings[await sponsor(world).buys()]
    for n in range(12):
        slot_id = f"more-{n:02}"
        world.memory.slots[slot_id] = replace(world.memory.slots[row.slot_id], id=slot_id, name=f"More {n:02}")
        world.memory.bookings[slot_id] = replace(
            row, id=slot_id, payment_id=slot_id, slot_id=slot_id, paid_cents=n * 100
        )
    seen = await boss(world).look("/admin/revenue")
    assert "More 03 1 $3 $0 3 other slots 3 $3 $0" in seen.text
    assert "Example Tools 13 $186 $0" in seen.text
