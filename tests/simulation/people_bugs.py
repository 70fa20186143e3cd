"""Bugs of sign-ins, sessions and key creation to plant, one at a time. `device_bugs` has those of device logins."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import trio

from actors.keys import actor as key_actor
from actors.sessions import messages as sessions
from actors.sessions import state
from actors.sessions.messages import SignedIn
from actors.sessions.reader import SessionReader
from actors.sessions.state import Decision, LockSet
from actors.sessions.store import Decide
from actors.shared import code_mails, codes
from actors.shared.codes import EmailedCode
from actors.shared.credentials import fingerprint
from actors.values import BatchId, OutboxMessage, session_ended
from tests.simulation import device_bugs
from tests.simulation.identity import LinkedSessions
from tests.simulation.planting import AnswersFirst, Bugs, ReadsOutside, replaced
from tests.simulation.rules import NETWORKS, SESSIONS, Scene

BUGS = Bugs(Scene.PEOPLE)

_Batch: Any = state._Batch
_send = codes.send


# Codes.


@BUGS.around(_Batch, "_save_sign_in")
def code_used_again(right: Any, unit: Any, row: sessions.SignIn) -> None:
    """A sign-in code opens more than one session."""
    life_ms = SESSIONS.codes.life_ms
    right(unit, replace(row, code_expires_ms=unit._now_ms + life_ms) if not row.code_expires_ms else row)


@BUGS.around(state, "guess")
def guesses_uncounted(right: Any, row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    """Guesses at a sign-in code are not limited."""
    guessed, right = right(row, proof, rules, valid=valid)
    return replace(guessed, attempts=0), right


@BUGS.around(state, "guess")
def code_compared_first(right: Any, row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    """The right code is accepted after its guesses are used up."""
    guessed, right = right(row, proof, rules, valid=valid)
    return guessed, right or (valid and row.proof == proof)


@BUGS.around(state, "guess")
def guesses_one_too_few(right: Any, row: Any, proof: bytes, rules: Any, *, valid: bool) -> Any:
    """The last guess at a code is refused."""
    return right(row, proof, replace(rules, attempts=rules.attempts - 1), valid=valid)


@BUGS.around(state, "guess")
def code_without_end(right: Any, row: Any, proof: bytes, rules: Any, *, valid: bool) -> Any:
    """A sign-in code does not expire."""
    return right(row, proof, rules, valid=row.code_expires_ms != 0)


@BUGS.around(state, "guess")
def guess_kills_code(right: Any, row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    """One wrong guess uses up all."""
    guessed, right = right(row, proof, rules, valid=valid)
    return (guessed if right else replace(guessed, attempts=rules.attempts)), right


@BUGS.around(state, "renew")
def guesses_not_afresh(right: Any, row: Any, *rest: Any) -> Any:
    """A new code inherits the guesses of the previous one."""
    return replace(right(row, *rest), attempts=row.attempts)


@BUGS.around(state, "renew")
def old_code_stays(right: Any, row: Any, *rest: Any) -> Any:
    """A new code does not replace the old one."""
    return right(row, *rest) if row.proof is None else replace(right(row, *rest), proof=row.proof)


def _ruled(**wrong: Callable[[int], int]) -> Callable[..., Any]:
    """Change the rules of code_mails, by name."""

    def ruled(row: Any, now_ms: int, to: str, **rules: int) -> Any:
        return _send(row, now_ms, to, **{name: wrong.get(name, int)(rule) for name, rule in rules.items()})

    return ruled


# Letters.


@BUGS.around(code_mails, "count_id")
def letters_not_by_network(right: Any, secret: bytes, kind: str, email: str, network: str = "") -> Any:
    """A stranger's letters delay and use up the owner's."""
    return right(secret, kind, email, network and NETWORKS[0])


@BUGS.around(code_mails.Draft, "of")
def first_letters_by_network(
    right: Any, secret: bytes, subject: bytes, message: OutboxMessage, origin: code_mails.Origin
) -> Any:
    """Beyond the total, each network of a block gets a letter."""
    return right(secret, subject, message, replace(origin, block=f"alone {origin.network}"))


@BUGS.function(code_mails, "send")
def first_letters_refused(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    """Beyond the total, a new network gets no letter."""
    right = SESSIONS.letters
    return _send(
        row, now_ms, to, pause_ms=pause_ms, per_day=right.per_mailbox if per_day == right.last_resort else per_day
    )


@BUGS.function(code_mails, "send")
def known_network_counted(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    """The daily count refuses a known network."""
    most = SESSIONS.letters.per_network if to.endswith("your network") else per_day
    return _send(row, now_ms, to, pause_ms=pause_ms, per_day=most)


@BUGS.function(code_mails, "send")
def known_network_without_end(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    """A known network gets letters without end."""
    most = code_mails.UNLIMITED if to.endswith("this email") else per_day
    return _send(row, now_ms, to, pause_ms=pause_ms, per_day=most)


@BUGS.function(code_mails.CodeMailCounter, "recognise")
def network_never_known(book: Any, network_id: bytes, now_ms: int, rules: Any) -> None:
    """A network that used a code is forgotten."""


@BUGS.function(code_mails.Draft, "with_long_code")
def code_never_long(draft: code_mails.Draft) -> code_mails.Draft:
    """Codes stay short, however many are sent."""
    return draft


# Sessions.


@BUGS.function(_Batch, "_touch")
def session_never_slides(unit: Any, touch: sessions.Touch) -> Any:
    """A use does not extend a session."""
    session = unit.session(touch.session_id)
    return sessions.SessionSaved(session) if session is not None and session.is_live(unit._now_ms) else session_ended()


@BUGS.function(_Batch, "_touch")
def session_revived(unit: Any, touch: sessions.Touch) -> Any:
    """A use extends a session that has ended meanwhile."""
    session = unit.session(touch.session_id)
    expires_ms = unit._now_ms + unit._rules.life_ms
    unit.save_session(replace(session, seen_ms=unit._now_ms, expires_ms=expires_ms, revoked_ms=None))
    return sessions.SessionSaved(session)


@BUGS.function(sessions.Session, "is_live")
def session_after_its_end(session: sessions.Session, now_ms: int) -> bool:
    """An ended session still works."""
    return now_ms < session.expires_ms


@BUGS.function(_Batch, "_ended")
def session_end_forgotten(unit: Any, session: sessions.Session) -> sessions.Session:
    """Ending a session changes nothing."""
    return session


@BUGS.function(sessions.Session, "is_live")
def session_without_end(session: sessions.Session, now_ms: int) -> bool:
    """A session does not expire."""
    return session.revoked_ms is None


@BUGS.function(_Batch, "_make_room")
def session_cap_forgotten(unit: Any, email: str) -> list[str | None]:
    """The number of sessions per account is not limited."""
    return []


@BUGS.function(_Batch, "_make_room")
def session_cap_ends_newest(unit: Any, email: str) -> list[str | None]:
    """A new session ends the newest one instead of the least recently used."""
    known = unit._snapshot.sessions | unit.decision.changed.sessions
    live = [each for each in known.values() if each.email == email and each.is_live(unit._now_ms)]
    live.sort(key=lambda each: (-each.created_ms, each.id))
    ended = live[: max(0, len(live) + 1 - unit._rules.per_account)]
    for each in ended:
        unit.save_session(unit._ended(each))
    return [each.id for each in ended]


@BUGS.around(_Batch, "_end")
def session_ended_by_anybody(right: Any, unit: Any, end: sessions.EndSession) -> Any:
    """Any account may end any session."""
    session = unit.session(end.session_id)
    return right(unit, end if session is None else replace(end, email=session.email))


@BUGS.around(_Batch, "_end")
def expired_session_stays(right: Any, unit: Any, end: sessions.EndSession) -> Any:
    """A session that has expired for the node is not ended, and may be extended where a clock is behind."""
    session = unit.session(end.session_id)
    over = session is not None and session.email == end.email and not session.is_live(unit._now_ms)
    return sessions.SessionSaved(session) if over else right(unit, end)


@BUGS.around(_Batch, "_end")
def session_end_unrecorded(right: Any, unit: Any, end: sessions.EndSession) -> Any:
    """The end of a session is not audited."""
    answer = right(unit, end)
    unit.decision.audits = [audit for audit in unit.decision.audits if audit is not end.audit]
    return answer


@BUGS.part("session_reader")
class SessionRemembered(SessionReader):
    """A node caches sessions."""

    async def commit(self, batch_id: BatchId, messages: Sequence[bytes]) -> Sequence[SignedIn | None]:
        seen: dict[bytes, SignedIn] = self.__dict__.setdefault("_seen", {})
        found = await super().commit(batch_id, [each for each in messages if each not in seen])
        fresh = (each for each in found)
        answers = [seen[each] if each in seen else next(fresh) for each in messages]
        seen.update((each, answer) for each, answer in zip(messages, answers, strict=True) if answer is not None)
        return answers


# Keys.


@BUGS.function(key_actor, "fingerprint")
def key_id_not_derived(*parts: str | int) -> bytes:
    """The id of a new key does not depend on its idempotency key."""
    return fingerprint(*parts, str(trio.current_time()))


# The store.


@BUGS.part("session_store")
class SessionsReadOutside(ReadsOutside, LinkedSessions):
    """Rows are read before they are locked."""


@BUGS.part("session_store")
class GuessesLostUnderContention(LinkedSessions):
    """A guess is not counted if another node counts one meanwhile."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        found = self._snapshot(locks, now_ms).sign_ins
        decided: Decision = await super().transact(
            batch_id, locks, lambda locked: decide(replace(locked, sign_ins=found)), now_ms
        )
        return decided


