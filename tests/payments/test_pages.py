"""The checkout page of test mode and the receipt show the ledger's decisions."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import trio

from actors.bookings.payments import Checkout, RefundAttempt
from actors.bookings.records import BillingDetails, Booking, BookingStatus, BookingView, Mode
from actors.clock import MINUTE_MS, SECOND_MS
from service.api.deadlines import PAGE_SECONDS
from tests.api.asgi import Response
from tests.api.world import NOON_MS, away
from tests.payments.bank import LIVE, OWNER, Bank, booking, open_bank
from tests.web.visitors import Visitor

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def bank() -> AsyncIterator[Bank]:
    async with open_bank() as opened:
        yield opened


async def press(bank: Bank, made: Booking, body: bytes = b"do=pay") -> Response:
    """Pay as `curl -d do=pay "$checkoutUrl"` does."""
    return await bank.world.client.post(bank.checkout_path(made), headers=FORM, body=body)


async def look(bank: Bank, made: Booking) -> str:
    return text(await bank.world.client.get(bank.checkout_path(made)))


def text(response: Response) -> str:
    assert response.status == 200
    assert response.header("content-type") == "text/html; charset=utf-8"
    assert response.header("cache-control") == "no-store"
    words = " ".join(response.body.decode().split())
    return words.replace("<h1><bdi>", "<h1>").replace("</bdi></h1>", "</h1>")


# The page.


async def test_the_checkout_page_says_what_is_bought_until_when_and_that_no_money_moves(bank: Bank) -> None:
    made = bank.books.put(booking())
    html = await look(bank, made)
    assert "Test mode: no money moves." in html
    for words in ("Sponsor &amp; Co", "Autumn &lt;campaign&gt;", "Left column", "2 weeks", "USD 1,250.00", "bok_1"):
        assert words in html
    assert "Monday, 23 November 2026 to Sunday, 6 December 2026" in html
    assert "until 12:30 today" in html
    assert '<time datetime="2026-11-18T12:30:00Z">30 minutes</time>' in html
    assert "All times are UTC." in html
    form = html.partition('<form class="form"')[2].partition("</form>")[0]
    assert re.findall('name="do" value="([a-z]+)"', form) == ["pay", "cancel"]
    assert form.count("<button") == 2
    assert html.count("<script") == 1, "the script of every page"


async def test_looking_changes_nothing(bank: Bank) -> None:
    made = bank.books.put(booking())
    await look(bank, made)
    assert (bank.books.status(), bank.books.actions) == ("checkout", [])


@pytest.mark.parametrize("page", ["checkout_path", "receipt_path"])
async def test_the_pages_hold_to_a_strict_policy(bank: Bank, page: str) -> None:
    response = await bank.world.client.get(getattr(bank, page)(bank.books.put(booking())))
    policy = response.header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in policy
    for forbidden in (" style=", "<style", " onclick=", "javascript:"):
        assert forbidden not in response.body.decode()


# Paying and cancelling.


async def test_paying_makes_the_booking_paid(bank: Bank) -> None:
    made = bank.books.put(booking())
    html = text(await press(bank, made))
    assert "<h1>Paid</h1>" in html
    paid = bank.books.tables.bookings["bok_1"]
    assert str(bank.world.services.links.receipt_url(paid)) in html
    assert (paid.status, paid.payment_id, paid.paid_ms) == (BookingStatus.PAID, "test_bok_1", NOON_MS)


async def test_paying_twice_is_one_payment(bank: Bank) -> None:
    made = bank.books.put(booking())
    await press(bank, made)
    html = text(await press(bank, made))
    assert "<h1>Already paid</h1>" in html
    assert "You did not pay again" in html
    assert bank.books.actions == ["booking.paid"]


async def test_cancelling_gives_the_weeks_back(bank: Bank) -> None:
    made = bank.books.put(booking())
    assert "<h1>Cancelled</h1>" in text(await press(bank, made, b"do=cancel"))
    assert (bank.books.status(), bank.books.tables.weeks) == ("cancelled", {})
    assert "<h1>Already cancelled</h1>" in text(await press(bank, made, b"do=cancel"))


async def test_paying_after_cancelling_pays_nothing(bank: Bank) -> None:
    made = bank.books.put(booking())
    await press(bank, made, b"do=cancel")
    assert "You paid nothing" in text(await press(bank, made))
    assert bank.books.actions == ["booking.cancelled"]


async def test_cancelling_after_paying_changes_nothing(bank: Bank) -> None:
    made = bank.books.put(booking())
    await press(bank, made)
    assert "<h1>Already paid</h1>" in text(await press(bank, made, b"do=cancel"))
    assert bank.books.status() == "paid"


@pytest.mark.parametrize("first", ["pay", "cancel"])
async def test_of_two_buttons_pressed_at_once_the_ledger_takes_one_and_both_pages_say_which(
    bank: Bank, first: str
) -> None:
    made = bank.books.put(booking())
    pages: list[str] = []

    async def button(action: str) -> None:
        pages.append(text(await press(bank, made, f"do={action}".encode())))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(button, first)
        nursery.start_soon(button, "cancel" if first == "pay" else "pay")
    words = {"paid": "Paid", "cancelled": "Cancelled", "refunding": "Refund under way"}
    assert bank.books.status() in words
    assert any(f"<h1>{words[bank.books.status()]}" in page for page in pages)


async def test_what_the_ledger_refuses_is_shown_as_it_stands(bank: Bank) -> None:
    """The booking is open when the page reads it, and paid when the ledger decides."""
    made = bank.books.put(booking())
    looks = 0

    async def pay_between() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            bank.books.put(
                replace(made, status=BookingStatus.PAID, paid_ms=NOON_MS, paid_cents=125_000, payment_id="test_bok_1")
            )

    bank.books.before = pay_between
    assert "<h1>Already paid</h1>" in text(await press(bank, made, b"do=cancel"))
    assert looks == 3


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("action", ["pay", "cancel"])
async def test_after_the_hold_nothing_is_paid_or_cancelled(bank: Bank, swept: bool, action: str) -> None:
    made = bank.books.put(booking())
    bank.world.clock.at_ms = made.hold_ms
    if swept:
        await bank.world.services.ledger.expire_hold(made.id)
    actions = list(bank.books.actions)
    assert "<h1>The hold has ended</h1>" in await look(bank, made)
    html = text(await press(bank, made, f"do={action}".encode()))
    assert "<h1>The hold has ended</h1>" in html
    assert "<form" not in html
    assert bank.books.actions == actions


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (BookingStatus.RESERVED, "nobody has begun to pay"),
        (BookingStatus.REFUNDING, "on its way back to you"),
        (BookingStatus.REFUNDED, "You have your money back"),
    ],
)
async def test_every_other_state_has_words(bank: Bank, status: BookingStatus, words: str) -> None:
    made = bank.books.put(booking(status=status))
    html = await look(bank, made)
    assert words in html
    assert "<form" not in html


@pytest.mark.parametrize(
    "body", [b"", b"do=", b"do=refund", b"pay", b'{"do": "pay"}', b"\xff\xfe", b"a=1&" * 100, b"Do=pay"]
)
async def test_another_body_is_refused_and_changes_nothing(bank: Bank, body: bytes) -> None:
    made = bank.books.put(booking())
    assert (await press(bank, made, body)).words == "400 invalid_request"
    assert bank.books.status() == "checkout"


# Permissions.


async def test_a_token_that_nobody_was_given_opens_nothing(bank: Bank) -> None:
    made = bank.books.put(booking())
    path = bank.checkout_path(made)
    receipt = bank.receipt_path(made)
    other = bank.checkout_path(booking("bok_2"))
    for bad in (
        path[:-1],
        f"{path}A",
        path[:-1] + ("A" if path[-1] != "A" else "B"),
        path.replace("lnk_", ""),
        path.replace("lnk_", "lnk_lnk_"),
        path.replace("/checkout/", "/receipt/"),
        receipt.replace("/receipt/", "/checkout/"),
        "/checkout/bok_1",
        "/checkout/lnk_",
        "/checkout/%00",
        "/checkout/",
        other,
    ):
        for method in ("GET", "POST"):
            if method == "POST" and "/receipt/" in bad:
                continue
            response = await bank.world.client.request(method, bad, headers=FORM, body=b"do=pay")
            assert response.words == "404 not_found", (method, bad)
    assert bank.books.status() == "checkout"


async def test_a_live_booking_has_no_page_where_it_can_be_paid_for_nothing(bank: Bank) -> None:
    made = bank.books.put(booking(mode=Mode.LIVE))
    assert (await press(bank, made)).words == "404 not_found"
    assert bank.books.status() == "checkout"


async def test_in_live_mode_there_is_no_checkout_page() -> None:
    async with open_bank(**LIVE) as bank:
        for mode in Mode:
            made = bank.books.put(booking(mode=mode))
            assert (await press(bank, made)).words == "404 not_found"
            assert (await bank.world.client.get(bank.checkout_path(made))).words == "404 not_found"
        assert bank.books.status() == "checkout"


async def test_the_checkout_takes_no_other_method(bank: Bank) -> None:
    path = bank.checkout_path(bank.books.put(booking()))
    for method in ("PUT", "DELETE", "PATCH"):
        assert (await bank.world.client.request(method, path)).words == "405 method_not_allowed"


async def test_without_its_database_a_page_says_so(bank: Bank) -> None:
    made = bank.books.put(booking())
    bank.books.before = away
    assert (await press(bank, made)).words == "503 service_unavailable"
    assert (await bank.world.client.get(bank.receipt_path(made))).words == "503 service_unavailable"


async def test_with_a_ledger_that_takes_no_more_a_page_says_so(bank: Bank) -> None:
    made = bank.books.put(booking())
    bank.world.services.ledger.close()
    assert (await press(bank, made)).words == "503 service_unavailable"


async def test_tokens_are_not_logged(bank: Bank, caplog: pytest.LogCaptureFixture) -> None:
    from service.observability.logs import TextLines

    made = bank.books.put(booking())
    with caplog.at_level("DEBUG"):
        await press(bank, made)
        await bank.world.client.get(bank.receipt_path(made))
    lines = [TextLines().format(record) for record in caplog.records if record.name == "service.access"]
    assert len(lines) == 2
    for path in (bank.checkout_path(made), bank.receipt_path(made)):
        token = path.rpartition("lnk_")[2]
        assert token not in "\n".join(lines)
        assert f"{path.partition('lnk_')[0]}lnk_***" in "\n".join(lines)


# The receipt.


async def receipt(bank: Bank, made: Booking) -> str:
    return text(await bank.world.client.get(bank.receipt_path(made)))


def paid(**fields: Any) -> Booking:
    past: dict[str, Any] = {
        "status": BookingStatus.PAID,
        "paid_ms": NOON_MS,
        "paid_cents": 125_000,
        "payment_id": "pi_123",
        "mode": Mode.LIVE,
    }
    return booking(**(past | fields))


async def test_a_receipt_says_what_was_bought_and_when_it_was_paid(bank: Bank) -> None:
    html = await receipt(bank, bank.books.put(paid()))
    assert "<h1>Receipt</h1>" in html
    for words in ("Sponsor &amp; Co", "Autumn &lt;campaign&gt;", "Left column", "USD 1,250.00", "pi_123", "bok_1"):
        assert words in html
    assert '<time datetime="2026-11-18T12:00:00Z">18 November 2026, 12:00 UTC</time>' in html
    assert "Test mode" not in html


async def test_a_receipt_of_test_mode_says_that_no_money_moved(bank: Bank) -> None:
    html = await receipt(bank, bank.books.put(paid(mode=Mode.TEST)))
    assert "Test mode: no money moved." in html


async def test_a_receipt_never_expires_and_shows_what_became_of_the_payment(bank: Bank) -> None:
    made = bank.books.put(paid())
    assert "paid back" not in await receipt(bank, made)
    bank.world.clock.at_ms += 3_650 * 24 * 60 * MINUTE_MS
    bank.books.put(replace(made, status=BookingStatus.REFUNDED, refunded_cents=125_000))
    assert "USD 1,250.00 was paid back." in await receipt(bank, made)


@pytest.mark.parametrize(
    ("status", "issue", "words"),
    [
        (BookingStatus.REFUNDING, None, "The refund is under way."),
        (BookingStatus.REFUNDING, "paid_after_expiry", "The refund is under way."),
        (BookingStatus.REFUNDING, "refund_declined", "declined it, and an administrator will handle it"),
        (BookingStatus.PAID, "refund_declined", "declined the refund, so nothing was paid back"),
        (BookingStatus.REFUNDING, "refund_failed", "declined it, and an administrator will handle it"),
    ],
)
async def test_a_receipt_tells_of_a_refund_that_is_not_made(
    bank: Bank, status: BookingStatus, issue: str | None, words: str
) -> None:
    assert words in await receipt(bank, bank.books.put(paid(status=status, payment_issue=issue)))


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (BookingStatus.CHECKOUT, "reload this page"),
        (BookingStatus.EXPIRED, "The hold ended before a payment arrived."),
        (BookingStatus.CANCELLED, "The booking was cancelled before a payment arrived."),
    ],
)
async def test_before_it_is_paid_the_page_says_so(bank: Bank, status: BookingStatus, words: str) -> None:
    """The processor may redirect here before its event arrives."""
    html = await receipt(bank, bank.books.put(booking(status=status, mode=Mode.LIVE)))
    assert "<h1>Not paid</h1>" in html
    assert words in html


async def test_a_hold_that_ran_out_is_expired_before_the_sweeper_comes(bank: Bank) -> None:
    made = bank.books.put(booking(mode=Mode.LIVE))
    bank.world.clock.at_ms = made.hold_ms + SECOND_MS
    assert "The hold ended before a payment arrived." in await receipt(bank, made)


async def test_receipts_are_there_in_both_modes() -> None:
    async with open_bank(**LIVE) as bank:
        assert "<h1>Receipt</h1>" in await receipt(bank, bank.books.put(paid()))
        assert "<h1>Receipt</h1>" in await receipt(bank, bank.books.put(paid(mode=Mode.TEST)))


async def test_a_receipt_has_an_address_once_the_booking_was_paid(bank: Bank) -> None:
    links = bank.world.services.links
    assert links.receipt_url(booking()) is None
    assert links.receipt_url(paid()) == links.result_url(booking())
    assert links.receipt_url(paid(status=BookingStatus.REFUNDED)) is not None


async def test_who_leaves_the_processors_page_is_told_that_nothing_was_paid(bank: Bank) -> None:
    response = await bank.world.client.get("/checkout-cancelled")
    assert "You paid nothing." in response.body.decode()


# A slow processor.


class SlowProcessor:
    """Answers after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def checkout(
        self, made: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        await trio.sleep(self.seconds)
        return Checkout("https://pay.example.com/session", made.hold_ms)

    async def invoice_url(self, booking: Booking) -> str | None:
        raise AssertionError("nobody asked for it")

    async def refund(self, made: Booking) -> RefundAttempt:
        raise AssertionError("nobody asked for it")


async def checked_out(bank: Bank, seconds: float) -> tuple[Response, float]:
    """Press the button on the booking's page while the processor is slow. Returns the reply and the seconds it took."""
    world, tables = bank.world, bank.books.tables
    person = Visitor(world, world.session("sponsor@example.com"))
    [owner] = world.memory.tenants
    tables.campaigns["cmp_1"] = replace(tables.campaigns["cmp_1"], tenant_id=owner)
    bank.books.put(booking(tenant_id=owner, mode=Mode.LIVE))
    world.services.payments = SlowProcessor(seconds)
    began = trio.current_time()
    response = await person.send("/sponsor/bookings/bok_1", do="checkout")
    return response, trio.current_time() - began


async def test_a_person_waits_for_the_processor_as_long_as_a_program_does() -> None:
    async with open_bank(**LIVE) as bank:
        response, seconds = await checked_out(bank, 7.0)
        assert "https://pay.example.com/session" in text(response)
        assert seconds == pytest.approx(7.0, abs=0.1)


async def test_a_processor_that_never_answers_a_person_is_given_up_in_time() -> None:
    async with open_bank(**LIVE) as bank:
        response, seconds = await checked_out(bank, 3_600.0)
        assert response.status == 503
        http, billing = bank.world.config.http, bank.world.config.billing
        assert seconds <= http.answer_seconds + billing.timeout_seconds + PAGE_SECONDS + 0.1


# The port.


async def test_test_payments_lead_to_our_page_and_end_with_the_hold(bank: Bank) -> None:
    payments, made = bank.world.services.payments, bank.books.put(booking())
    opened = await payments.checkout(made, "Campaign")
    assert opened == await payments.checkout(made, "Campaign")
    assert opened.expires_ms == made.hold_ms
    path = opened.url.removeprefix("https://catalog.test")
    assert (await bank.world.client.get(path)).status == 200
    assert await payments.refund(made) == RefundAttempt(done=True)


async def test_a_booking_of_the_api_is_paid_on_its_page(bank: Bank) -> None:
    """From the reservation to the receipt, by the ledger's rules."""
    ledger, services, agent = bank.world.services.ledger, bank.world.services, bank.world.agent
    key = "00000000-0000-4000-8000-000000000001"
    reserved = await ledger.reserve(OWNER, "cmp_1", "left", booking().week_start_ms, key, agent)
    assert isinstance(reserved, BookingView)
    opened = await ledger.open_checkout(OWNER, reserved.booking.id, agent)
    assert isinstance(opened, BookingView)
    page = await services.payments.checkout(opened.booking, opened.campaign_name)
    await bank.world.client.post(page.url.removeprefix(services.base_url), headers=FORM, body=b"do=pay")
    view = await bank.books.booking(OWNER, reserved.booking.id)
    assert view is not None
    assert view.booking.status == BookingStatus.PAID
    assert "<h1>Receipt</h1>" in await receipt(bank, view.booking)
