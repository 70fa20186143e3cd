"""Which user agents are dropped: those of programs that load pages, and no phone's, browser's, app's or relay's."""

import time
from itertools import cycle, islice

from crawleruseragents import CRAWLER_USER_AGENTS_DATA

from service.api import crawlers
from service.api.crawlers import LONGEST, RELAYS, is_crawler

LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"

PEOPLE = (
    LINUX,
    f"{LINUX} Edg/141.0.0.0",
    f"{LINUX} OPR/122.0.0.0",
    f"{IPHONE} Version/18.6 Mobile/15E148 Safari/604.1",
    f"{IPHONE} Version/18.4 Mobile/15E148 Safari/605.1.15 (Ecosia ios@11.0.2.2268)",
    f"{IPHONE} Mobile/15E148 WIRED/3.2.3.11.87970",
    f"{IPHONE} Mobile/15E148 Instagram 390.0.0.28.85 (iPhone17,1; iOS 18_6; en_US; en; scale=3.00; 1206x2622; 777)",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
    "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Slack/4.44 Electron/35.0 Sonic Slack_SSB/4.44",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Code/1.104.0 Chrome/138.0 Electron/37.3 Safari/537.36",
    "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 coccocbrowser/47.0 Chrome/41.0.2272.119coccoc Safari/537.36",
    "Mozilla/5.0 (Windows NT 6.1; rv:1.9.2.3) Gecko/20100401 Firefox/3.6.3 (.NET CLR 3.5.30729)",
    f"{LINUX} ||| ReqID: 472 | Type: xmlhttprequest | Initiator: https://blog.example.com",
    f"{IPHONE} Mobile/15E148 iAuditor/24.1 OpenMap/3.1 Programmable/2 Listenable/1",
    "WhatsApp/2.18.79 Android/5.1 Device/Meizu-MX5",
    "WhatsApp/2.6.4 iPhone_OS/4.3.3 Device/iPhone_4",
    "Speedy/138 CFNetwork/596.2.3 Darwin/12.2.0 (x86_64) (Macmini5%2C3)",
    "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1/191.315; U; id) Presto/2.12.423 Version/12.16",
)
MODELS = (
    "CUBOT_NOTE_7",
    "CUBOT X90",
    "Fever_Plus",
    "HTC Butterfly",
    "ViewSonic A8+",
    "Expanse",
    "Spider Bot 5",
    "AP3A",
    "WhatsApp 1",
    "Uptime Monitor 5",
)
PHONES = (
    "Mozilla/5.0 (Linux; Android 10; {}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; U; Android 15; en-us; {} Build/AP3A.240617.008; wv) AppleWebKit/537.36 Chrome/115.0 Viber/25.0",
    "Mozilla/5.0 Linux; Android 8.1.0; {} AppleWebKit/537.36 KHTML, like Gecko Chrome/75.0 Mobile Safari/537.36",
    "Dalvik/2.1.0 (Linux; U; Android 9; {} Build/PPR1)",
)
RELAYED = (
    *(
        "acme-uptime-relay/1.0",
        "python-relay/1.0",
        "acme-robot-relay/1.0",
        "acme-relay/1.0 (+https://example.com)",
        "relay/1.0",
        "bo t",
        "",
        "é",
        "curl/8.14.1",
    ),
    *(
        "Wget/1.25",
        "python-requests/2.32",
        "python-httpx/0.28",
        "Go-http-client/2.0",
        "okhttp/5.1",
        "axios/1.11",
        "node",
    ),
)