@BUGS.part("session_store")
class GuessOfAnotherBrowser(LinkedSessions):
    """A guess without the browser's cookie counts against the owner's code."""

    def _snapshot(self, locks: LockSet, now_ms: int) -> Any:
        snapshot = super()._snapshot(locks, now_ms)
        for email, browser in locks.sign_ins:
            others = [row for row in self._memory.sign_ins.values() if row.email == email]
            if others and (email, browser) not in snapshot.sign_ins and email in locks.entering:
                snapshot.sign_ins[email, browser] = others[-1]
        return snapshot


@BUGS.part("session_store")
class CodeEndsThoseOfOtherBrowsers(LinkedSessions):
    """A stranger's code invalidates the owner's."""

    def _write(self, decision: Decision) -> None:
        rows = self._memory.sign_ins
        for email, browser in decision.changed.sign_ins:
            for key in [key for key in rows if key[0] == email and key[1] != browser and decision.outbox]:
                del rows[key]
        super()._write(decision)


@BUGS.part("session_store")
class SessionsAnsweredEarly(AnswersFirst, LinkedSessions):
    """Callers are answered before the commit."""


@BUGS.part("session_store")
class MessageForgotten(LinkedSessions):
    """Only one of two letters is stored."""

    def _write(self, decision: Decision) -> None:
        super()._write(replace(decision, outbox=decision.outbox[-1:]))


