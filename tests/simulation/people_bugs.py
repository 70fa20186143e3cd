"""Bugs of sign-ins, sessions and key creation to plant, one at a time. `device_bugs` has those of device logins."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from actors.shared.ids import fingerprint
from actors.values import BatchId, Contended, OutboxMessage, OutcomeUnknown, StorageUnavailable
from tests.simulation import device_bugs
from tests.simulation.faults import Link, SimulatedBug
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.reception import LinkedSessions
from tests.simulation.rules import NETWORKS, SESSIONS, Scene

_Batch: Any = state._Batch
_guess, _renew, _send = codes.guess, codes.renew, codes.send
_count_id, _draft = code_mails.count_id, code_mails.Draft.of
_save_sign_in, _end = _Batch._save_sign_in, _Batch._end


# Codes.


def _used_again(unit: Any, row: sessions.SignIn) -> None:
    life_ms = SESSIONS.codes.life_ms
    _save_sign_in(unit, replace(row, code_expires_ms=unit._now_ms + life_ms) if not row.code_expires_ms else row)


def _uncounted(row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    guessed, right = _guess(row, proof, rules, valid=valid)
    return replace(guessed, attempts=0), right


def _compared_first(row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    guessed, right = _guess(row, proof, rules, valid=valid)
    return guessed, right or (valid and row.proof == proof)


def _spent_too_soon(row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    return _guess(row, proof, replace(rules, attempts=rules.attempts - 1), valid=valid)


def _immortal_code(row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    return _guess(row, proof, rules, valid=row.code_expires_ms != 0)


def _dead_at_once(row: Any, proof: bytes, rules: Any, *, valid: bool) -> tuple[EmailedCode, bool]:
    """One wrong guess invalidates the code."""
    guessed, right = _guess(row, proof, rules, valid=valid)
    return (guessed if right else replace(guessed, attempts=rules.attempts)), right


def _guesses_stay(row: Any, *rest: Any) -> Any:
    return replace(_renew(row, *rest), attempts=row.attempts)


def _old_code_stays(row: Any, *rest: Any) -> Any:
    return _renew(row, *rest) if row.proof is None else replace(_renew(row, *rest), proof=row.proof)


def _ruled(**wrong: Callable[[int], int]) -> Callable[..., Any]:
    """Change the rules of code_mails, by name."""

    def ruled(row: Any, now_ms: int, to: str, **rules: int) -> Any:
        return _send(row, now_ms, to, **{name: wrong.get(name, int)(rule) for name, rule in rules.items()})

    return ruled


# Letters.


def _of_all_networks(secret: bytes, kind: str, email: str, network: str = "") -> bytes:
    return _count_id(secret, kind, email, network and NETWORKS[0])


def _of_networks_alone(
    secret: bytes, subject: bytes, message: OutboxMessage, origin: code_mails.Origin
) -> code_mails.Draft:
    return _draft(secret, subject, message, replace(origin, block=f"alone {origin.network}"))


def _no_first_letter(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    right = SESSIONS.letters
    return _send(
        row, now_ms, to, pause_ms=pause_ms, per_day=right.per_mailbox if per_day == right.last_resort else per_day
    )


def _counted_though_known(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    most = SESSIONS.letters.per_network if to.endswith("your network") else per_day
    return _send(row, now_ms, to, pause_ms=pause_ms, per_day=most)


def _without_end(row: Any, now_ms: int, to: str, *, pause_ms: int, per_day: int) -> Any:
    most = code_mails.UNLIMITED if to.endswith("this email") else per_day
    return _send(row, now_ms, to, pause_ms=pause_ms, per_day=most)


def _never_known(book: Any, network_id: bytes, now_ms: int, rules: Any) -> None:
    """Remembers no network."""


def _never_long(draft: code_mails.Draft) -> code_mails.Draft:
    return draft


# Sessions.


def _never_slides(unit: Any, touch: sessions.Touch) -> Any:
    session = unit.session(touch.session_id)
    return (
        sessions.SessionSaved(session)
        if session is not None and session.is_live(unit._now_ms)
        else state._not_signed_in()
    )


def _revived(unit: Any, touch: sessions.Touch) -> Any:
    """Extends a session even if it has ended meanwhile."""
    session = unit.session(touch.session_id)
    expires_ms = unit._now_ms + unit._rules.life_ms
    unit.save_session(replace(session, seen_ms=unit._now_ms, expires_ms=expires_ms, revoked_ms=None))
    return sessions.SessionSaved(session)


def _unrevoked(session: sessions.Session, now_ms: int) -> bool:
    return now_ms < session.expires_ms


def _unrevoked_at_all(unit: Any, session: sessions.Session) -> sessions.Session:
    return session


def _unending(session: sessions.Session, now_ms: int) -> bool:
    return session.revoked_ms is None


def _no_room_made(unit: Any, email: str) -> list[str | None]:
    return []


def _newest_ends(unit: Any, email: str) -> list[str | None]:
    known = unit._snapshot.sessions | unit.decision.changed.sessions
    live = [each for each in known.values() if each.email == email and each.is_live(unit._now_ms)]
    live.sort(key=lambda each: (-each.created_ms, each.id))
    ended = live[: max(0, len(live) + 1 - unit._rules.per_account)]
    for each in ended:
        unit.store_checkout_session(unit._ended(each))
    return [each.id for each in ended]


def _anybody_ends(unit: Any, end: sessions.EndSession) -> Any:
    session = unit.session(end.session_id)
    return _end(unit, end if session is None else replace(end, email=session.email))


def _ended_unrecorded(unit: Any, end: sessions.EndSession) -> Any:
    answer = _end(unit, end)
    unit.decision.audits = [audit for audit in unit.decision.audits if audit is not end.audit]
    return answer


class _Remembering(SessionReader):
    """Caches each session it has found."""

    async def commit(self, batch_id: BatchId, messages: Sequence[bytes]) -> Sequence[SignedIn | None]:
        seen: dict[bytes, SignedIn] = self.__dict__.setdefault("_seen", {})
        found = await super().commit(batch_id, [each for each in messages if each not in seen])
        fresh = (each for each in found)
        answers = [seen[each] if each in seen else next(fresh) for each in messages]
        seen.update((each, answer) for each, answer in zip(messages, answers, strict=True) if answer is not None)
        return answers


# Keys.


def _always_new(*parts: str | int) -> bytes:
    return fingerprint(*parts, str(trio.current_time()))


# The store.


class _Unlocked(LinkedSessions):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        found = self._snapshot(locks, now_ms)
        return await super().transact(batch_id, locks, lambda locked: decide(found), now_ms)


class _StaleGuesses(LinkedSessions):
    """Reads sign-in codes before it locks them, so that guesses on another node in between are lost."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        found = self._snapshot(locks, now_ms).sign_ins
        return await super().transact(batch_id, locks, lambda locked: decide(replace(locked, sign_ins=found)), now_ms)


