"""The reference for one person: their bar, their key beside the samples, and reads that they run on a page."""

from dataclasses import replace

from actors.shared.credentials import prefix_of
from actors.values import Scope
from service.web.reference.contents import read
from service.web.reference.runs import RUN, given, related
from tests.api.conformity import BASE_URL, DOCUMENT
from tests.api.world import World, open_world
from tests.slow import repeats
from tests.web.markup import faults_of
from tests.web.visitors import Seen, Visitor

EMAIL = "sponsor@example.com"
ENTRIES = read(DOCUMENT, BASE_URL, "session").entries


async def test_who_is_signed_in_keeps_the_bar_and_sees_a_key_that_works_on_pages_that_nobody_stores(
    world: World,
) -> None:
    person = Visitor(world, world.session(EMAIL))
    ended = world.key_of(EMAIL)
    scoped = world.key_of(EMAIL, (Scope.SPONSOR_READ,))
    [full] = [key for key in world.memory.keys.values() if key.id not in (world.id_of(scoped), world.id_of(ended))]
    keys = world.memory.keys
    keys[full.id] = replace(full, admin=False)
    keys[world.id_of(ended)] = replace(keys[world.id_of(ended)], expires_ms=world.now_ms)
    keys[world.id_of(scoped)] = replace(keys[world.id_of(scoped)], created_ms=world.now_ms + 1)
    expected = {
        "/docs": "",
        "/docs/bookings": "",
        "/docs/listBookings": prefix_of(scoped),
        "/docs/createBooking": full.prefix,
        "/docs/listSessions": "",
        "/docs/listAccounts": "",
    }
    before = {path: (await Visitor(world).get(path)).body for path in expected}
    for path, prefix in expected.items():
        response = await person.get(path)
        html = response.body.decode()
        assert faults_of(html) == []
        assert (response.header("cache-control"), response.header("content-encoding")) == ("no-store", None)
        assert all(f'href="{link}"' in html for link in ("/sponsor", "/dashboard/security")), path
        assert [each for each in (full.prefix, prefix_of(scoped), prefix_of(ended)) if f"{each}…" in html] == (
            [prefix] if prefix else []
        )
        assert ("No key of your account may call this" in html) == (path == "/docs/listAccounts")
        again = await Visitor(world).get(path)
        assert (again.body, again.header("vary")) == (before[path], "Accept-Encoding, Cookie")


RUNS = (
    ("getUsage?run=1", True, "Response, 200, now"),
    ("getUsage?run=1", False, "Sign in to run it"),
    ("listBots?run=1&limit=1&q=&format=csv", False, "Response, 200, now"),
    ("listBots?run=1&limit=none", False, "Response, 400, now"),
    ("listInvoices?run=1&format=csv", True, '"items": []'),
    ("getBooking?run=1", True, "Write a value."),
    ("getBooking?run=1&id=%00", True, "Response, 404, now"),
    ("getBooking?run=1&id=%3Cscript%3E%2F..", True, "Response, 404, now"),
    ("listAccounts?run=1", True, "Response, 403, now"),
    ("createBooking?run=1", True, "Create a booking"),
)
"""The address of a run, whether its reader is signed in, and what the page has."""


async def test_a_read_runs_with_the_session_of_its_reader_and_never_with_a_key(world: World) -> None:
    key = world.key()
    # One world for all: reading the document takes longer than all runs.
    for address, signed_in, words in RUNS:
        person = Visitor(world, world.session(EMAIL) if signed_in else None)
        sent = person.headers | {"authorization": f"Bearer {key}"}
        response = await world.client.get(f"/docs/{address}", headers=sent)
        html, text = response.body.decode(), Seen.of(response).text
        assert response.status == 200, address
        assert faults_of(html) == [], address
        assert words in text, address
        assert ("now</span>" in html) == ("Response" in words or "items" in words), address
        assert '<meta name="robots" content="noindex">' in html, address
    assert world.tenant_of(key).day_used == 0


@repeats("the test above runs reads of each kind")
async def test_every_read_can_be_run_with_the_names_that_its_form_has() -> None:
    async with open_world(PAGES__PER_MINUTE=10_000) as world:
        person = Visitor(world, world.session(EMAIL, admin=True))
        for entry in (each for each in ENTRIES if each.method == "GET"):
            names = [each.name for each in given(entry)]
            assert RUN not in names
            filled = "".join(f"&{name}=x" for name in names if "{" + name + "}" in entry.path)
            html = (await person.get(f"{entry.href}?run=1{filled}")).body.decode()
            assert ("now</span>" in html) == (entry.name != "getDeviceApproval"), entry.name
            assert [name for name in names if f'name="{name}"' not in html] == []


def test_related_operations_take_or_return_the_same_objects() -> None:
    by_name = {entry.name: entry for entry in ENTRIES}
    for name, some, not_that in (
        ("getBooking", {"createBooking", "listBookings", "getInvoices"}, "listCampaigns"),
        ("listCampaigns", {"createCampaign", "getCampaign", "createBooking"}, "listBookings"),
        ("createBooking", {"listCampaigns", "getBooking"}, "listBots"),
        ("getUsage", set(), "listBots"),
    ):
        found = {each.name for each in related(by_name[name], ENTRIES)}
        assert some <= found, name
        assert not {not_that, name} & found, name
