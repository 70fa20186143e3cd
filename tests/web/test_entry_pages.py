"""The administrators' pages of the catalog: lists, forms, the preview, and what others change meanwhile."""

import pytest

from tests.api.sponsors import changes
from tests.api.world import NOON_MS, World
from tests.contract import BOT
from tests.web.test_administration import HOSTILE, boss
from tests.web.visitors import Form, Seen, Visitor

CASE, HELPER = "/admin/usecases/case-04", "/admin/bots/bot-01"


async def form_of(visitor: Visitor, path: str) -> Form:
    """The form of an entry."""
    return (await visitor.look(path)).forms[_place(await visitor.look(path))]


def _place(seen: Seen) -> int:
    return next(place for place, form in enumerate(seen.forms) if "preview" in form.buttons)


@pytest.mark.parametrize("path", [CASE, HELPER])
async def test_a_form_that_is_saved_as_it_is_changes_nothing(world: World, path: str) -> None:
    visitor, revision = boss(world), await world.catalog_store.revision()
    form = await form_of(visitor, path)
    await visitor.led(path, do="save", **form.fields)
    assert await world.catalog_store.revision() == revision
    assert not changes(world)


@pytest.mark.parametrize(("exact", "status"), [("²", 303), ("9" * 5_000, 303), ("soon", 303), ("9" * 19, 400)])
async def test_a_hidden_time_that_is_no_time_is_ignored_or_refused(world: World, exact: str, status: int) -> None:
    visitor = boss(world)
    form = await form_of(visitor, HELPER)
    answer = await visitor.send(HELPER, do="save", **form.fields | {"added_ms": exact})
    assert answer.status == status


async def test_an_entry_is_made_edited_retired_and_restored_without_a_script(world: World) -> None:
    visitor = boss(world)
    made = await visitor.led("/admin/new-bot", do="create", slug="made-here", **BOT)
    assert "The entry is saved." in made.text
    form = await form_of(visitor, "/admin/bots/made-here")
    await visitor.led("/admin/bots/made-here", do="save", **form.fields | {"job": "Another."})
    await world.settled()
    assert (await world.client.get("/api/v1/bots/made-here")).json["job"] == "Another."
    form = await form_of(visitor, "/admin/bots/made-here")
    listed = await visitor.led("/admin/bots/made-here", do="retire", etag=form.fields["etag"])
    assert "The entry is retired." in listed.text
    await world.settled()
    assert "/admin/bots/made-here" in (await visitor.look("/admin/bots")).links
    assert (await world.client.get("/bots/made-here")).status == 404
    gone = await form_of(visitor, "/admin/bots/made-here")
    assert gone.fields["etag"] == ""
    await visitor.led("/admin/bots/made-here", do="save", **gone.fields)
    await world.settled()
    assert (await world.client.get("/api/v1/bots/made-here")).json["addedAt"] == NOON_MS
    actions = ["entry.created", "entry.edited", "entry.retired", "entry.restored"]
    assert changes(world) == [("session", action) for action in actions]
    text = (await visitor.look("/admin/audit?target=made-here")).text
    assert "Restored the entry of the catalog" in text


async def test_a_use_case_with_a_guide_is_saved_as_it_was_typed(world: World) -> None:
    visitor = boss(world)
    form = await form_of(visitor, CASE)
    assert form.fields["guide_steps"].splitlines() == form.fields["guide_steps"].split("\n")
    typed = form.fields | {"guide_steps": "One\r\n\r\n Two \r\n", "value_kind": "reported", "guide_prompt": "a\r\nb"}
    typed |= {"value_amount": "5", "value_label": "a month", "value_basis": "They said so"}
    await visitor.led(CASE, do="save", **typed)
    await world.settled()
    entry = (await world.client.get("/api/v1/usecases/case-04")).json
    assert entry["guide"]["steps"] == ["One", "Two"]
    assert entry["guide"]["prompt"] == "a\nb"
    assert entry["guide"]["value"] == {"amount": "5", "label": "a month", "basis": "They said so", "kind": "reported"}
    without = typed | {name: "" for name in typed if name.startswith(("guide_", "value_"))}
    form = await form_of(visitor, CASE)
    await visitor.led(CASE, do="save", **without | {"etag": form.fields["etag"]})
    await world.settled()
    assert "guide" not in (await world.client.get("/api/v1/usecases/case-04")).json


@pytest.mark.parametrize("path", [CASE, HELPER])
async def test_a_preview_is_the_page_as_it_will_be_and_leads_on(world: World, path: str) -> None:
    visitor, revision = boss(world), await world.catalog_store.revision()
    form = await form_of(visitor, path)
    name = "title" if path == CASE else "name"
    shown = Seen.of(await visitor.send(path, do="preview", **form.fields | {name: HOSTILE}))
    assert "This is a preview. Nothing is saved yet." in shown.text
    assert HOSTILE.replace("&amp;", "&amp;") in shown.text
    assert await world.catalog_store.revision() == revision
    kept = next(form for form in shown.forms if form.buttons == ["save", "edit"])
    again = Seen.of(await visitor.send(kept.action, do="edit", **kept.fields))
    assert again.values(name) == [HOSTILE]
    await visitor.led(kept.action, do="save", **kept.fields)
    assert changes(world) == [("session", "entry.edited")]


