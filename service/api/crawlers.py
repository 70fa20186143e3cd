"""Which user agents are those of crawlers, monitors and other programs that load pages without a visitor.

Most names come from `crawler-user-agents`, a maintained list of 1,500 regular expressions. Searching them all takes longer
than the rest of an event. Each therefore stands under four characters that all its matches have, and only those under
characters of an agent are searched.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from pathlib import Path

LONGEST = 512
"""Characters of a user agent that are searched. Browsers send up to 500; longer agents cost no more."""

REMEMBERED = 2_048
"""User agents whose class is remembered, in at most 1.5 MB."""

_GRAM = 4

_GRAMS = 24
"""Browsers have at most 14 of the groups of four characters. An agent with more than so many is made to be slow."""

RELAYS = "http-library"
"""The tag of HTTP libraries. These run no scripts, so whoever reports events with one means to: relays do. A program with
the name of a browser and that of a library is none."""

_APPS = (
    r"Asana\/|Blackboard|Bluesky\/|Code\/1\.|Feedly|Fluid|Freespoke\/|Goodreads|Grammarly\/|Instapaper\/|Mastodon|"
    r"MetaIAB Facebook|NextCloud|Notion\/|Overcast\/|PocketCasts\/|Trae\/|Tumblr\/|Viber|WhatsApp|upday\/"
)
"""Patterns of the list that apps and browsers of people match, too. Programs begin with such a name, browsers with
`Mozilla`."""

_BROAD = {
    r"AP3A\.240617\.008": None,  # A build of Android
    "Chirp|gotosocial": "gotosocial",  # Speakers
    "Sogou": r"Sogou[\w -]*[sS]pider",  # A browser
    "Sonic": "RankSonic",  # An app
    "coccoc": r"^coccoc|coccocbot",  # A browser
}
"""Other patterns of the list that people match, with what replaces them."""

_NAMES = re.compile(
    r"(?<!cu)bot(?![a-z-])|(?:crawl(?:er)?|spider|scraper)s?(?![a-z-])|headless|lightpanda|slurp|-google\b"
)
"""The words by which crawlers name themselves. `CUBOT_NOTE_7` is a phone, and `acme-robot-relay/1.0` a relay."""

_TOOLS = (
    r"accessibe adbeat ahrefs alertra algolia anthropic apica apiflash apify appdynamics applitools appscan appsignal "
    r"arachni assetnote backstopjs better.?stack binaryedge bitsight blazemeter brightedge browserbase browserless "
    r"browserling browserstack builtwith burp.?suite burpcollab calibreapp cardyb casperjs catchpoint censys "
    r"changedetect changetower chatgpt.agent chromatic chromedriver cloudflare[-do] cloudwatch compuware confiant "
    r"contentking cookieyes crawlee criminalip criticalcss cronitor crossbrowser cutycapt cypress datadog datatrue "
    r"debugbear dejaclick diagnostics docraptor doubleverify dynatrace elb-health ensighten fasterize fetcher "
    r"fluxguard freshping functionize gatling geckodriver geoedge ghost.?inspector gomezagent google.?page googlehc "
    r"gotenberg grader grafana grapeshot gtmetrix hadrian happydom heartbeat hexomet hexowatch host-?tracker "
    r"hostedscan htmlunit httrack hubspot hyperbrowser hyperping icinga insightappsec inspector instatus invicti "
    r"iplabel iubenda jetoctopus jinareader jmeter jsdom kube-probe lambdatest leakix lighthouse link.?check loadforge "
    r"loadrunner lscache mabl meta-external miniflux mixnode monitis monitor monsido montastic morningscore mshots "
    r"nagios neoload netcraft netlify netsparker neustar new.?relic nightmare nightwatch nitropack nmap novaact nuclei "
    r"observatory oh.?dear onyphe optimole osano owasp pa11y page2images pagepeeker pagespeed peer39 pentest percy "
    r"phishtank postman prerender probely prtg ptst rapid7 raygun rendertron requestmetrics ruxitsynthetic sauce.?labs "
    r"scorecard scraperapi scrapingant scrapingbee screenshot se.?ranking searchmetrics sematext semrush seobility "
    r"serpstat shodan shrinktheweb siege/ similarweb sistrix site.?monitor siteaudit siteimprove siteliner slimerjs "
    r"smartbear snapito solarwinds speedcurve swiftype synthetic tag.?inspector tavily tenable testcafe theoldreader "
    r"thum\.io transcoder tricentis trustarc upguard uptime url2png urlbox urlscan usercentrics userway validator "
    r"vercel visual.?ping vulnerab wachete wapiti wappalyzer weasyprint webdriver webkit2png webpagetest webshot "
    r"websnap webthumb whatcms whatruns whiteops wkhtmlto woorank wp.?rocket xovi yandex.?metri yellowlab yottaa "
    r"zenrows zombie\.js"
)
"""Patterns of programs that have the name of a browser and add theirs, or what they do. Others begin with it."""

_NOTES = re.compile(
    # `(compatible; Name/1.0)`, unless it is an old browser, and `like Gecko; Name`.
    r"[(; ]compatible; ?(?!abrowse|apple|ibrowse|konqueror|linux|mac|msie|opera|origyn|u;|windows|x11)[a-z0-9]"
    r"|like gecko; ?[a-z]"
    # A name instead of a system and an engine, or one of Google's.
    r"|^mozilla/5\.0 [\w/. -]*$|google-(?!nexus|pixel)[a-z]"
    # The address of those who run it.
    r"|[+(;] ?\+?https?://|mailto:|[a-z0-9]@[a-z][a-z0-9-]*\.[a-z]|(?<![a-z])(?:scanner|seo(?!u))|checker/"
)
"""The signs of other programs that have the name of a browser."""

_DEVICE = re.compile(
    r"\blinux;(?![^()]*(?:-google|catchpoint|screenshot))[^()]*?\b(?:android|adr)\b[^()]*?"
    r"(?:build/[^;()]*(?=;)|(?=[()]|applewebkit|$))",
    re.IGNORECASE,
)
"""Where a browser names its phone. No model makes its owner a crawler."""

_APP = re.compile(r" cfnetwork/|\b(?:android|iphone_os)/[\d.]+ device/|\bbuild \d+/android")
"""The signs of an app on a person's device, which may share its name with a program."""


