"""Invoices on paper: one sheet in both formats, also with the longest texts that are taken. No node is needed."""

import re
from pathlib import Path

import pytest
import trio
from playwright.sync_api import Browser

from tests.api.world import open_world
from tests.web.test_invoices import paid
from tests.web.test_sponsor import browser as person_of

STYLE = (Path(__file__).parents[2] / "service/web/static/style.css").read_text(encoding="utf-8")
SHORT = {"legalName": "Example Tools Ltd", "address": "1 Example Street\n8000 Zurich", "country": "CH"}
LONG = {"legalName": "W" * 200, "address": "\n".join(["W" * 61] * 8), "country": "GS", "taxId": "W" * 50}
SELLERS = {
    "short": {"BILLING__SELLER_NAME": "Example Media", "BILLING__SELLER_ADDRESS": "1 Example Street\n10000 Example"},
    "long": {
        "BILLING__SELLER_NAME": "W" * 200,
        "BILLING__SELLER_ADDRESS": "\n".join(["W" * 100] * 8),
        "BILLING__SELLER_TAX_ID": "W" * 200,
    },
}


async def invoice_of(seller: dict[str, str], details: dict[str, str]) -> str:
    async with open_world(**seller, BILLING__TAX_PERCENT="8.1", BILLING__TAX_NAME="W" * 40) as world:
        person = person_of(world)
        await person.open("/sponsor/profile")
        await person.press("save-billing", **details)
        path, _ = await paid(world)
        await person.open(f"{path}/invoice")
        return person.html


@pytest.mark.parametrize(("seller", "details"), [("short", SHORT), ("long", LONG | {"reference": "W" * 100})])
def test_an_invoice_prints_on_one_sheet(browser: Browser, seller: str, details: dict[str, str]) -> None:
    html = re.sub("<(link|script)[^>]*/static/[^>]*>", "", trio.run(invoice_of, SELLERS[seller], details))
    page = browser.new_page()
    page.set_content(f"<style>{STYLE}</style>{html}")
    for size in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=size))) == 1, size
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
