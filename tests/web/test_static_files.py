"""Static files: names by content, how long they are kept, and that pages use no other name."""

import re
from pathlib import Path

import pytest

from service.web.static_files import FOLDER, StaticFiles, static_files, static_url
from tests.api.world import World
from tests.architecture import ROOT

TEMPLATES = sorted((ROOT / "service/web/templates").rglob("*.html"))
PAGE_SCRIPTS = sorted(path for path in FOLDER.glob("*.js") if path.name != "embed.js")
"""The scripts of our own pages. Other sites load `embed.js`, which has a bound of its own."""
MOST_SCRIPT_BYTES = 14 * 1024
NAMES = sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
async def test_a_file_by_its_content_is_kept_for_a_year_and_by_its_plain_name_asked_for_again(
    world: World, name: str
) -> None:
    content = (FOLDER / name).read_bytes()
    for path, kept in {static_url(name): "public, max-age=31536000, immutable", f"/static/{name}": "no-cache"}.items():
        plain = await world.client.get(path)
        assert (plain.status, plain.body, plain.header("cache-control")) == (200, content, kept)
        assert plain.header("vary") == "Accept-Encoding"
        coded = await world.client.get(path, headers={"Accept-Encoding": "gzip, br"})
        assert coded.plain == content
        assert coded.header("cache-control") == kept
        assert (coded.header("content-encoding") is None) == (len(content) < 1_024 or name.endswith(".png"))
        known = await world.client.get(path, headers={"If-None-Match": plain.header("etag") or ""})
        assert (known.status, known.header("cache-control")) == (304, kept)


async def test_a_digest_of_another_release_is_the_current_file_and_not_kept(world: World) -> None:
    response = await world.client.get("/static/style.0123456789abcdef.css", headers={"Accept-Encoding": "br"})
    assert (response.status, response.header("cache-control")) == (200, "no-cache")
    assert response.plain == (FOLDER / "style.css").read_bytes()


@pytest.mark.parametrize(
    "name", ["style.0123.css", "none.0123456789abcdef.css", "style.0123456789abcdef.js", "STYLE.css"]
)
async def test_other_names_are_not_found(world: World, name: str) -> None:
    assert (await world.client.get(f"/static/{name}")).words == "404 not_found"


def test_the_name_changes_with_the_content() -> None:
    one, other = StaticFiles({"a.css": b"a{}"}), StaticFiles({"a.css": b"b{}"})
    assert one.url("a.css") != other.url("a.css")
    assert re.fullmatch(r"/static/a\.[0-9a-f]{16}\.css", one.url("a.css"))
    with pytest.raises(KeyError):
        one.url("b.css")


def test_files_have_a_bound() -> None:
    with pytest.raises(AssertionError, match="static files"):
        StaticFiles({"a.css": bytes(1024 * 1024 + 1)})


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_name_static_files_by_their_content_only(template: object) -> None:
    text = template.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    assert "/static/" not in text, "write {{ static_url('NAME') }}"
    for name in re.findall(r"static_url\((?:'|\")([^'\"]+)", text):
        assert static_files().url(name)


def test_the_scripts_of_all_pages_together_are_small() -> None:
    sizes = {path.name: len(path.read_bytes()) for path in PAGE_SCRIPTS}
    assert sum(sizes.values()) <= MOST_SCRIPT_BYTES, sizes


@pytest.mark.parametrize("path", PAGE_SCRIPTS, ids=lambda path: path.name)
def test_a_script_of_a_page_says_its_part_and_writes_no_markup(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("// ")
    assert '\n"use strict";\n' in text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|import|\.style\b|cookie", text)