@BUGS.part("session_store")
class SessionCapBlind(LinkedSessions):
    """Live sessions are not read before a sign-in."""

    def _snapshot(self, locks: LockSet, now_ms: int) -> Any:
        return super()._snapshot(replace(locks, entering=()), now_ms)


@BUGS.part("session_store")
class GuessesOnceABatch(LinkedSessions):
    """Several guesses in one batch count as one."""

    def _write(self, decision: Decision) -> None:
        rows = decision.changed.sign_ins
        for key, row in list(rows.items()):
            before = self._memory.sign_ins.get(key)
            if before is not None and before.proof == row.proof and row.code_expires_ms:
                rows[key] = replace(row, attempts=min(row.attempts, before.attempts + 1))
        super()._write(decision)


BUGS.add(
    "codes-without-pause", "Codes are sent without a pause.", replaced(code_mails, "send", _ruled(pause_ms=lambda _: 0))
)
BUGS.add(
    "codes-without-day",
    "The number of codes per day is not limited.",
    replaced(code_mails, "send", _ruled(per_day=lambda _: 99)),
)
BUGS.add(
    "codes-day-too-short",
    "One code fewer than allowed is sent per day.",
    replaced(code_mails, "send", _ruled(per_day=lambda most: most - 1)),
)
BUGS.update(device_bugs.BUGS)