class _AnyBrowser(LinkedSessions):
    """Takes a guess in a browser without a code for a guess at the code of another browser."""

    def _snapshot(self, locks: LockSet, now_ms: int) -> Any:
        snapshot = super()._snapshot(locks, now_ms)
        for email, browser in locks.sign_ins:
            others = [row for row in self._memory.sign_ins.values() if row.email == email]
            if others and (email, browser) not in snapshot.sign_ins and email in locks.entering:
                snapshot.sign_ins[email, browser] = others[-1]
        return snapshot


class _OneCodeForAll(LinkedSessions):
    """A new code ends those of all other browsers."""

    def _write(self, decision: Decision) -> None:
        rows = self._memory.sign_ins
        for email, browser in decision.changed.sign_ins:
            for key in [key for key in rows if key[0] == email and key[1] != browser and decision.outbox]:
                del rows[key]
        super()._write(decision)


class _Eager(LinkedSessions):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        link, commit = self._memory, super().transact
        assert isinstance(link, Link)

        one_by_one: trio.Lock = self.__dict__.setdefault("_one_by_one", trio.Lock())

        async def later() -> None:
            with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
                async with one_by_one:
                    await commit(batch_id, locks, decide, now_ms)

        link.node.server.start_soon(later)
        decided = decide(self._snapshot(locks, now_ms))
        await trio.lowlevel.checkpoint()
        return decided


class _OneMessageOnly(LinkedSessions):
    """Keeps only the last of several letters in one transaction."""

    def _write(self, decision: Decision) -> None:
        super()._write(replace(decision, outbox=decision.outbox[-1:]))


class _OneCandidate(LinkedSessions):
    """Reads only the named sessions, not those that a sign-in may have to end."""

    def _snapshot(self, locks: LockSet, now_ms: int) -> Any:
        return super()._snapshot(replace(locks, entering=()), now_ms)


class _ShortLock(LinkedSessions):
    """Counts at most one guess per transaction."""

    def _write(self, decision: Decision) -> None:
        rows = decision.changed.sign_ins
        for key, row in list(rows.items()):
            before = self._memory.sign_ins.get(key)
            if before is not None and before.proof == row.proof and row.code_expires_ms:
                rows[key] = replace(row, attempts=min(row.attempts, before.attempts + 1))
        super()._write(decision)


def _in_batch(name: str, wrong: Callable[..., Any]) -> Plant:
    return replaced(_Batch, name, wrong)


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.PEOPLE)


