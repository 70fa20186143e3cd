"""The passkey actor: registers passkeys, asks for them and removes them, one transaction per batch.

It verifies a signature before its transaction, which then decides whether the challenge counts: public keys never change.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.clock import Clock, Entropy
from actors.kernel.actor import ActorLimits
from actors.sessions.actor import StartedSession
from actors.sessions.messages import Answer, Message, SessionSaved
from actors.sessions.passkeys import not_available, not_verified, sign_in_ended
from actors.sessions.relying_party import RelyingParty, Response, challenge_hash
from actors.sessions.second_factor import (
    Assertion,
    CancelSignIn,
    CeremonyStarted,
    Challenge,
    Confirm,
    FinishSignIn,
    Passkey,
    PasskeySaved,
    PasskeysRemoved,
    PendingSignIn,
    Purpose,
    Register,
    Remove,
    RemoveAll,
    Rename,
    StartCeremony,
)
from actors.sessions.state import Decision, SessionRules, Snapshot, decide, rows_to_lock
from actors.sessions.store import SessionStore
from actors.shared.credentials import ENTROPY_BYTES, SESSION_TOKEN, digest
from actors.shared.records import CodeActor
from actors.values import Agent, BatchId, Done, Refused

CHALLENGE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Ceremony:
    """The options that a browser passes to `navigator.credentials`. The challenge is available in clear only here."""

    options: Mapping[str, Any] = field(repr=False)


class PasskeyActor(CodeActor[Message, Answer, SessionStore, SessionRules]):
    """Owns passkeys, and the sign-ins that wait for one."""

    name = "passkeys"

    def __init__(
        self,
        store: SessionStore,
        relying_party: RelyingParty,
        clock: Clock,
        entropy: Entropy,
        secret: bytes,
        rules: SessionRules,
        *,
        node: str,
        limits: ActorLimits,
    ) -> None:
        super().__init__(store, clock, entropy, secret, rules, node=node, limits=limits)
        self._relying_party = relying_party

    @property
    def available(self) -> bool:
        """Whether browsers offer passkeys at the address of this service."""
        return self._relying_party.available

    # Intents: sign-in.

    async def pending(self, token: str | None) -> PendingSignIn | None:
        """The live pending sign-in with this token. Raises `StorageUnavailable`."""
        found = await self._store.pending(digest(token)) if token is not None and SESSION_TOKEN.matches(token) else None
        return found if found is not None and found.is_live(self._clock.now_ms()) else None

    async def start_sign_in(self, token: str | None) -> Ceremony | Refused:
        """Options to finish the pending sign-in with this token."""
        pending = await self.pending(token)
        if pending is None:
            return sign_in_ended()
        return await self._start_assertion(Purpose.SIGN_IN, pending.id, pending.email)

    async def finish_sign_in(self, token: str | None, response: Response) -> StartedSession | Refused:
        """Turn the pending sign-in with this token into a session, with a token of its own."""
        pending = await self.pending(token)
        if pending is None:
            return sign_in_ended()
        assertion = await self._asserted(pending.email, response)
        if assertion is None:
            return not_verified()
        fresh = SESSION_TOKEN.new(self._entropy.token(ENTROPY_BYTES))
        audit = self._audit(Agent("session", pending.id, pending.email), "session.started", "session", pending.id)
        mail = self._notice("new_session", pending.email)
        answer = await self.ask(FinishSignIn(pending.id, pending.email, digest(fresh), assertion, audit, mail))
        assert isinstance(answer, SessionSaved | Refused)
        return answer if isinstance(answer, Refused) else StartedSession(fresh, answer.session)

    async def cancel_sign_in(self, token: str | None) -> None:
        """End the pending sign-in with this token. Changes nothing if there is none."""
        pending = await self.pending(token)
        if pending is not None:
            await self.ask_for(CancelSignIn(pending.id), Done)

    # Intents: the passkeys of a signed-in person, whose session is `agent`.

    async def passkeys_of(self, email: str) -> Sequence[Passkey]:
        """The passkeys of an account, oldest first. Raises `StorageUnavailable`."""
        return await self._store.passkeys_of(email)

    async def start_registration(self, agent: Agent) -> Ceremony | Refused:
        """Options to create a passkey for the account of a session."""
        email, challenge = _email_of(agent), self._entropy.token(CHALLENGE_BYTES)
        started = await self._start(Purpose.REGISTER, agent.id, email, challenge)
        if isinstance(started, Refused):
            return started
        # Authenticators show accounts by this id, so it says nothing about the person.
        user = hmac.digest(self._secret, b"passkey-user\0" + email.encode(), "sha256")
        registered = [each.credential_id for each in started.passkeys]
        return Ceremony(self._relying_party.creation_options(user, email, challenge, registered))

    async def register(self, agent: Agent, name: str, response: Response) -> PasskeySaved | Refused:
        """Add the passkey that a browser has just created."""
        attestation = self._relying_party.attested(response) if self._relying_party.available else None
        if attestation is None:
            return not_verified()
        email = _email_of(agent)
        passkey = Passkey(
            id=self._id("psk"),
            email=email,
            credential_id=attestation.credential_id,
            public_key=attestation.public_key,
            sign_count=attestation.sign_count,
            name=name,
            created_ms=self._clock.now_ms(),
        )
        audit = self._audit(agent, "passkey.added", "passkey", passkey.id)
        message = self._notice("passkey_added", email)
        return await self.ask_for(
            Register(agent.id, attestation.challenge_hash, passkey, audit, message), PasskeySaved, Refused
        )

    async def start_confirmation(self, agent: Agent) -> Ceremony | Refused:
        """Options to show a passkey in a session."""
        return await self._start_assertion(Purpose.CONFIRM, agent.id, _email_of(agent))

    async def confirm(self, agent: Agent, response: Response) -> SessionSaved | Refused:
        """Note that a session has shown a passkey."""
        email = _email_of(agent)
        assertion = await self._asserted(email, response)
        if assertion is None:
            return not_verified()
        audit = self._audit(agent, "session.confirmed", "session", agent.id)
        return await self.ask_for(Confirm(agent.id, email, assertion, audit), SessionSaved, Refused)

    async def rename(self, agent: Agent, passkey_id: str, name: str) -> PasskeySaved | Refused:
        audit = self._audit(agent, "passkey.renamed", "passkey", passkey_id)
        return await self.ask_for(Rename(passkey_id, _email_of(agent), name, audit), PasskeySaved, Refused)

    async def remove(self, agent: Agent, passkey_id: str) -> PasskeysRemoved | Refused:
        """Remove a passkey, if the session has just shown one."""
        email = _email_of(agent)
        audit = self._audit(agent, "passkey.removed", "passkey", passkey_id)
        message = self._notice("passkey_removed", email)
        return await self.ask_for(Remove(passkey_id, agent.id, email, audit, message), PasskeysRemoved, Refused)

    async def remove_all(self, email: str, agent: Agent) -> PasskeysRemoved:
        """Remove all passkeys of an account, as an operator."""
        audit = self._audit(agent, "account.passkeys_removed", "account", email)
        return await self.ask_for(RemoveAll(email, audit, self._notice("passkey_removed", email)), PasskeysRemoved)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, now_ms, self.rules)

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers

    # Ceremonies.

    async def _start(self, purpose: Purpose, holder_id: str, email: str, challenge: bytes) -> CeremonyStarted | Refused:
        if not self._relying_party.available:
            return not_available()
        expires_ms = self._clock.now_ms() + self.rules.passkeys.challenge_ms
        stored = Challenge(holder_id, purpose, challenge_hash(challenge), expires_ms)
        return await self.ask_for(StartCeremony(stored, email), CeremonyStarted, Refused)

    async def _start_assertion(self, purpose: Purpose, holder_id: str, email: str) -> Ceremony | Refused:
        challenge = self._entropy.token(CHALLENGE_BYTES)
        started = await self._start(purpose, holder_id, email, challenge)
        if isinstance(started, Refused):
            return started
        allowed = [each.credential_id for each in started.passkeys]
        return Ceremony(self._relying_party.request_options(challenge, allowed))

    async def _asserted(self, email: str, response: Response) -> Assertion | None:
        if not self._relying_party.available:
            return None
        own = await self._store.passkeys_of(email)
        return self._relying_party.asserted(response, {each.credential_id: each.public_key for each in own})


def _email_of(agent: Agent) -> str:
    assert agent.type == "session", "a person acts, in a browser"
    assert agent.email is not None, "a session belongs to an account"
    return agent.email
