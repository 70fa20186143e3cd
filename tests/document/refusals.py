"""Refusals that do not depend on what an operation does: unknown ids, invalid requests, callers, overload and outages."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from actors.clock import DAY_MS
from actors.retention.store import Rows
from service.api.operation import Operation
from service.api.operations import OPERATIONS
from service.api.policy import Access
from tests.api.callers import CALLERS
from tests.api.devices import in_browser, polled, started
from tests.api.sponsors import sponsor
from tests.api.world import World, away, broken
from tests.contract import CONTRACT, Row
from tests.document.recorder import Story
from tests.doubles.retention import MemoryRetention

MOST = "an administrator's session"
"""The caller with the most rights."""

REASON = "The ads lead to another page than they say."
"""Why the accounts of suspended callers are."""

PLENTY = dict.fromkeys(
    (
        *("MINT__PER_HOUR", "CLAIM__STARTS_PER_HOUR", "CLAIM__COMPLETIONS_PER_HOUR", "DEVICE__STARTS_PER_HOUR"),
        *("SESSIONS__STARTS_PER_HOUR", "SESSIONS__COMPLETIONS_PER_HOUR", "KEYS__UNKNOWN_PER_MINUTE"),
        *("KEYLESS__PER_MINUTE", "MAIL__PER_HOUR_TOTAL"),
    ),
    1_000,
)


async def ask(world: World, row: Row, caller: str, **change: Any) -> None:
    await ask_with(world, row, CALLERS[caller](world), **change)


async def ask_with(world: World, row: Row, presented: str | dict[str, str] | None, **change: Any) -> None:
    """`presented` is the value of `Authorization`, or the headers of a browser."""
    headers = {"Authorization": presented} if isinstance(presented, str) else presented or {}
    await world.client.request(row.method, headers=headers, **({"target": row.target, "json": row.body} | change))


async def unknown_ids(world: World) -> None:
    """Call every operation with ids that do not exist."""
    for row in CONTRACT.values():
        await ask(world, row, MOST)
    for kind in ("usecases", "bots"):
        await world.client.get(f"/api/v1/{kind}/unknown")


async def invalid_requests(world: World) -> None:
    """Send bodies without required fields or with an unknown one, and queries with a value that is never valid."""
    for operation in OPERATIONS:
        row = CONTRACT[operation.name]
        if operation.body is not None:
            await ask(world, row, MOST, json={} if not operation.body_optional else {"unknown": True})
        elif operation.query is not None and operation.body is None:
            names = operation.query.model_json_schema()["properties"]
            name = "limit" if "limit" in names else next(iter(names))
            target = f"{row.target.partition('?')[0]}?{name}=none"
            await ask(world, row, MOST, target=target)


CHANGED: dict[str, Any] = {"createCampaign": {"cta": "Look"}, "createWebhook": {"events": ["booking.cancelled"]}}
CHANGED["submitEntry"] = {"entry": CONTRACT["submitEntry"].body["entry"] | {"name": "Other"}}
"""Other bodies under the same key, where the same one returns the first response."""


async def repeated_keys(world: World) -> None:
    """A second request with the same `Idempotency-Key`."""
    headers = in_browser(world.session("ann@example.com")) | {"Idempotency-Key": "4f1c2a"}
    for operation in OPERATIONS:
        if operation.keyed:
            row = CONTRACT[operation.name]
            for body in (row.body, (row.body or {}) | CHANGED.get(operation.name, {})):
                await world.client.request(row.method, row.target, headers=headers, json=body)


CALLED = {
    "unauthorized": "nobody",
    "invalid_api_key": "an unknown key",
    "key_expired": "an expired key",
    "quota_exhausted": "a claimed key without a request left this month",
    "rate_limited": "a claimed key without a request left today",
    "claim_required": "an anonymous key",
    "insufficient_scope": "a key for nothing",
    "forbidden": "an issued key",
}
"""Callers whom an operation of sponsorship refuses, by the code."""


async def callers(world: World) -> None:
    """Callers without the right, at operations for any key and at one for administrators."""
    for caller in CALLED.values():
        for name in ("getUsage", "getBot", "getUseCase", "getSponsor", "listSlots"):
            await ask(world, CONTRACT[name], caller)
    for operation in OPERATIONS:
        await _without_right(world, operation)
    await ask(world, CONTRACT["getUseCase"], "a key without a use case read left")
    await ask(world, CONTRACT["getUsage"], "an exhausted key")
    await ask(world, CONTRACT["endSession"], "a session from another site")


async def _without_right(world: World, operation: Operation) -> None:
    """Callers whose refusal depends on the operation: by its scopes, by the credentials that it takes, by its page."""
    row = CONTRACT[operation.name]
    if operation.scopes:
        await ask(world, row, "a key for nothing")
    if operation.access in (Access.SESSION, Access.REQUIRED):
        await ask(world, row, "nobody" if operation.access is Access.REQUIRED else "a cookie that is no session")
    if operation.admin:
        await ask(world, row, "a session")
    elif operation.same_origin or (operation.changes and operation.access in (Access.SESSION, Access.REQUIRED)):
        await ask(world, row, "a session from another site")
    elif operation.access is not Access.PUBLIC:
        await _suspended(world, row, operation.access)


async def _suspended(world: World, row: Row, access: Access) -> None:
    presented = CALLERS["a session" if access is Access.SESSION else "a key for everything"](world)
    email, account = list(world.memory.accounts.items())[-1]
    world.memory.accounts[email] = replace(account, suspended_ms=world.now_ms, suspension_reason=REASON)
    await ask_with(world, row, presented)


ONE_OF_EACH_FAMILY = ("mintKey", "pollDevice", "saveProfile")


async def many_requests(world: World) -> None:
    """More requests than a key may send in a minute, the limit that all operations have, and than an address may."""
    key = CALLERS["an issued key"](world)
    for name in ("getUsage", "saveProfile"):
        for _ in range(3):
            await ask_with(world, CONTRACT[name], key)
    for _ in range(2):
        await ask_with(world, CONTRACT["reportExposedKeys"], None)


PUT, RETIRE = ("putUseCase", "putBot"), ("retireUseCase", "retireBot")


async def catalog(world: World) -> None:
    """A slug that is none, a version that is no more, and a cursor that has missed a removal."""
    boss = CALLERS[MOST](world)
    assert isinstance(boss, dict)
    for name, slug in zip((*PUT, *RETIRE), ("case-01", "bot-01") * 2, strict=True):
        row = CONTRACT[name]
        place = row.target.rpartition("/")[0]
        await ask_with(world, row, boss | {"If-Match": '"AAAAAAAAAAAAAAAAAAAAAA"'}, target=f"{place}/{slug}")
        if name in PUT:
            await ask(world, row, MOST, target=f"{place}/No_Slug")
    cursor = (await world.client.get("/api/v1/changes?limit=1")).json["nextCursor"]
    await ask(world, CONTRACT["retireBot"], MOST, target="/api/v1/admin/catalog/bots/bot-01")
    await MemoryRetention(world.catalog_memory).prune(Rows.RETIRED_ENTRIES, world.now_ms + DAY_MS, 1)
    world.services.catalog.refresh_soon()
    await world.settled()
    await world.client.get(f"/api/v1/changes?cursor={cursor}")
    person = sponsor(world)
    page = await person.get("/api/v1/sponsors/webhook-events")
    world.clock.at_ms += 30 * DAY_MS
    await person.get(f"/api/v1/sponsors/webhook-events?cursor={page.json['cursor']}")


async def too_large(world: World) -> None:
    for name in ONE_OF_EACH_FAMILY:
        await ask(world, CONTRACT[name], MOST, json=None, body=b" " * 200_000)


async def compressed(world: World) -> None:
    """A body in a coding, which the service does not decode."""
    for name in ONE_OF_EACH_FAMILY:
        row, presented = CONTRACT[name], CALLERS["an issued key"](world)
        headers = {"Authorization": str(presented), "Content-Encoding": "gzip"}
        await world.client.request(row.method, row.target, headers=headers, body=b"\x1f\x8b")


async def failing(name: str, before: Callable[[], Awaitable[None]], world: World) -> None:
    """A bug in a store, or a database that is away."""
    presented = CALLERS["an issued key"](world)
    headers = {"Authorization": presented} if isinstance(presented, str) else {}
    row, body = CONTRACT[name], CONTRACT[name].body
    if name == "pollDevice":
        body = {"device_code": (await started(world))["device_code"]}
    world.memory.before = before
    await world.client.request(row.method, row.target, headers=headers, json=body)


async def many_polls(world: World) -> None:
    """More polls than an address may send in a minute."""
    for _ in range(100):
        if (await polled(world, "dvc_unknown")).status == 429:
            return
    raise AssertionError("polls have no limit")


STORIES = (
    Story(many_requests, {"TIERS__CLAIMED__PER_MINUTE": 1, "KEYLESS__PER_MINUTE": 1}),
    Story(callers, PLENTY),
    Story(catalog),
    Story(too_large),
    Story(compressed),
    *(Story(partial(failing, name, before)) for name in ONE_OF_EACH_FAMILY for before in (broken, away)),
    Story(unknown_ids, PLENTY),
    Story(invalid_requests, PLENTY),
    Story(repeated_keys),
    Story(many_polls, {"DEVICE__STARTS_PER_HOUR": 1}),
)