_BUGS: Mapping[str, Bug] = {
    "code-used-again": _bug("A sign-in code opens more than one session.", _in_batch("_save_sign_in", _used_again)),
    "guesses-uncounted": _bug("Guesses at a sign-in code are not limited.", replaced(state, "guess", _uncounted)),
    "code-compared-first": _bug(
        "The right code is accepted after its guesses are used up.", replaced(state, "guess", _compared_first)
    ),
    "guesses-one-too-few": _bug("The last guess at a code is refused.", replaced(state, "guess", _spent_too_soon)),
    "guess-kills-code": _bug("One wrong guess uses up all.", replaced(state, "guess", _dead_at_once)),
    "guesses-once-a-batch": _bug("Several guesses in one batch count as one.", swapped(session_store=_ShortLock)),
    "code-without-end": _bug("A sign-in code does not expire.", replaced(state, "guess", _immortal_code)),
    "guesses-not-afresh": _bug(
        "A new code inherits the guesses of the previous one.", replaced(state, "renew", _guesses_stay)
    ),
    "old-code-stays": _bug("A new code does not replace the old one.", replaced(state, "renew", _old_code_stays)),
    "codes-without-pause": _bug(
        "Codes are sent without a pause.", replaced(code_mails, "send", _ruled(pause_ms=lambda _: 0))
    ),
    "codes-without-day": _bug(
        "The number of codes per day is not limited.", replaced(code_mails, "send", _ruled(per_day=lambda _: 99))
    ),
    "codes-day-too-short": _bug(
        "One code fewer than allowed is sent per day.",
        replaced(code_mails, "send", _ruled(per_day=lambda most: most - 1)),
    ),
    "guess-of-another-browser": _bug(
        "A guess without the browser's cookie counts against the owner's code.", swapped(session_store=_AnyBrowser)
    ),
    "guesses-lost-under-contention": _bug(
        "A guess is not counted if another node counts one meanwhile.", swapped(session_store=_StaleGuesses)
    ),
    "code-ends-those-of-other-browsers": _bug(
        "A stranger's code invalidates the owner's.", swapped(session_store=_OneCodeForAll)
    ),
    "letters-not-by-network": _bug(
        "A stranger's letters delay and use up the owner's.", replaced(code_mails, "count_id", _of_all_networks)
    ),
    "first-letters-by-network": _bug(
        "Beyond the total, each network of a block gets a letter.", replaced(code_mails.Draft, "of", _of_networks_alone)
    ),
    "first-letters-refused": _bug(
        "Beyond the total, a new network gets no letter.", replaced(code_mails, "send", _no_first_letter)
    ),
    "network-never-known": _bug(
        "A network that used a code is forgotten.", replaced(code_mails.CodeMailCounter, "recognise", _never_known)
    ),
    "known-network-counted": _bug(
        "The daily count refuses a known network.", replaced(code_mails, "send", _counted_though_known)
    ),
    "known-network-without-end": _bug(
        "A known network gets letters without end.", replaced(code_mails, "send", _without_end)
    ),
    "code-never-long": _bug(
        "Codes stay short, however many are sent.", replaced(code_mails.Draft, "lengthened", _never_long)
    ),
    "session-never-slides": _bug("A use does not extend a session.", _in_batch("_touch", _never_slides)),
    "session-revived": _bug("A use extends a session that has ended meanwhile.", _in_batch("_touch", _revived)),
    "session-after-its-end": _bug("An ended session still works.", replaced(sessions.Session, "is_live", _unrevoked)),
    "session-end-forgotten": _bug("Ending a session changes nothing.", _in_batch("_ended", _unrevoked_at_all)),
    "session-without-end": _bug("A session does not expire.", replaced(sessions.Session, "is_live", _unending)),
    "session-cap-forgotten": _bug(
        "The number of sessions per account is not limited.", _in_batch("_make_room", _no_room_made)
    ),
    "session-cap-ends-newest": _bug(
        "A new session ends the newest one instead of the least recently used.", _in_batch("_make_room", _newest_ends)
    ),
    "session-cap-blind": _bug("Live sessions are not read before a sign-in.", swapped(session_store=_OneCandidate)),
    "session-ended-by-anybody": _bug("Any account may end any session.", _in_batch("_end", _anybody_ends)),
    "session-end-unrecorded": _bug("The end of a session is not audited.", _in_batch("_end", _ended_unrecorded)),
    "session-remembered": _bug("A node caches sessions.", swapped(session_reader=_Remembering)),
    "sessions-read-outside": _bug("Rows are read before they are locked.", swapped(session_store=_Unlocked)),
    "sessions-answered-early": _bug("Callers are answered before the commit.", swapped(session_store=_Eager)),
    "message-forgotten": _bug("Only one of two letters is kept.", swapped(session_store=_OneMessageOnly)),
    "key-id-not-derived": _bug(
        "The id of a new key does not depend on its idempotency key.", replaced(key_actor, "fingerprint", _always_new)
    ),
}
BUGS: Mapping[str, Bug] = {**_BUGS, **device_bugs.BUGS}
