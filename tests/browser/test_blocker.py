"""`/embed.js` in Firefox with uBlock Origin and its default lists: they block some names of hosts, and nothing else.

After an update of the lists, the words in docs/embedding.md may differ: the failure names them.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.processes import Service, until
from tests.browser.readers import BOX, FIRST, SCRIPT, Reader, answering
from tests.browser.sites import serving_site
from tests.browser.test_embed import GUIDE
from tests.browser.visitors import EVENTS, PLACEMENTS
from tests.browser.webdriver import running_firefox
from tests.programs import installed

ADD_ON = "/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/uBlock0@raymondhill.net"
"""Debian's package has EasyList, EasyPrivacy and uBlock's own lists in it, and loads no others here."""

PAGES = "blog.example.com"
EVENT = "{ bookingId, kind: 'impression', visitorId: '5b7d4e90-a1c6-4d9e-8f7b-6a543f2a8c1e' }"
BEACON = f"""{FIRST}<script>
fetch('HOST{PLACEMENTS}').then((answer) => answer.json()).then(({{ placements: [{{ bookingId }}] }}) =>
    window.accepted = navigator.sendBeacon('HOST{EVENTS}', JSON.stringify({EVENT})))
</script>"""
PROBE = f"""const passed = (request) => request.then(() => true, () => false);
return Promise.all([
    new Promise((done) => document.head.append(Object.assign(document.createElement('script'),
        {{ src: 'HOST/embed.js', onload: () => done(true), onerror: () => done(false) }}))),
    passed(fetch('HOST{PLACEMENTS}', {{ credentials: 'omit' }})),
    passed(fetch('HOST{EVENTS}?unit=day', {{ body: '-', credentials: 'omit', keepalive: true, method: 'POST' }})),
])"""


def hosts_of(words: Iterable[str]) -> list[str]:
    return [f"{word}.example.net" for word in words]


def words_of(outcome: str) -> list[str]:
    """The words in the item of the guide that ends with this outcome."""
    [item] = re.findall(rf"^- ((?:.|\n  )*){outcome}\.$", GUIDE, re.MULTILINE)
    return re.findall(r"`(\w+)`", item)


def words_of_the_lists() -> set[str]:
    """The words with which the lists begin a host, and maybe block all of it, or the path of an event."""
    texts = [each.read_text(errors="replace") for each in Path(ADD_ON, "assets").rglob("*.txt")]
    rule = re.compile(r"^:?//?([a-z]+)\.(?:\$.*|\*/event.*)?$", re.MULTILINE)
    return {word for text in texts for word in rule.findall(text)}


OUTCOMES = {
    **dict.fromkeys([PAGES, *hosts_of(("catalog", "partners", "sponsors"))], "counted"),
    **dict.fromkeys(hosts_of(words_of("no placement is shown")), "blocked"),
    **dict.fromkeys(hosts_of(("ads1", "ad-server", "analytics-cdn")), "blocked"),
    **dict.fromkeys(hosts_of(words_of("their events are blocked")), "not counted"),
}
"""What becomes of a service with this host, by the guide, also on the domain of the page itself."""


@pytest.fixture
def reader(node: Service, tmp_path: Path) -> Iterator[Reader]:
    """A reader of one domain that shows placements of another. Lists judge by that, and spare a page's own domain."""
    with serving_site() as site, running_firefox(tmp_path) as browser:
        yield Reader(browser, node, site, host=PAGES, service="catalog.example.net")


def outcome(reader: Reader, service: str) -> str:
    """What becomes of the script, and of its events, if the service has this host."""
    reader.opens(FIRST)
    script, placements, event = reader.browser.runs(replace(reader, service=service).named(PROBE))
    return "blocked" if not (script and placements) else "counted" if event else "not counted"


def meets(reader: Reader, *, blocked: bool) -> None:
    """See placements, click on one, and open a page with a beacon."""
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


def test_a_blocker_lets_all_pass_but_beacons_and_some_hosts(reader: Reader) -> None:
    assert {host: outcome(reader, host) for host in OUTCOMES} == dict.fromkeys(OUTCOMES, "counted")
    meets(reader, blocked=False)
    reader.browser.ask("Addon:Install", path=installed(ADD_ON, "webext-ublock-origin-firefox"), temporary=True)
    until(lambda: outcome(reader, "ads.example.net") == "blocked", what="the blocker to read its lists")
    meets(reader, blocked=True)
    others = dict.fromkeys(hosts_of(words_of_the_lists()), "counted")
    assert len(others) > len(OUTCOMES)
    expected = others | OUTCOMES
    assert {host: outcome(reader, host) for host in expected} == expected
