"""The page of an invoice, and the links to it."""

from dataclasses import replace

from service.web.pages.parts.notices import NOTICES
from tests.api.sponsors import PROFILE
from tests.api.world import World, open_world
from tests.web.test_sponsor import booked, browser

SELLER = {
    "BILLING__SELLER_NAME": "Example <Media>",
    "BILLING__SELLER_ADDRESS": "1 Example Street\n10000 Example",
    "BILLING__SELLER_TAX_ID": "XX123",
}


async def paid(world: World) -> tuple[str, str]:
    """The path of a paid booking, and its id."""
    person, path = await booked(world)
    await person.press("checkout")
    await person.press("pay")
    return path, path.rpartition("/")[2]


async def test_the_invoice_names_both_parties_and_what_was_sold() -> None:
    async with open_world(**SELLER) as world:
        path, booking_id = await paid(world)
        page = browser(world)
        await page.open(path)
        assert f'href="{path}/invoice?number=TEST-INV-000001">Invoice TEST-INV-000001</a>' in page.html
        await page.open(f"{path}/invoice")
        assert page.status == 200
        for words in (
            "Invoice TEST-INV-000001",
            "Test mode: no money moved.",
            "Example &lt;Media&gt;",
            "1 Example Street\n10000 Example",
            "Tax number <bdi>XX123</bdi>",
            PROFILE["name"],
            "sponsor@example.com",
            "USD 120.00",
            booking_id,
        ):
            assert words in page.html, words
        assert "Other documents" not in page.html
        receipt = world.services.links.receipt_url(world.memory.bookings[booking_id])
        assert receipt is not None
        await page.open(receipt.removeprefix(world.services.base_url))
        assert f'href="{path}/invoice"' in page.html


async def test_the_details_of_a_company_and_the_tax_are_on_its_invoice() -> None:
    async with open_world(**SELLER, BILLING__TAX_PERCENT="8.1", BILLING__TAX_NAME="VAT <incl.>") as world:
        person = browser(world)
        await person.open("/sponsor/profile")
        typed = {
            "legalName": " مثال & <b>Ltd</b> ",
            "address": "1 Example Street \r\n\r\n 8000 Zurich",
            "country": "CH",
        }
        await person.press("save-billing", **typed, taxId="CHE-123", reference="PO <7>")
        assert NOTICES["billing_details_saved"] in person.text
        assert world.memory.billing_details.popitem()[1].address == "1 Example Street\n8000 Zurich"
        await person.press("save-billing")
        path, _ = await paid(world)
        await person.open(f"{path}/invoice")
        for words in (
            "<bdi>مثال &amp; &lt;b&gt;Ltd&lt;/b&gt;</bdi>",
            "1 Example Street\n8000 Zurich",
            "Switzerland",
            "Tax number <bdi>CHE-123</bdi>",
            "PO &lt;7&gt;",
            f"<bdi>{PROFILE['name']}</bdi>",
            "VAT &lt;incl.&gt;</bdi> 8.1 %",
            "USD 111.01",
            "USD 8.99",
            "USD 120.00",
        ):
            assert words in person.html, words


async def test_a_credit_note_has_a_page_of_its_own(world: World) -> None:
    path, booking_id = await paid(world)
    await world.services.ledger.settle_refund(booking_id, None)
    page = browser(world)
    await page.open(f"{path}/invoice")
    assert "<h1><bdi>Invoice TEST-INV-000001</bdi></h1>" in page.html
    assert f'href="{path}/invoice?number=TEST-CN-000001"' in page.html
    await page.open(f"{path}/invoice?number=TEST-CN-000001")
    named = "<h1><bdi>Credit note TEST-CN-000001</bdi></h1>"
    for words in (named, "Invoice TEST-INV-000001", "Total refunded", "has not named itself yet"):
        assert words in page.html, words
    await page.open(path)
    assert "Invoice TEST-INV-000001" in page.text
    assert "Credit note TEST-CN-000001" in page.text
    await world.services.ledger.settle_refund(booking_id, "Returned", "re_1", f"test_{booking_id}")
    await page.open(f"{path}/invoice?number=TEST-INV-000002")
    assert "Credit note TEST-CN-000001, because its refund did not arrive" in page.html
    await page.open(f"{path}/invoice?number=TEST-INV-000003")
    assert page.status == 404


async def test_a_booking_without_a_payment_says_so(world: World) -> None:
    person, path = await booked(world)
    await person.open(f"{path}/invoice")
    assert person.status == 200
    assert "This booking has no invoice." in person.html


async def test_all_invoices_and_credit_notes_are_listed_with_links(world: World) -> None:
    path, booking_id = await paid(world)
    await world.services.ledger.settle_refund(booking_id, None)
    person = browser(world)
    await person.open("/sponsor/bookings")
    assert "/sponsor/invoices" in person.page.links
    await person.open("/sponsor/invoices")
    for number, kind in (("TEST-INV-000001", "Invoice"), ("TEST-CN-000001", "Credit note")):
        assert f'href="{path}/invoice?number={number}"' in person.html
        assert f'<span class="under">{kind}</span>' in person.html
    assert "−$120" in person.text
    assert 'href="/api/v1/sponsors/invoices?format=csv" download' in person.html
    stranger = browser(world, "other@example.com")
    await stranger.open("/sponsor/invoices")
    assert "Download CSV" not in stranger.html
    assert "No invoices yet" in stranger.html


async def test_lists_of_an_account_that_have_several_pages_say_how_many_rows_there_are(world: World) -> None:
    _, booking_id = await paid(world)
    memory, person = world.memory, browser(world)
    [invoice] = memory.invoices.values()
    for number in range(2, 23):
        memory.invoices[f"INV-{number}"] = replace(invoice, number=f"INV-{number}")
        memory.bookings[f"bok_{number}"] = replace(memory.bookings[booking_id], id=f"bok_{number}")
    await person.open("/sponsor/invoices")
    assert "1 to 20 of 22" in person.text
    await person.open("/sponsor/bookings")
    assert "1 to 20 of 22" in person.text
    await person.open("/submissions/new?kind=bots")
    entry = {"name": "A", "job": "B", "templateUrl": "bots.example.com/a", "who": "C", "handle": "@c"}
    await person.press("send-bots", **entry)
    [submission] = memory.submissions.values()
    for number in range(2, 23):
        memory.submissions[f"sub_{number}"] = replace(submission, id=f"sub_{number}")
    await person.open("/submissions")
    assert "1 to 20 of 22" in person.text
    await person.open("/sponsor/webhooks")
    await person.press("create", url="tools.example.com/hook", **{"event booking.paid": "on"})
    [webhook] = memory.webhooks
    await person.open(f"/sponsor/webhooks/{webhook}")
    await person.press("test")
    [delivery] = memory.webhook_deliveries.values()
    for number in range(2, 23):
        memory.webhook_deliveries[f"dlv_{number}"] = replace(delivery, id=f"dlv_{number}", seq=delivery.seq + number)
    await person.open(f"/sponsor/webhooks/{webhook}")
    assert "1 to 20 of 22" in person.text
