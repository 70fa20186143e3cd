"""Scenarios whose decisions are recorded in full: see `test_decisions`. Each sends the messages of a concern."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from actors.accounts.messages import DeletionBlockers
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
from actors.webhooks.messages import DeliveryStatus, WebhookStatus
from tests.snapshots.entries import bot
from tests.state import submissions as desk_of
from tests.state import test_authorizations, test_exposed_keys, test_key_renewals, test_sessions
from tests.state.accounts import RULES, Accounts
from tests.state.endpoints import Endpoints, webhook
from tests.state.registry import ANN, BOB, DAY, HOUR, MINUTE, Registry
from tests.state.submissions import Desk, propose, review, saved, submission
from tests.state.test_passkeys import Keyring
from tests.state.test_sessions import Book

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


# Webhooks.


@scenario(Endpoints)
def webhooks(book: Endpoints) -> None:
    """Endpoints of two accounts, their tests, and deliveries that are sent again."""
    book.act(
        book.create(1), book.create(1), book.create(1, keyed=True), book.create(1, keyed=True, url="https://x.example")
    )
    book.act(book.create(2, url=webhook(1).url), book.create(2, events=()), book.create(3), book.create(3, "ten_b"))
    book.act(book.create(1, keyed=True, events=()), book.create(3), book.create(4, "ten_b"))
    book.act(book.test(1), book.test(1), book.test(1, "ten_b"), book.test(9), book.test(3, "ten_b"))
    for name, number, status in (
        ("dlv_1", 1, DeliveryStatus.WAITING),
        ("dlv_2", 1, DeliveryStatus.FAILED),
        ("dlv_3", 2, DeliveryStatus.WAITING),
    ):
        book.told(name, number, status=status)
    book.told("dlv_0", 1, "evt_dlv_1")
    book.act(book.resend("dlv_1"), book.resend("dlv_2"), book.resend("dlv_2"), book.resend("dlv_3"))
    book.act(book.resend("dlv_2"), book.resend("dlv_9"), book.resend("dlv_1", 9), book.resend("dlv_1", 1, "ten_b"))
    book.put(1, failures=7, failing_since_ms=5, paused_ms=9)
    book.act(book.enable(1), book.enable(9), book.enable(2), book.test(2))
    book.put(1, status=WebhookStatus.DISABLED, disabled_ms=8, disabled_reason="gone")
    book.act(book.test(1), book.resend("dlv_2"), book.enable(1), book.test(1), book.enable(1))
    book.put(2, status=WebhookStatus.DISABLED, disabled_ms=8, disabled_reason="gone")
    book.told("dlv_4", 2, event="evt_4", status=DeliveryStatus.DELIVERED)
    book.act(book.enable(2), book.resend("dlv_4", 2), book.delete(2), book.delete(2), book.create(5), book.delete(5))
    book.act(book.delete(3), book.delete(9), book.create(6), book.test(6), book.test(3, "ten_b"), book.delete(6))


# Accounts.


@scenario(Accounts)
def deletions(book: Accounts) -> None:
    """Deletions that are asked for, confirmed, undone, put off and begun, and choices of mails."""
    ann, bob, eve = "ann@example.com", "bob@example.com", "eve@example.com"
    book.act(book.start(ann), book.start(ann), book.start("none@example.com"), book.confirm(bob), book.undo(bob))
    book.now_ms += MINUTE
    book.act(book.start(ann), book.confirm(ann, b"wrong"), book.confirm(ann), book.confirm(ann, delay_ms=HOUR))
    book.act(book.start(ann))
    book.act(book.confirm(ann, None, 3 * DAY), book.confirm(ann, None, HOUR), book.begin(ann), book.begin(bob))
    book.act(book.undo(ann), book.undo(ann), book.confirm(ann), book.choose(ann, reviews=False))
    book.act(book.confirm(bob, None), book.start(bob), book.choose(bob, reports=False), book.choose(bob, reports=False))
    for _ in range(RULES.codes.per_day + 1):
        book.act(book.start(eve))
        book.now_ms += MINUTE
    book.act(book.undo(eve), book.confirm(eve))
    for standing in (
        DeletionBlockers(admin=True, administrators=1),
        DeletionBlockers(paid_until_ms=1),
        DeletionBlockers(refunds=1),
        DeletionBlockers(holds=1),
    ):
        paid_ms = standing.paid_until_ms
        book.blockers = {eve: replace(standing, paid_until_ms=paid_ms and book.now_ms + 1)}
        book.act(book.start(eve), book.confirm(eve, None))
        book.blockers = {eve: replace(standing, administrators=2, paid_until_ms=paid_ms and book.now_ms, refunds=0)}
        book.act(book.confirm(eve, None))
        book.now_ms += 7 * DAY - 1
        book.act(book.begin(eve))
        book.now_ms += 1
        book.blockers = {eve: replace(standing, paid_until_ms=paid_ms and book.now_ms + 1)}
        book.act(book.begin(eve))
        book.act(book.undo(eve))
    book.blockers = {each: DeletionBlockers(admin=True, administrators=2) for each in (bob, eve)}
    book.act(book.confirm(eve, None, 0), book.choose(eve, bookings=False))
    book.now_ms += 8 * DAY
    book.act(book.choose(bob, reviews=False), book.begin(bob), book.begin(eve), book.begin(bob), book.choose(bob))
    book.blockers = {eve: DeletionBlockers(admin=True, administrators=2)}
    book.act(book.confirm(ann, None, 0))
    book.now_ms += HOUR
    book.act(book.begin(ann), book.begin(eve))
