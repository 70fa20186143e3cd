"""The rules of claiming by email: each refusal and which comes first, attempts, codes, repeats, and accounts that merge."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from actors.clock import day_of, month_of
from actors.keys.messages import Answer, Claim, Claimed, KeySaved, Message
from actors.keys.state import KeyRules, merged
from actors.keys.suspension import suspended
from actors.shared.code_mails import CodeMailRules
from actors.shared.codes import CodeRules
from actors.shared.credentials import Kind
from actors.shared.notices import notice
from actors.values import AcceptedTerms, Account, AuditRecord, Code, Done, Refused, Tenant, Tier
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, NOON, RIGHT, SECOND, WRONG, Registry, token


@pytest.fixture
def registry() -> Registry:
    """A key has been minted, and a code was sent to Ann for it."""
    registry = minted()
    registry.act(registry.start("1"))
    return registry


def minted() -> Registry:
    registry = Registry()
    registry.act(registry.mint("1"))
    return registry


def codes(answers: list[Answer]) -> list[Code | None]:
    return [answer.code if isinstance(answer, Refused) else None for answer in answers]


def refusal(answer: Answer) -> Refused:
    assert isinstance(answer, Refused), answer
    return answer


# Minting.


def test_minting_keeps_an_anonymous_key_with_a_tenant_and_a_claim() -> None:
    registry = Registry()
    assert registry.act(registry.mint("1")) == [KeySaved(registry.keys["k1"])]
    assert registry.tenants == {"t1": Tenant("t1", Tier.ANONYMOUS)}
    assert registry.claims == {token("1"): Claim(token("1"), "k1", NOON)}
    assert registry.keys["k1"].expires_ms == NOON + 72 * HOUR
    announced = registry.last.touched_keys, registry.last.touched_tenants, registry.audits
    assert announced == ([], [], []), "nobody can know the key yet"


# Starting.


def test_starting_sends_a_mail_and_remembers_the_code() -> None:
    registry = minted()
    start = registry.start("1")
    assert registry.one(start) == Done()
    assert registry.outbox == [replace(start.draft.message, facts='{"label": "cs_anon_1"}')]
    assert registry.claims[token("1")] == Claim(
        token("1"),
        "k1",
        NOON,
        email=ANN,
        proof=RIGHT,
        code_expires_ms=NOON + 10 * MINUTE,
        attempts=0,
        sent_ms=NOON,
        sent_day=day_of(NOON),
        sent_today=1,
    )


def test_a_minted_key_can_be_claimed_in_the_same_batch() -> None:
    registry = Registry()
    answers = registry.act(registry.mint("1"), registry.start("1"), registry.complete("1"))
    assert [type(answer) for answer in answers] == [KeySaved, Done, Claimed]


@pytest.mark.parametrize(("passed", "seconds"), [(0, 60), (1, 60), (1 * SECOND, 59), (60 * SECOND - 1, 1)])
def test_the_next_code_is_sent_after_a_minute(registry: Registry, passed: int, seconds: int) -> None:
    registry.pass_ms(passed)
    answer = refusal(registry.one(registry.start("1")))
    assert (answer.code, answer.retry_after_seconds) == (Code.RATE_LIMITED, seconds)
    assert answer.message == f"A code was sent a moment ago. Try again in {seconds} s."


def test_of_two_starts_in_one_batch_one_sends_a_mail() -> None:
    registry = minted()
    assert codes(registry.act(registry.start("1"), registry.start("1", BOB))) == [None, Code.RATE_LIMITED]
    assert [message.recipient for message in registry.outbox] == [ANN]


def spend_the_day(registry: Registry) -> None:
    for _ in range(4):
        registry.pass_ms(MINUTE)
        assert registry.one(registry.start("1")) == Done()
    registry.pass_ms(MINUTE)


def test_the_sixth_code_of_a_day_is_refused_until_midnight(registry: Registry) -> None:
    spend_the_day(registry)
    answer = refusal(registry.one(registry.start("1")))
    assert (answer.code, answer.retry_after_seconds) == (Code.RATE_LIMITED, 12 * 3_600 - 5 * 60)
    assert answer.message.startswith("No more codes can be sent for this token today.")
    assert len(registry.outbox) == 5


def test_the_day_turns_at_midnight_and_not_before(registry: Registry) -> None:
    spend_the_day(registry)
    registry.now_ms = NOON + 12 * HOUR - 1
    assert refusal(registry.one(registry.start("1"))).retry_after_seconds == 1
    registry.pass_ms(1)
    assert registry.one(registry.start("1")) == Done()


def test_another_email_does_not_bring_more_codes(registry: Registry) -> None:
    spend_the_day(registry)
    assert refusal(registry.one(registry.start("1", BOB))).code is Code.RATE_LIMITED


def test_another_token_has_codes_of_its_own(registry: Registry) -> None:
    registry.act(registry.mint("2"))
    assert registry.one(registry.start("2")) == Done()


def test_the_pause_is_reported_before_the_day(registry: Registry) -> None:
    spend_the_day(registry)
    registry.pass_ms(-1)
    assert refusal(registry.one(registry.start("1"))).retry_after_seconds == 1


@pytest.mark.parametrize(("ahead_ms", "sent"), [(24 * HOUR, False), (24 * HOUR + 1, True), (1_000_000 * HOUR, True)])
def test_what_a_clock_sent_that_was_wrong_by_more_than_a_day_holds_no_code_back(
    registry: Registry, ahead_ms: int, sent: bool
) -> None:
    spend_the_day(registry)
    ahead = replace(registry.claims[token("1")], sent_ms=registry.now_ms + ahead_ms, sent_day=2**31 - 1)
    registry.claims[token("1")] = ahead
    assert (registry.one(registry.start("1")) == Done()) is sent
    if sent:
        claim = registry.claims[token("1")]
        assert (claim.sent_ms, claim.sent_day, claim.sent_today) == (registry.now_ms, day_of(registry.now_ms), 1)
        assert refusal(registry.one(registry.start("1"))).retry_after_seconds == 60


def test_a_clock_behind_the_node_that_sent_does_not_start_the_day_again(registry: Registry) -> None:
    spend_the_day(registry)
    sent = registry.claims[token("1")]
    registry.claims[token("1")] = replace(sent, sent_day=sent.sent_day + 1, sent_ms=0)
    registry.now_ms = NOON + 12 * HOUR - 200
    assert refusal(registry.one(registry.start("1"))).retry_after_seconds == 24 * 3_600 + 1


# Refusals.


REFUSED: dict[str, tuple[Code, Callable[[Registry], list[Message]]]] = {
    "a code for an unknown token": (Code.INVALID_CLAIM, lambda it: [it.start("9")]),
    "a code for a revoked key": (Code.INVALID_CLAIM, lambda it: [it.revoke("1"), it.start("1")]),
    "a code for a claimed key": (Code.ALREADY_UPGRADED, lambda it: [it.complete("1"), it.start("1")]),
    "an unknown token": (Code.INVALID_CLAIM, lambda it: [it.complete("9")]),
    "a token without a code": (Code.INVALID_CLAIM, lambda it: [it.mint("2"), it.complete("2")]),
    "another email than that of the code": (Code.INVALID_CLAIM, lambda it: [it.complete("1", BOB)]),
    "a wrong code": (Code.INVALID_CODE, lambda it: [it.complete("1", proof=WRONG)]),
    "a revoked key": (Code.INVALID_CLAIM, lambda it: [it.revoke("1"), it.complete("1")]),
    "a wrong code for a revoked key": (Code.INVALID_CODE, lambda it: [it.revoke("1"), it.complete("1", proof=WRONG)]),
    "a key that was revoked after its claim": (
        Code.INVALID_CLAIM,
        lambda it: [it.complete("1"), it.revoke("1"), it.complete("1")],
    ),
    "another email for a claimed key": (Code.ALREADY_UPGRADED, lambda it: [it.complete("1"), it.complete("1", BOB)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_neither_mailed_nor_audited_nor_announced(registry: Registry, name: str) -> None:
    code, messages = REFUSED[name]
    *before, last = messages(registry)
    registry.act(*before)
    claimed = dict(registry.accounts)
    assert refusal(registry.one(last)).code is code
    decision = registry.last
    assert registry.accounts == claimed
    assert (decision.outbox, decision.audits, decision.touched_keys, decision.touched_tenants) == ([], [], [], [])


def test_guesses_with_another_email_cost_no_attempt(registry: Registry) -> None:
    for _ in range(20):
        registry.act(registry.complete("1", BOB))
    assert isinstance(registry.one(registry.complete("1")), Claimed)


def test_wrong_expired_and_spent_are_refused_alike() -> None:
    wrong, late, spent = minted(), minted(), minted()
    for registry in (wrong, late, spent):
        registry.act(registry.start("1"))
    late.pass_ms(10 * MINUTE)
    spent.act(*[spent.complete("1", proof=WRONG)] * 5)
    answers = [
        wrong.one(wrong.complete("1", proof=WRONG)),
        late.one(late.complete("1")),
        spent.one(spent.complete("1")),
    ]
    assert answers == [Refused(Code.INVALID_CODE, "The code is wrong or no longer valid. Ask for a new one.")] * 3


def test_a_code_lives_for_ten_minutes(registry: Registry) -> None:
    registry.pass_ms(10 * MINUTE - 1)
    assert isinstance(registry.one(registry.complete("1")), Claimed)


def test_the_fifth_attempt_may_be_the_right_one(registry: Registry) -> None:
    for _ in range(4):
        registry.act(registry.complete("1", proof=WRONG))
    assert isinstance(registry.one(registry.complete("1")), Claimed)


def test_guesses_in_one_batch_are_counted_one_by_one(registry: Registry) -> None:
    guesses = [registry.complete("1", proof=WRONG)] * 5
    answers = registry.act(*guesses, registry.complete("1"))
    assert codes(answers) == [Code.INVALID_CODE] * 6
    assert registry.claims[token("1")].completed_ms is None


def test_a_new_code_kills_the_old_one(registry: Registry) -> None:
    registry.pass_ms(MINUTE)
    registry.act(registry.start("1", proof=b"newer"))
    assert refusal(registry.one(registry.complete("1"))).code is Code.INVALID_CODE
    assert isinstance(registry.one(registry.complete("1", proof=b"newer")), Claimed)


def test_a_new_code_brings_five_new_attempts(registry: Registry) -> None:
    registry.act(*[registry.complete("1", proof=WRONG)] * 5)
    registry.pass_ms(MINUTE)
    registry.act(registry.start("1", proof=b"newer"), *[registry.complete("1", proof=WRONG)] * 4)
    assert isinstance(registry.one(registry.complete("1", proof=b"newer")), Claimed)


def test_a_new_code_for_another_email_shuts_out_the_first(registry: Registry) -> None:
    registry.pass_ms(MINUTE)
    registry.act(registry.start("1", BOB, b"newer"))
    assert refusal(registry.one(registry.complete("1", ANN))).code is Code.INVALID_CLAIM
    assert isinstance(registry.one(registry.complete("1", BOB, b"newer")), Claimed)


# Completing: the first claim of an email.


def test_the_first_claim_turns_the_keys_tenant_into_the_accounts(registry: Registry) -> None:
    registry.use("t1", 7, usecase_reads=3)
    before = registry.tenants["t1"]
    answer = registry.one(registry.complete("1"))
    assert registry.tenants == {"t1": replace(before, tier=Tier.CLAIMED)}
    assert registry.accounts == {ANN: Account(ANN, "t1", NOON)}
    assert answer == Claimed(registry.keys["k1"], registry.tenants["t1"], ANN)


def test_a_claim_takes_the_expiry_away_and_leaves_the_rest_of_the_key(registry: Registry) -> None:
    before = registry.keys["k1"]
    registry.act(registry.complete("1"))
    assert registry.keys["k1"] == replace(before, expires_ms=None)


def test_a_key_that_has_expired_can_be_claimed() -> None:
    registry = minted()
    registry.pass_ms(30 * DAY)
    registry.act(registry.start("1"))
    assert isinstance(registry.one(registry.complete("1")), Claimed)
    assert registry.keys["k1"].expires_ms is None


def test_the_owner_is_mailed_of_each_claim(registry: Registry) -> None:
    registry.act(registry.mint("2"), registry.start("2"))
    letters = [notice(f"let_{name}", "new_key", ANN, NOON) for name in "12"]
    claims = [replace(registry.complete(name), notice=letter) for name, letter in zip("12", letters, strict=True)]
    registry.act(*claims)
    how = "Somebody claimed it with the code that was mailed to you."
    assert registry.last.outbox == [
        replace(letter, facts=json.dumps({"ends": "key", "target": f"k{name}", "label": f"cs_anon_{name}", "how": how}))
        for name, letter in zip("12", letters, strict=True)
    ]


def test_an_account_with_a_passkey_takes_no_key_by_email_and_repeats_earlier_claims(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    registry.guarded.add(ANN)
    registry.act(registry.mint("2"), registry.start("2"))
    again, refused = registry.act(registry.complete("1"), registry.complete("2"))
    assert isinstance(again, Claimed)
    assert (refusal(refused).code, refusal(refused).hint) == (Code.FORBIDDEN, "/dashboard")
    assert refusal(refused).message == (
        "This account has a passkey, so it takes no keys by email. Sign in, and create a key on the dashboard."
    )
    assert registry.keys["k2"].tenant_id == "t2"


def test_a_claim_is_announced_to_all_nodes(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    assert (registry.last.touched_keys, registry.last.touched_tenants) == ([b"1"], ["t1"])


def test_a_claim_is_audited(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    assert registry.audits == [
        AuditRecord(
            id="aud_1",
            created_ms=NOON,
            actor_type="key",
            actor_id="k1",
            actor_email=ANN,
            action="key.claimed",
            target_type="key",
            target_id="k1",
            request_id="req-1",
            changes=json.dumps({"tenantId": ["t1", "t1"]}),
        )
    ]


# Completing again.


@pytest.mark.parametrize("passed", [0, 1, 10 * MINUTE])
def test_the_same_claim_again_within_ten_minutes_is_answered_alike(registry: Registry, passed: int) -> None:
    first = registry.one(registry.complete("1"))
    registry.pass_ms(passed)
    assert registry.one(registry.complete("1")) == first
    assert len(registry.audits) == 1
    assert (registry.last.touched_keys, registry.last.touched_tenants) == ([], [])


@pytest.mark.parametrize(("pauses", "code"), [((9, 9), None), ((0, 9, 1.1), Code.INVALID_CODE)])
def test_the_time_for_repeats_begins_with_the_success_and_not_with_the_mail_or_a_repeat(
    registry: Registry, pauses: tuple[float, ...], code: Code | None
) -> None:
    for minutes in pauses:
        registry.pass_ms(int(minutes * MINUTE))
        answer = registry.one(registry.complete("1"))
    assert codes([answer]) == [code]


def test_the_same_claim_twice_in_one_batch_is_answered_alike(registry: Registry) -> None:
    first, second = registry.act(registry.complete("1"), registry.complete("1"))
    assert isinstance(first, Claimed)
    assert first == second
    assert len(registry.audits) == 1


def test_a_repeat_shows_the_counters_as_they_are_now(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    registry.use("t1", 5)
    answer = registry.one(registry.complete("1"))
    assert isinstance(answer, Claimed)
    assert answer.tenant.lifetime_used == 5


def test_each_success_brings_five_new_attempts(registry: Registry) -> None:
    wrong = [registry.complete("1", proof=WRONG)] * 4
    for _ in range(3):
        assert isinstance(registry.act(*wrong, registry.complete("1"))[-1], Claimed)


def test_a_repeat_with_a_wrong_code_is_refused_and_spends_attempts(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    assert codes(registry.act(*[registry.complete("1", proof=WRONG)] * 5)) == [Code.INVALID_CODE] * 5
    assert refusal(registry.one(registry.complete("1"))).code is Code.INVALID_CODE


def test_a_claimed_token_is_already_upgraded_for_another_email(registry: Registry) -> None:
    registry.act(registry.complete("1"))
    assert refusal(registry.one(registry.complete("1", BOB))).code is Code.ALREADY_UPGRADED
    registry.pass_ms(DAY)
    assert refusal(registry.one(registry.complete("1", BOB))).code is Code.ALREADY_UPGRADED


# A later claim of the same email.


@pytest.fixture
def second() -> Registry:
    """Ann has claimed key 1, and a code was sent to her for key 2."""
    registry = Registry()
    registry.claim("1")
    registry.act(registry.mint("2"))
    registry.act(registry.start("2"))
    return registry


def test_a_later_claim_moves_its_key_to_the_accounts_tenant(second: Registry) -> None:
    answer = second.one(second.complete("2"))
    assert isinstance(answer, Claimed)
    assert (answer.key.tenant_id, answer.tenant.id) == ("t1", "t1")
    assert second.tenants["t2"].merged_into == "t1"
    assert list(second.accounts) == [ANN]


def test_a_later_claim_adds_its_counts(second: Registry) -> None:
    second.use("t1", 30, usecase_reads=10)
    second.use("t2", 4, usecase_reads=3)
    second.act(second.complete("2"))
    both = second.tenants["t1"]
    assert (both.lifetime_used, both.usecase_reads, both.month_used, both.day_used) == (34, 13, 34, 34)


def test_a_later_claim_leaves_the_accounts_tier(second: Registry) -> None:
    second.act(second.set_tier(Tier.UPGRADED))
    answer = second.one(second.complete("2"))
    assert isinstance(answer, Claimed)
    assert answer.tenant.tier is Tier.UPGRADED


def test_a_later_claim_announces_its_key_and_the_accounts_tenant(second: Registry) -> None:
    second.act(second.complete("2"))
    assert (second.last.touched_keys, second.last.touched_tenants) == ([b"2"], ["t1"])


def test_a_later_claim_is_audited_with_both_tenants(second: Registry) -> None:
    second.act(second.complete("2"))
    assert json.loads(second.audits[-1].changes) == {"tenantId": ["t2", "t1"]}


def test_a_repeat_of_a_later_claim_shows_the_accounts_tenant(second: Registry) -> None:
    first = second.one(second.complete("2"))
    assert second.one(second.complete("2")) == first


def test_two_first_claims_of_one_email_in_one_batch_make_one_account() -> None:
    registry = Registry()
    for name in "12":
        registry.act(registry.mint(name))
        registry.act(registry.start(name))
        registry.use(f"t{name}", 5)
    registry.act(registry.complete("1"), registry.complete("2"))
    assert registry.accounts == {ANN: Account(ANN, "t1", NOON)}
    assert registry.tenants["t1"].lifetime_used == 10
    assert registry.keys["k2"].tenant_id == "t1"


def test_claims_of_two_emails_in_one_batch_make_two_accounts() -> None:
    registry = Registry()
    for name, email in [("1", ANN), ("2", BOB)]:
        registry.act(registry.mint(name))
        registry.act(registry.start(name, email))
    registry.act(registry.complete("1", ANN), registry.complete("2", BOB))
    assert {email: account.tenant_id for email, account in registry.accounts.items()} == {ANN: "t1", BOB: "t2"}


# Key limits.


def with_keys(claimed: int, waiting: int) -> Registry:
    """Ann has `claimed` keys, named from 0, and codes for `waiting` more."""
    registry = Registry()
    for number in range(claimed):
        registry.claim(str(number))
    for number in range(claimed, claimed + waiting):
        registry.act(registry.mint(str(number)))
        registry.act(registry.start(str(number)))
    return registry


def test_the_tenth_key_can_be_claimed_and_the_eleventh_not() -> None:
    registry = with_keys(9, 2)
    assert isinstance(registry.one(registry.complete("9")), Claimed)
    answer = refusal(registry.one(registry.complete("10")))
    assert answer.code is Code.KEY_LIMIT
    assert answer.message == "This account has 10 live full keys, the maximum. Revoke one first."


def test_the_limit_holds_within_one_batch() -> None:
    registry = with_keys(9, 3)
    answers = registry.act(*[registry.complete(str(number)) for number in (9, 10, 11)])
    assert codes(answers) == [None, Code.KEY_LIMIT, Code.KEY_LIMIT]


def test_the_limit_holds_for_first_claims_of_one_batch_too() -> None:
    registry = with_keys(0, 12)
    answers = registry.act(*[registry.complete(str(number)) for number in range(12)])
    assert codes(answers) == [None] * 10 + [Code.KEY_LIMIT] * 2


def test_a_claim_over_the_limit_changes_nothing_but_the_attempts() -> None:
    registry = with_keys(10, 1)
    before = registry.keys["k10"], registry.tenants["t10"], len(registry.audits)
    registry.act(registry.complete("10"))
    assert (registry.keys["k10"], registry.tenants["t10"], len(registry.audits)) == before
    assert registry.claims[token("10")].attempts == 1


def test_revoking_a_key_makes_room_for_the_same_code() -> None:
    registry = with_keys(10, 1)
    registry.act(registry.complete("10"))
    registry.act(registry.revoke("3"))
    assert isinstance(registry.one(registry.complete("10")), Claimed)


def test_revoking_earlier_in_the_batch_makes_room() -> None:
    registry = with_keys(10, 1)
    assert codes(registry.act(registry.revoke("3"), registry.complete("10"))) == [None, None]


def test_keys_that_had_expired_count_once_they_are_claimed() -> None:
    registry = with_keys(9, 0)
    for name in ("9", "10"):
        registry.act(registry.mint(name))
    registry.pass_ms(4 * DAY)
    registry.act(registry.start("9"), registry.start("10"))
    assert codes(registry.act(registry.complete("9"), registry.complete("10"))) == [None, Code.KEY_LIMIT]


def test_other_rules_mean_other_limits() -> None:
    registry = Registry(KeyRules(full_keys_per_account=1, codes=CodeRules(attempts=1)))
    registry.claim("1")
    registry.act(registry.mint("2"))
    registry.act(registry.start("2"))
    assert refusal(registry.one(registry.complete("2"))).code is Code.KEY_LIMIT


# Merging.

TODAY, THIS_MONTH = day_of(NOON), month_of(NOON)
account_tenant = Tenant("a", Tier.CLAIMED, 100, 10, THIS_MONTH, 50, TODAY, 5)
key_tenant = Tenant("k", Tier.ANONYMOUS, 7, 6, THIS_MONTH, 4, TODAY, 3)


def test_merging_adds_windows_that_are_the_same() -> None:
    assert merged(account_tenant, key_tenant, NOON) == Tenant("a", Tier.CLAIMED, 107, 16, THIS_MONTH, 54, TODAY, 8)


@pytest.mark.parametrize("stale", ["target", "source"])
@pytest.mark.parametrize("ended", [{"day": TODAY - 1}, {"month": THIS_MONTH - 1}], ids=["day", "month"])
def test_a_window_that_has_ended_adds_nothing(stale: str, ended: dict[str, Any]) -> None:
    tenants = {"target": account_tenant, "source": key_tenant}
    tenants[stale] = replace(tenants[stale], **ended)
    both = merged(tenants["target"], tenants["source"], NOON)
    day_used, month_used = (3, 4) if stale == "target" else (5, 50)
    expected = (day_used, 54) if "day" in ended else (8, month_used)
    assert (both.lifetime_used, both.day, both.month) == (107, TODAY, THIS_MONTH)
    assert (both.day_used, both.month_used) == expected


def test_when_both_windows_have_ended_the_new_ones_are_empty() -> None:
    both = merged(account_tenant, key_tenant, NOON + 40 * DAY)
    assert (both.day_used, both.month_used, both.lifetime_used) == (0, 0, 107)


def test_a_window_of_a_node_whose_clock_is_ahead_is_kept() -> None:
    ahead: dict[str, Any] = {"day": TODAY + 1, "month": THIS_MONTH + 1}
    both = merged(account_tenant, replace(key_tenant, **ahead), NOON)
    assert (both.day, both.day_used, both.month, both.month_used) == (TODAY + 1, 3, THIS_MONTH + 1, 4)
    both = merged(replace(account_tenant, **ahead), key_tenant, NOON)
    assert (both.day, both.day_used, both.month, both.month_used) == (TODAY + 1, 5, THIS_MONTH + 1, 50)


def test_a_fresh_tenant_adds_nothing() -> None:
    assert merged(account_tenant, Tenant("k", Tier.ANONYMOUS), NOON) == account_tenant


def test_a_merge_never_multiplies_a_cap(second: Registry) -> None:
    second.use("t1", 99_999)
    second.use("t2", 1_000)
    second.act(second.complete("2"))
    assert second.tenants["t1"].month_used == 100_999
    assert second.keys["k2"].kind is Kind.ANONYMOUS


# Letters.


def test_made_up_tokens_cost_an_email_nothing() -> None:
    registry = minted()
    registry.act(*(registry.start(f"made up {n}") for n in range(60)))
    registry.act(*(registry.complete(f"made up {n}", proof=WRONG) for n in range(60)))
    assert (registry.letters, registry.outbox) == ({}, [])
    assert [type(each) for each in registry.act(registry.start("1"), registry.complete("1"))] == [Done, Claimed]


def test_a_refused_letter_is_not_counted_for_its_email() -> None:
    registry = minted()
    registry.act(registry.start("1"), registry.start("1"))
    assert [each.sent_today for each in registry.letters.values()] == [1, 1, 1]


def test_many_tokens_of_one_network_leave_another_network_its_first_letter() -> None:
    registry = Registry(KeyRules(letters=CodeMailRules(per_network=3, per_mailbox=3, last_resort=4)))
    registry.act(*(registry.mint(str(n)) for n in range(6)))
    sent = [type(registry.one(registry.start(str(n), network="elsewhere"))) for n in range(4)]
    assert sent == [Done] * 3 + [Refused]
    assert registry.one(registry.start("4")) == Done()
    refused = refusal(registry.one(registry.start("5", network="late")))
    assert refused.code is Code.RATE_LIMITED
    assert " to this email " in refused.message
    assert isinstance(registry.one(registry.complete("4")), Claimed)
    assert registry.one(registry.start("5")) == Done(), "the network that claimed is known"


# Terms.


def test_a_claim_accepts_the_terms_of_its_time_for_its_account() -> None:
    registry = Registry(KeyRules(terms_version="2026-11"))
    registry.act(*(each for name in "12" for each in (registry.mint(name), registry.start(name))))
    registry.act(registry.complete("1", proof=WRONG))
    assert registry.last.terms == []
    for name in "12":
        registry.act(registry.complete(name))
        assert registry.last.terms == [AcceptedTerms("t1", "2026-11", NOON)]
    registry.act(registry.complete("1"))
    assert registry.last.terms == [], "a repeated claim accepts nothing anew"


def test_only_its_owner_reads_why_an_account_is_suspended() -> None:
    assert suspended("Spam.") == Refused(Code.FORBIDDEN, "This account is suspended. The reason: Spam.")
    assert suspended().message.endswith("Its owner can sign in on the website to read why.")
