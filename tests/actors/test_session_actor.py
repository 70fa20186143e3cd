"""The session actor over a store in memory: tokens, codes, touches without waiting, and nodes that share rows."""

import trio
from trio.testing import wait_all_tasks_blocked

from actors.clock import DAY_MS, HOUR_MS
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.sessions.actor import SessionActor, StartedSession, StartedSignIn
from actors.sessions.messages import SessionSaved
from actors.sessions.reader import SessionReader
from actors.sessions.state import SessionRules
from actors.shared.code_mails import Origin
from actors.shared.credentials import SESSION_TOKEN, code_from, digest
from actors.values import Agent, StorageUnavailable
from tests.doubles.sessions import MemorySessions
from tests.doubles.tables import Memory
from tests.fakes import HandClock, Script, SeededEntropy, now, together

NOON = 20_000 * DAY_MS + DAY_MS // 2
SECRET = b"server secret"
ANN = "ann@example.com"
ORIGIN = Origin("203.0.113.7", "203.0.113.0/24")


def session_actor(
    memory: Memory, node: int = 1, clock: HandClock | None = None, limits: ActorLimits | None = None
) -> SessionActor:
    return SessionActor(
        MemorySessions(memory),
        clock or HandClock(NOON),
        SeededEntropy(node),
        SECRET,
        SessionRules(),
        node=f"node {node}",
        limits=limits or ActorLimits(),
    )


def last_code(memory: Memory) -> str:
    return code_from(SECRET, list(memory.messages.values())[-1].nonce)


async def asked(sessions: SessionActor) -> str:
    """Ask for a code; returns the browser's token."""
    started = await sessions.start_sign_in(ANN, None, ORIGIN)
    assert isinstance(started, StartedSignIn)
    return started.browser


async def signed_in(sessions: SessionActor, memory: Memory) -> StartedSession:
    browser = await asked(sessions)
    begun = await sessions.complete_sign_in(ANN, last_code(memory), browser, ORIGIN, "A browser")
    assert isinstance(begun, StartedSession)
    return begun


async def test_neither_token_nor_code_is_stored_or_shown() -> None:
    memory = Memory()
    sessions = session_actor(memory)
    async with running([sessions]):
        begun = await signed_in(sessions, memory)
    assert SESSION_TOKEN.matches(begun.token)
    assert memory.sessions[begun.session.id].token_hash == digest(begun.token)
    [(_, browser_hash)] = memory.sign_ins
    assert len(browser_hash) == 32
    for secret in (begun.token, begun.token[4:], last_code(memory), "brw_", ORIGIN.network):
        assert secret not in repr(memory) + repr(begun)
    code, notice = memory.messages.values()
    assert (code.recipient, code.template, code.expires_ms) == (ANN, "sign_in_code", NOON + 600_000)
    assert (notice.recipient, notice.template) == (ANN, "new_session")


async def test_a_touch_is_not_waited_for_and_may_be_lost() -> None:
    memory, clock = Memory(), HandClock(NOON)
    sessions = session_actor(memory, clock=clock)
    async with running([sessions]):
        session = (await signed_in(sessions, memory)).session
        assert not sessions.touch(session), "it was seen a moment ago"
        clock.at_ms += HOUR_MS
        memory.before = Script([StorageUnavailable("away")])
        assert sessions.touch(session)
        await wait_all_tasks_blocked()
        assert memory.sessions[session.id] == session
        assert sessions.touch(session)
        await wait_all_tasks_blocked()
        assert memory.sessions[session.id].seen_ms == clock.at_ms
    assert not sessions.touch(session), "an actor that has stopped takes none"


async def test_a_full_mailbox_takes_no_touch() -> None:
    memory, clock = Memory(), HandClock(NOON)
    sessions = session_actor(memory, clock=clock, limits=ActorLimits(mailbox=1, batch=1))
    async with running([sessions]):
        session = (await signed_in(sessions, memory)).session
        clock.at_ms += HOUR_MS
        memory.before = Script([5.0])
        assert sessions.touch(session)
        await wait_all_tasks_blocked()
        assert [sessions.touch(session), sessions.touch(session)] == [True, False]
        assert sessions.statistics().refused == 1


async def test_what_is_ended_on_one_node_is_seen_by_the_reader_of_another() -> None:
    memory = Memory()
    sessions = session_actor(memory)
    reader = SessionReader(MemorySessions(memory), node="node 2", limits=ActorLimits())
    async with running([sessions, reader]):
        begun = await signed_in(sessions, memory)
        signed_in_as = await reader.resolve(begun.token)
        assert signed_in_as is not None
        assert signed_in_as.session.is_live(NOON)
        ended = await sessions.end_session(begun.session.id, ANN, Agent("session", begun.session.id, ANN))
        assert isinstance(ended, SessionSaved)
        signed_in_as = await reader.resolve(begun.token)
        assert signed_in_as is not None
        assert not signed_in_as.session.is_live(NOON)
        assert await reader.resolve("sst_" + "0" * 43) is None
        assert await reader.resolve("no token") is None


async def test_while_the_database_is_away_nobody_is_let_in() -> None:
    memory = Memory()
    sessions = session_actor(memory)
    async with running([sessions]):
        browser = await asked(sessions)
        memory.before = Script([StorageUnavailable("away")])
        [answer] = await together(now(sessions.complete_sign_in, ANN, last_code(memory), browser, ORIGIN, ""))
        assert isinstance(answer, StorageUnavailable)
        with trio.fail_after(1):
            assert isinstance(
                await sessions.complete_sign_in(ANN, last_code(memory), browser, ORIGIN, ""), StartedSession
            )
