"""The device authorizer over a store in memory: a whole login, on one node and on two, and what it never stores."""

import trio

from actors.clock import DAY_MS
from actors.devices.actor import DeviceAuthorizer, RedeemedKey, StartedLogin
from actors.devices.codes import format_code
from actors.devices.messages import DeviceView
from actors.devices.state import DeviceRules
from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import request_id
from actors.kernel.supervision import running
from actors.sessions.messages import Session
from actors.shared.credentials import DEVICE_CODE, Kind, digest, is_key
from actors.values import Account, Agent, Code, OutcomeUnknown, Refused, Tenant, Tier
from tests.doubles.devices import MemoryDevices
from tests.doubles.tables import Memory
from tests.fakes import Script, SeededEntropy, TrioClock, after, now, together

NOON = 20_000 * DAY_MS + DAY_MS // 2
ANN = "ann@example.org"
PERSON = Agent("session", "ses_1", ANN)
PROGRAM = ("a-program/1.0", "203.0.113.7")


def a_memory() -> Memory:
    """A store with an account that has a session and no keys."""
    memory = Memory()
    memory.tenants["ten_1"] = Tenant("ten_1", Tier.CLAIMED)
    memory.accounts[ANN] = Account(ANN, "ten_1", NOON)
    memory.sessions["ses_1"] = Session("ses_1", b"s" * 32, ANN, "A browser", NOON, NOON, NOON + 30 * DAY_MS)
    return memory


def a_node(memory: Memory, number: int = 1, *, skew_ms: int = 0, secret: bytes = b"server secret") -> DeviceAuthorizer:
    return DeviceAuthorizer(
        MemoryDevices(memory),
        TrioClock(NOON, skew_ms),
        SeededEntropy(number),
        secret,
        DeviceRules(),
        node=f"node {number}",
        limits=ActorLimits(),
    )


async def begun(node: DeviceAuthorizer) -> StartedLogin:
    started = await node.start(*PROGRAM)
    assert isinstance(started, StartedLogin)
    return started


def word(answer: RedeemedKey | DeviceView | Refused) -> str:
    match answer:
        case Refused(code=code):
            return str(code)
        case DeviceView(device=device):
            return str(device.status)
        case RedeemedKey():
            return "a key"


async def test_a_device_is_approved_and_gets_one_full_key() -> None:
    memory = a_memory()
    node = a_node(memory)
    async with running([node]):
        request_id.set("a-request")
        started = await begun(node)
        assert DEVICE_CODE.matches(started.device_code)
        assert word(await node.poll(started.device_code)) == "authorization_pending"
        typed = format_code(started.device.user_code).lower()
        seen = await node.view_login(typed, PERSON)
        assert isinstance(seen, DeviceView)
        assert (seen.device.agent, seen.device.address) == PROGRAM
        assert word(await node.decide(typed, PERSON, approve=True)) == "approved"
        handed_out = await node.poll(started.device_code)
        assert isinstance(handed_out, RedeemedKey)
    assert is_key(handed_out.api_key)
    [key] = memory.keys.values()
    assert (key.hash, key.kind, key.tenant_id) == (digest(handed_out.api_key), Kind.USER, "ten_1")
    assert handed_out.api_key.startswith(key.prefix)
    assert [(audit.action, audit.actor_id, audit.request_id) for audit in memory.audits] == [
        ("device.approved", "ses_1", "a-request"),
        ("key.issued", "ses_1", "a-request"),
    ]


async def test_a_poll_whose_answer_was_lost_gets_the_same_key_from_any_node_for_a_while() -> None:
    memory = a_memory()
    node, other, renewed = a_node(memory), a_node(memory, 2), a_node(memory, 3, secret=b"another secret")
    async with running([node, other, renewed]):
        started = await begun(node)
        stranger = await begun(node)
        await node.decide(started.device.user_code, PERSON, approve=True)
        lost = await node.poll(started.device_code)
        again = await other.poll(started.device_code)
        assert isinstance(lost, RedeemedKey)
        assert isinstance(again, RedeemedKey)
        assert (again.api_key, again.key.tenant_id) == (lost.api_key, lost.key.tenant_id)
        assert word(await node.poll(stranger.device_code)) == "authorization_pending"
        assert word(await renewed.poll(started.device_code)) == "invalid_code"
        await trio.sleep(DeviceRules().repeat_ms / 1_000)
        assert word(await node.poll(started.device_code)) == "invalid_code"
    assert len(memory.keys) == 1
    assert [message.template for message in memory.messages.values()] == ["new_key"]


