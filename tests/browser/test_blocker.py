"""`/embed.js` in Firefox with uBlock Origin and its default lists: nothing is blocked, unless the host is named `ads`."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.processes import Service, until
from tests.browser.readers import BOX, FIRST, SCRIPT, Reader, answering
from tests.browser.sites import serving_site
from tests.browser.visitors import EVENTS, PLACEMENTS
from tests.browser.webdriver import running_firefox
from tests.programs import installed

ADD_ON = "/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/uBlock0@raymondhill.net"
"""Debian's package has EasyList, EasyPrivacy and uBlock's own lists in it, and loads no others here."""

EVENT = "{ bookingId, kind: 'impression', visitorId: '5b7d4e90-a1c6-4d9e-8f7b-6a543f2a8c1e' }"
BEACON = f"""{FIRST}<script>
fetch('HOST{PLACEMENTS}').then((answer) => answer.json()).then(({{ placements: [{{ bookingId }}] }}) =>
    window.accepted = navigator.sendBeacon('HOST{EVENTS}', JSON.stringify({EVENT})))
</script>"""
SCRIPT_OF_ADS = "<script onload='ended = `loaded`' onerror='ended = `blocked`' src=HOST/embed.js></script>"


@pytest.fixture
def reader(node: Service, tmp_path: Path) -> Iterator[Reader]:
    """A reader of one domain that shows placements of another. Lists judge by that, and spare a page's own domain."""
    with serving_site() as site, running_firefox(tmp_path) as browser:
        yield Reader(browser, node, site, host="blog.example.com", service="catalog.example.net")


def ads_are(reader: Reader, outcome: str) -> bool:
    """Open a page with a script of a host named `ads`."""
    ads = replace(reader, service="ads.example.net")
    ads.opens(f"{FIRST}<script>var ended</script>{SCRIPT_OF_ADS}")
    until(lambda: ads.is_true("ended"))
    return ads.is_true(f"ended === '{outcome}'")


def meets(reader: Reader, *, blocked: bool) -> None:
    """See placements, click on one, and open a page with a beacon."""
    # A blocker needs some seconds for its lists.
    until(lambda: ads_are(reader, "blocked" if blocked else "loaded"))
    arrived = reader.arrived()
    reader.site.pages["/away"] = FIRST
    reader.opens(f"{answering('targetUrl', 'SITE/away')}{BOX}{SCRIPT}")
    reader.sees()
    reader.brings(arrived + 2)
    reader.clicks()
    until(lambda: reader.is_true("location.pathname === '/away'"))
    reader.brings(arrived + 3)
    reader.opens(BEACON)
    until(lambda: reader.is_true("window.accepted"), what="the browser to accept the beacon")
    reader.brings(arrived + (3 if blocked else 4))


def test_a_blocker_lets_all_pass_but_beacons_and_hosts_of_ads(reader: Reader) -> None:
    meets(reader, blocked=False)
    reader.browser.ask("Addon:Install", path=installed(ADD_ON, "webext-ublock-origin-firefox"), temporary=True)
    meets(reader, blocked=True)