NAMES = (
    "Chrome-Lighthouse PingdomPageSpeed/1.0 PingdomTMS/0.8.5 Checkly/1.0 DatadogSynthetics NewRelicSynthetics/1.0 "
    "GTmetrix CloudWatchSynthetics StatusCake RuxitSynthetic/1.0 PTST/250101.1 DebugBear UptimeRobot/2.0 Uptime-Kuma/2.0 "
    "ThousandEyes Catchpoint Site24x7 Google-InspectionTool/1.0 Google-Read-Aloud BingPreview/1.0b "
    "Cypress/14.0 Playwright/1.55 Puppeteer SeleniumWebDriver PhantomJS/2.1.1 SkypeUriPreview Twitterbot/1.0 "
    "facebookexternalhit/1.1 ChatGPT-User/1.0 GPTBot/1.2 Claude-User/1.0 PerplexityBot/1.0 Bytespider Amazonbot/0.1 "
    "Applebot/0.1 Sitebulb WhatCMS/1.0 HappyDOM/18 jsdom/26 MyCrawler NewRelicPinger/1.0 BetterStack Hyperping OhDear "
    "Site24x7 Netlify vercel-favicon SolarWinds Nagios AppDynamics Dynatrace Grafana Gatling JMeter BrowserStack LambdaTest "
    "SauceLabs ChromeDriver Browserbase Apify Tavily meta-externalagent Ahrefs Semrush SISTRIX SEOptimer Siteimprove "
    "BuiltWith Netsparker OWASP Nuclei CensysInspect Shodan usercentrics DoubleVerify GoogleHC/1.0 url2png linkcheck "
    "python-requests/2.32 curl/8.14 Go-http-client/1.1 axios/1.11 Scrapy/2.13"
)
BEGINNINGS = (
    "DatadogSynthetics StatusCake Site24x7 GTmetrix Catchpoint WebPageTest DebugBear kube-probe/1.33 ELB-HealthChecker/2.0 "
    "GoogleHC/1.0 CloudWatchSynthetics/1.0 Freshping/1.0 Prerender jsdom/26 HtmlUnit/4 Screenshot url2png usercentrics"
)
PROGRAMS = (
    *(f"{LINUX} {name}" for name in NAMES.split()),
    *(f"Mozilla/5.0 (compatible; {name}; +https://example.com)" for name in NAMES.split()),
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/141.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/138.0 Mobile Safari/537.36 (compatible; Name)",
    "Mozilla/5.0 (Linux; Android 8.0; Pixel 2 Build/OPD3; Storebot-Google/1.0) AppleWebKit/537.36 Chrome/138.0",
    "Mozilla/5.0 (compatible; UnknownName/1.0)",
    "Mozilla/5.0 UnknownName/1.0",
    f"{LINUX} (https://example.com/study)",
    f"{LINUX} research@example.com",
    *BEGINNINGS.split(),
    "Mozilla/5.0 (Linux; Android 4.3; Galaxy Nexus Build/JWR66Y; GTmetrix) AppleWebKit/537.36 Chrome/54.0 Safari/537.36",
    "Mozilla/5.0 (Linux; U; Android 4.0.2; en-us; Catchpoint) AppleWebKit/534.30 Version/4.0 Mobile Safari/534.30",
    "WhatsApp/2.25 A",
    "some-CRAWLer",
    "ROBOT",
    "Lightpanda/1.0",
)


def test_people_and_relays_are_counted() -> None:
    phones = [phone.format(model) for phone in PHONES for model in MODELS]
    assert [agent for agent in (*PEOPLE, *RELAYED, *phones) if is_crawler(agent)] == []


def test_programs_that_load_pages_are_dropped() -> None:
    assert [agent for agent in PROGRAMS if not is_crawler(agent)] == []


PEOPLES = {"AP3A\\.240617\\.008", "Code\\/1\\.", "Fluid", "Mastodon", "MetaIAB Facebook", "Trae\\/"}
"""Patterns of the list with an instance that a person's browser or a relay sends."""


def test_every_instance_of_the_list_is_dropped_but_those_of_people_and_of_libraries() -> None:
    programs = [entry for entry in CRAWLER_USER_AGENTS_DATA if RELAYS not in entry["tags"]]
    assert len(programs) > 1_000
    counted = {entry["pattern"] for entry in programs for agent in entry["instances"] if not is_crawler(agent)}
    assert counted == PEOPLES


def test_an_agent_of_8_kb_costs_no_more_than_milliseconds() -> None:
    """Patterns that backtrack, and agents of many names, must not hold up the node. Each took 4 ms without a bound."""
    names = [gram for gram in crawlers._listed() if gram]
    agents = [";".join(islice(cycle(names), at, at + 1_600)) for at in (0, 300, 600, 900)]
    agents += [
        (text * 8_192)[:8_192]
        for text in ("linux;", "linux;-google", "Spider", "Current ", "(", "a@a-", "compatible; x")
    ]
    for agent in agents:
        took = []
        for start in ("", "Mozilla/5.0 "):
            crawlers._is_crawler.cache_clear()
            before = time.process_time()
            is_crawler(start + agent)
            took.append(time.process_time() - before)
        assert min(took) < 0.02, agent[:40]


def test_agents_are_remembered_by_what_is_read_of_them() -> None:
    crawlers._is_crawler.cache_clear()
    for end in range(5):
        assert not is_crawler("a" * LONGEST + str(end))
    assert crawlers._is_crawler.cache_info().currsize == 1
