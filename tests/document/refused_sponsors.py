"""Refusals of campaigns, bookings, webhooks, slots, suspensions and events of payments."""

from functools import partial
from typing import Any

from actors.clock import SECOND_MS
from actors.times import WEEK_MS
from tests.api.sponsors import ADMIN, API, CAMPAIGN, NEXT_WEEK, PROFILE, add_slot, administrator, sponsor, uuid
from tests.api.world import World
from tests.contract import CONTRACT
from tests.document.recorder import Story
from tests.document.refused_people import cause
from tests.payments.bank import LIVE
from tests.payments.events import PAID, dumped, event, session, signature

SUBMISSIONS = "/api/v1/catalog/submissions"
CODES = (
    *("slot_unavailable", "campaign_not_bookable", "profile_required", "hold_limit", "idempotency_conflict"),
    *("webhook_limit", "submission_limit"),
)
"""Codes with a request of their own in `causes`."""


def _start(week: int, number: int, **change: Any) -> dict[str, Any]:
    body = PROFILE | {"headline": CAMPAIGN["headline"], "body": CAMPAIGN["body"], "slotId": "left-top"}
    return body | {"weekStart": NEXT_WEEK + week * WEEK_MS, "idempotencyKey": uuid(number)} | change


async def campaigns(world: World) -> None:
    """Moves that the state of a campaign does not allow, and more campaigns than may wait for review."""
    person, boss = sponsor(world), administrator(world)
    first = await person.campaign()
    await boss.post(f"{ADMIN}/campaigns/{first}/review", {"decision": "approve"})
    await person.profile()
    for move in ("submit", "resume"):
        await person.post(f"{API}/campaigns/{first}/{move}")
    await boss.post(f"{ADMIN}/campaigns/{first}/review", {"decision": "resume"})
    await person.post(f"{API}/campaigns/{first}/withdraw")
    for move in ("withdraw", "pause"):
        await person.post(f"{API}/campaigns/{first}/{move}")
    second = await person.campaign(name="Second")
    await boss.post(f"{ADMIN}/campaigns/{second}/review", {"decision": "approve"})
    for _ in range(world.config.campaigns.pending_per_account):
        await person.campaign(name="Another")
    await person.post(f"{API}/campaigns", CAMPAIGN)
    await person.patch(f"{API}/campaigns/{second}", {"cta": "Look"})
    await person.post(f"{API}/campaigns/{first}/submit")
    add_slot(world)
    await person.post(f"{API}/bookings/start", _start(0, 1))


async def bookings(world: World) -> None:
    """A slot that is taken, a repeated key, a rejected campaign, and moves that the state of a booking does not allow."""
    add_slot(world)
    person, boss = sponsor(world), administrator(world)
    begun = (await person.post(f"{API}/bookings/start", _start(0, 1))).json["booking"]
    path = f"{API}/bookings/{begun['id']}"
    await person.post(f"{API}/bookings/start", _start(0, 2))
    await person.post(f"{API}/bookings/start", _start(1, 1))
    await boss.post(f"{ADMIN}/bookings/{begun['id']}/refund")
    await boss.post(f"{ADMIN}/bookings/{begun['id']}/refund-decline", {"note": "No."})
    await boss.patch(f"{ADMIN}/bookings/{begun['id']}", {"youtubeStatus": "planned"})
    await person.post(f"{path}/refund-request", {"reason": "A mistake."})
    await boss.post(f"{ADMIN}/campaigns/{begun['campaignId']}/review", {"decision": "reject", "note": "No."})
    await person.post(f"{path}/checkout")
    await person.post(f"{path}/cancel")
    await person.post(f"{path}/cancel")
    await boss.post(f"{ADMIN}/campaigns/{begun['campaignId']}/review", {"decision": "approve"})
    paid = (await person.post(f"{API}/bookings/start", _start(3, 4))).json["booking"]
    await person.pay(paid["id"])
    await person.post(f"{API}/bookings/{paid['id']}/cancel")
    later = (await person.post(f"{API}/bookings/start", _start(2, 3))).json["booking"]
    await person.post(f"{API}/bookings/{later['id']}/cancel")
    await person.post(f"{API}/bookings/{later['id']}/checkout")


async def holds(world: World) -> None:
    add_slot(world)
    person = sponsor(world)
    for week in range(world.config.bookings.open_holds + 1):
        await person.post(f"{API}/bookings/start", _start(week, week))


async def webhooks(world: World) -> None:
    """A URL that is taken, a webhook that its receiver turned off, and one webhook too many."""
    person = sponsor(world)
    hook = {"url": "https://tools.example.com/webhooks", "events": ["booking.paid"]}
    path = f"{API}/webhooks/{(await person.post(f'{API}/webhooks', hook)).json['webhook']['id']}"
    await person.post(f"{API}/webhooks", hook)
    world.endpoints.status = 410
    sent = (await person.post(f"{path}/test")).json["delivery"]
    await world.pass_seconds(2)
    await world.settled()
    await person.post(f"{path}/test")
    await person.post(f"{path}/deliveries/{sent['id']}/resend")


async def submissions(world: World) -> None:
    """An entry that exists, one that does not, and a review that is repeated."""
    person, boss = sponsor(world), administrator(world)
    proposed = CONTRACT["submitEntry"].body
    await person.post(SUBMISSIONS, proposed | {"entry": proposed["entry"] | {"slug": "bot-00"}})
    await person.post(SUBMISSIONS, proposed | {"slug": "sorter"})
    await person.post(SUBMISSIONS, proposed)
    path = f"/api/v1/admin/catalog/submissions/{next(iter(world.memory.submissions))}/review"
    version = next(iter(world.memory.submissions.values())).version(None)
    for _ in range(2):
        await boss.post(path, {"decision": "accept", "seen": version})


async def administration(world: World) -> None:
    boss = administrator(world)
    slot = {"id": "home-top", "name": "Home, top", "side": "left", "weekPriceCents": 12_000}
    for _ in range(2):
        await boss.post(f"{ADMIN}/slots", slot)
    await sponsor(world).buys("home-top")
    await boss.patch(f"{ADMIN}/slots/home-top", {"side": "right"})
    account = world.memory.accounts["admin@example.com"].tenant_id
    await boss.post(f"/api/v1/admin/accounts/{account}/suspend", {"reason": "Spam."})


async def payment(world: World) -> None:
    """An event of a session that the service did not open is received and changes nothing; an unsigned one is refused."""
    body = dumped(event(PAID, session(None)))
    path, at = "/api/v1/webhooks/stripe", world.now_ms // SECOND_MS
    await world.client.post(path, headers={"Stripe-Signature": signature(body, at)}, body=body)
    await world.client.post(path, body=body)


STORIES = (
    *(Story(partial(cause, code)) for code in CODES),
    Story(campaigns),
    Story(bookings),
    Story(holds),
    Story(webhooks),
    Story(submissions),
    Story(administration),
    Story(payment, LIVE),
)
