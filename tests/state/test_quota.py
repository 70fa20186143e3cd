"""The rules of quota: each cap at its edge, windows that end, refunds, and batches decided in order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.clock import DAY_MS, day_of, month_of
from actors.quota.messages import Answer, Charge, Message, Metered, Moved, Read, Refund
from actors.quota.state import Caps, decide, rolled_over, seconds_to_end
from actors.values import NO_HINT, Code, Refused, Tenant, Tier
from tests.fakes import utc_ms
from tests.slow import shortened

CAPS = {
    Tier.ANONYMOUS: Caps(daily=500, lifetime=1_000, usecase_reads=200),
    Tier.CLAIMED: Caps(daily=10_000, monthly=100_000),
    Tier.UPGRADED: Caps(daily=100_000, monthly=1_000_000),
}


NOON = utc_ms(2026, 11, 15, 12)
TODAY, THIS_MONTH = day_of(NOON), month_of(NOON)

anonymous = Tenant("t", Tier.ANONYMOUS, month=THIS_MONTH, day=TODAY)
claimed = replace(anonymous, tier=Tier.CLAIMED)
upgraded = replace(anonymous, tier=Tier.UPGRADED)
charge, usecase = Charge("t", usecase=False), Charge("t", usecase=True)
refund = Refund("t", usecase=False, month=THIS_MONTH, day=TODAY)


def ask(tenant: Tenant | None, message: Message, now_ms: int = NOON) -> Answer:
    [answer] = decide({} if tenant is None else {"t": tenant}, [message], now_ms, CAPS).answers
    return answer


def let_through(tenant: Tenant, message: Message, now_ms: int = NOON) -> Tenant:
    answer = ask(tenant, message, now_ms)
    assert isinstance(answer, Metered), answer
    return answer.tenant


def refused(tenant: Tenant, message: Message, now_ms: int = NOON) -> Refused:
    answer = ask(tenant, message, now_ms)
    assert isinstance(answer, Refused), answer
    return answer


# Charging.


def test_a_charge_is_kept() -> None:
    decision = decide({"t": claimed}, [charge], NOON, CAPS)
    assert decision.changed == {"t": replace(claimed, lifetime_used=1, month_used=1, day_used=1)}


EDGES = [
    (anonymous, "lifetime_used", 1_000, Code.QUOTA_EXHAUSTED),
    (anonymous, "day_used", 500, Code.RATE_LIMITED),
    (claimed, "month_used", 100_000, Code.QUOTA_EXHAUSTED),
    (claimed, "day_used", 10_000, Code.RATE_LIMITED),
    (upgraded, "month_used", 1_000_000, Code.QUOTA_EXHAUSTED),
    (upgraded, "day_used", 100_000, Code.RATE_LIMITED),
]


@pytest.mark.parametrize(("tenant", "counter", "cap", "code"), EDGES)
def test_the_last_request_below_a_cap_is_let_through(tenant: Tenant, counter: str, cap: int, code: Code) -> None:
    below: dict[str, Any] = {counter: cap - 1}
    used = let_through(replace(tenant, **below), charge)
    assert getattr(used, counter) == cap


@pytest.mark.parametrize(("tenant", "counter", "cap", "code"), EDGES)
def test_at_a_cap_the_next_request_is_refused(tenant: Tenant, counter: str, cap: int, code: Code) -> None:
    reached: dict[str, Any] = {counter: cap}
    assert refused(replace(tenant, **reached), charge).code is code


def test_a_refused_request_changes_nothing() -> None:
    assert decide({"t": replace(anonymous, lifetime_used=1_000)}, [charge], NOON, CAPS).changed == {}


def test_a_used_up_day_says_when_the_next_one_begins() -> None:
    assert refused(replace(claimed, day_used=10_000), charge).retry_after_seconds == 12 * 3_600


@pytest.mark.parametrize(
    "tenant",
    [
        replace(anonymous, lifetime_used=1_000),
        replace(claimed, month_used=100_000),
        replace(anonymous, usecase_reads=200),
    ],
)
def test_where_waiting_does_not_help_no_time_is_given(tenant: Tenant) -> None:
    assert refused(tenant, usecase).retry_after_seconds is None


@pytest.mark.parametrize(
    ("tenant", "code"),
    [
        (replace(anonymous, lifetime_used=1_000, usecase_reads=200, day_used=500), Code.QUOTA_EXHAUSTED),
        (replace(anonymous, usecase_reads=200, day_used=500), Code.CLAIM_REQUIRED),
        (replace(claimed, month_used=100_000, day_used=10_000), Code.QUOTA_EXHAUSTED),
    ],
)
def test_of_several_reasons_the_most_lasting_is_told(tenant: Tenant, code: Code) -> None:
    assert refused(tenant, usecase).code is code


def test_a_refusal_names_the_cap() -> None:
    assert refused(replace(anonymous, lifetime_used=1_000), charge).message == (
        "This key has used all of its 1000 requests. Claim it to continue."
    )
    assert (
        refused(replace(claimed, month_used=100_000), charge).message
        == "All 100000 requests of this month are used. Try again next month."
    )
    assert (
        refused(replace(claimed, day_used=10_000), charge).message
        == "All 10000 requests of today are used. Try again after 00:00 UTC."
    )
    assert refused(replace(anonymous, usecase_reads=200), usecase).message == (
        "An unclaimed key may read use cases 200 times. Claim it to continue."
    )


# Windows.


def test_a_new_day_starts_at_nothing_and_the_month_goes_on() -> None:
    used = let_through(replace(claimed, day_used=10_000, month_used=10_000), charge, utc_ms(2026, 11, 16))
    assert (used.day, used.day_used, used.month_used) == (TODAY + 1, 1, 10_001)


def test_a_day_lasts_until_its_last_millisecond() -> None:
    assert refused(replace(claimed, day_used=10_000), charge, utc_ms(2026, 11, 16) - 1).retry_after_seconds == 1


def test_a_new_month_starts_at_nothing() -> None:
    tenant = replace(claimed, month_used=100_000, day=day_of(utc_ms(2026, 11, 30)), day_used=7)
    assert refused(tenant, charge, utc_ms(2026, 12, 1) - 1).code is Code.QUOTA_EXHAUSTED
    used = let_through(tenant, charge, utc_ms(2026, 12, 1))
    assert (used.month, used.month_used, used.day_used) == (THIS_MONTH + 1, 1, 1)


def test_a_month_turns_with_the_year() -> None:
    december = replace(claimed, month=month_of(utc_ms(2026, 12, 31)), month_used=100_000)
    assert let_through(december, charge, utc_ms(2027, 1, 1)).month_used == 1


def test_a_tenant_that_was_never_used_has_no_window_yet() -> None:
    used = let_through(Tenant("t", Tier.CLAIMED), charge)
    assert (used.day, used.day_used, used.month, used.month_used) == (TODAY, 1, THIS_MONTH, 1)


def test_a_clock_behind_another_nodes_does_not_open_the_old_day_again() -> None:
    ahead = replace(claimed, day=TODAY + 1, day_used=10_000)
    assert refused(ahead, charge, utc_ms(2026, 11, 16) - 50).code is Code.RATE_LIMITED


def test_a_used_up_day_of_a_node_whose_clock_is_ahead_lasts_until_its_own_end() -> None:
    ahead = replace(claimed, day=TODAY + 1, day_used=10_000)
    assert refused(ahead, charge, utc_ms(2026, 11, 16) - 1).retry_after_seconds == 86_401


def test_a_clock_behind_another_nodes_counts_in_the_newer_windows() -> None:
    ahead = replace(claimed, day=TODAY + 16, day_used=3, month=THIS_MONTH + 1, month_used=3)
    used = let_through(ahead, charge, utc_ms(2026, 12, 1) - 50)
    assert (used.day, used.day_used, used.month, used.month_used) == (TODAY + 16, 4, THIS_MONTH + 1, 4)


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (utc_ms(2026, 11, 15), 86_400),
        (utc_ms(2026, 11, 15) + 1, 86_400),
        (utc_ms(2026, 11, 15, 23, 59, 59), 1),
        (utc_ms(2026, 11, 16) - 1, 1),
    ],
)
def test_the_seconds_to_the_end_of_a_day_are_whole_and_at_least_one(moment: int, seconds: int) -> None:
    assert seconds_to_end(TODAY, moment) == seconds
    assert moment + seconds * 1_000 >= utc_ms(2026, 11, 16)


# Refunds.


def test_a_refund_undoes_its_charge() -> None:
    used = let_through(anonymous, usecase)
    assert let_through(used, Refund("t", True, used.month, used.day)) == anonymous


def test_a_refund_of_another_request_leaves_use_case_reads() -> None:
    assert let_through(replace(anonymous, usecase_reads=5, lifetime_used=9), refund).usecase_reads == 5


def test_a_refund_of_yesterday_does_not_give_a_request_of_today() -> None:
    used = replace(claimed, lifetime_used=20, month_used=20, day_used=5)
    given_back = let_through(used, replace(refund, day=TODAY - 1))
    assert given_back == replace(used, lifetime_used=19, month_used=19)


def test_a_refund_of_last_month_does_not_give_a_request_of_this_one() -> None:
    used = replace(claimed, lifetime_used=20, month_used=20, day_used=5)
    given_back = let_through(used, replace(refund, day=TODAY - 15, month=THIS_MONTH - 1))
    assert given_back == replace(used, lifetime_used=19)


def test_a_refund_that_comes_on_the_next_day_finds_an_empty_day() -> None:
    given_back = let_through(replace(claimed, lifetime_used=5, month_used=5, day_used=5), refund, NOON + DAY_MS)
    assert (given_back.day, given_back.day_used, given_back.month_used) == (TODAY + 1, 0, 4)


# Reading, and tenants that do not exist.


def test_reading_shows_the_counters_as_of_now_and_changes_nothing() -> None:
    decision = decide({"t": replace(claimed, day_used=7, month_used=7)}, [Read("t")], NOON + DAY_MS, CAPS)
    assert decision.answers == [Metered(replace(claimed, day=TODAY + 1, month_used=7))]
    assert decision.changed == {}


def test_reading_is_not_refused_by_any_cap() -> None:
    assert isinstance(ask(replace(anonymous, lifetime_used=1_000, day_used=500), Read("t")), Metered)


@pytest.mark.parametrize("message", [charge, usecase, refund, Read("t")])
def test_a_merged_tenant_sends_everyone_back_to_the_key(message: Message) -> None:
    decision = decide({"t": replace(anonymous, merged_into="other")}, [message], NOON, CAPS)
    assert (decision.answers, decision.changed) == ([Moved()], {})
    assert isinstance(decision.answers[0], Moved)
    assert decision.answers[0].into == "other"


@pytest.mark.parametrize("message", [charge, refund, Read("t")])
def test_an_unknown_tenant_is_answered_like_a_merged_one(message: Message) -> None:
    assert ask(None, message) == Moved()


# The accounts of one mailbox, of which none has paid.


shared, of_other = Charge("t", usecase=False, siblings=("u", "gone")), Charge("u", usecase=False, siblings=("t",))


@pytest.mark.parametrize(
    ("counter", "cap", "code", "hint"),
    [
        ("month_used", 100_000, Code.QUOTA_EXHAUSTED, NO_HINT),
        ("day_used", 10_000, Code.RATE_LIMITED, None),
    ],
)
def test_they_share_a_cap_also_within_a_batch(counter: str, cap: int, code: Code, hint: str | None) -> None:
    used: dict[str, Any] = {counter: cap - 4_002}
    of_others: dict[str, Any] = {counter: 4_000}
    tenants = {"t": replace(claimed, **used), "u": replace(claimed, id="u", **of_others)}
    first, second, third = decide(tenants, [shared, of_other, shared], NOON, CAPS).answers
    assert [type(first), type(second)] == [Metered, Metered]
    assert isinstance(third, Refused)
    assert (third.code, third.hint) == (code, hint)
    assert "are used by the accounts of your mailbox. Try again" in third.message
    used_up: dict[str, Any] = {counter: cap - 4_000}
    assert decide(tenants | {"t": replace(claimed, **used_up)}, [shared], NOON, CAPS).answers == [third]


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({}, {"day": TODAY - 1, "day_used": 10_000}),
        ({}, {"month": THIS_MONTH - 1, "month_used": 100_000}),
        ({"day": TODAY + 1}, {"day_used": 10_000}),
        ({"month": THIS_MONTH + 1}, {"month_used": 100_000}),
    ],
)
def test_what_others_used_in_another_day_or_month_does_not_count(own: dict[str, Any], other: dict[str, Any]) -> None:
    tenants = {"t": replace(claimed, **own), "u": replace(claimed, id="u", **other)}
    [answer] = decide(tenants, [shared], NOON, CAPS).answers
    assert isinstance(answer, Metered)


# Batches.


def test_messages_of_one_batch_see_what_earlier_ones_changed() -> None:
    answers = decide({"t": claimed}, [charge, charge, Read("t")], NOON, CAPS).answers
    assert [answer.tenant.day_used for answer in answers if isinstance(answer, Metered)] == [1, 2, 2]


def test_a_tenant_that_is_gone_keeps_nobody_else_of_its_batch_waiting() -> None:
    answers = decide({"t": claimed}, [Charge("gone", usecase=False), charge], NOON, CAPS).answers
    assert [type(answer) for answer in answers] == [Moved, Metered]


def test_tenants_of_one_batch_do_not_touch_one_another() -> None:
    tenants = {"t": replace(claimed, day_used=10_000), "u": replace(claimed, id="u")}
    decision = decide(tenants, [charge, Charge("u", usecase=False), charge], NOON, CAPS)
    assert [type(answer) for answer in decision.answers] == [Refused, Metered, Refused]
    assert list(decision.changed) == ["u"]


TIGHT = {
    Tier.ANONYMOUS: Caps(daily=6, lifetime=8, usecase_reads=3),
    Tier.CLAIMED: Caps(daily=5, monthly=7),
    Tier.UPGRADED: Caps(daily=9, monthly=12),
}
few = st.integers(0, 12)
tenants = st.builds(
    Tenant,
    id=st.just("t"),
    tier=st.sampled_from(Tier),
    lifetime_used=few,
    usecase_reads=few,
    month=st.integers(THIS_MONTH - 1, THIS_MONTH + 1),
    month_used=few,
    day=st.integers(TODAY - 1, TODAY + 1),
    day_used=few,
)
messages = st.one_of(
    st.builds(Charge, st.just("t"), st.booleans()),
    st.builds(
        Refund,
        st.just("t"),
        st.booleans(),
        st.integers(THIS_MONTH - 1, THIS_MONTH + 1),
        st.integers(TODAY - 1, TODAY + 1),
    ),
)
steady = settings(max_examples=shortened(300), derandomize=True, database=None, deadline=None)


@steady
@given(tenant=tenants, count=st.integers(1, 30))
def test_a_batch_of_charges_is_granted_exactly_what_is_left_and_in_order(tenant: Tenant, count: int) -> None:
    caps = TIGHT[tenant.tier]
    left = caps.daily - (tenant.day_used if tenant.day >= TODAY else 0)
    if caps.monthly is not None:
        left = min(left, caps.monthly - (tenant.month_used if tenant.month >= THIS_MONTH else 0))
    if caps.lifetime is not None:
        left = min(left, caps.lifetime - tenant.lifetime_used)
    granted = min(count, max(0, left))
    answers = decide({"t": tenant}, [charge] * count, NOON, TIGHT).answers
    assert [isinstance(answer, Metered) for answer in answers] == [True] * granted + [False] * (count - granted)


@steady
@given(tenant=tenants, batch=st.lists(messages, max_size=30))
def test_a_batch_decides_as_a_naive_model_does_one_by_one(tenant: Tenant, batch: Sequence[Message]) -> None:
    model = Model(tenant)
    decision = decide({"t": tenant}, batch, NOON, TIGHT)
    told = [answer.code if isinstance(answer, Refused) else None for answer in decision.answers]
    assert told == [model.handle(message) for message in batch]
    if decision.changed:
        left = decision.changed["t"]
        assert (left.lifetime_used, left.usecase_reads, left.month_used, left.day_used) == model.counters()


@steady
@given(tenant=tenants, batch=st.lists(messages, max_size=30), names=st.lists(st.sampled_from("abc"), min_size=30))
def test_the_days_of_keys_change_by_what_the_day_of_their_tenant_does(
    tenant: Tenant, batch: Sequence[Charge | Refund], names: Sequence[str]
) -> None:
    keyed = [replace(message, key_id=name) for message, name in zip(batch, names, strict=False)]
    decision = decide({"t": tenant}, keyed, NOON, TIGHT)
    assert decision.answers == decide({"t": tenant}, batch, NOON, TIGHT).answers
    before = rolled_over(tenant, NOON)
    after = decision.changed.get("t", before)
    assert sum(decision.by_key.values()) == after.day_used - before.day_used
    assert {(owner, day) for owner, _, day in decision.by_key} <= {("t", after.day)}
    assert decide({"t": tenant}, batch, NOON, TIGHT).by_key == {}


class Model:
    """A second, simpler implementation of the rules."""

    def __init__(self, tenant: Tenant) -> None:
        self.caps = TIGHT[tenant.tier]
        self.lifetime, self.reads = tenant.lifetime_used, tenant.usecase_reads
        self.day, self.month = max(tenant.day, TODAY), max(tenant.month, THIS_MONTH)
        self.today = 0 if tenant.day < TODAY else tenant.day_used
        self.this_month = 0 if tenant.month < THIS_MONTH else tenant.month_used

    def counters(self) -> tuple[int, int, int, int]:
        return self.lifetime, self.reads, self.this_month, self.today

    def handle(self, message: Message) -> Code | None:
        match message:
            case Charge():
                return self.charge(message.usecase)
            case Refund():
                self.refund(message)
            case Read():
                pass
        return None

    def charge(self, usecase: bool) -> Code | None:
        if self.caps.lifetime is not None and self.lifetime == max(self.lifetime, self.caps.lifetime):
            return Code.QUOTA_EXHAUSTED
        if self.caps.monthly is not None and self.this_month == max(self.this_month, self.caps.monthly):
            return Code.QUOTA_EXHAUSTED
        if usecase and self.caps.usecase_reads is not None and self.reads == max(self.reads, self.caps.usecase_reads):
            return Code.CLAIM_REQUIRED
        if self.today == max(self.today, self.caps.daily):
            return Code.RATE_LIMITED
        self.lifetime, self.this_month, self.today = self.lifetime + 1, self.this_month + 1, self.today + 1
        self.reads += usecase
        return None

    def refund(self, refund: Refund) -> None:
        self.lifetime -= self.lifetime > 0
        self.reads -= refund.usecase and self.reads > 0
        self.today -= refund.day == self.day and self.today > 0
        self.this_month -= refund.month == self.month and self.this_month > 0
