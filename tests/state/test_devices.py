"""Device logins by table: each message in each status, the pace of polls, guesses, and the key limit."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from actors.devices import state
from actors.devices.codes import ALPHABET, USER_CODE_BYTES, format_code, read_code, user_code_from
from actors.devices.messages import (
    Answer,
    ApprovedEnded,
    Decide,
    Device,
    DeviceView,
    EndApproved,
    FreshKey,
    Guesses,
    Message,
    Poll,
    Redeemed,
    Start,
    Status,
    ViewDevice,
)
from actors.devices.state import Decision, DeviceRules, Snapshot, rows_to_lock
from actors.shared.notices import notice
from actors.values import SIGN_IN, Account, AuditRecord, Code, Refused
from tests.fakes import SeededEntropy
from tests.state.manners import well_kept, well_said
from tests.stores.logins import word

NOW, SECOND, MINUTE = 1_790_000_000_000, 1_000, 60_000
RULES = DeviceRules()
CODE, HASH = "BCDFGHJK", b"d" * 32
ANN, BOB = "ann@example.com", "bob@example.com"
KEY = FreshKey("key_1", b"k" * 32, "cs_user_Abcd", "", NOW)


def device(status: Status = Status.PENDING, **changes: Any) -> Device:
    made = Device("dev_1", HASH, CODE, "a-program/1.0", "203.0.113.7", NOW, NOW + RULES.life_ms, 5, status)
    if status in (Status.APPROVED, Status.DENIED, Status.REDEEMED):
        made = replace(made, email=ANN, session_id="ses_ann", decided_ms=NOW)
    return replace(made, **changes)


def snapshot(*devices: Device, live: int = 0, **guesses: Guesses) -> Snapshot:
    return Snapshot(
        {each.id: each for each in devices},
        {name: Guesses(name) for name in ("ses_ann", "ses_bob")} | guesses,
        {ANN: Account(ANN, "ten_ann", 0), BOB: Account(BOB, "ten_bob", 0)},
        {"ten_ann": live},
    )


def poll(key: FreshKey = KEY) -> Poll:
    return Poll(HASH, key, "aud_1", "req")


def look(code: str = CODE, who: str = "ann") -> ViewDevice:
    return ViewDevice(code, f"ses_{who}")


def deciding(*, approve: bool = True, who: str = "ann", code: str = CODE) -> Decide:
    return Decide(code, f"ses_{who}", f"{who}@example.com", approve, "aud_1", "req")


def decide(rows: Snapshot, messages: Sequence[Message], now_ms: int, rules: DeviceRules) -> Decision:
    decision = state.decide(rows, messages, now_ms, rules)
    keys = {key.id for key in decision.keys}
    well_kept(decision.audits, now_ms, {"key": keys, "device": decision.changed.devices})
    well_said(decision.answers)
    return decision


def one(message: Message, *devices: Device, after_ms: int = 0, **rest: Any) -> tuple[Answer, Decision]:
    decision = decide(snapshot(*devices, **rest), [message], NOW + after_ms, RULES)
    [answer] = decision.answers
    return answer, decision


# Codes.


def test_user_codes_have_eight_letters_of_twenty_each_as_likely_as_any_other() -> None:
    entropy = SeededEntropy()
    codes = [user_code_from(entropy.token(USER_CODE_BYTES)) for _ in range(5_000)]
    assert {len(code) for code in codes} == {8}
    for place in range(8):
        counts = Counter(code[place] for code in codes)
        assert counts.keys() == set(ALPHABET)
        # 250 are expected of each; 400 would be ten standard deviations away.
        assert all(150 < count < 400 for count in counts.values())
    assert len(set(codes)) == 5_000


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("WDJB-MJHT", "WDJBMJHT"),
        ("wdjb mjht", "WDJBMJHT"),
        (" w.d.j.b—m j_h\tt\n", "WDJBMJHT"),
        ("aWeDiJoBuMyJaHeT019", "WDJBMJHT"),
        ("ßſWDJB", "SWDJB"),
        ("", ""),
        ("1234-5678", ""),
    ],
)
def test_a_typed_code_is_read_in_upper_case_and_without_all_else(typed: str, read: str) -> None:
    assert read_code(typed) == read


def test_a_code_is_shown_in_two_halves_and_read_as_it_is_shown() -> None:
    assert format_code("WDJBMJHT") == "WDJB-MJHT"
    assert read_code(format_code("WDJBMJHT")) == "WDJBMJHT"


# Each message in each status, before and after the login expires.

LATE = RULES.life_ms
WORDS = {
    # Status: a poll, a look, approval and denial by who approved or denied, approval by another.
    Status.PENDING: ("authorization_pending", "pending", "approved", "denied", "approved"),
    Status.APPROVED: ("a key", "approved", "approved", "invalid_state", "invalid_state"),
    Status.DENIED: ("access_denied", "denied", "invalid_state", "denied", "invalid_state"),
    Status.REDEEMED: ("invalid_code", "redeemed", "redeemed", "invalid_state", "invalid_state"),
    Status.EXPIRED: ("expired_token", "expired", "expired_token", "expired_token", "expired_token"),
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("status", Status)
def test_each_status_answers_as_the_table_says(status: Status, *, late: bool) -> None:
    over = late and status in (Status.PENDING, Status.APPROVED)
    messages: list[Message] = [poll(), look(), deciding(), deciding(approve=False), deciding(who="bob")]
    for message, expected in zip(messages, WORDS[Status.EXPIRED if over else status], strict=True):
        answer, decision = one(message, device(status), live=1, after_ms=LATE if late else 0)
        assert word(answer) == expected, message
        if over:
            assert decision.changed.devices["dev_1"].status is Status.EXPIRED


@pytest.mark.parametrize("status", [Status.DENIED, Status.REDEEMED, Status.EXPIRED])
def test_what_has_ended_stays_so_for_a_node_whose_clock_is_behind(status: Status) -> None:
    for message in (poll(), look(), deciding(), deciding(approve=False)):
        _, decision = one(message, device(status), after_ms=-LATE)
        assert decision.changed.devices == {}


def test_an_expired_answer_is_kept_so_that_a_clock_that_is_behind_cannot_take_it_back() -> None:
    answer, decision = one(poll(), device(), after_ms=LATE)
    assert word(answer) == "expired_token"
    stored = decision.changed.devices["dev_1"]
    for message, expected in ((poll(), "expired_token"), (deciding(), "expired_token")):
        assert word(one(message, stored, after_ms=LATE - 10 * MINUTE)[0]) == expected


def test_it_lives_until_its_last_millisecond() -> None:
    assert word(one(poll(), device(), after_ms=LATE - 1)[0]) == "authorization_pending"
    assert word(one(poll(), device(Status.APPROVED), live=1, after_ms=LATE - 1)[0]) == "a key"


def test_unknown_codes_are_refused_and_change_nothing_but_guesses() -> None:
    answer, decision = one(poll())
    assert word(answer) == "invalid_code"
    assert decision.changed == Snapshot()
    for message in (look(), deciding()):
        answer, decision = one(message)
        assert word(answer) == "invalid_code"
        assert decision.changed == Snapshot(guesses={"ses_ann": Guesses("ses_ann", 1)})


# Starting.


def test_a_start_takes_the_first_code_that_nobody_has() -> None:
    fresh = replace(device(), id="dev_2", code_hash=b"e" * 32, user_code="")
    answer, decision = one(Start(fresh, (CODE, "WWWWZZZZ", "XXXXXXXX")), device())
    assert answer == DeviceView(replace(fresh, user_code="WWWWZZZZ"))
    assert decision.changed.devices == {"dev_2": replace(fresh, user_code="WWWWZZZZ")}


def test_two_starts_of_one_batch_take_different_codes() -> None:
    several = [replace(device(), id=f"dev_{place}", code_hash=bytes([place] * 32)) for place in range(3)]
    codes = ("BBBBBBBB", "CCCCCCCC")
    *taken, refused = decide(snapshot(), [Start(each, codes) for each in several], NOW, RULES).answers
    assert [answer.device.user_code for answer in taken if isinstance(answer, DeviceView)] == list(codes)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.retry_after_seconds) == (Code.SERVICE_UNAVAILABLE, 1), "where no code is free"


def test_what_is_begun_can_be_used_in_the_same_batch() -> None:
    messages: list[Message] = [Start(device(), (CODE,)), poll(), look(), deciding(), poll(), poll()]
    answers = decide(snapshot(), messages, NOW, RULES).answers
    expected = ["pending", "authorization_pending", "pending", "approved", "a key", "a key"]
    assert [word(answer) for answer in answers] == expected


# The pace.


def paced(*polls: tuple[float, int | None]) -> None:
    """Polls at these seconds after the start, each with the interval in its answer, or None for "keep polling"."""
    stored = device()
    for seconds, interval in polls:
        answer, decision = one(poll(), stored, after_ms=int(seconds * SECOND))
        assert isinstance(answer, Refused)
        stored = decision.changed.devices["dev_1"]
        expected = Code.AUTHORIZATION_PENDING if interval is None else Code.SLOW_DOWN
        assert (answer.code, answer.interval_seconds) == (expected, interval), seconds


@pytest.mark.parametrize(
    "polls",
    [
        # The first one is never too early.
        ((0, None),),
        ((600, None),),
        # On time, and as early as the tolerance allows.
        ((0, None), (5, None), (10, None)),
        ((0, None), (4.5, None), (9, None)),
        ((0, None), (4.499, 10)),
        # A device that slows down as it is told is not slowed down further.
        ((0, None), (1, 10), (11, None), (21, None)),
        # The pace is measured from the last poll that was not early, so a fixed pace succeeds in the end.
        ((0, None), (5, None), (6, 10), (14.5, None)),
        ((0, None), (1, 10), (2, 15), (14.5, None), (29.5, None)),
        ((0, None), (4, 10), (8, 15), (12, 20), (16, 25), (20, 30), (24, 35), (28, 40), (40, None)),
        # Never slower than a minute.
        ((0, None), *((0, seconds) for seconds in range(10, 65, 5)), (0, 60), (0, 60), (59.5, None), (119, None)),
        # The last poll lies in the future, because it came through a node whose clock is ahead: the pace is unknown.
        ((8, None), (5, None), (9, 10)),
    ],
)
def test_polls_are_paced(polls: tuple[tuple[float, int | None], ...]) -> None:
    paced(*polls)


def test_an_approved_code_is_handed_out_at_once_early_or_not() -> None:
    answer, _ = one(poll(), device(Status.APPROVED, polled_ms=NOW), live=1, after_ms=1)
    assert word(answer) == "a key"


def test_a_pace_that_is_configured_slower_than_a_minute_is_not_made_faster() -> None:
    answer, _ = one(poll(), device(interval_seconds=90, polled_ms=NOW))
    assert isinstance(answer, Refused)
    assert answer.interval_seconds == 90


# Redeeming.


def test_the_key_is_a_full_one_of_the_approving_account_in_the_name_of_its_session() -> None:
    answer, decision = one(poll(), device(Status.APPROVED, agent="  " + "x" * 80), live=10)
    assert answer == Redeemed(replace(KEY, tenant_id="ten_ann", name="x" * 62))
    assert decision.keys == [replace(KEY, tenant_id="ten_ann", name="x" * 62)]
    assert decision.changed.devices["dev_1"].key_id == "key_1"


# Deciding.


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_names_the_session_and_is_audited(approve: bool) -> None:
    answer, decision = one(deciding(approve=approve), device())
    assert isinstance(answer, DeviceView)
    status = Status.APPROVED if approve else Status.DENIED
    decided = device(status, email=ANN, session_id="ses_ann", decided_ms=NOW)
    assert answer.device == decided == decision.changed.devices["dev_1"]
    [audit] = decision.audits
    assert (audit.action, audit.actor_id, audit.target_id) == (f"device.{status}", "ses_ann", "dev_1")
    assert decision.keys == []


@pytest.mark.parametrize("approve", [True, False])
def test_only_an_approval_lets_the_key_administer_and_the_audit_says_so(approve: bool) -> None:
    answer, decision = one(replace(deciding(approve=approve), admin=True), device())
    assert isinstance(answer, DeviceView)
    assert answer.device.admin is approve
    told = {"agent": "a-program/1.0"} | ({"admin": "true"} if approve else {})
    assert json.loads(decision.audits[0].changes) == told
    redeemed, _ = one(poll(), device(Status.APPROVED, admin=True))
    assert isinstance(redeemed, Redeemed)
    assert redeemed.key.admin


def test_a_suspended_account_denies_devices_and_approves_none() -> None:
    rows = snapshot(device())
    rows.accounts[ANN] = replace(rows.accounts[ANN], suspended_ms=NOW)
    answers = decide(rows, [deciding(), deciding(approve=False)], NOW, RULES).answers
    assert answers[0] == Refused(Code.FORBIDDEN, "This account is suspended, so it approves no devices.")
    assert word(answers[1]) == "denied"


def test_an_order_expires_the_approvals_of_its_account_alone() -> None:
    logins = [
        device(Status.APPROVED, id="dev_ann"),
        device(Status.APPROVED, id="dev_over", expires_ms=NOW),
        device(Status.APPROVED, id="dev_bob", email=BOB),
        device(Status.REDEEMED, id="dev_used"),
        device(id="dev_new"),
    ]
    answer, decision = one(EndApproved(ANN), *logins)
    assert answer == ApprovedEnded(1)
    # A node whose clock is behind would still redeem the one that is over.
    assert decision.changed.devices == {each.id: replace(each, status=Status.EXPIRED) for each in logins[:2]}
    assert one(EndApproved(ANN), *logins[1:])[0] == ApprovedEnded(0)


@pytest.mark.parametrize(("live", "expected"), [(9, "approved"), (10, "key_limit"), (11, "key_limit")])
def test_an_account_with_ten_keys_approves_no_more(live: int, expected: str) -> None:
    answer, decision = one(deciding(), device(), live=live)
    assert word(answer) == expected
    assert bool(decision.changed.devices) == (expected == "approved")
    assert word(one(deciding(approve=False), device(), live=live)[0]) == "denied"


@pytest.mark.parametrize(("live", "second"), [(8, "approved"), (9, "key_limit")])
def test_two_approvals_of_one_batch_take_two_places(live: int, second: str) -> None:
    other = replace(device(), id="dev_2", code_hash=b"e" * 32, user_code="WWWWZZZZ")
    decision = decide(snapshot(device(), other, live=live), [deciding(), deciding(code="WWWWZZZZ")], NOW, RULES)
    assert [word(answer) for answer in decision.answers] == ["approved", second]


@pytest.mark.parametrize(("message", "status", "most"), [(deciding(), Status.PENDING, 1), (poll(), Status.APPROVED, 0)])
def test_an_account_that_is_not_counted_has_no_keys(message: Message, status: Status, most: int) -> None:
    rows = snapshot(device(status))
    rows.live_keys.clear()
    [answer] = decide(rows, [message], NOW, DeviceRules(full_keys_per_account=most)).answers
    assert word(answer) in ("approved", "a key")


def test_the_audit_tells_the_program_of_a_decision_and_the_login_of_a_key() -> None:
    _, decision = one(deciding(), device())
    [record] = decision.audits
    assert record == AuditRecord(
        "aud_1",
        NOW,
        "session",
        "ses_ann",
        "device.approved",
        "device",
        "dev_1",
        actor_email=ANN,
        request_id="req",
        changes=json.dumps({"agent": "a-program/1.0"}),
    )
    _, decision = one(poll(), device(Status.APPROVED))
    [issued] = decision.audits
    assert issued == replace(
        record, action="key.issued", target_type="key", target_id="key_1", changes=json.dumps({"deviceId": "dev_1"})
    )


def test_an_approved_device_whose_place_was_given_away_gets_no_key() -> None:
    """A node whose clock is ahead saw it expire and issued another key: the account would have eleven."""
    answer, decision = one(poll(), device(Status.APPROVED), live=11)
    assert word(answer) == "expired_token"
    assert (decision.keys, decision.changed.devices["dev_1"].status) == ([], Status.EXPIRED)


def test_a_place_that_was_given_away_costs_one_key_and_no_more() -> None:
    """Two approved logins with room for one: the second poll of the batch sees the key of the first."""
    approved = device(Status.APPROVED)
    other = replace(approved, id="dev_2", code_hash=b"e" * 32, user_code="WWWWZZZZ")
    polls = [poll(), replace(poll(replace(KEY, id="key_2")), code_hash=other.code_hash)]
    decision = decide(snapshot(approved, other, live=11), polls, NOW, RULES)
    assert [word(answer) for answer in decision.answers] == ["expired_token", "a key"]
    assert [each.id for each in decision.keys] == ["key_2"]
    more = decide(snapshot(device(), replace(other), live=11), [polls[1], deciding()], NOW, RULES)
    assert [word(answer) for answer in more.answers] == ["expired_token", "key_limit"]


def test_a_key_that_was_handed_out_is_noted_in_its_login_and_is_returned_for_a_while() -> None:
    other = replace(KEY, id="key_2")
    decision = decide(snapshot(device(Status.APPROVED), live=1), [poll(), poll(), poll(other)], NOW, RULES)
    assert [word(answer) for answer in decision.answers] == ["a key", "a key", "invalid_code"]
    redeemed = device(Status.REDEEMED, key_id="key_1", polled_ms=NOW)
    assert decision.changed.devices == {"dev_1": redeemed}
    assert [each.id for each in decision.keys] == ["key_1"]
    for late_ms, said in ((-MINUTE, "a key"), (RULES.repeat_ms - 1, "a key"), (RULES.repeat_ms, "invalid_code")):
        answer, repeated = one(poll(), redeemed, after_ms=late_ms)
        assert (word(answer), repeated) == (said, Decision(answers=[answer]))
    assert word(decide(replace(snapshot(redeemed), accounts={}), [poll()], NOW, RULES).answers[0]) == "invalid_code"


def test_an_account_that_has_made_all_keys_of_the_day_approves_no_device() -> None:
    rows = replace(snapshot(device()), made_today={"ten_ann": RULES.keys_per_day})
    assert [word(answer) for answer in decide(rows, [deciding()], NOW, RULES).answers] == ["rate_limited"]
    assert word(decide(rows, [deciding(approve=False)], NOW, RULES).answers[0]) == "denied"


def test_promised_keys_count_for_the_day_until_their_logins_are_ended() -> None:
    codes = [letter * 8 for letter in "BCD"]
    three = [device(id=f"dev_{code}", code_hash=code.encode() * 4, user_code=code) for code in codes]
    rows, rules = replace(snapshot(*three), made_today={"ten_ann": 1}), replace(RULES, keys_per_day=3)
    answers = decide(rows, [deciding(code=code) for code in codes], NOW, rules).answers
    assert [word(answer) for answer in answers] == ["approved", "approved", "rate_limited"]
    rules, second = replace(RULES, keys_per_day=1), "WWWWWWWW"
    other = device(id="dev_2", code_hash=bytes(32), user_code=second)
    for made, said in ((1, "approved"), (2, "rate_limited")):
        rows = replace(snapshot(device(Status.APPROVED), other, live=1), made_today={"ten_ann": made})
        assert word(decide(rows, [EndApproved(ANN), deciding(code=second)], NOW, rules).answers[1]) == said


@pytest.mark.parametrize(("approved", "decided"), [(True, "approved"), (False, "denied")])
def test_who_comes_too_late_learns_what_was_decided(approved: bool, decided: str) -> None:
    answers = decide(snapshot(device()), [deciding(approve=approved), deciding(who="bob")], NOW, RULES).answers
    assert isinstance(answers[1], Refused)
    assert f" {decided}." in answers[1].message


# Guesses.


def guessed(messages: list[Message], *, after_ms: int = 0, **guesses: Guesses) -> tuple[list[str], Guesses | None]:
    decision = decide(snapshot(device(), live=0, **guesses), messages, NOW + after_ms, RULES)
    return [word(answer) for answer in decision.answers], decision.changed.guesses.get("ses_ann")


WRONG: list[Message] = [
    look("WWWWZZZZ"),
    deciding(code="BBBB"),
    look(""),
    deciding(code="XXXXXXXX", approve=False),
    look("CCCCCCCC"),
]


def test_five_wrong_codes_lock_the_form_of_a_session_for_a_quarter_of_an_hour() -> None:
    words, stored = guessed([*WRONG, look(), deciding(), look("WWWWZZZZ")])
    assert words == ["invalid_code"] * 5 + ["rate_limited"] * 3
    assert stored == Guesses("ses_ann", 0, NOW + 15 * MINUTE)
    assert word(one(look(who="bob"), device(), ses_ann=stored)[0]) == "pending", "another session is not locked"
    [answer] = decide(snapshot(device(), ses_ann=stored), [look()], NOW + 14 * MINUTE + 1, RULES).answers
    assert isinstance(answer, Refused)
    assert (answer.retry_after_seconds, "a minute" in answer.message) == (60, True)
    for wait_ms, expected in (
        (15 * MINUTE, "15 minutes"),
        (MINUTE + 1, "2 minutes"),
        (MINUTE, "a minute"),
        (1, "a minute"),
    ):
        [answer] = decide(snapshot(device(), ses_ann=stored), [look()], NOW + 15 * MINUTE - wait_ms, RULES).answers
        assert isinstance(answer, Refused)
        assert f" {expected}." in answer.message
    assert guessed([look()], after_ms=15 * MINUTE, ses_ann=stored) == (["expired"], None)
    assert guessed([look("WWWWZZZZ")], after_ms=15 * MINUTE, ses_ann=stored) == (
        ["invalid_code"],
        Guesses("ses_ann", 1),
    )


@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_resets_what_was_guessed(approve: bool) -> None:
    assert guessed([deciding(approve=approve)])[1] is None, "nothing was counted"
    assert guessed([*WRONG[:4], deciding(approve=approve)])[1] == Guesses("ses_ann")
    words, stored = guessed([*WRONG[:4], deciding(approve=approve), *WRONG[:4]])
    assert words == ["invalid_code"] * 4 + ["approved" if approve else "denied"] + ["invalid_code"] * 4
    assert stored == Guesses("ses_ann", 4)


def test_a_look_at_a_code_of_ones_own_brings_no_more_guesses() -> None:
    words, stored = guessed([*WRONG[:4], look(), *WRONG[:2]])
    assert words == ["invalid_code"] * 4 + ["pending", "invalid_code", "rate_limited"]
    assert stored == Guesses("ses_ann", 0, NOW + 15 * MINUTE)


def test_a_decision_that_is_repeated_or_refused_brings_no_more_guesses() -> None:
    words, _ = guessed([deciding(), *WRONG[:4], deciding(), deciding(approve=False), *WRONG[:2]])
    assert words == ["approved", *["invalid_code"] * 4, "approved", "invalid_state", "invalid_code", "rate_limited"]
    full = decide(snapshot(device(), live=10, ses_ann=Guesses("ses_ann", 4)), [deciding()], NOW, RULES)
    assert (word(full.answers[0]), full.changed.guesses) == ("key_limit", {})


@pytest.mark.parametrize("status", [Status.DENIED, Status.REDEEMED, Status.APPROVED, Status.EXPIRED])
def test_the_code_of_what_has_been_decided_neither_resets_nor_counts(status: Status) -> None:
    _, decision = one(look(), device(status), ses_ann=Guesses("ses_ann", 4))
    assert decision.changed.guesses == {}


def test_a_session_that_is_gone_decides_nothing() -> None:
    empty = Snapshot({"dev_1": device()})
    for message in (look(), deciding()):
        [answer] = decide(empty, [message], NOW, RULES).answers
        assert (word(answer), isinstance(answer, Refused) and answer.hint) == ("unauthorized", SIGN_IN)


def test_the_owner_is_mailed_of_each_key_that_a_device_gets_and_why() -> None:
    devices = [device(Status.APPROVED), device(Status.APPROVED, id="dev_2", code_hash=b"e" * 32, user_code="DDDD")]
    keys = [KEY, replace(KEY, id="key_2", hash=b"l" * 32)]
    letters = [notice(f"let_{each.id}", "new_key", "", NOW) for each in keys]
    polls = [
        replace(poll(key), code_hash=each.code_hash, notice=letter)
        for each, key, letter in zip(devices, keys, letters, strict=True)
    ]
    how = "You approved it for a device, on the page that asks for a code."
    facts = [{"ends": "key", "target": each.id, "label": "cs_user_Abcd", "how": how} for each in keys]
    assert decide(snapshot(*devices, live=2), polls, NOW, RULES).outbox == [
        replace(letter, recipient=ANN, facts=json.dumps(told)) for letter, told in zip(letters, facts, strict=True)
    ]


def test_what_a_batch_wants_is_sorted_and_named_once() -> None:
    rows = rows_to_lock(
        [
            deciding(who="bob"),
            look("BBBB"),
            deciding(),
            poll(),
            poll(),
            Start(device(), ("WWWW", "DDDD")),
            EndApproved(BOB),
        ]
    )
    assert rows.code_hashes == (HASH,)
    assert rows.user_codes == ("BBBB", CODE, "DDDD", "WWWW")
    assert rows.session_ids == ("ses_ann", "ses_bob")
    assert rows.emails == (ANN, BOB)
    assert rows.approved_of == (BOB,)
