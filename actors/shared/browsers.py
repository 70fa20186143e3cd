"""The name of a browser or program from its user agent, for lists of sessions and devices. Pure.

User agents claim to be one another, so order matters: Edge also says Chrome, and Chrome also says Safari. A user agent is not
verified, so its words are shown only as the name of a program.
"""

import re

BROWSERS = (
    ("Edge", re.compile(r"\bEdg(?:e|A|iOS)?/")),
    ("Opera", re.compile(r"\b(?:OPR|OPT|Opera)/")),
    ("Vivaldi", re.compile(r"\bVivaldi/")),
    ("Samsung Internet", re.compile(r"\bSamsungBrowser/")),
    ("DuckDuckGo", re.compile(r"\b(?:DuckDuckGo|Ddg)/")),
    ("Firefox", re.compile(r"\b(?:Firefox|FxiOS)/")),
    ("Chrome", re.compile(r"\b(?:Chrome|CriOS|HeadlessChrome|Chromium)/")),
    ("Safari", re.compile(r"\bVersion/[\d.]+.* Safari/")),
)
"""Browsers, those first that also claim to be others."""

SYSTEMS = (
    ("iPhone", re.compile(r"\biPhone\b")),
    ("iPad", re.compile(r"\biPad\b")),
    ("Android", re.compile(r"\bAndroid\b")),
    ("ChromeOS", re.compile(r"\bCrOS\b")),
    ("Windows", re.compile(r"\bWindows\b")),
    ("Mac", re.compile(r"\bMacintosh\b")),
    ("Linux", re.compile(r"\b(?:Linux|X11)\b")),
)
"""Systems, those first that also claim to be others."""

PROGRAM = re.compile(r"([A-Za-z][A-Za-z0-9._ -]{0,39}?)(?:/\S*)?(?:\s|;|$)")
"""A name that a user agent begins with, such as `curl/8.5.0`."""

UNKNOWN = "An unknown browser"


def browser(agent: str) -> str:
    """`Firefox on Linux`, `Safari on iPhone`, `A program (curl)`, or `An unknown browser`."""
    system = next((name for name, pattern in SYSTEMS if pattern.search(agent)), None)
    if agent.startswith(("Mozilla/", "Opera/")):
        name = next((name for name, pattern in BROWSERS if pattern.search(agent)), None)
        if name is None:
            return UNKNOWN if system is None else f"A browser on {system}"
        return name if system is None else f"{name} on {system}"
    program = PROGRAM.match(agent.strip())
    return f"A program ({program[1]})" if program else UNKNOWN
