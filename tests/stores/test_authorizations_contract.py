"""The contract of what people allow programs, through the key actor: over Postgres and in memory."""

import hashlib
from collections.abc import AsyncIterator

import pytest

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.keys.actor import KeyActor
from actors.keys.authorizations import Client
from actors.keys.authorizer import Tokens
from actors.keys.messages import ByAccount, ByKey, Resolved
from actors.keys.state import KeyRules
from actors.retention.store import Rows
from actors.shared.credentials import digest, is_key, prefix_of
from actors.values import Agent, Code, Refused, Scope
from tests.fakes import SeededEntropy
from tests.stores.conftest import Stores
from tests.stores.logins import ANN, NOW, Logins

CLIENT = Client("https://agent.example.com/client.json", "An agent", "http://127.0.0.1/callback")
VERIFIER = "v" * 43
READ = (Scope.LIBRARY_READ,)


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at_ms = NOW

    def now_ms(self) -> int:
        return self.at_ms


class Desk:
    """The key actor of one node, and a person who allows clients what they ask for."""

    def __init__(self, stores: Stores, node: int = 1) -> None:
        self.stores, self.clock = stores, SetClock()
        limits = ActorLimits()
        self.keys = KeyActor(
            stores.keys, self.clock, SeededEntropy(node), b"secret", KeyRules(), node=f"desk{node}", limits=limits
        )

    async def allow(self, client: Client = CLIENT, scopes: tuple[Scope, ...] = READ) -> str:
        code = await self.keys.authorize(
            client,
            Agent("session", "ses_1", ANN),
            ByAccount("ses_1"),
            challenge=hashlib.sha256(VERIFIER.encode()).digest(),
            resource="https://catalog.example.com/mcp",
            scopes=scopes,
            ends_ms=self.clock.at_ms + 90 * DAY_MS,
        )
        assert isinstance(code, str), code
        return code

    async def exchange(self, code: str) -> Tokens | Refused:
        proof = {"client_id": CLIENT.id, "redirect_uri": CLIENT.redirect_uri, "verifier": VERIFIER}
        return await self.keys.exchange_code(code, **proof, resource=None)

    async def connected(self) -> Tokens:
        tokens = await self.exchange(await self.allow())
        assert isinstance(tokens, Tokens), tokens
        return tokens

    async def refresh(self, tokens: Tokens) -> Tokens | Refused:
        return await self.keys.refresh(tokens.refresh_token, client_id=CLIENT.id, resource=None)

    async def found(self, tokens: Tokens) -> Resolved | None:
        return (await self.stores.keys.resolve([digest(tokens.access_token)])).get(digest(tokens.access_token))

    async def works(self, tokens: Tokens) -> bool:
        found = await self.found(tokens)
        return found is not None and found.key.revoked_ms is None


@pytest.fixture
async def desk(stores: Stores) -> AsyncIterator[Desk]:
    await Logins(stores).settle(ANN)
    desk = Desk(stores)
    async with running([desk.keys]):
        yield desk


def refusal(answer: object) -> Code | None:
    return answer.code if isinstance(answer, Refused) else None


async def test_a_code_becomes_a_key_whose_text_is_replaced_and_whose_prefix_stays(desk: Desk) -> None:
    first = await desk.connected()
    assert is_key(first.access_token)
    found = await desk.found(first)
    assert found is not None
    assert (found.key, found.email) == (first.key, ANN)
    assert first.expires_seconds == HOUR_MS // 1_000
    desk.clock.at_ms += 59 * MINUTE_MS
    second = await desk.refresh(first)
    assert isinstance(second, Tokens)
    assert (await desk.works(first), await desk.works(second)) == (False, True)
    assert (second.key.id, second.changed) == (first.key.id, (digest(first.access_token),))
    assert prefix_of(second.access_token) == prefix_of(first.access_token) == second.key.prefix
    assert await desk.refresh(first) == second, "an answer that was lost"
    assert [key.id for key in await desk.keys.scoped_keys(first.key.tenant_id)] == [first.key.id]


async def test_a_code_or_refresh_token_that_comes_again_revokes_the_key(desk: Desk) -> None:
    code = await desk.allow()
    by_code = await desk.exchange(code)
    assert isinstance(by_code, Tokens)
    assert refusal(await desk.exchange(code)) is Code.INVALID_GRANT
    assert not await desk.works(by_code)
    by_token = await desk.connected()
    second = await desk.refresh(by_token)
    assert isinstance(second, Tokens)
    desk.clock.at_ms += 2 * MINUTE_MS
    assert refusal(await desk.refresh(by_token)) is Code.INVALID_GRANT
    assert not await desk.works(second)


async def test_a_code_that_comes_again_revokes_the_keys_that_its_key_granted(desk: Desk) -> None:
    code = await desk.allow(scopes=(*READ, Scope.KEYS_MANAGE))
    tokens = await desk.exchange(code)
    assert isinstance(tokens, Tokens)
    key_id = tokens.key.id
    await desk.keys.issue(ANN, Agent("key", key_id, ANN), scopes=READ, granted_by=ByKey(key_id))
    live = await desk.keys.scoped_keys(tokens.key.tenant_id)
    assert {key.granter_id for key in live} == {None, key_id}
    assert refusal(await desk.exchange(code)) is Code.INVALID_GRANT
    assert await desk.keys.scoped_keys(tokens.key.tenant_id) == []


async def test_two_nodes_refresh_one_token_into_the_same_and_neither_keeps_a_text_in_clear(desk: Desk) -> None:
    tokens = await desk.connected()
    other = Desk(desk.stores, node=2)
    async with running([other.keys]):
        again = await other.refresh(tokens)
        assert await desk.refresh(tokens) == again
    texts = tokens.access_token, tokens.refresh_token
    assert not [text for text in texts if text in repr(desk.stores.below)]


async def test_a_client_ends_its_key_with_either_token(desk: Desk) -> None:
    tokens, second = await desk.connected(), await desk.connected()
    assert (await desk.keys.end_token(tokens.access_token, client_id="another")).keys == ()
    assert (await desk.keys.end_token("cs_scoped_none", client_id=CLIENT.id)).keys == ()
    for token, of in ((tokens.access_token, tokens), (second.refresh_token, second)):
        [ended] = (await desk.keys.end_token(token, client_id=CLIENT.id)).keys
        assert ended.id == of.key.id
        assert not await desk.works(of)


async def test_an_authorization_goes_a_day_after_its_code_or_its_key(desk: Desk) -> None:
    await desk.allow()
    tokens = await desk.connected()
    since_ms = desk.clock.at_ms
    assert await desk.keys.is_client_in_use(CLIENT.id, since_ms)
    assert not await desk.keys.is_client_in_use(CLIENT.id, since_ms + 1)
    assert not await desk.keys.is_client_in_use("another", 0)
    prune = desk.stores.retention.prune
    assert await prune(Rows.AUTHORIZATIONS, NOW + MINUTE_MS, 10) == 0
    assert await prune(Rows.AUTHORIZATIONS, NOW + MINUTE_MS + 1, 10) == 1
    assert isinstance(await desk.refresh(tokens), Tokens)
    assert await prune(Rows.AUTHORIZATIONS, NOW + 90 * DAY_MS + 1, 10) == 1
