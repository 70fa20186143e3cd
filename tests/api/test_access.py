"""Access of every kind of caller to every operation, compared with a table written out here.

The policy of an operation in `tests/contract.py` determines each caller's result.
"""

from collections.abc import AsyncIterator

import pytest

from tests.api.asgi import Response
from tests.api.callers import CALLERS, OUR_PAGE
from tests.api.world import World, open_world
from tests.contract import BOTS, CACHED, CONTRACT, OPTIONAL, PERSON_HERE, USECASES, Row

PASSED = "passed"
NOBODY = "401 unauthorized"
NOT_A_HEADER = (NOBODY,) * 7
NO_SUCH_KEY = (*("401 invalid_api_key",) * 6, NOBODY)
EXPIRED = (*("403 key_expired",) * 6, NOBODY)
CLAIM, FORBIDDEN, NO_SCOPE = "403 claim_required", "403 forbidden", "403 insufficient_scope"
EXHAUSTED, NOT_TODAY = "403 quota_exhausted", "429 rate_limited"
ANONYMOUS = PASSED, PASSED, PASSED, PASSED, CLAIM, CLAIM, NOBODY
OF_ACCOUNT = PASSED, PASSED, PASSED, PASSED, PASSED, FORBIDDEN, NOBODY
USED_UP = PASSED, EXHAUSTED, EXHAUSTED, EXHAUSTED, EXHAUSTED, FORBIDDEN, NOBODY
DAY_USED_UP = PASSED, NOT_TODAY, NOT_TODAY, NOT_TODAY, NOT_TODAY, FORBIDDEN, NOBODY
ADMIN = (*(PASSED,) * 6, NOBODY)
NOT_SIGNED_IN = NOBODY, PASSED, PASSED, PASSED, NOBODY, NOBODY, NOBODY
SIGNED_IN = PASSED, PASSED, PASSED, PASSED, PASSED, FORBIDDEN, PASSED

ALL_BUT_LIBRARY = "sponsor:read sponsor:write billing:write admin:read admin:write keys:manage"
SCOPES = ("library:read", *ALL_BUT_LIBRARY.split())
HOLDS = {
    # The scopes of scoped keys. A missing scope is 403 insufficient_scope, whatever the table below says.
    **{f"a key for {scope}": scope for scope in SCOPES},
    "a key for everything": " ".join(SCOPES),
    "a key for nothing": "",
    "a key for everything but the library": ALL_BUT_LIBRARY,
    "a scoped key without a request left this month": "library:read",
    **{f"an administrator's key for {scope}": scope for scope in ("admin:read", "admin:write", "library:read")},
}
EXPECTED = {
    # Columns: usage, use cases, bots, optional, account, administrator, person. A scoped key needs the
    # scopes below; a session from another site can only read.
    "nobody": NOT_SIGNED_IN,
    **dict.fromkeys(("an empty header", "a scheme alone", "a scheme and a space"), NOT_A_HEADER),
    **dict.fromkeys(("a key without a scheme", "another scheme", "two keys in one header"), NOT_A_HEADER),
    **dict.fromkeys(("two keys and a comma", "a key and a word", "a tab for a space"), NOT_A_HEADER),
    **dict.fromkeys(("not a key", "not ASCII", "an unknown key", "a mistyped key", "a revoked key"), NO_SUCH_KEY),
    **dict.fromkeys(("an administrator's revoked key", "a revoked key that expired"), NO_SUCH_KEY),
    **dict.fromkeys(("an anonymous key", "a lower-case scheme", "an upper-case scheme", "two spaces"), ANONYMOUS),
    **dict.fromkeys(("a key with one request left", "a key with one use case read left"), ANONYMOUS),
    **dict.fromkeys(("an expired key", "a key that expires now", "an expired and exhausted key"), EXPIRED),
    "an exhausted key": (EXHAUSTED, EXHAUSTED, EXHAUSTED, EXHAUSTED, CLAIM, CLAIM, NOBODY),
    "a key without a request left today": (PASSED, NOT_TODAY, NOT_TODAY, NOT_TODAY, CLAIM, CLAIM, NOBODY),
    "a key without a use case read left": (PASSED, CLAIM, PASSED, PASSED, CLAIM, CLAIM, NOBODY),
    **dict.fromkeys(("a claimed key", "a claimed key that used a lifetime", "an upgraded key"), OF_ACCOUNT),
    **dict.fromkeys(("an issued key", "the key of an administrator who was removed"), OF_ACCOUNT),
    "a claimed key without a request left this month": USED_UP,
    "a claimed key without a request left today": DAY_USED_UP,
    "an upgraded key without a request left this month": USED_UP,
    "an upgraded key without a request left today": DAY_USED_UP,
    "an administrator's key": ADMIN,
    "an administrator's key without a request left this month": (PASSED, *(EXHAUSTED,) * 5, NOBODY),
    **{caller: ADMIN if caller.startswith("an administrator") else OF_ACCOUNT for caller in HOLDS},
    "a scoped key without a request left this month": USED_UP,
    "a session": SIGNED_IN,
    "an administrator's session": (PASSED,) * 7,
    **dict.fromkeys(("a revoked session", "an administrator's revoked session"), NOT_SIGNED_IN),
    **dict.fromkeys(("an expired session", "a session that expires now"), NOT_SIGNED_IN),
    "a cookie that is no session": NOT_SIGNED_IN,
    "a session from another site": SIGNED_IN,
    "an administrator's session from another site": (PASSED,) * 7,
}
BROWSERS = list(EXPECTED)[list(EXPECTED).index("a session") :]
ELSEWHERE = [caller for caller in BROWSERS if caller.endswith("from another site")]
LIVE = [caller for caller in BROWSERS if EXPECTED[caller][6] is PASSED]


