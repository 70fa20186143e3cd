"""The session actor: sends sign-in codes, and starts, touches and ends sessions, one transaction per batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.clock import Clock, Entropy
from actors.kernel.actor import ActorLimits
from actors.sessions.messages import (
    Answer,
    CompleteSignIn,
    EndSession,
    EndSessions,
    IssueLink,
    Message,
    Session,
    SessionSaved,
    SessionsEnded,
    SignInLink,
    StartSignIn,
    Touch,
    UseLink,
)
from actors.sessions.second_factor import PasskeyNeeded, PendingSignIn
from actors.sessions.state import Decision, SessionRules, Snapshot, decide, rows_to_lock, unusable_link
from actors.sessions.store import SessionStore
from actors.shared.code_mails import Draft, Origin, count_id
from actors.shared.credentials import (
    BROWSER_TOKEN,
    ENTROPY_BYTES,
    SESSION_TOKEN,
    SIGN_IN_LINK_TOKEN,
    code_proof,
    digest,
)
from actors.shared.notices import NoticeLimiter
from actors.shared.records import CodeActor
from actors.times import MINUTE_MS
from actors.values import Agent, AuditRecord, BatchId, Code, Done, Refused

SUBJECT = digest("sign-in")
"""The subject of sign-in code proofs. It has the length of a claim token's hash and matches no claim token."""

AGENT_LENGTH = 200
TEMPLATE = "sign_in_code"
LINK_LIFE_MS = 10 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class StartedSignIn:
    """A code is in the outbox. `browser` is the token of the browser that has to complete the sign-in."""

    browser: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StartedSession:
    """A fresh session. `token` is available in clear only here."""

    token: str = field(repr=False)
    session: Session


@dataclass(frozen=True, slots=True)
class AwaitedSession:
    """A sign-in that waits for a passkey. `token` is available in clear only here."""

    token: str = field(repr=False)
    pending: PendingSignIn


class SessionActor(CodeActor[Message, Answer, SessionStore, SessionRules]):
    """Owns sign-ins and sessions."""

    name = "sessions"

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
        super().__init__(store, clock, entropy, secret, rules, node=node, limits=limits)
        self._notices = NoticeLimiter(rules.notices_per_hour)

    # Intents.

    async def start_sign_in(self, email: str, browser: str | None, origin: Origin) -> StartedSignIn | Refused:
        """Send a code to `email` (normalised), whether or not it has an account. The mail is in the outbox when this
        returns.

        `browser` is the token that the browser has from an earlier start; without a valid one, it gets a new one.
        """
        if browser is None or not BROWSER_TOKEN.matches(browser):
            browser = BROWSER_TOKEN.new(self._entropy.token(ENTROPY_BYTES))
        message = self._code_mail(TEMPLATE, email, self.rules.codes.life_ms)
        draft = Draft.of(self._secret, SUBJECT, message, origin)
        answer = await self.ask_for(StartSignIn(email, digest(browser), draft), Done, Refused)
        return answer if isinstance(answer, Refused) else StartedSignIn(browser)

    async def complete_sign_in(
        self, email: str, code: str, browser: str | None, origin: Origin, agent_words: str
    ) -> StartedSession | AwaitedSession | Refused:
        """Start a session for the account of `email` with the code that `browser` asked for, or a sign-in that waits for
        a passkey if the account has one. The account is created if it does not exist.

        `agent_words` is the browser's User-Agent. If the account has too many sessions, the least recently used ones
        end.
        """
        if browser is None or not BROWSER_TOKEN.matches(browser):
            return _no_browser()
        token, session, audit = self._session(email, agent_words, "session.started")
        proof = code_proof(self._secret, SUBJECT, email, code)
        network_id = count_id(self._secret, TEMPLATE, email, origin.network)
        mail = self._notice("new_session", email)
        message = CompleteSignIn(session, digest(browser), proof, network_id, self._id("ten"), audit, mail)
        return _started(token, await self.ask(message))

    async def issue_link(self, email: str, agent: Agent) -> str:
        """The token of a new link that signs in one browser as `email`, once, within `LINK_LIFE_MS`."""
        now_ms = self._clock.now_ms()
        token = SIGN_IN_LINK_TOKEN.new(self._entropy.token(ENTROPY_BYTES))
        link = SignInLink(digest(token), email, now_ms, now_ms + LINK_LIFE_MS)
        await self.ask_for(IssueLink(link, self._audit(agent, "session.link_issued", "account", email)), Done)
        return token

    async def use_link(self, link_token: str, agent_words: str) -> StartedSession | AwaitedSession | Refused:
        """The same with an operator's link."""
        if not SIGN_IN_LINK_TOKEN.matches(link_token):
            return unusable_link()
        token, session, audit = self._session("", agent_words, "session.started_by_link")
        message = UseLink(digest(link_token), session, self._id("ten"), audit, self._notice("new_session", ""))
        return _started(token, await self.ask(message))

    def _session(self, email: str, agent_words: str, action: str) -> tuple[str, Session, AuditRecord]:
        """A session that does not exist yet, its token, and the record of its start."""
        now_ms = self._clock.now_ms()
        token = SESSION_TOKEN.new(self._entropy.token(ENTROPY_BYTES))
        session = Session(
            id=self._id("ses"),
            token_hash=digest(token),
            email=email,
            agent="".join(filter(str.isprintable, agent_words))[:AGENT_LENGTH],
            created_ms=now_ms,
            seen_ms=now_ms,
            expires_ms=now_ms + self.rules.life_ms,
        )
        return token, session, self._audit(Agent("session", session.id, email), action, "session", session.id)

    def touch(self, session: Session) -> bool:
        """Extend a session that was used, unless that happened within `touch_ms`. Returns whether it was extended. Does
        not wait for the commit. The next touch makes up for a lost one."""
        if self._clock.now_ms() - session.seen_ms < self.rules.touch_ms:
            return False
        return self.tell(Touch(session.id))

    async def end_session(self, session_id: str, email: str, agent: Agent) -> SessionSaved | Refused:
        """End a session of the account of `email` for good. Ending it again changes nothing."""
        return await self.ask_for(
            EndSession(session_id, email, self._audit(agent, "session.ended", "session", session_id)),
            SessionSaved,
            Refused,
        )

    async def end_all(self, email: str, agent: Agent, *, except_id: str | None = None) -> int:
        """End all sessions of the account of `email`, except the one with the id `except_id`. Returns how many."""
        audit = self._audit(agent, "sessions.ended", "account", email)
        return len((await self.ask_for(EndSessions(email, except_id, audit), SessionsEnded)).session_ids)

    async def sessions_of(self, email: str) -> Sequence[Session]:
        """The live sessions of an account, last used first. Raises `StorageUnavailable`."""
        return await self._store.of_email(email, self._clock.now_ms())

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            decision = decide(snapshot, messages, now_ms, self.rules)
            decision.outbox = self._notices.within(batch_id, decision.outbox, now_ms)
            return decision

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers


def _started(token: str, answer: Answer) -> StartedSession | AwaitedSession | Refused:
    assert isinstance(answer, SessionSaved | PasskeyNeeded | Refused)
    match answer:
        case SessionSaved(session):
            return StartedSession(token, session)
        case PasskeyNeeded(pending):
            return AwaitedSession(token, pending)
        case Refused():
            return answer


def _no_browser() -> Refused:
    return Refused(
        Code.INVALID_CODE,
        "This browser asked for no code, or too long ago. Open this page in the browser in which you asked for the code, "
        "or ask for a new one.",
    )
