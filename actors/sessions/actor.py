"""The session keeper: sends sign-in codes, begins, touches and ends sessions, and lets forms work once, a batch a
transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.actor import Actor, ActorLimits
from actors.clock import Clock, Entropy
from actors.credentials import ENTROPY_BYTES, code_from, code_proof, digest, new_session_token
from actors.ids import ID_BYTES, new_id
from actors.mailbox import request_id
from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    GiveBackForm,
    Kept,
    Message,
    Sent,
    Session,
    SpendForm,
    Spent,
    StartSignIn,
    Touch,
)
from actors.sessions.state import Decision, SessionRules, Snapshot, decide, rows_to_lock
from actors.sessions.store import SessionStore
from actors.values import Agent, AuditRecord, BatchId, OutboxMessage, Refused

SUBJECT = digest("sign-in")
"""What the proof of a sign-in code is bound to: as long as the hash of a claim token, and that of none."""

AGENT_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Begun:
    """A fresh session; `token` exists in clear only here, for the browser that signed in."""

    token: str
    session: Session

    def __repr__(self) -> str:
        return f"<Begun {self.session.id}>"


class SessionKeeper(Actor[Message, Answer]):
    """Owns the life of sign-ins and sessions."""

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

    async def start_sign_in(self, email: str) -> Sent | Refused:
        """Send a code to `email` (normalised), whether it has an account or not; the mail is in the outbox when this
        returns."""
        now_ms = self._clock.now_ms()
        nonce = self._entropy.token(16)
        letter = OutboxMessage(
            id=self._id("let"),
            recipient=email,
            template="sign_in_code",
            nonce=nonce,
            created_ms=now_ms,
            expires_ms=now_ms + self.rules.codes.life_ms,
        )
        proof = self._proof(email, code_from(self._secret, nonce))
        answer = await self.ask(StartSignIn(email, proof, letter))
        assert isinstance(answer, Sent | Refused)
        return answer

    async def complete_sign_in(self, email: str, code: str, agent_words: str) -> Begun | Refused:
        """Begin a session of the account of `email`, which is made where it does not exist, with the emailed code.

        `agent_words` is the browser's own name for itself. Where the account has too many sessions, the one that was not
        used for longest ends.
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
        assert isinstance(answer, Kept | Refused)
        return answer if isinstance(answer, Refused) else Begun(token, answer.session)

    def touch(self, session: Session) -> bool:
        """The session was used: where that was not written down for a while it lives on from now, which this says.

        Nothing is waited for. A touch that is lost is made up for by the next.
        """
        if self._clock.now_ms() - session.seen_ms < self.rules.touch_ms:
            return False
        return self.tell(Touch(session.id))

    async def end_session(self, session_id: str, email: str, agent: Agent) -> Kept | Refused:
        """End a session of the account of `email` for good; ending it again changes nothing."""
        answer = await self.ask(EndSession(session_id, email, self._audit(agent, "session.ended", session_id)))
        assert isinstance(answer, Kept | Refused)
        return answer

    async def spend_form(self, session_id: str, form_id: str) -> Spent | Refused:
        """A form of a session was sent; refused where the session has ended."""
        answer = await self.ask(SpendForm(session_id, form_id))
        assert isinstance(answer, Spent | Refused)
        return answer

    async def give_back_form(self, session_id: str, form_id: str) -> None:
        """What the form was to do was not done: it may be sent again. Once told that is done however late, so the caller
        bounds his wait."""
        await self.ask(GiveBackForm(session_id, form_id), in_any_case=True)

    async def sessions_of(self, email: str) -> Sequence[Session]:
        """The live sessions of an account, the last used first. Raises `StorageUnavailable`."""
        return await self._store.of_email(email, self._clock.now_ms())

    # The batch.

    async def commit(self, turn: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(turn, rows_to_lock(messages), on, now_ms)).answers

    def undo(self, message: Message, answer: Answer) -> None:
        """A form whose sender was refused meanwhile did nothing: it may be sent again."""
        if isinstance(message, SpendForm) and isinstance(answer, Spent) and answer.first:
            self.tell(GiveBackForm(message.session_id, message.form_id))

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
