"""How a demo makes way for real rows: which rows stay, are retired or are left out."""

from dataclasses import replace

from actors.bookings.demo import DemoData, ExistingRows, plan
from actors.bookings.unit_of_work import weeks_of
from service.seed.demo import demo_data

NOW = 1_795_000_000_000
DATA = demo_data(NOW)
STANDING = ExistingRows(
    tenants={account.email: account.tenant_id for account in DATA.accounts},
    sponsors={row.tenant_id: True for row in DATA.sponsors},
    slots={row.id: True for row in DATA.slots},
    campaigns={row.id: True for row in DATA.campaigns},
    bookings={row.id: True for row in DATA.bookings},
)
"""An existing demo that nobody has touched."""
SLOT = DATA.bookings[0].slot_id


def test_where_nothing_stands_all_is_written_with_its_accounts() -> None:
    planned = plan(ExistingRows(), DATA)
    assert (planned.data, planned.accounts) == (DATA, DATA.accounts)
    assert (planned.counts.bookings, planned.counts.removed, planned.counts.left_out) == (len(DATA.bookings), 0, 0)


def test_a_demo_takes_the_place_of_the_one_before() -> None:
    planned = plan(STANDING, DATA)
    assert planned.data == DATA
    assert planned.accounts == ()
    assert len(planned.sponsors) == len(DATA.sponsors)
    assert (len(planned.campaigns), len(planned.bookings)) == (len(DATA.campaigns), len(DATA.bookings))
    assert planned.slots == (), "slots are written over, so that whoever waits for one finds it"


def test_slots_that_the_data_has_no_more_go() -> None:
    planned = plan(replace(STANDING, slots=STANDING.slots | {"demo-old": True}), DATA)
    assert planned.slots == ("demo-old",)
    assert planned.counts.removed == sum(map(len, (DATA.sponsors, DATA.slots, DATA.campaigns, DATA.bookings))) + 1


def test_without_data_the_demo_goes() -> None:
    planned = plan(STANDING, None)
    assert planned.data == DemoData()
    assert planned.counts.removed == sum(map(len, (DATA.sponsors, DATA.slots, DATA.campaigns, DATA.bookings)))
    assert (planned.counts.retired, planned.counts.left_out) == (0, 0)


def test_rows_belong_to_the_tenants_of_accounts_that_exist() -> None:
    email = DATA.accounts[0].email
    planned = plan(ExistingRows(tenants={email: "ten_there"}), DATA)
    assert planned.accounts == DATA.accounts[1:]
    tenants = {"ten_there", DATA.accounts[1].tenant_id}
    assert {row.tenant_id for row in planned.data.sponsors} == tenants
    assert {row.tenant_id for row in planned.data.campaigns} == tenants
    assert {row.tenant_id for row in planned.data.bookings} == tenants


def test_a_slot_that_a_real_booking_has_is_retired_or_written_anew() -> None:
    used = replace(STANDING, used_slots={SLOT, "real-slot"}, slots=STANDING.slots | {"demo-old": True})
    used.used_slots.add("demo-old")
    removed, replaced = plan(used, None), plan(used, DATA)
    assert removed.retired == tuple(sorted([SLOT, "demo-old"]))
    assert SLOT not in removed.slots
    assert replaced.retired == ("demo-old",), "the data has it no more"
    assert SLOT in {row.id for row in replaced.data.slots}
    assert not {SLOT, "demo-old"} & set(replaced.slots)


def test_a_booking_whose_week_a_real_one_has_is_left_out_with_its_days() -> None:
    taken = DATA.bookings[0]
    planned = plan(replace(STANDING, weeks={weeks_of(taken)[-1]}), DATA)
    assert {row.id for row in DATA.bookings} - {row.id for row in planned.data.bookings} == {taken.id}
    assert taken.id in {row.booking_id for row in DATA.days}
    assert taken.id not in {row.booking_id for row in planned.data.days}
    assert not {week for week in planned.data.weeks if week[0] == taken.slot_id} & set(weeks_of(taken))
    assert planned.counts.left_out == 1


def test_a_profile_and_a_campaign_that_real_rows_need_stay_as_they_are() -> None:
    tenant, campaign = DATA.sponsors[0].tenant_id, DATA.campaigns[0].id
    used = replace(STANDING, used_sponsors={tenant}, used_campaigns={campaign})
    for data in (DATA, None):
        planned = plan(used, data)
        assert tenant not in planned.sponsors
        assert campaign not in planned.campaigns
        assert tenant not in {row.tenant_id for row in planned.data.sponsors}
        assert campaign not in {row.id for row in planned.data.campaigns}
        assert len(planned.data.bookings) == (len(DATA.bookings) if data else 0)


def test_real_rows_with_the_ids_of_the_demo_are_not_touched() -> None:
    booking = DATA.bookings[0]
    tenant, campaign = DATA.sponsors[0].tenant_id, DATA.campaigns[0].id
    ground = ExistingRows(
        sponsors={tenant: False},
        slots={SLOT: False},
        campaigns={campaign: False},
        bookings={booking.id: False},
        used_slots={SLOT},
    )
    planned = plan(ground, DATA)
    assert (planned.sponsors, planned.slots, planned.campaigns, planned.bookings, planned.retired) == ((),) * 5
    assert tenant not in {row.tenant_id for row in planned.data.sponsors}
    assert campaign not in {row.id for row in planned.data.campaigns}
    assert SLOT not in {row.id for row in planned.data.slots}
    assert SLOT not in {row.slot_id for row in planned.data.bookings}, "bookings of a real slot are real ones"


def test_a_real_booking_with_the_id_of_a_demo_one_is_not_written_over() -> None:
    booking = DATA.bookings[3]
    planned = plan(ExistingRows(bookings={booking.id: False}), DATA)
    assert booking.id not in {row.id for row in planned.data.bookings}
    assert planned.counts.left_out == 1