def is_crawler(agent: str) -> bool:
    """Whether a program says by its user agent that it loads pages without a visitor."""
    return _is_crawler(agent[:LONGEST])


@lru_cache(REMEMBERED)
def _is_crawler(agent: str) -> bool:
    browser = agent.startswith("Mozilla/5")
    agent = _DEVICE.sub("", agent)
    lower = agent.lower()
    if _NAMES.search(lower) or (browser and _NOTES.search(lower)):
        return True
    if not browser and _APP.search(lower):
        return False
    listed = _listed()
    found = listed.keys() & {lower[at : at + _GRAM] for at in range(len(lower) - _GRAM + 1)}
    return len(found) > _GRAMS or any(_compiled(listed[gram]).search(agent) for gram in (*found, ""))


_compiled = cache(partial(re.compile, flags=re.IGNORECASE))


@cache
def _listed() -> dict[str, str]:
    """The alternatives of the list by four characters in lower case. Those without so many are under the empty string."""
    apps = _APPS.split("|")
    listed: dict[str, list[str]] = {"": []}
    for pattern in _TOOLS.split():
        listed.setdefault(_grams(pattern)[0], []).append(f"^(?:Mozilla/.*(?<![a-z]))?{pattern}")
    package = find_spec("crawleruseragents")  # not imported: it would keep the whole list, 2 MB
    assert package is not None
    assert package.origin is not None
    for entry in json.loads(Path(package.origin).with_name("crawler-user-agents.json").read_bytes()):
        pattern = _BROAD.get(entry["pattern"], entry["pattern"]) or ""
        if not pattern:
            continue
        # What continues another word is another name: `WIRED/` is not `RED/`.
        start = "^" if pattern in apps else "(?<![A-Za-z0-9])" if pattern[0].isalnum() else ""
        if RELAYS in entry["tags"]:
            pattern, start = pattern.lstrip("^"), "^Mozilla/.*(?<![A-Za-z0-9])"
        for gram in _grams(pattern):
            listed.setdefault(gram, []).append(f"{start}(?:{pattern})")
    return {gram: "|".join(patterns) for gram, patterns in listed.items()}


def _grams(pattern: str) -> Sequence[str]:
    """Four characters of every match of the pattern, or of each of its alternatives. Empty if one may have fewer."""
    alternatives = [pattern] if "(" in pattern.replace(r"\(", "") else pattern.split("|")
    return [max(_literals(each), key=len, default="")[-_GRAM:].lower() for each in alternatives]


_TOKEN = re.compile(r"\\?[^\\](?:[*?+]|\{\d*,?\d*\})|\\.|\[[^]]*\][*?+]?|\((?:\\.|[^()])*\)[*?+]?|.", re.DOTALL)
"""One character of a pattern with what repeats it, a class, or a group."""


def _literals(pattern: str) -> Iterator[str]:
    """The runs of at least `_GRAM` characters that every match of the pattern has."""
    run = ""
    for token in (*_TOKEN.findall(pattern), "$"):
        if (len(token) == 1 and token not in "^$.") or (
            len(token) == 2 and token[0] == "\\" and not token[1].isalnum()
        ):
            run += token[-1]
        else:
            if len(run) >= _GRAM:
                yield run
            run = ""
