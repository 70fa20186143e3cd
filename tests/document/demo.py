"""The course of the demo: an agent, a person, a sponsor and an administrator use every operation once."""

from pathlib import Path
from typing import Any

import service.seed.samples
from actors.catalog.store import Import
from actors.clock import DAY_MS
from actors.times import WEEK_MS
from actors.values import Agent
from service.seed.catalog_file import parse
from service.seed.samples import replace_demo
from tests.api.authenticator import Authenticator
from tests.api.devices import decided, in_browser, looked, polled, started
from tests.api.oauth import REVOKE, Program, form_sent, registered
from tests.api.passkeys import SECOND_STEP, Owner
from tests.api.sponsors import ADMIN, API, CAMPAIGN, NEXT_WEEK, THIS_WEEK, Person, administrator, sponsor, uuid
from tests.api.test_invoices import DETAILS, SELLER
from tests.api.world import World
from tests.document.recorder import Story
from tests.doubles.demo import MemoryDemo

SAMPLES = Path(service.seed.samples.__file__).with_name("catalog.jsonl")
SETTINGS = {**SELLER, "EVENTS__SITE_NETWORKS": 1}
SPONSOR, BOSS, AGENT_OWNER = "sponsor@example.com", "admin@example.com", "agent-owner@example.com"
SLOT, SEASON = "demo-left-launch", "demo-right-video"
VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
SITE = {"Origin": "https://www.example.org", "User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}


async def furnished(world: World) -> None:
    """Load the sample catalog and the demo, as the first start of a node does."""
    with SAMPLES.open("rb") as stream:
        await world.catalog_store.replace(Import(parse(stream).entries, world.now_ms, prune=True))
    await replace_demo(MemoryDemo(world.memory), world.clock, world.entropy, Agent("system", "start"), first=True)
    world.services.announce()
    await world.settled()


async def tell(world: World) -> None:
    await furnished(world)
    await _agent(world)
    await _device(world)
    boss, person = administrator(world, BOSS), sponsor(world, SPONSOR)
    await _sponsor(world, person, boss)
    await _visitor(world)
    await _keys(world, person)
    await _webhooks(world, person)
    await _administrator(world, boss, person)
    await _person(world)
    await _account(world)
    await _client(world)


async def _ask(world: World, target: str, key: str | None = None) -> Any:
    response = await world.client.get(target, key)
    assert response.status == 200, response.body
    return response


async def _agent(world: World) -> None:
    """Mint a key, read the catalog, and claim the key by email."""
    minted = (await world.client.post("/api/v1/auth/agent", json={})).json
    key = minted["apiKey"]
    for target in (
        "usecases?limit=2",
        "usecases/chasing-late-invoices",
        "bots?limit=2",
        "bots/invoice-chaser",
        "categories",
        "changes?limit=2",
        "usage",
    ):
        await _ask(world, f"/api/v1/{target}", key)
    claim = {"claimToken": minted["claimToken"], "email": AGENT_OWNER}
    await world.client.post("/api/v1/auth/claim", json=claim)
    code = await world.emailed_code(AGENT_OWNER)
    await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": code})
    for target in ("account/usage/days?days=3", "account/keys", "account/notifications"):
        await _ask(world, f"/api/v1/{target}", key)
    await Person(world, key).patch("/api/v1/account/notifications", {"reports": False})


async def _device(world: World) -> None:
    token = world.session("developer@example.com")
    device = await started(world, headers={"User-Agent": "catalogctl/1.0.0"})
    await looked(world, token, device["user_code"])
    await decided(world, token, device["user_code"])
    await polled(world, device["device_code"])


async def _client(world: World) -> None:
    """A program that a person lets act for an account."""
    callback = "https://agent.example.com/callback"
    client = Program(world, await registered(world, callback, client_name="Research agent"), callback)
    tokens = await client.tokens(world.session("developer@example.com"))
    await form_sent(world, REVOKE, {"token": tokens["refresh_token"], "client_id": client.client_id})


async def _sponsor(world: World, person: Person, boss: Person) -> None:
    """Campaigns and bookings, from the rate card to a refund that is asked for."""
    for target in ("inventory", "calendar?weeks=2", "rate-card", "placements"):
        await _ask(world, f"{API}/{target}")
    await person.profile()
    await person.put(f"{API}/billing-details", DETAILS)
    await person.get(f"{API}/billing-details")
    await _ask(world, f"{API}/me", person.key)
    campaign = await person.campaign()
    path = f"{API}/campaigns/{campaign}"
    await person.get(path)
    await person.post(f"{path}/withdraw")
    await person.patch(path, {"cta": "Try it free"})
    await person.post(f"{path}/submit")
    await boss.get(f"{ADMIN}/reviews?limit=1")
    await boss.post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve", "note": "Welcome."})
    await person.post(f"{path}/pause")
    await person.post(f"{path}/resume")
    booking = await person.booking(campaign, SLOT, THIS_WEEK)
    await person.pay(booking["id"])
    start: dict[str, Any] = {"name": "Example Tools", "website": "https://tools.example.com/", "slotId": SEASON}
    start |= {"headline": "Ship your first agent today", "body": CAMPAIGN["body"]}
    start |= {"weekStart": NEXT_WEEK + 4 * WEEK_MS, "idempotencyKey": uuid(100)}
    begun = (await person.post(f"{API}/bookings/start", start)).json["booking"]
    await person.post(f"{API}/bookings/{begun['id']}/cancel")
    await person.read(booking["id"])
    await _ask(world, f"{API}/campaigns?limit=1", person.key)
    await _ask(world, f"{API}/bookings?limit=1", person.key)
    await _ask(world, f"{API}/invoices", person.key)
    await _ask(world, f"{API}/invoices?format=csv", person.key)
    await _ask(world, f"{API}/bookings/{booking['id']}/invoice", person.key)


async def _visitor(world: World) -> None:
    """A website reports what its visitors see, and the sponsor of the demo reads the sums."""
    placements = (await world.client.get(f"{API}/placements")).json["placements"]
    sold, sample = (next(each["bookingId"] for each in placements if each["demo"] is demo) for demo in (False, True))
    event = {"bookingId": sold, "kind": "impression", "visitorId": VISITOR}
    await world.client.post(f"{API}/events", headers=SITE, json=event)
    await world.settled()
    batch = {"events": [event, event | {"kind": "click"}]}
    await world.client.post(f"{API}/events/batch", headers=SITE, json=batch)
    await world.pass_seconds(60)
    await world.settled()
    key = world.key_of("demo-sponsor@example.com")
    for target in (f"bookings/{sample}/delivery", "delivery?from=2026-11-16&to=2026-11-17"):
        mark = "&" if "?" in target else "?"
        await _ask(world, f"{API}/{target}", key)
        await _ask(world, f"{API}/{target}{mark}format=csv", key)


async def _keys(world: World, person: Person) -> None:
    made = (await person.post(f"{API}/keys", {"name": "Reporting", "scopes": ["sponsor:read"]})).json
    await person.get(f"{API}/keys")
    path = f"{API}/keys/{made['id']}"
    await person.patch(path, {"name": "Reports", "expiresAt": world.now_ms + 90 * DAY_MS})
    await person.post(f"{path}/rotate", {"graceSeconds": 86_400})
    await person.delete(path)


async def _webhooks(world: World, person: Person) -> None:
    hook = {"url": "https://tools.example.com/webhooks", "events": ["booking.paid", "campaign.approved"]}
    made = (await person.post(f"{API}/webhooks", hook)).json["webhook"]
    path = f"{API}/webhooks/{made['id']}"
    sent = (await person.post(f"{path}/test")).json["delivery"]
    await world.settled()
    for target in (f"{API}/webhooks", path, f"{path}/deliveries"):
        await person.get(target)
    await person.post(f"{path}/deliveries/{sent['id']}/resend")
    await person.post(f"{path}/enable")
    await person.delete(path)


async def _administrator(world: World, boss: Person, person: Person) -> None:
    for name in ("campaigns", "sponsors", "bookings", "audit"):
        await boss.get(f"{ADMIN}/{name}?limit=1")
        await boss.get(f"{ADMIN}/{name}?limit=1&format=csv")
    for name in ("slots", "counts", "revenue", "sites"):
        await boss.get(f"{ADMIN}/{name}")
    await boss.get(f"{ADMIN}/slots?format=csv")
    await boss.get(f"{ADMIN}/revenue?format=csv")
    slot = {"id": "home-top", "name": "Home, top", "side": "left", "weekPriceCents": 12_000, "packageKind": "bundle"}
    await boss.post(f"{ADMIN}/slots", slot)
    await boss.patch(f"{ADMIN}/slots/home-top", {"weekPriceCents": 15_000})
    campaign = await person.campaign(name="Winter launch")
    first = (await person.booking(campaign, "home-top"))["id"]
    second = (await person.booking(campaign, "home-top", NEXT_WEEK + WEEK_MS))["id"]
    for booking in (first, second):
        await person.pay(booking)
        await person.post(f"{API}/bookings/{booking}/refund-request", {"reason": "The week was booked by mistake."})
    video = {"youtubeStatus": "published", "youtubeUrl": "https://video.example.com/watch/1"}
    await boss.patch(f"{ADMIN}/bookings/{first}", video)
    await boss.post(f"{ADMIN}/bookings/{first}/refund-decline", {"note": "The week has been prepared."})
    await boss.post(f"{ADMIN}/bookings/{second}/refund", {"reason": "Booked by mistake."})
    await boss.delete(f"{ADMIN}/slots/home-top")
    await _editor(world, boss)
    await _submissions(world, person, boss)
    accounts = "/api/v1/admin/accounts"
    await boss.get(f"{accounts}?limit=1&query={SPONSOR}")
    await boss.get(f"{accounts}?limit=1&query={SPONSOR}&format=csv")
    account = world.memory.accounts[SPONSOR].tenant_id
    await boss.get(f"{accounts}/{account}")
    await boss.post(f"{accounts}/tier", {"email": SPONSOR, "tier": "upgraded"})
    await boss.post(f"{accounts}/{account}/suspend", {"reason": "The ads lead to another product."})
    await boss.post(f"{accounts}/{account}/refund", {"reason": "The account is suspended."})
    await boss.post(f"{accounts}/{account}/unsuspend")
    await boss.delete(f"/api/v1/admin/keys/{world.id_of(world.key_of(SPONSOR))}")


async def _editor(world: World, boss: Person) -> None:
    """Entries that are made, read and retired."""
    for kind, slug in (("usecases", "chasing-late-invoices"), ("bots", "invoice-chaser")):
        shown = await _ask(world, f"/api/v1/{kind}/{slug}")
        path = f"/api/v1/admin/catalog/{kind}/{slug}"
        await boss.put(path, shown.json | {"who": "A bookkeeper"}, if_match=shown.header("etag") or "")
        await boss.get(path)
        await boss.delete(path)


async def _submissions(world: World, person: Person, boss: Person) -> None:
    """An edit of an entry that is proposed and accepted."""
    shown = (await _ask(world, "/api/v1/bots/meeting-minutes")).json
    edit = {"kind": "bots", "slug": shown["slug"], "entry": shown | {"who": "A secretary"}}
    made = (await person.post("/api/v1/catalog/submissions", edit)).json["submission"]
    await person.get("/api/v1/catalog/submissions?limit=1")
    await person.get(f"/api/v1/catalog/submissions/{made['id']}")
    path = "/api/v1/admin/catalog/submissions"
    [item] = (await boss.get(f"{path}?status=pending&order=oldest&limit=1")).json["items"]
    await boss.post(
        f"{path}/{made['id']}/review", {"decision": "accept", "note": "Thank you.", "seen": item["version"]}
    )


async def _person(world: World) -> None:
    """Sign in with a code, add a passkey, and sign in with both."""
    owner, authenticator = Owner(world), Authenticator()
    await owner.enters_code()
    await owner.registers(authenticator)
    await owner.listed()
    await owner.confirms(authenticator)
    again = Owner(world)
    await again.enters_code()
    await again.given("GET", SECOND_STEP)
    await again.finishes(authenticator.shows(await again.challenged()))
    third = Owner(world)
    await third.enters_code()
    await third.given("DELETE", SECOND_STEP)
    [passkey, *_] = (await owner.listed())["items"]
    await owner.given("PATCH", f"/api/v1/account/passkeys/{passkey['id']}", {"name": "Laptop at home"})
    await owner.confirms(authenticator)
    await owner.removes(passkey["id"])
    sessions = (await owner.given("GET", "/api/v1/auth/sessions"))["items"]
    other = next(each for each in sessions if not each["current"])
    await owner.given("DELETE", f"/api/v1/auth/sessions/{other['id']}")


async def _account(world: World) -> None:
    email = "developer@example.com"
    headers = in_browser(world.session(email))

    async def ask(method: str, path: str, body: Any = None) -> Any:
        response = await world.client.request(method, f"/api/v1/account{path}", headers=headers, json=body)
        assert response.status == 200, response.body
        return response.json

    key = await ask("POST", "/keys", {"name": "Build server"})
    await ask("GET", "/export?limit=2")
    await ask("GET", "/usage/keys?days=3")
    await ask("PATCH", f"/keys/{key['id']}", {"name": "Build server 2"})
    await ask("POST", f"/keys/{key['id']}/rotate", {"graceSeconds": 86_400})
    await ask("DELETE", f"/keys/{key['id']}")
    await ask("DELETE", "")
    await ask("POST", "/deletion", {"code": await world.emailed_code(email)})
    await ask("GET", "/deletion")
    await ask("DELETE", "/deletion")
    await ask("POST", "/end-all", {"keepCurrent": True})


async def operate(world: World) -> None:
    """Look at a node that has just started. Later, its counts of batches depend on the order in which tasks run."""
    for target in ("/healthz", "/readyz"):
        await _ask(world, target)
    await administrator(world, BOSS).get("/api/v1/admin/operations/status")


STORIES = (Story(operate, SETTINGS), Story(tell, SETTINGS))
