"""Scenarios whose decisions are recorded in full: see `test_decisions`. Each sends the messages of a concern."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from actors.bookings.decision import BookingRules
from actors.bookings.messages import (
    DeclineRefundRequest,
    EndSharedReport,
    FollowSchedule,
    RequestRefund,
    SendDigest,
    SendMaterial,
)
from actors.bookings.records import WITH_VIDEO, DayDelivered, Mode, PaymentState, Side, YoutubeStatus
from actors.bookings.transitions import CampaignMove
from actors.catalog.messages import EntryId, Kind
from actors.keys.authorizations import EndAuthorization
from actors.keys.authorizing import OPEN_CODES
from actors.keys.exposures import EndExposed
from actors.keys.messages import EndKeys, EndNotice, Restore, SendEndNotices, Suspend
from actors.keys.state import KeyRules
from actors.sessions.messages import EndSessions, Touch
from actors.sessions.second_factor import CancelSignIn, Purpose, Rename
from actors.shared.notices import notice
from actors.values import AuditRecord, OutboxMessage, Scope, Tier
from tests.snapshots.entries import bot
from tests.state import ledger, test_authorizations, test_exposed_keys, test_key_renewals, test_sessions
from tests.state import submissions as desk_of
from tests.state.ledger import Ledger
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, Registry
from tests.state.submissions import Desk, propose, review, saved, submission
from tests.state.test_passkeys import Keyring
from tests.state.test_sessions import Book
from tests.state.test_sharing import share

BOOKS: dict[str, Callable[[], Any]] = {}


def scenario(book: Callable[[], Any]) -> Callable[[Any], Any]:
    """Mark a scenario that begins with this book of rows."""

    def mark(function: Any) -> Any:
        function.scenario = True
        BOOKS[function.__name__] = book
        return function

    return mark


# Submissions.


@scenario(Desk)
def submissions(desk: Desk) -> None:
    local = "http://printer/"
    desk.put(bot("a", addedAt=5), bot("b", addedAt=6))
    desk.send(propose(submission(1), record="r1"), propose(submission(2, "a"), edit=True, record="r2"))
    desk.send(propose(submission(3, "a")), propose(submission(4), edit=True), propose(submission(5, templateUrl=local)))
    desk.send(propose(submission(6, "a", name="Plain Helper"), edit=True))
    desk.send(propose(submission(7), keyed=True, record="r7"), now_ms=desk.rows.mailed_ms)
    other = replace(submission(7), entry=desk_of.document("new-7", name="Other"))
    desk.send(propose(submission(7), keyed=True), propose(other, keyed=True), propose(submission(7)))
    edit = desk.rows.submissions["sub_2"]
    desk.send(review(edit, "unread", record="r8"), review(submission(99), record="r9"))
    desk.send(review(edit, desk.current("a"), note="Grüße: gut.", record="r10"))
    desk.send(review(edit, desk.current("a"), record="r11"))
    desk.send(review(submission(1), accept=False, note="Zu kurz.", record="r12"), review(submission(1), record="r13"))
    desk.send(review(submission(7), record="r14"), now_ms=desk_of.NOW + 2 * HOUR)
    outdated = saved(desk.one(propose(submission(8, "b"), edit=True, record="r15"), now_ms=desk_of.NOW + 3 * HOUR))
    desk.put(bot("b", addedAt=6, job="Changed."))
    desk.send(review(outdated, desk.current("b"), record="r16"))
    desk.rows.catalog.entries.pop(EntryId(Kind.BOTS, "b"))
    desk.send(review(outdated, record="r17"), review(outdated, accept=False, record="r18"))
    older = replace(submission(9, templateUrl=local))
    desk.rows.submissions[older.id] = older
    desk.send(review(older, record="r19"))
    for number in range(desk_of.RULES.pending + 1):
        desk.send(propose(submission(20 + number, tenant="ten_2"), record=f"s{number}"))
    desk.rows.siblings = {"ten_3": frozenset({"ten_2"})}
    desk.send(propose(submission(50, tenant="ten_3"), record="t"))


# Keys.


def _anns() -> Registry:
    book = Registry(rules=KeyRules(scoped_keys_per_account=3, full_keys_per_account=3, keys_per_day=9))
    book.act(book.issue("0", ANN))
    return book


@scenario(_anns)
def authorizations(book: Registry) -> None:
    allow, exchange, refresh = test_authorizations.allow, test_authorizations.exchange, test_authorizations.refresh
    book.act(allow(book), allow(book), allow(book, "2", session_id="over"), allow(book, "3", email=BOB))
    book.act(exchange(book, code_hash=b"x"), exchange(book, client_hash=b"x"), exchange(book, redirect_uri="x"))
    book.act(exchange(book, challenge=b"x"), exchange(book, resource="x"), exchange(book))
    book.pass_ms(MINUTE)
    book.act(refresh(book, 0, client_hash=b"x"), refresh(book, 0, resource="x"))
    wider = (Scope.LIBRARY_READ, Scope.SPONSOR_READ)
    book.act(refresh(book, 0, scopes=wider), refresh(book, 0), refresh(book, 0), refresh(book, 0, "9"))
    book.authorizations["aut_1"] = replace(book.authorizations["aut_1"], repeat_until_ms=None)
    book.act(refresh(book, 0))
    book.act(allow(book, "4", key_expires_ms=None, scopes=wider), exchange(book, "4"))
    book.act(refresh(book, 0, "4", scopes=(*wider, Scope.KEYS_MANAGE)))
    book.pass_ms(HOUR)
    book.act(refresh(book, 0, "4"), exchange(book, "4"))
    book.act(allow(book, "5", key_expires_ms=book.now_ms + MINUTE), exchange(book, "5"))
    end = EndAuthorization(test_authorizations.CLIENT, b"r 5", None, book.audit("key.revoked", ""))
    book.act(replace(end, client_hash=b"x"), replace(end, refresh_hash=None), end, end)
    gone = book.keys.pop("k5")
    book.act(end, refresh(book, 0, "5"), exchange(book, "5"))
    book.keys[gone.id] = gone
    book.act(allow(book, "6"))
    book.pass_ms(MINUTE)
    book.act(exchange(book, "6"))
    book.act(*(allow(book, f"a{number}") for number in range(OPEN_CODES)), allow(book, "b"))
    book.accounts[ANN] = replace(book.accounts[ANN], suspended_ms=1)
    book.act(allow(book, "c"), exchange(book, "a0"))
    book.accounts[ANN] = replace(book.accounts[ANN], suspended_ms=None)
    book.act(*(exchange(book, f"a{number}") for number in range(4)), allow(book, "d"))
    for key in book.keys.values():
        book.keys[key.id] = replace(key, revoked_ms=1)
    book.act(*(book.issue(f"i{number}", by="account", scopes=(Scope.LIBRARY_READ,)) for number in range(2)))
    book.act(exchange(book, "a5"), allow(book, "e"), exchange(book, "a6"))


@scenario(_anns)
def keys(book: Registry) -> None:
    read, manage = test_key_renewals.READ, test_key_renewals.MANAGE
    edit, rotate = test_key_renewals.edit, test_key_renewals.rotate
    book.act(book.issue("1", scopes=manage, by="account"), book.issue("2", scopes=read, by="1"))
    book.act(book.issue("2", scopes=read, by="1"), book.issue("3", BOB), book.issue("4", by="9"))
    book.act(
        book.issue("5", scopes=read), book.issue("6", scopes=read), book.issue("7"), book.issue("8"), book.issue("9")
    )
    book.act(edit(book, "1", name="Robot"), edit(book, "1", expires_ms=book.now_ms + 30 * DAY), edit(book, "none"))
    book.act(edit(book, "1", "1", expires_ms=None), edit(book, "1", name="Robot"), edit(book, "2", expires_ms=None))
    book.act(rotate(book, "1", "10", "1"), rotate(book, "1", "11"), rotate(book, "1", "10"), rotate(book, "3", "12"))
    book.act(rotate(book, "2", "13", "5"), rotate(book, "2", "14", "10", grace_ms=0), rotate(book, "0", "15"))
    book.act(edit(book, "5", "10", expires_ms=None), edit(book, "5", full=False, name="Other"))
    notices = [EndNotice(f"k{name}", ANN, notice(f"let_{name}", "key_ends", ANN, 0)) for name in ("10", "14", "5")]
    book.pass_ms(24 * DAY)
    book.act(SendEndNotices(tuple(notices)), SendEndNotices(tuple(notices)))
    book.act(book.revoke("10", "t0", full=True), book.revoke("10"), book.revoke("none"), book.revoke("5", "t9"))
    book.pass_ms(7 * DAY)
    book.act(rotate(book, "5", "20"), rotate(book, "6", "21"), rotate(book, "20", "22"), rotate(book, "21", "23"))
    book.act(*(rotate(book, name, f"3{name}") for name in ("7", "22", "23", "15")), edit(book, "10", name="Late"))
    book.act(EndExposed(tuple(test_exposed_keys.found(book, name) for name in ("22", "3", "none"))))
    book.act(EndKeys(ANN, book.audit("account.keys_revoked", "t0")), EndKeys("nobody", book.audit("x", "t9")))


@scenario(Registry)
def claims(book: Registry) -> None:
    """Keys that are minted and claimed: with right, wrong, spent and late codes, again, and into an account that exists."""
    book.act(book.mint("1"), book.complete("1"), book.start("1"), book.complete("1", proof=b"x"), book.start("9"))
    book.use("t1", 3, 2)
    book.act(
        book.start("1", BOB), book.complete("1"), book.complete("1", BOB), book.complete("1", BOB), book.start("1", BOB)
    )
    book.act(book.mint("2"), book.start("2", BOB), book.complete("2", BOB), book.complete("2"), book.complete("9"))
    book.act(book.mint("3"), book.start("3"), *(book.complete("3", proof=b"x") for _ in range(11)))
    for number in range(14):
        book.pass_ms(2 * MINUTE)
        book.act(book.start("3", network=f"net {number}"))
    book.pass_ms(11 * MINUTE)
    book.act(book.complete("3"), book.mint("4"), book.start("4"))
    book.pass_ms(8 * DAY)
    book.act(
        book.complete("4"), book.start("4"), book.set_tier(Tier.UPGRADED, BOB), book.set_tier(Tier.CLAIMED, "x@y.z")
    )
    book.act(
        book.grant_admin(BOB),
        book.grant_admin(BOB),
        book.grant_admin(),
        book.revoke_admin(BOB, 1),
        book.revoke_admin(BOB),
    )
    book.act(book.revoke_admin(), book.revoke_admin("x@y.z"), book.bootstrap(ANN, BOB), book.bootstrap(ANN))


@scenario(_anns)
def suspensions(book: Registry) -> None:
    def record(by: str = "") -> AuditRecord:
        return AuditRecord("aud_1", book.now_ms, "session", "ses_1", "account.suspended", "account", "t0", by)

    suspend = Suspend(ANN, "t0", "It sends spam.", record(), notice("let_s", "account_suspended", ANN, book.now_ms))
    restore = Restore(ANN, "t0", record(), notice("let_r", "account_restored", ANN, book.now_ms))
    book.act(suspend, suspend, restore, restore, replace(suspend, audit=record(ANN)))
    book.act(replace(suspend, tenant_id="t9"), replace(restore, tenant_id="t9"), replace(suspend, email=BOB))
    book.act(book.mint("1"), book.start("1"), suspend)
    book.act(book.complete("1"), restore)
    book.act(book.grant_admin(), suspend, book.set_tier(Tier.UPGRADED), restore)


# Sessions.


@scenario(Book)
def sign_ins(book: Book) -> None:
    """Codes that are right, wrong, spent, late or of another browser, links of an operator, and the ends of sessions."""
    book.act(book.complete("0"), book.start(), book.complete("1", proof=b"x"), book.complete("1"), book.complete("2"))
    told = OutboxMessage("let_9", test_sessions.ANN, "new_session", b"", book.now_ms, book.now_ms + DAY)
    book.act(book.start(), book.start(browser=test_sessions.THEIRS), replace(book.complete("3"), notice=told))
    book.act(*(book.complete(f"w{number}", proof=b"x", browser=test_sessions.THEIRS) for number in range(7)))
    for number in range(14):
        book.act(book.start(network=f"net {number}"))
    book.now_ms += HOUR
    book.act(book.complete("4"), Touch("ses_1"), Touch("none"))
    book.act(test_sessions.link(book), test_sessions.use(book, "5"), test_sessions.use(book, "6"))
    book.act(book.end("1"), book.end("1"), book.end("3", test_sessions.BOB), Touch("ses_1"))
    book.act(*(each for name in "abcdefghijkl" for each in (book.start(), book.complete(name))))
    everything = EndSessions(test_sessions.ANN, "ses_3", book.audit(test_sessions.ANN, "sessions.ended"))
    book.act(everything, everything, replace(everything, except_id=None))


def _anns_browser() -> Keyring:
    book = Keyring()
    book.add(book.sign_in("1"), "laptop")
    return book


@scenario(_anns_browser)
def passkeys(book: Keyring) -> None:
    session, laptop = book.rows.sessions["ses_1"], book.rows.second_factor.passkeys["psk_laptop"]
    start, other = partial(book.start_ceremony, session.id), b"else" * 8
    book.act(start(Purpose.REGISTER), book.register(session, book.passkey("phone"), other))
    book.act(start(Purpose.REGISTER), book.register(session, replace(book.passkey("again"), credential_id=b"laptop")))
    book.act(
        *(each for name in "abc" for each in (start(Purpose.REGISTER), book.register(session, book.passkey(name))))
    )
    book.act(book.confirm(session, laptop), start(Purpose.CONFIRM), book.confirm(session, laptop, hashed=other))
    book.act(start(Purpose.CONFIRM), book.confirm(session, laptop), book.confirm(session, laptop))
    rename = Rename("psk_a", session.email, "Old one", book.audited(session, "passkey.renamed", "passkey", "psk_a"))
    book.act(rename, rename, replace(rename, passkey_id="none"))
    book.act(
        book.remove(session, "psk_a"), book.remove(session, "psk_a"), book.remove(session, "psk_b", "x@example.com")
    )
    pending = book.half("2")
    entering = partial(book.start_ceremony, pending.id)
    book.act(book.finish(pending, laptop), entering(Purpose.SIGN_IN), book.finish(pending, laptop, hashed=other))
    book.act(entering(Purpose.SIGN_IN), book.finish(pending, laptop, count=0), CancelSignIn("none"))
    told = book.mail("new_session", pending.email)
    finish = replace(book.finish(pending, laptop, count=9), notice=told)
    book.act(entering(Purpose.SIGN_IN), finish, book.finish(pending, laptop, count=10))
    third = book.half("3")
    book.act(CancelSignIn(third.id), CancelSignIn(third.id))
    book.now_ms += 90 * DAY
    book.act(start(Purpose.CONFIRM), book.confirm(session, laptop), book.remove(session, "psk_laptop"))
    book.act(book.remove_all(), book.remove_all())


# Bookings.


@scenario(ledger.furnished)
def shared_reports(book: Ledger) -> None:
    book.act(share(book, 1), share(book, 2))
    book.act(share(book, 3), EndSharedReport(ledger.ANN, "shr_3", book.origin()))
    book.act(EndSharedReport(ledger.ANN, "shr_1", book.origin()), EndSharedReport(ledger.ANN, "shr_2", book.origin()))


def _request(book: Ledger, booking_id: str, owner: str = ledger.ANN) -> RequestRefund:
    return RequestRefund(owner, booking_id, "It was not shown.", book.origin())


def _sold() -> Ledger:
    """Bookings of this week and of later ones: one with a known issue, one of a suspended account, and one of two weeks, of
    which one is seen."""
    book = ledger.furnished()
    book.paid("bok_0")
    for week, name in enumerate(("bok_1", "bok_2", "bok_3"), 1):
        book.paid(name, week=week, owner=ledger.ANN if week < 3 else ledger.BOB)
    book.paid("bok_4", ledger.PAIR, week=2, owner=ledger.BOB)
    video = replace(book.bookings["bok_2"], youtube_status=YoutubeStatus.PUBLISHED)
    book.bookings["bok_2"] = replace(video, payment_issue="paid_twice")
    book.suspended = {ledger.BOB}
    book.days["bok_4"] = [DayDelivered(ledger.MONDAY // DAY + 15, 7, 2)]
    return book


@scenario(_sold)
def refund_requests(book: Ledger) -> None:
    book.act(book.reserve("bok_9", week=7), _request(book, "bok_9"), _request(book, "none"))
    for _ in range(3):
        book.act(_request(book, "bok_1"), _request(book, "bok_1"))
        book.act(DeclineRefundRequest("bok_1", "Es läuft noch.", book.origin()))
    book.act(_request(book, "bok_1"), DeclineRefundRequest("bok_1", "No.", book.origin()))
    book.act(DeclineRefundRequest("none", "No.", book.origin()))
    book.pass_ms(40 * DAY)
    book.act(_request(book, "bok_1"), _request(book, "bok_9"), DeclineRefundRequest("bok_9", "No.", book.origin()))
    book.rules = replace(book.rules, refund_unshown=False)
    book.act(_request(book, "bok_1"))


@scenario(_sold)
def schedules(book: Ledger) -> None:
    _follow(book, 15)
    book.act(book.dispute("pay_bok_3"))
    _follow(book, 17)
    book.act(FollowSchedule("none", book.origin()))


@scenario(_sold)
def schedules_without_refunds(book: Ledger) -> None:
    """Nothing of the booking was sold, because it was made after its weeks."""
    book.rules = replace(book.rules, refund_unshown=False)
    book.bookings["bok_1"] = replace(book.bookings["bok_1"], created_ms=book.now_ms + 30 * DAY)
    book.pass_ms(20 * DAY)
    book.act(FollowSchedule("bok_1", book.origin()))


def _follow(book: Ledger, days: int) -> None:
    for _ in range(days):
        due = [each.id for each in book.bookings.values() if (each.next_step_ms or book.now_ms + 1) <= book.now_ms]
        if due:
            book.act(*(FollowSchedule(each, book.origin()) for each in due))
        book.pass_ms(DAY)


@scenario(lambda: ledger.furnished(BookingRules(open_holds=2, holds_per_day=5, horizon_weeks=8)))
def holds(book: Ledger) -> None:
    """Slots that are held, and holds that end by themselves, by their owner or by a payment."""
    book.act(book.reserve("b1", week=1), book.reserve("b1", week=1, key="b1"), book.reserve("b2", week=2, key="b1"))
    book.act(book.reserve("b3", week=1, owner=ledger.BOB), book.reserve("b4", "none"), book.reserve("b5", week=-1))
    book.act(book.reserve("b6", week=9), book.reserve("b7", campaign="none"), book.reserve("b8", ledger.PAIR, week=2))
    book.act(book.reserve("b9", week=3), book.start("b10", week=4, owner=ledger.BOB), book.checkout("b1", ledger.BOB))
    book.act(book.checkout("b1"), book.checkout("b1"), book.session("b1", "cs_1"), book.session("none", "cs_1"))
    book.pass_ms(MINUTE)
    book.act(book.cancel("b8"), book.cancel("b8"), book.cancel("none"), book.expire("b1"), book.expire("none"))
    book.act(book.reserve("b11", ledger.PAIR, week=2), book.session("b11", "cs_9"))
    book.pass_ms(HOUR)
    book.act(book.checkout("b11"), book.expire("b1"), book.expire("b1"), book.expire("b11"), book.expire("b10"))
    book.act(book.reserve("b12", ledger.PAIR, week=2), book.reserve("b13", week=5), book.cancel("b11"))
    book.act(book.retire(), book.reserve("b14", week=6), book.edit_slot(active=True, coming_soon=True))
    book.act(book.reserve("b15", week=6), book.move("cmp_ten_ann", CampaignMove.REJECT, note="No."))
    book.suspended = {ledger.BOB}
    book.act(book.reserve("b16", week=6), book.reserve("b17", week=6, owner=ledger.BOB))
    book.rules = replace(book.rules, mode=Mode.LIVE)
    book.act(book.checkout("b12"), book.checkout("b13"), replace(book.reserve("b18"), week_start_ms=ledger.NOON))


@scenario(_sold)
def money(book: Ledger) -> None:
    """Payments, refunds and disputes as the processor reports them, in and out of order."""
    book.act(book.reserve("b1", week=5), book.checkout("b1"), book.session("b1", "cs_1"))
    book.act(book.pay("b1", "e1", session="cs_2"), book.pay("none", "e2"), book.pay("b1", "e3", amount=1))
    book.act(book.reserve("b2", week=6), book.pay("b2", "e4", "p2", currency="eur"), book.pay("b2", "e4", "p2"))
    book.act(book.pay("bok_0", "e5", "p3"), book.pay("bok_0", "e6", "pay_bok_0"))
    book.act(book.refund("bok_0", "Wrong ad."), book.refund("bok_0"), book.refund("none"), book.refund("b9"))
    book.act(book.lease("bok_0", book.now_ms + MINUTE))
    book.act(book.postpone("bok_0", book.now_ms))
    book.act(book.settle("bok_0", "Too old"), book.refund("bok_0"), book.settle("bok_0", refund="re_1", cents=7))
    book.act(book.settle("bok_0", event="e7", payment="pay_bok_0"), book.settle("bok_0"), book.settle("none"))
    book.act(book.settle("bok_0", "Returned", event="e8", payment="pay_bok_0", refund="re_1", at_ms=9))
    book.act(book.settle("bok_1", event="e9", payment="pay_bok_1", total_cents=4_000, refund="re_2"))
    book.act(book.lease("bok_1", 5), book.lease("bok_0", 5), book.lease("none", 5))
    book.act(book.postpone("bok_1", 5), book.postpone("bok_0", 5), book.postpone("none", 5))
    book.act(book.dispute("pay_bok_2"), book.dispute("pay_bok_2"), book.dispute("none"), book.refund("bok_2"))
    book.act(book.dispute("pay_bok_2", PaymentState.WON), book.dispute("pay_bok_3", amount_cents=3_000))
    book.act(book.dispute("pay_bok_3", PaymentState.LOST, amount_cents=3_000, at_ms=7))
    book.act(book.dispute("pay_bok_3", PaymentState.LOST, "dp_2"), book.dispute("pay_bok_3", PaymentState.WON, "dp_2"))
    book.act(book.dispute("pay_bok_4", PaymentState.LOST), book.settle("bok_4", event="e10", payment="pay_bok_4"))
    book.act(book.settle("bok_4", "Returned", refund="re_3"), book.settle("bok_4", "Returned", refund="re_4"))
    book.act(book.video("bok_4", status=YoutubeStatus.PUBLISHED, url="https://example.com/v"), book.video("none"))
    book.act(book.video("bok_4", notes="Soon.", clear=("url",)), book.video("bok_1"))


@scenario(lambda: ledger.furnished(BookingRules(campaigns=3, pending_campaigns=2)))
def campaigns(book: Ledger) -> None:
    """Campaigns and their reviews, profiles, billing details and slots."""
    book.act(book.create_campaign("c1"), book.create_campaign("c2"), book.create_campaign("c3"))
    book.act(
        book.edit("c1", headline="Another"), book.edit("c1", name="Named"), book.edit("c1"), book.edit("none", name="x")
    )
    moves = [book.move("c1", move, ledger.ANN) for move in CampaignMove if not move.endswith("_edit")]
    for move in moves:
        book.act(move)
    for name, by in (("APPROVE", None), ("PAUSE", ledger.ANN), ("RESUME", ledger.ANN), ("SUBMIT", ledger.ANN)):
        book.act(book.move("c1", CampaignMove[name], by))
    book.act(book.edit("c1", body="New words", cta="Now"), book.move("c1", CampaignMove.REJECT, note="Zu laut."))
    book.act(book.edit("c1", target_url="https://example.com/2"), book.move("c1", CampaignMove.WITHDRAW, ledger.ANN))
    seen = replace(book.move("c1", CampaignMove.APPROVE), seen=ledger.CONTENT, seen_as="Old name")
    book.act(book.edit("c1", logo_text="NT"), seen, replace(seen, seen=None), replace(seen, seen=None, seen_as=None))
    book.act(book.move("c2", CampaignMove.REJECT, note="No."), book.edit("c2", headline="Better"), SendDigest())
    book.pass_ms(2 * HOUR)
    book.act(SendDigest(), SendDigest())
    book.act(book.save_profile(name="Other brand"), book.save_profile(name="Other brand"))
    book.act(book.save_billing(), book.save_billing(), book.save_billing(email="bills@example.com"))
    book.act(book.create_slot("s1"), book.create_slot("s1"), book.edit_slot("none", name="x"), book.retire("none"))
    book.act(
        book.edit_slot(name="Better", week_price_cents=5), book.edit_slot(name="Better"), book.retire(), book.retire()
    )
    book.act(book.edit_slot(active=True, description="Words", offer_ends_ms=9), book.edit_slot(clear=("description",)))
    book.bookings["bok_1"] = replace(book.paid("bok_1", ledger.PAIR, week=1), package_kind=sorted(WITH_VIDEO)[0])
    book.act(book.edit_slot(side=Side.RIGHT), book.edit_slot(ledger.PAIR, side=Side.LEFT, weeks=3))
    book.act(
        SendMaterial(ledger.ANN, "bok_1", "Our talk.", book.origin()),
        SendMaterial(ledger.ANN, "x", None, book.origin()),
    )
    book.act(SendMaterial(ledger.ANN, "bok_1", None, book.origin()))
