"""User agents of real browsers and programs, and the names that pages give them."""

import pytest

from actors.shared.browsers import browser

KIT = "AppleWebKit/537.36 (KHTML, like Gecko)"
APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
LINUX = "Mozilla/5.0 (X11; Linux x86_64)"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X)"
ANDROID = "Mozilla/5.0 (Linux; Android 10; K)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on Linux"),
        ("Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:132.0) Gecko/20100101 Firefox/132.0", "Firefox on Mac"),
        ("Mozilla/5.0 (Android 14; Mobile; rv:132.0) Gecko/132.0 Firefox/132.0", "Firefox on Android"),
        (f"{PHONE} {APPLE} FxiOS/132.0 Mobile/15E148 Safari/605.1.15", "Firefox on iPhone"),
        (f"{LINUX} {KIT} Chrome/131.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"{LINUX} {KIT} HeadlessChrome/131.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"{WINDOWS} {KIT} Chrome/131.0.0.0 Safari/537.36", "Chrome on Windows"),
        (f"{MAC} {KIT} Chrome/131.0.0.0 Safari/537.36", "Chrome on Mac"),
        (f"{ANDROID} {KIT} Chrome/131.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
        (f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {KIT} Chrome/131.0.0.0 Safari/537.36", "Chrome on ChromeOS"),
        (f"{PHONE} {APPLE} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1", "Chrome on iPhone"),
        (f"{MAC} {APPLE} Version/18.1 Safari/605.1.15", "Safari on Mac"),
        (f"{PHONE} {APPLE} Version/18.1 Mobile/15E148 Safari/604.1", "Safari on iPhone"),
        (
            f"Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) {APPLE} Version/16.6 Mobile/15E148 Safari/604.1",
            "Safari on iPad",
        ),
        (f"{WINDOWS} {KIT} Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0", "Edge on Windows"),
        (f"{ANDROID} {KIT} Chrome/131.0.0.0 Mobile Safari/537.36 EdgA/131.0.0.0", "Edge on Android"),
        (f"{PHONE} {APPLE} Version/18.0 EdgiOS/131.0 Mobile/15E148 Safari/604.1", "Edge on iPhone"),
        (f"{LINUX} {KIT} Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0", "Opera on Linux"),
        (f"{WINDOWS} {KIT} Chrome/130.0.0.0 Safari/537.36 Vivaldi/7.0.3495.11", "Vivaldi on Windows"),
        (f"{ANDROID} {KIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36", "Samsung Internet on Android"),
        (f"{MAC} {APPLE} Version/18.1 Safari/605.1.15 Ddg/18.1", "DuckDuckGo on Mac"),
        ("Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", "A browser on Windows"),
        (f"{PHONE} {APPLE} Mobile/15E148", "A browser on iPhone"),
        ("Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18", "Opera on Windows"),
        ("Mozilla/5.0 Gecko/20100101 Firefox/132.0", "Firefox"),
        ("Mozilla/5.0", "An unknown browser"),
        ("Mozilla/5.0 (compatible; Example/1.0; +https://example.com/)", "An unknown browser"),
        ("curl/8.5.0", "A program (curl)"),
        ("Wget/1.21.4", "A program (Wget)"),
        ("python-requests/2.32.3", "A program (python-requests)"),
        ("catalogctl/1.1.0 (Linux)", "A program (catalogctl)"),
        ("a-program/1.0", "A program (a-program)"),
        ("PostmanRuntime/7.42.0", "A program (PostmanRuntime)"),
        ("Go-http-client/2.0", "A program (Go-http-client)"),
        ("node", "A program (node)"),
        ("", "An unknown browser"),
        ("   ", "An unknown browser"),
        ("<b>bold</b>", "An unknown browser"),
        ("x" * 500, "An unknown browser"),
    ],
)
def test_a_user_agent_has_a_name(agent: str, name: str) -> None:
    assert browser(agent) == name