async def test_neither_device_code_nor_key_is_stored_or_shown() -> None:
    memory = a_memory()
    node = a_node(memory)
    async with running([node]):
        started = await begun(node)
        await node.decide(started.device.user_code, PERSON, approve=True)
        handed_out = await node.poll(started.device_code)
    assert isinstance(handed_out, RedeemedKey)
    visible = repr(memory) + repr(started) + repr(handed_out)
    assert started.device_code[4:] not in visible
    assert handed_out.api_key.rpartition("_")[2] not in visible


async def test_a_text_that_is_no_device_code_costs_no_transaction() -> None:
    memory = a_memory()
    node = a_node(memory)
    async with running([node]):
        for text in ("", "dvc_", "sst_" + "a" * 43, "dvc_" + "a" * 42, "dvc_" + "é" * 43):
            assert word(await node.poll(text)) == "invalid_code"
    assert memory.journal == {}


async def test_two_nodes_that_are_polled_at_once_make_one_key() -> None:
    memory = a_memory()
    nodes = [a_node(memory, number) for number in (1, 2)]
    async with running(nodes):
        started = await begun(nodes[0])
        assert word(await nodes[1].decide(started.device.user_code, PERSON, approve=True)) == "approved"
        answers = await together(*(now(node.poll, started.device_code) for node in nodes * 5))
    assert len({each.api_key for each in answers if isinstance(each, RedeemedKey)}) == 1
    assert [word(each) for each in answers] == ["a key"] * 10
    assert len(memory.keys) == 1


async def test_nodes_whose_clocks_differ_agree_on_what_was_answered() -> None:
    """The second node's clock is a minute behind. A login that the first called expired stays expired on both."""
    memory = a_memory()
    ahead, behind = a_node(memory, 1), a_node(memory, 2, skew_ms=-60_000)
    async with running([ahead, behind]):
        started, other = await begun(ahead), await begun(ahead)
        assert word(await behind.poll(started.device_code)) == "authorization_pending"
        await after(899, behind.poll, other.device_code)()
        assert word(await after(1, ahead.poll, started.device_code)()) == "expired_token"
        assert word(await behind.poll(started.device_code)) == "expired_token"
        assert word(await behind.decide(started.device.user_code, PERSON, approve=True)) == "expired_token"
        # The other login has not been answered yet.
        assert word(await behind.decide(other.device.user_code, PERSON, approve=True)) == "approved"
        assert word(await ahead.poll(other.device_code)) == "expired_token"
        assert word(await behind.poll(other.device_code)) == "expired_token"
    assert memory.keys == {}


async def test_a_client_between_nodes_whose_clocks_differ_is_slowed_down_at_the_worst() -> None:
    """Every second poll seems three seconds too early. The device is slowed down, never beyond a minute, and still gets
    its key."""
    memory = a_memory()
    nodes = [a_node(memory, 1), a_node(memory, 2, skew_ms=-3_000)]
    async with running(nodes):
        started = await begun(nodes[0])
        interval, codes = 5, []
        for turn in range(12):
            answer = await nodes[turn % 2].poll(started.device_code)
            assert isinstance(answer, Refused)
            codes.append(answer.code)
            interval = answer.interval_seconds or interval
            await after(interval, nodes[0].poll, "")()
        assert codes == [Code.AUTHORIZATION_PENDING, Code.SLOW_DOWN] * 6
        assert interval == 35
        await nodes[1].decide(started.device.user_code, PERSON, approve=True)
        assert word(await nodes[0].poll(started.device_code)) == "a key"


async def test_a_redemption_whose_outcome_was_unknown_hands_out_the_key_that_was_stored() -> None:
    memory = a_memory()
    node = a_node(memory)
    async with running([node]):
        started = await begun(node)
        await node.decide(started.device.user_code, PERSON, approve=True)
        memory.after = Script([OutcomeUnknown("broken")])
        handed_out = await node.poll(started.device_code)
    assert isinstance(handed_out, RedeemedKey)
    [key] = memory.keys.values()
    assert key.hash == digest(handed_out.api_key)
    assert len(memory.audits) == 2
