"""The markup reader finds the faults that it is meant to find."""

import pytest

from tests.web.markup import faults_of

UNLISTED = '<meta name="robots" content="noindex">'
URL = "https://catalog.test/a"
CARD = {
    "description": "What it shows",
    "og:site_name": "Catalog",
    "og:type": "website",
    "og:title": "A page",
    "og:description": "What it shows",
    "og:url": URL,
    "og:image": "https://catalog.test/static/card.png",
    "og:image:type": "image/png",
    "og:image:width": "1200",
    "og:image:height": "630",
    "og:image:alt": "Catalog",
    "twitter:card": "summary_large_image",
}


def listed(canonical: str = URL, **changed: str | None) -> str:
    """The head of a page that search engines list. Names in `changed` have an underscore for a colon; None leaves one out."""
    told = CARD | {name.replace("_", ":"): words for name, words in changed.items()}
    metas = "".join(f'<meta property="{name}" content="{words}">' for name, words in told.items() if words is not None)
    return f'{metas}<link rel="canonical" href="{canonical}">'


def page(inside: str, head: str = UNLISTED) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><title>A page - Catalog</title>{head}</head>'
        f'<body><main><h1 id="top">A page</h1>{inside}</main></body></html>'
    )


SOUND = """
<h2>Two</h2><h3>Three</h3><h2>Two again</h2><p>Words<br>and words</p><a href="#top">Up</a><a href="/docs">On</a>
<form method="post"><label for="a">A</label><input id="a" name="a"><label>B <input type="checkbox"></label>
<input type="hidden" name="b"><button type="submit">Go</button></form><img src="/static/icon.svg" alt="">
<svg role="img"><title>A plot</title></svg>
<a href="https://example.com/" rel="noopener nofollow">Away</a><script src="/embed.js" defer></script>
"""

FAULTS = {
    "<p>open": "closes p",
    "</div>": "closes main",
    "<p id=a id=b></p>": "attribute twice",
    "<h3>Three</h3>": "h3 follows h1",
    "<h1>Another</h1>": "its headings are",
    "<h2> </h2>": "<h2> is empty",
    '<p style="color: red">x</p>': "has style",
    '<p onclick="x()">x</p>': "has onclick",
    "<style>p {}</style>": "<style>",
    "<script>x()</script>": "script stands in",
    '<script src="https://example.com/x.js"></script>': "loads https:",
    '<img src="//example.com/x.png" alt="">': "loads //",
    '<img src="/x.png">': "no alt",
    '<a href="javascript:x()" rel="noopener nofollow">x</a>': "runs javascript:",
    '<a href="https://example.com/" rel="noopener">x</a>': "without nofollow",
    '<a href="/x"></a>': "has no name",
    '<a href="#nowhere">x</a>': "there is no #nowhere",
    '<input name="a">': "has no label",
    "<textarea></textarea>": "has no label",
    '<label for="nobody">A</label>': "refers to nobody",
    '<p id="top">x</p>': "the id top stands 2 times",
    "<button>x</button>": "has no type",
    "<form></form>": "has no method",
    "<iframe></iframe>": "<iframe>",
    "<main></main>": "not one main",
    "<i autofocus>x</i><i autofocus>x</i>": "2 elements have the focus",
    '<label>x<input type="radio" name="a"></label>': "the choice a has no group",
    "<table><tr><th>x</th></tr></table>": "has no scope",
    '<button type="button" data-copy="nothing">Copy</button>': "the script looks for nothing",
    '<p>Held for <span data-seconds="60">1 minute</span>.</p>': "1 times are counted down, and 0 have an end",
}


def test_a_sound_page_has_no_faults() -> None:
    assert faults_of(page(SOUND)) == []
    data = '<script type="application/ld+json">{"@context": "https://schema.org", "@graph": []}</script>'
    assert faults_of(page(SOUND, listed() + data)) == []


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        ("", "no canonical"),
        (UNLISTED + listed(), "not listed, and has canonical"),
        (listed(f"{URL}?q=a"), "its address is"),
        (listed("https://catalog.test/b"), "its address is"),
        (listed(description=""), "description is empty or long"),
        (listed(description="w" * 301), "description is empty or long"),
        (listed(description=None), "no description"),
        (listed(og_title="Another"), "its title is Another elsewhere"),
        (listed(og_image=None), "no og:image"),
    ],
)
def test_a_fault_of_what_a_head_tells_is_found(head: str, fault: str) -> None:
    assert any(fault in each for each in faults_of(page("", head))), faults_of(page("", head))


def test_what_a_head_tells_twice_is_found() -> None:
    with pytest.raises(AssertionError, match="twice in the head"):
        faults_of(page("", listed() + listed()))


@pytest.mark.parametrize("inside", FAULTS)
def test_a_fault_is_found(inside: str) -> None:
    assert any(FAULTS[inside] in fault for fault in faults_of(page(inside))), faults_of(page(inside))


@pytest.mark.parametrize(
    ("part", "other", "fault"),
    [
        ('lang="en"', "", "language"),
        ("A page - Catalog", "A page", "title"),
        ("</head>", "<title>Another - Catalog</title></head>", "title"),
        ("<title>A page - Catalog</title>", "", "title"),
        ("<!doctype html>\n", "", "doctype"),
        ("</head>", '<link rel="stylesheet" href="https://example.com/x.css"></head>', "loads https:"),
    ],
)
def test_a_fault_of_the_frame_is_found(part: str, other: str, fault: str) -> None:
    assert any(fault in each for each in faults_of(page("").replace(part, other)))