def expected(caller: str, row: Row) -> str:
    """The expected result in the tables."""
    if row.policy.here and (caller not in BROWSERS or caller in ELSEWHERE):
        return FORBIDDEN
    if caller == "another scheme" and row.path == "/oauth/token":
        return "401 invalid_client"
    if row.policy.column is None:
        return row.result
    if caller in ELSEWHERE and row.method != "GET" and row.policy is not OPTIONAL:
        return FORBIDDEN
    if caller in HOLDS and row.policy.column != 6 and not set(row.policy.scopes.split()) <= set(HOLDS[caller].split()):
        return NO_SCOPE
    words = EXPECTED[caller][row.policy.column]
    return row.result if words is PASSED else words


def test_the_table_names_every_caller() -> None:
    assert CALLERS.keys() == EXPECTED.keys()


@pytest.fixture
async def patient() -> AsyncIterator[World]:
    """A node that looks an unknown key up for each operation of the table."""
    async with open_world(KEYS__UNKNOWN_PER_MINUTE=1_000) as opened:
        yield opened


@pytest.mark.parametrize("caller", CALLERS)
async def test_a_caller_of_this_kind_gets_what_the_table_says(patient: World, caller: str) -> None:
    world = patient
    answers = {}
    for number, (operation, row) in enumerate(CONTRACT.items()):
        # From several addresses: there are more operations than unknown keys that one address may try in a minute.
        address = f"203.0.113.{number % 4}"
        response = await world.client.request(
            row.method, row.target, headers=_presented(world, caller), json=row.body, address=address
        )
        if row.policy in (USECASES, BOTS):
            assert (response.header("etag") is not None) == (response.status == 200)
        _check_limits(response, caller, row)
        answers[operation] = response.words
    assert answers == {operation: expected(caller, row) for operation, row in CONTRACT.items()}


def _presented(world: World, caller: str) -> dict[str, str]:
    """The headers of a fresh caller of this kind."""
    presented = CALLERS[caller](world)
    if isinstance(presented, dict):
        return presented
    return {} if presented is None else {"Authorization": presented}


def _check_limits(response: Response, caller: str, row: Row) -> None:
    """Keyless and refused callers get no RateLimit headers; a key without the scope does. Public operations ignore
    cookies, and a cookie from another site counts as no credentials."""
    told = response.header("ratelimit") is not None
    assert told == (response.header("ratelimit-policy") is not None)
    unasked = row.policy.column is None or caller == "nobody"
    unasked |= caller in BROWSERS and (caller not in LIVE or row.policy in CACHED)
    unasked |= caller in ELSEWHERE and (row.method != "GET" or row.policy is PERSON_HERE)
    unasked |= row.policy is PERSON_HERE and caller not in BROWSERS
    assert told != (unasked or response.words.startswith(("401", "403 key_expired")))


async def test_public_operations_do_not_look_at_the_header(world_with_many_starts: World) -> None:
    for number, caller in enumerate(CALLERS):
        headers, email = _presented(world_with_many_starts, caller), f"zoe{number}@example.com"
        answers = await _public_answers(world_with_many_starts, headers, email)
        assert answers == dict.fromkeys(answers, "200"), caller


@pytest.fixture
async def world_with_many_starts() -> AsyncIterator[World]:
    starts = (
        *("MINT__PER_HOUR", "DEVICE__STARTS_PER_HOUR", "SESSIONS__STARTS_PER_HOUR"),
        *("CLAIM__STARTS_PER_HOUR", "CLAIM__COMPLETIONS_PER_HOUR"),
    )
    async with open_world(**dict.fromkeys(starts, 100), MAIL__PER_HOUR_TOTAL=10_000) as world:
        yield world


async def _public_answers(world: World, headers: dict[str, str], email: str) -> dict[str, str]:
    client = world.client
    minted = await client.post("/api/v1/auth/agent", headers=headers)
    claim = {"claimToken": minted.json["claimToken"], "email": email}
    started = await client.post("/api/v1/auth/claim", headers=headers, json=claim)
    claim |= {"code": await world.emailed_code(email)}
    completed = await client.post("/api/v1/auth/claim/complete", headers=headers, json=claim)
    device = await client.post("/api/v1/auth/device", headers=headers)
    asked = await client.post("/api/v1/auth/session", headers=headers | OUR_PAGE, json={"email": email})
    alive = await client.get("/healthz", headers=headers)
    ready = await client.get("/readyz", headers=headers)
    return {
        "mintKey": minted.words,
        "startClaim": started.words,
        "completeClaim": completed.words,
        "startDevice": device.words,
        "startSignIn": asked.words,
        "isAlive": alive.words,
        "isReady": ready.words,
    }


async def test_a_key_in_the_query_is_not_looked_at(world: World) -> None:
    assert (await world.client.get(f"/api/v1/usage?api_key={world.key()}")).words == "401 unauthorized"


async def test_a_key_expires_while_it_is_remembered(world: World) -> None:
    key = world.key(expires_in_ms=3_000)
    assert (await world.client.get("/api/v1/bots", key)).words == "200"
    await world.pass_seconds(3)
    assert (await world.client.get("/api/v1/bots", key)).words == "403 key_expired"
