"""The rules of passkeys and of sign-ins that wait for one. Pure; source: ADR 0063."""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from actors.sessions.messages import Session, SessionSaved
from actors.sessions.second_factor import (
    Assertion,
    CancelSignIn,
    CeremonyStarted,
    Challenge,
    Confirm,
    FinishSignIn,
    Passkey,
    PasskeyNeeded,
    PasskeySaved,
    PasskeysRemoved,
    PendingSignIn,
    Purpose,
    Register,
    Remove,
    RemoveAll,
    Rename,
    SecondFactorAnswer,
    SecondFactorMessage,
    SecondFactorRows,
    StartCeremony,
)
from actors.shared.credentials import constant_time_equal
from actors.times import MINUTE_MS
from actors.values import SIGN_IN, AuditRecord, Code, Done, OutboxMessage, Refused, session_ended, unknown

unknown_passkey = partial(unknown, "passkey")


@dataclass(frozen=True, slots=True)
class PasskeyRules:
    """Limits of passkeys; times in milliseconds. `fresh_ms` is how long a sign-in or a shown passkey allows changes to the
    account's passkeys."""

    per_account: int = 10
    challenge_ms: int = 5 * MINUTE_MS
    sign_in_ms: int = 10 * MINUTE_MS
    fresh_ms: int = 10 * MINUTE_MS


def may_add(session: Session, now_ms: int, rules: PasskeyRules, *, first: bool) -> bool:
    """Whether a session may add a passkey: it has shown one, or it has just begun and there is none yet (`first`). A stolen
    cookie is mostly older."""
    return session.passkey_ms is not None or (first and now_ms - session.created_ms < rules.fresh_ms)


def confirmed_until(session: Session, rules: PasskeyRules) -> int:
    """Return the time until which a session may remove passkeys: a while after it has shown one."""
    return 0 if session.passkey_ms is None else session.passkey_ms + rules.fresh_ms


def not_verified() -> Refused:
    """One refusal for wrong, expired and used challenges, unknown passkeys and bad signatures."""
    return Refused(Code.INVALID_PASSKEY, "The passkey could not be verified. Try again.")


def sign_in_ended() -> Refused:
    return Refused(Code.UNAUTHORIZED, "This sign-in has ended. Ask for a new code.", hint=SIGN_IN)


def not_available() -> Refused:
    words = "Passkeys need a host name with https, or http://localhost: browsers offer none at this address."
    return Refused(Code.INVALID_STATE, words)


class Sessions(Protocol):
    """The sessions of the batch."""

    def session(self, session_id: str) -> Session | None: ...

    def sessions_of(self, email: str) -> list[Session]: ...

    def save_session(self, session: Session) -> None: ...

    def begin(self, session: Session, audit: AuditRecord, notice: OutboxMessage | None) -> SessionSaved: ...


