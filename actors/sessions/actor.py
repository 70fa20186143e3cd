"""The session keeper: sends sign-in codes, and starts, touches and ends sessions, one transaction per batch."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.actor import Actor, ActorLimits
from actors.clock import Clock, Entropy
from actors.credentials import ENTROPY_BYTES, code_from, code_proof, digest, new_session_token
from actors.ids import ID_BYTES, new_id
from actors.mailbox import request_id
from actors.sessions.messages import (
    Answer,
    CodeSent,
    CompleteSignIn,
    EndSession,
    Kept,
    Message,
    Session,
    StartSignIn,
    Touch,
)
from actors.sessions.second_factor import PasskeyNeeded, PendingSignIn
from actors.sessions.state import Decision, SessionRules, Snapshot, decide, rows_to_lock
from actors.sessions.store import SessionStore
from actors.values import Agent, AuditRecord, BatchId, OutboxMessage, Refused

SUBJECT = digest("sign-in")
"""The subject of sign-in code proofs. It has the length of a claim token's hash and matches no claim token."""

AGENT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A fresh session. `token` is available in clear only here."""

    token: str
    session: Session

    def __repr__(self) -> str:
        return f"<StartedSession {self.session.id}>"


@dataclass(frozen=True, slots=True)
class StartedSignIn:
    """A sign-in that waits for a passkey. `token` is available in clear only here."""

    token: str
    pending: PendingSignIn

    def __repr__(self) -> str:
        return f"<StartedSignIn {self.pending.id}>"


class SessionKeeper(Actor[Message, Answer]):
    """Owns sign-ins and sessions."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        entropy: Entropy,
        secret: bytes,
        rules: SessionRules,
        *,
        node: str,
        limits: ActorLimits,
    ) -> None:
        super().__init__("sessions", node, limits)
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._secret = secret
        self.rules = rules

    # Intents.

    async def start_sign_in(self, email: str) -> CodeSent | Refused:
        """Send a code to `email` (normalised), whether or not it has an account. The mail is in the outbox when this
        returns."""
        now_ms = self._clock.now_ms()
        nonce = self._entropy.token(16)
        message = OutboxMessage(
            id=self._id("let"),
            recipient=email,
            template="sign_in_code",
            nonce=nonce,
            created_ms=now_ms,
            expires_ms=now_ms + self.rules.codes.life_ms,
        )
        proof = self._proof(email, code_from(self._secret, nonce))
        return await self.ask_for(StartSignIn(email, proof, message), CodeSent, Refused)

    async def complete_sign_in(
        self, email: str, code: str, agent_words: str
    ) -> StartedSession | StartedSignIn | Refused:
        """Start a session for the account of `email` with the emailed code, or a sign-in that waits for a passkey if the
        account has one. The account is created if it does not exist.

        `agent_words` is the browser's User-Agent. If the account has too many sessions, the least recently used ones
        end.
        """
        now_ms = self._clock.now_ms()
        token = new_session_token(self._entropy.token(ENTROPY_BYTES))
        session = Session(
            id=self._id("ses"),
            token_hash=digest(token),
            email=email,
            agent="".join(filter(str.isprintable, agent_words))[:AGENT_LENGTH],
            created_ms=now_ms,
            seen_ms=now_ms,
            expires_ms=now_ms + self.rules.life_ms,
        )
        audit = self._audit(Agent("session", session.id, email), "session.started", session.id)
        answer = await self.ask(CompleteSignIn(session, self._proof(email, code), self._id("ten"), audit))
        assert isinstance(answer, Kept | PasskeyNeeded | Refused)
        match answer:
            case Kept(session):
                return StartedSession(token, session)
            case PasskeyNeeded(pending):
                return StartedSignIn(token, pending)
            case Refused():
                return answer

    def touch(self, session: Session) -> bool:
        """Extend a session that was used, unless that happened within `touch_ms`. Returns whether it was extended. Does
        not wait for the commit. The next touch makes up for a lost one."""
        if self._clock.now_ms() - session.seen_ms < self.rules.touch_ms:
            return False
        return self.tell(Touch(session.id))

    async def end_session(self, session_id: str, email: str, agent: Agent) -> Kept | Refused:
        """End a session of the account of `email` for good. Ending it again changes nothing."""
        return await self.ask_for(
            EndSession(session_id, email, self._audit(agent, "session.ended", session_id)), Kept, Refused
        )

    async def sessions_of(self, email: str) -> Sequence[Session]:
        """The live sessions of an account, last used first. Raises `StorageUnavailable`."""
        return await self._store.of_email(email, self._clock.now_ms())

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers

    # Making records.

    def _id(self, prefix: str) -> str:
        return new_id(prefix, self._entropy.token(ID_BYTES))

    def _proof(self, email: str, code: str) -> bytes:
        return code_proof(self._secret, SUBJECT, email, code)

    def _audit(self, agent: Agent, action: str, session_id: str) -> AuditRecord:
        return AuditRecord(
            id=self._id("aud"),
            created_ms=self._clock.now_ms(),
            actor_type=agent.type,
            actor_id=agent.id,
            actor_email=agent.email,
            action=action,
            target_type="session",
            target_id=session_id,
            request_id=request_id.get(),
        )
