"""Pages on paper in Chromium, Firefox and WebKitGTK. No node is needed: the pages are those of a world in memory.

An invoice fills one sheet of both formats, also with the longest texts that are taken. WebKitGTK's driver has no command that
prints, so the invoice is laid out there by the rules of print media, as wide as the paper, and measured.
"""

import re
import zlib
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from html import escape
from math import ceil
from pathlib import Path

import pytest
import trio

from tests.api.world import open_world
from tests.browser.webdriver import Browser, Chromium, running_firefox, running_webkit
from tests.web.test_invoices import paid
from tests.web.test_sponsor import browser as person_of
from tests.web.test_sponsor import stock

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
SIZES = {"A4": (21.0, 29.7), "Letter": (21.59, 27.94)}
"""Width and height of paper in centimetres."""

MARGIN = 1.5
PIXELS = 96 / 2.54
"""Of a centimetre."""

LAID_OUT = """const { documentElement: root } = document.querySelector("iframe").contentDocument;
const cut = [root, ...root.querySelectorAll(".panel")].filter((each) => each.scrollWidth > each.clientWidth + 1);
return [root.scrollHeight, cut.map((each) => each.className || each.tagName)];"""


@pytest.fixture(scope="module", params=["chromium", "firefox", "webkit"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Each engine, which is started once."""
    with ExitStack() as stack:
        if request.param == "chromium":
            yield Chromium(stack.enter_context(request.getfixturevalue("browser").new_page()))
        else:
            start = running_firefox if request.param == "firefox" else running_webkit
            yield stack.enter_context(start(tmp_path_factory.mktemp(request.param)))


async def invoice_of(seller: dict[str, str], details: dict[str, str]) -> str:
    async with open_world(**seller, BILLING__TAX_PERCENT="8.1", BILLING__TAX_NAME="W" * 40) as world:
        person = person_of(world)
        await person.open("/sponsor/profile")
        await person.press("save-billing", **details)
        path, _ = await paid(world)
        await person.open(f"{path}/invoice")
        return person.html


async def calendar_of(slots: int) -> str:
    async with open_world() as world:
        for number in range(slots):
            await stock(world, f"slot-{number}")
        person = person_of(world)
        await person.open("/sponsor/inventory")
        return person.html


def sheets(reader: Browser, html: str, size: tuple[float, float], place: Path) -> tuple[int, list[str]]:
    """The sheets that a page takes, and what is wider than the paper or than its box."""
    bare = re.sub("<(link|script)[^>]*/static/[^>]*>", "", html)
    width, height = ((each - 2 * MARGIN) * PIXELS for each in size)
    paper = STYLE.replace("@media print", "@media all").replace("@media screen", "@media not all")
    framed = escape(f"<style>{paper}</style>{bare}")
    opens(reader, place, f'<!doctype html><iframe srcdoc="{framed}" width="{width:.0f}" height="100"></iframe>')
    length, cut = reader.runs(LAID_OUT)
    if reader.name == "webkit":
        return ceil(length / height), cut
    opens(reader, place, bare.replace("</head>", f"<style>{STYLE}</style></head>"))
    return pages_of(printed(reader, size)), cut


def opens(reader: Browser, place: Path, html: str) -> None:
    (place / "page.html").write_text(html, encoding="utf-8")
    reader.opens((place / "page.html").as_uri())


def printed(reader: Browser, size: tuple[float, float]) -> bytes:
    """The page as PDF."""
    width, height = size
    if isinstance(reader, Chromium):
        return reader.page.pdf(width=f"{width}cm", height=f"{height}cm")
    margin = dict.fromkeys(("top", "bottom", "left", "right"), MARGIN)
    return b64decode(reader.ask("Print", page={"width": width, "height": height}, margin=margin))


def pages_of(pdf: bytes) -> int:
    """The pages of a PDF, whose objects may lie in compressed streams."""
    parts = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            parts.append(zlib.decompressobj().decompress(stream))
    return sum(len(re.findall(rb"/Type\s*/Page\b", part)) for part in parts)


@pytest.mark.parametrize(("seller", "details"), [("short", SHORT), ("long", LONG | {"reference": "W" * 100})])
def test_an_invoice_prints_on_one_sheet(reader: Browser, seller: str, details: dict[str, str], tmp_path: Path) -> None:
    html = trio.run(invoice_of, SELLERS[seller], details)
    for name, size in SIZES.items():
        assert sheets(reader, html, size, tmp_path) == (1, []), name


def test_a_panel_longer_than_a_sheet_begins_on_the_first_one_and_is_as_wide_as_the_paper(
    reader: Browser, tmp_path: Path
) -> None:
    assert sheets(reader, trio.run(calendar_of, 24), SIZES["A4"], tmp_path) == (2, [])