async def test_an_edit_of_what_others_have_changed_shows_their_version_and_can_replace_it(world: World) -> None:
    visitor = boss(world)
    mine, theirs = await form_of(visitor, HELPER), await form_of(visitor, HELPER)
    await visitor.led(HELPER, do="save", **theirs.fields | {"job": "Theirs."})
    refused = await visitor.send(HELPER, do="save", **mine.fields | {"job": "Mine."})
    seen = Seen.of(refused)
    assert refused.status == 412
    assert "Somebody has changed this bot template" in seen.text
    assert "Theirs." in seen.text
    form = seen.forms[_place(seen)]
    assert form.fields["job"] == "Mine."
    await visitor.led(HELPER, do="save", **form.fields)
    await world.settled()
    assert (await world.client.get("/api/v1/bots/bot-01")).json["job"] == "Mine."


async def test_an_edit_of_what_was_retired_meanwhile_says_so(world: World) -> None:
    visitor = boss(world)
    form = await form_of(visitor, HELPER)
    await visitor.led(HELPER, do="retire", etag=form.fields["etag"])
    refused = await visitor.send(HELPER, do="save", **form.fields | {"job": "Mine."})
    assert refused.status == 412
    assert "Somebody has retired this bot template" in Seen.of(refused).text
    stale = await visitor.send(HELPER, do="retire", etag='"AAAAAAAAAAAAAAAAAAAAAA"')
    assert stale.status == 303, "retiring it again changes nothing"


WRONG = [
    ("/admin/new-bot", {"slug": "Made Here"}, "slug"),
    ("/admin/new-bot", {"slug": "", "name": "?"}, "slug"),
    ("/admin/new-bot", {"slug": "bot-01"}, "slug"),
    ("/admin/new-bot", {"slug": "made-here", "templateUrl": "no where"}, "templateUrl"),
    ("/admin/new-bot", {"slug": "made-here", "addedAt": "tomorrow"}, "addedAt"),
    ("/admin/new-bot", {"slug": "made-here", "job": ""}, "job"),
]


@pytest.mark.parametrize("do", ["create", "preview"])
@pytest.mark.parametrize(("path", "typed", "field"), WRONG)
async def test_what_is_wrong_stands_at_its_field(
    world: World, path: str, typed: dict[str, str], field: str, do: str
) -> None:
    if typed.get("slug") == "bot-01" and do == "preview":
        return
    refused = await boss(world).send(path, do=do, **BOT | typed)
    assert refused.status == 400
    assert f'id="{field}-error"' in refused.body.decode()
    assert not changes(world)


async def test_a_wrong_line_of_a_list_stands_at_the_list(world: World) -> None:
    visitor = boss(world)
    form = await form_of(visitor, CASE)
    refused = await visitor.send(CASE, do="save", **form.fields | {"guide_botSlugs": "bot-01\nNot A Slug"})
    assert refused.status == 400
    assert 'id="guide_botSlugs-error"' in refused.body.decode()


async def test_a_long_entry_fits_its_form_and_one_that_is_too_long_says_so(world: World) -> None:
    visitor = boss(world)
    form = await form_of(visitor, CASE)
    long = form.fields | {"guide_prompt": "ü" * 20_000}
    assert (await visitor.send(CASE, do="save", **long)).status == 303
    form = await form_of(visitor, CASE)
    steps = "\n".join(["ü" * 900] * 50)
    refused = await visitor.send(CASE, do="save", **form.fields | {"guide_steps": steps})
    assert refused.status == 413
    assert "All texts together are too long." in Seen.of(refused).text
    assert (await visitor.send(CASE, do="save", **form.fields | {"roi": "a" * 1_000_000})).status == 413


async def test_a_list_is_searched_and_paged(world: World) -> None:
    visitor = boss(world)
    first = await visitor.look("/admin/usecases")
    assert "/admin/usecases/case-04" in first.links
    assert "/admin/bots" in first.links
    found = await visitor.look("/admin/usecases?q=zebra")
    shown = {link for link in found.links if link.startswith("/admin/usecases/")}
    assert shown == {"/admin/usecases/case-04", "/admin/usecases/case-30"}
    assert (await visitor.get("/admin/usecases?cursor=x")).status == 400


@pytest.mark.parametrize("path", ["/admin/usecases/unknown", "/admin/bots/case-04", "/admin/bots/No_Slug"])
async def test_an_entry_that_never_was_has_no_form(world: World, path: str) -> None:
    assert (await boss(world).get(path)).status == 404


@pytest.mark.parametrize("typed", [{}, {"guide_title": "A guide"}, {"value_label": "A month"}])
async def test_the_guide_of_a_form_is_folded_until_something_of_it_is_typed(
    world: World, typed: dict[str, str]
) -> None:
    answer = await boss(world).send("/submissions/new", do="send-usecases", title="", **typed)
    assert ('<details class="fold" open>\n  <summary>Guide' in answer.body.decode()) == bool(typed)