class Passkeys:
    """Answers the messages about passkeys. Reads see the changes of earlier messages; writes go into `changed`, `audits`
    and `outbox`."""

    def __init__(
        self,
        rows: SecondFactorRows,
        changed: SecondFactorRows,
        audits: list[AuditRecord],
        outbox: list[OutboxMessage],
        sessions: Sessions,
        now_ms: int,
        rules: PasskeyRules,
        session_life_ms: int,
    ) -> None:
        self._rows = rows
        self._changed = changed
        self._audits = audits
        self._outbox = outbox
        self._sessions = sessions
        self._now_ms = now_ms
        self._rules = rules
        self._session_life_ms = session_life_ms

    def handle(self, message: SecondFactorMessage) -> SecondFactorAnswer | SessionSaved | Refused:
        match message:
            case StartCeremony():
                return self._start(message)
            case Register():
                return self._register(message)
            case Confirm():
                return self._confirm(message)
            case FinishSignIn():
                return self._finish(message)
            case CancelSignIn():
                return self._cancel(message)
            case Rename():
                return self._rename(message)
            case Remove():
                return self._remove(message)
            case RemoveAll():
                return self._remove_all(message)

    def of(self, email: str) -> list[Passkey]:
        """The passkeys of an account, oldest first."""
        known = self._rows.passkeys | self._changed.passkeys
        own = [each for each in known.values() if each.email == email and each.id not in self._changed.removed]
        return sorted(own, key=lambda each: (each.created_ms, each.id))

    # Sign-in.

    def await_passkey(self, session: Session, audit: AuditRecord) -> PasskeyNeeded:
        """Keep the session that a code would have begun as a pending sign-in."""
        pending = PendingSignIn(
            id=session.id,
            token_hash=session.token_hash,
            email=session.email,
            agent=session.agent,
            created_ms=self._now_ms,
            expires_ms=self._now_ms + self._rules.sign_in_ms,
        )
        self._changed.pending[pending.id] = pending
        self._audits.append(replace(audit, action="session.awaits_passkey"))
        return PasskeyNeeded(pending)

    def _finish(self, finish: FinishSignIn) -> SessionSaved | Refused:
        pending = self._pending(finish.pending_id)
        if pending is None or pending.email != finish.email or not pending.is_live(self._now_ms):
            return sign_in_ended()
        used = self._use(pending.id, Purpose.SIGN_IN, pending.email, finish.assertion, finish.audit)
        if isinstance(used, Refused):
            return used
        # 0 lies in the past for the clock of every node.
        self._changed.pending[pending.id] = replace(pending, expires_ms=0)
        session = Session(
            id=pending.id,
            token_hash=finish.token_hash,
            email=pending.email,
            agent=pending.agent,
            created_ms=self._now_ms,
            seen_ms=self._now_ms,
            expires_ms=self._now_ms + self._session_life_ms,
            passkey_ms=self._now_ms,
        )
        return self._sessions.begin(session, finish.audit, finish.notice)

    def _cancel(self, cancel: CancelSignIn) -> Done:
        pending = self._pending(cancel.pending_id)
        if pending is not None:
            self._changed.pending[pending.id] = replace(pending, expires_ms=0)
        return Done()

    # Challenges.

    def _start(self, start: StartCeremony) -> CeremonyStarted | Refused:
        challenge, own = start.challenge, self.of(start.email)
        refused = self._refused_start(challenge, start.email, own)
        if refused is not None:
            return refused
        self._changed.challenges[challenge.holder_id] = challenge
        return CeremonyStarted(tuple(own))

    def _refused_start(self, challenge: Challenge, email: str, own: list[Passkey]) -> Refused | None:
        if challenge.purpose is Purpose.SIGN_IN:
            pending = self._pending(challenge.holder_id)
            live = pending is not None and pending.email == email and pending.is_live(self._now_ms)
            return None if live and own else sign_in_ended()
        session = self._live_session(challenge.holder_id, email)
        if isinstance(session, Refused):
            return session
        if challenge.purpose is Purpose.REGISTER:
            return self._refused_registration(session, own)
        return None if own else Refused(Code.INVALID_STATE, "This account has no passkey. Add one first.")

    def _consume(self, holder_id: str, purpose: Purpose, challenge_hash: bytes) -> bool:
        """Whether this is the holder's challenge, still valid and not used before. It is used from now on."""
        challenge = self._changed.challenges.get(holder_id) or self._rows.challenges.get(holder_id)
        if challenge is None or challenge.purpose is not purpose or challenge.expires_ms <= self._now_ms:
            return False
        if not constant_time_equal(challenge.hash, challenge_hash):
            return False
        self._changed.challenges[holder_id] = replace(challenge, expires_ms=0)
        return True

    def _use(
        self, holder_id: str, purpose: Purpose, email: str, assertion: Assertion, audit: AuditRecord
    ) -> Passkey | Refused:
        """The passkey that made a signature, with its new counter. `audit` describes the caller."""
        if not self._consume(holder_id, purpose, assertion.challenge_hash):
            return not_verified()
        passkey = next((each for each in self.of(email) if each.credential_id == assertion.credential_id), None)
        if passkey is None:
            return not_verified()
        count = assertion.sign_count
        if (count or passkey.sign_count) and count <= passkey.sign_count:
            # An authenticator that was copied: one of the two is behind.
            changes = json.dumps({"signCount": [passkey.sign_count, count]})
            audit = replace(audit, action="passkey.refused", target_type="passkey", target_id=passkey.id)
            self._audits.append(replace(audit, changes=changes))
            return not_verified()
        return self._save(replace(passkey, sign_count=count, used_ms=self._now_ms))

    # Changes in a session.

    def _register(self, register: Register) -> PasskeySaved | Refused:
        passkey = register.passkey
        session = self._live_session(register.session_id, passkey.email)
        if isinstance(session, Refused):
            return session
        refused = self._refused_registration(session, self.of(passkey.email))
        if refused is not None:
            return refused
        if not self._consume(session.id, Purpose.REGISTER, register.challenge_hash):
            return not_verified()
        known = self._rows.passkeys | self._changed.passkeys
        taken = (each.id for each in known.values() if each.credential_id == passkey.credential_id)
        if any(passkey_id not in self._changed.removed for passkey_id in taken):
            return Refused(Code.INVALID_STATE, "This passkey is already registered.")
        self._sessions.save_session(replace(session, passkey_ms=self._now_ms))
        self._record_change(register.audit, register.message, [passkey])
        return PasskeySaved(self._save(passkey))

    def _refused_registration(self, session: Session, own: list[Passkey]) -> Refused | None:
        if not may_add(session, self._now_ms, self._rules, first=not own):
            first = "Confirm with a passkey first." if own else "Sign out, sign in again, and add it then."
            return Refused(Code.FORBIDDEN, f"This session is too old to add a passkey. {first}")
        if len(own) >= self._rules.per_account:
            most = self._rules.per_account
            return Refused(Code.PASSKEY_LIMIT, f"This account has {most} passkeys, the maximum. Remove one first.")
        return None

    def _confirm(self, confirm: Confirm) -> SessionSaved | Refused:
        session = self._live_session(confirm.session_id, confirm.email)
        if isinstance(session, Refused):
            return session
        used = self._use(session.id, Purpose.CONFIRM, session.email, confirm.assertion, confirm.audit)
        if isinstance(used, Refused):
            return used
        session = replace(session, passkey_ms=self._now_ms)
        self._sessions.save_session(session)
        self._audits.append(confirm.audit)
        return SessionSaved(session)

    def _rename(self, rename: Rename) -> PasskeySaved | Refused:
        passkey = self._own(rename.passkey_id, rename.email)
        if passkey is None:
            return unknown_passkey()
        if passkey.name != rename.name:
            self._audits.append(replace(rename.audit, changes=json.dumps({"name": [passkey.name, rename.name]})))
            passkey = self._save(replace(passkey, name=rename.name))
        return PasskeySaved(passkey)

    def _remove(self, remove: Remove) -> PasskeysRemoved | Refused:
        session = self._live_session(remove.session_id, remove.email)
        if isinstance(session, Refused):
            return session
        passkey = self._own(remove.passkey_id, remove.email)
        if passkey is None:
            return unknown_passkey()
        if confirmed_until(session, self._rules) <= self._now_ms:
            return Refused(Code.FORBIDDEN, "Confirm with a passkey first, to remove one.")
        return self._removed(remove, [passkey])

    def _remove_all(self, remove: RemoveAll) -> PasskeysRemoved:
        own = self.of(remove.email)
        return self._removed(remove, own) if own else PasskeysRemoved(())

    def _removed(self, remove: Remove | RemoveAll, passkeys: list[Passkey]) -> PasskeysRemoved:
        self._changed.removed.update(each.id for each in passkeys)
        if not self.of(remove.email):
            # Without a passkey, no session is one with a second factor.
            for session in self._sessions.sessions_of(remove.email):
                self._sessions.save_session(replace(session, passkey_ms=None))
        self._record_change(remove.audit, remove.message, passkeys)
        return PasskeysRemoved(tuple(passkeys))

    def _record_change(self, audit: AuditRecord, message: OutboxMessage, passkeys: list[Passkey]) -> None:
        """Audit a change and mail it to the owner."""
        names = ", ".join(each.name for each in passkeys)
        self._audits.append(replace(audit, changes=json.dumps({"name": names})))
        self._outbox.append(replace(message, facts=json.dumps({"name": names})))

    # Rows, overlaid with the changes of this batch.

    def _pending(self, pending_id: str) -> PendingSignIn | None:
        return self._changed.pending.get(pending_id) or self._rows.pending.get(pending_id)

    def _own(self, passkey_id: str, email: str) -> Passkey | None:
        return next((each for each in self.of(email) if each.id == passkey_id), None)

    def _save(self, passkey: Passkey) -> Passkey:
        self._changed.passkeys[passkey.id] = passkey
        return passkey

    def _live_session(self, session_id: str, email: str) -> Session | Refused:
        session = self._sessions.session(session_id)
        if session is None or session.email != email or not session.is_live(self._now_ms):
            return session_ended()
        return session
