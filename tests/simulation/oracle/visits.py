"""Sign-ins and sessions, computed again one message at a time.

Written from `docs/adr/`, not from the product: a code is what happened since it was sent, not a row. Knows no batches,
no overlays, and no clock but the one a transaction was decided with.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from actors.clock import DAY_MS, SECOND_MS, day_of
from actors.sessions import messages as sessions
from actors.shared.browsers import browser
from actors.shared.credentials import code_from, code_proof, digest
from actors.values import AuditRecord, Done, OutboxMessage, Refused
from tests.doubles.tables import Memory
from tests.simulation.register import Batch
from tests.simulation.rules import BLOCKS, SECRET, SESSIONS

SUBJECT = digest("sign-in")


@dataclass(slots=True, eq=False)
class Codes:
    """The last code sent to one email for one browser, and its fate."""

    sent_ms: int
    proof: bytes
    guesses: int = 0
    used: bool = False

    @property
    def ends_ms(self) -> int:
        return 0 if self.used else self.sent_ms + SESSIONS.codes.life_ms

    def guess(self, proof: bytes, now_ms: int) -> bool:
        if self.used or now_ms >= self.ends_ms or self.guesses >= SESSIONS.codes.attempts:
            return False
        self.guesses += 1
        self.used = proof == self.proof
        return self.used

    def lost(self, proof: bytes) -> str:
        """Why a code that was once right is no longer valid."""
        if proof != self.proof:
            return "older than another"
        if self.used:
            return "used"
        return "spent by guesses" if self.guesses >= SESSIONS.codes.attempts else "too late"


@dataclass(slots=True, eq=False)
class Letters:
    """The letters to one email: the days of those that each network, each block and, as "", the mailbox have counted; the
    time of each network's last one; and until when a network that used a code is known. Letters to known networks do not
    count for their block. A day of a count never goes back, whatever the clock of a node says."""

    days: dict[str, list[int]] = field(default_factory=dict)
    sent_ms: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)

    def send(self, network: str, now_ms: int) -> str:
        rules, block = SESSIONS.letters, BLOCKS[network]
        pause_ms = self.sent_ms.get(network, now_ms - rules.pause_ms) + rules.pause_ms - now_ms
        if pause_ms > 0:
            return waiting(pause_ms)
        known, beyond = now_ms < self.known.get(network, 0), self._today(network, now_ms) >= rules.per_network
        total = self._today("", now_ms)
        if beyond and not known:
            return self._tomorrow(network, now_ms)
        if beyond and total >= rules.last_resort:
            return f"{self._tomorrow('', now_ms)}, as a known network"
        first = self._today(block, now_ms) == 0
        if not known and total >= (rules.last_resort if first else rules.per_mailbox):
            return f"{self._tomorrow('', now_ms)}, as a new network"
        for count in ("", network) if known else ("", network, block):
            self.days.setdefault(count, []).append(self._day(count, now_ms))
        self.sent_ms[network] = now_ms
        return "sent, as a known network beyond its count" if beyond else "sent"

    def is_long(self, network: str, now_ms: int) -> bool:
        """Whether the letter that was just sent has a long code."""
        rules = SESSIONS.letters
        return self._today("", now_ms) > rules.short_codes or self._today(network, now_ms) > rules.per_network

    def _day(self, count: str, now_ms: int) -> int:
        return max(day_of(now_ms), *self.days.get(count, ()), 0)

    def _tomorrow(self, count: str, now_ms: int) -> str:
        """The wait until the day of a count is over, which may be the next day of the node that refuses."""
        return waiting((self._day(count, now_ms) + 1) * DAY_MS - now_ms)

    def _today(self, count: str, now_ms: int) -> int:
        return self.days.get(count, []).count(self._day(count, now_ms))


@dataclass(frozen=True, slots=True)
class Seat:
    """The state of a session: it lives until `ends_ms` unless `ended`."""

    email: str
    token_hash: bytes
    seen_ms: int
    ends_ms: int
    ended: bool = False

    def lives(self, now_ms: int) -> bool:
        return not self.ended and now_ms < self.ends_ms


class Visits:
    """The expected answers and rows. `versions` has each state of a session with its first tick."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, bytes], Codes] = {}
        self.letters: dict[str, Letters] = {}
        self.seats: dict[str, Seat] = {}
        self.versions: dict[str, list[tuple[int, Seat]]] = {}
        self.met: Counter[str] = Counter()
        self._proofs: set[bytes] = set()
        self._batch: Batch
        self._accounts: set[str] = set()
        self._audits: list[tuple[str, str, str, dict[str, Any]]] = []
        self._sent: list[OutboxMessage] = []
        self._counted: list[tuple[bytes, str, str]] = []

    def judge(self, memory: Memory, batch: Batch) -> Iterator[str]:
        """Repeat a transaction; yield the differences."""
        self._batch, self._accounts, self._audits, self._sent = batch, set(batch.accounts), [], []
        self._counted = []
        before = dict(self.seats)
        for (message, answer), network in zip(batch.pairs, batch.networks, strict=True):
            expected, actual = self._do(message, network), summary(answer)
            if expected != actual:
                yield f"{batch.owner} answered {_named(message)} at {batch.now_ms} with {actual}, and not with {expected}"
        yield from self._rows(memory)
        yield from self._counts(memory)
        for session_id, seat in self.seats.items():
            if before.get(session_id) is not seat:
                self.versions.setdefault(session_id, []).append((batch.tick, seat))

    def _counts(self, memory: Memory) -> Iterator[str]:
        """Each count of letters is of its newest day, whatever the clock of the node says."""
        for count_id, email, count in self._counted:
            row, days = memory.letters.get(count_id), self.letters[email].days.get(count, [])
            newest = (max(days, default=0), days.count(max(days, default=0)))
            counted = (0, 0) if row is None else (row.sent_day, row.sent_today)
            if counted != newest:
                yield f"{self._batch.owner} counts {counted} for letters to {email} from {count}, and not {newest}"

    # One message.

    def _do(self, message: sessions.Message, network: str) -> str:
        match message:
            case sessions.StartSignIn():
                return self._start(message, network)
            case sessions.CompleteSignIn():
                return self._complete(message, network)
            case sessions.IssueLink() | sessions.UseLink():
                raise AssertionError("nobody here uses links")
            case sessions.Touch():
                return self._touch(message.session_id)
            case sessions.EndSession():
                return self._end(message)
            case _:
                raise AssertionError(f"nobody in the simulation does this: {message}")

    def _start(self, start: sessions.StartSignIn, network: str) -> str:
        message, now_ms = start.draft.message, self._batch.now_ms
        letters = self.letters.setdefault(start.email, Letters())
        answer, _, place = letters.send(network, now_ms).partition(", as ")
        self.met["a letter was refused to a new network"] += place == "a new network"
        self.met["a letter was refused to a known network"] += place == "a known network"
        self.met["a known network got more letters than its count"] += place == "a known network beyond its count"
        if answer == "sent":
            code = code_from(SECRET, message.nonce)
            if letters.is_long(network, now_ms):
                self.met["a code was long"] += 1
                code += code_from(SECRET, b"long\0" + message.nonce)
                message = replace(message, template="sign_in_code_long")
            right = code_proof(SECRET, SUBJECT, start.email, code)
            self.codes[start.email, start.browser] = Codes(now_ms, right)
            self._proofs.add(right)
            self._sent.append(message)
            ids = {start.draft.network_id: network, start.draft.block_id: BLOCKS[network], start.draft.mailbox_id: ""}
            self._counted += [(count_id, start.email, count) for count_id, count in ids.items()]
        return answer

    def _complete(self, complete: sessions.CompleteSignIn, network: str) -> str:
        session, now_ms = complete.session, self._batch.now_ms
        codes = self.codes.get((session.email, complete.browser))
        if codes is None or not codes.guess(complete.proof, now_ms):
            if complete.proof in self._proofs:
                lost = "of another browser" if codes is None else codes.lost(complete.proof)
                self.met[f"a right code was {lost}"] += 1
            return "invalid_code"
        self.letters[session.email].known[network] = now_ms + SESSIONS.letters.known_ms
        self.met[f"signed in at guess {codes.guesses}"] += 1
        changes: dict[str, Any] = {}
        if session.email not in self._accounts:
            self._accounts.add(session.email)
            changes["tenantId"] = [None, complete.tenant_id]
        live = [id for id, seat in self.seats.items() if seat.email == session.email and seat.lives(now_ms)]
        live.sort(key=lambda id: (self.seats[id].seen_ms, id))
        surplus = len(live) + 1 - SESSIONS.per_account
        if surplus > 0:
            self.met["a session ended for a newer one"] += 1
            changes["ended"] = live[:surplus]
            for session_id in live[:surplus]:
                self._close(session_id)
        began_ms = session.created_ms
        self.seats[session.id] = Seat(session.email, session.token_hash, began_ms, began_ms + SESSIONS.life_ms)
        self._audits.append(("session.started", session.id, session.id, changes))
        if complete.notice is not None:
            facts = {"ends": "session", "target": session.id, "label": browser(session.agent)}
            self._sent.append(replace(complete.notice, recipient=session.email, facts=json.dumps(facts)))
        return self._described(session.id)

    def _touch(self, session_id: str) -> str:
        seat, now_ms = self.seats.get(session_id), self._batch.now_ms
        if seat is None or not seat.lives(now_ms):
            self.met["a use came after the session's end"] += 1
            return "unauthorized"
        if now_ms - seat.seen_ms >= SESSIONS.touch_ms:
            self.seats[session_id] = replace(seat, seen_ms=now_ms, ends_ms=now_ms + SESSIONS.life_ms)
            self.met["a session slid"] += 1
        return self._described(session_id)

    def _end(self, end: sessions.EndSession) -> str:
        seat = self.seats.get(end.session_id)
        if seat is None or seat.email != end.email:
            return "not_found"
        self.met["a session was ended again"] += seat.ended
        if not seat.ended:
            self.met["a session was ended after it had expired"] += not seat.lives(self._batch.now_ms)
            self._close(end.session_id)
            self.met["a session was ended by another"] += end.session_id != end.audit.actor_id
            self._audits.append(("session.ended", end.session_id, end.audit.actor_id, {}))
        return self._described(end.session_id)

    def _close(self, session_id: str) -> None:
        seat = self.seats[session_id]
        self.seats[session_id] = replace(seat, ended=True, ends_ms=min(seat.ends_ms, self._batch.now_ms))

    def _described(self, session_id: str) -> str:
        seat = self.seats[session_id]
        return f"session {session_id} seen {seat.seen_ms} ends {seat.ends_ms} ended {seat.ended}"

    # Rows.

    def _rows(self, memory: Memory) -> Iterator[str]:
        batch = self._batch
        stored = {
            session.id: Seat(
                session.email, session.token_hash, session.seen_ms, session.expires_ms, session.revoked_ms is not None
            )
            for session in memory.sessions.values()
        }
        for session_id in sorted({*stored, *self.seats}):
            if stored.get(session_id) != self.seats.get(session_id):
                yield f"{batch.owner} left {session_id} as {stored.get(session_id)}, not as {self.seats.get(session_id)}"
        yield from self._codes_rows(memory)
        if list(batch.letters) != self._sent:
            yield f"{batch.owner} put {batch.letters} into the outbox, not {self._sent}"
        if set(memory.accounts) != self._accounts:
            yield f"{batch.owner} left accounts {sorted(set(memory.accounts) ^ self._accounts)} wrongly"
        actual = [recorded(audit) for audit in batch.audits]
        if actual != self._audits:
            yield f"{batch.owner} recorded {actual}, not {self._audits}"

    def _codes_rows(self, memory: Memory) -> Iterator[str]:
        """The guesses at each code are those of its own browser. A code that has ended may be gone."""
        for key, codes in self.codes.items():
            row = memory.sign_ins.get(key)
            if row is not None:
                actual = (row.proof, row.attempts, row.code_expires_ms)
                expected = (codes.proof, codes.guesses, codes.ends_ms)
                if actual != expected:
                    yield f"{self._batch.owner} left the code of {key[0]} as {actual}, not as {expected}"
            elif self._batch.now_ms < codes.ends_ms:
                yield f"{self._batch.owner} left no code of {key[0]}, which ends at {codes.ends_ms}"
        for key in memory.sign_ins:
            if key not in self.codes:
                yield f"{self._batch.owner} left a code of {key[0]} that no letter brought"


def waiting(wait_ms: int) -> str:
    """The refusal with its waiting time, rounded up to whole seconds."""
    return f"rate_limited for {-(-wait_ms // SECOND_MS)} s"


def summary(answer: Any) -> str:
    """An answer in the words of this module."""
    match answer:
        case Done():
            return "sent"
        case sessions.SessionSaved(session):
            ended = session.revoked_ms is not None
            return f"session {session.id} seen {session.seen_ms} ends {session.expires_ms} ended {ended}"
        case Refused(retry_after_seconds=int() as seconds):
            return f"{answer.code} for {seconds} s"
        case Refused():
            return str(answer.code)
    return repr(answer)


def recorded(audit: AuditRecord) -> tuple[str, str, str, dict[str, Any]]:
    """The action, target, agent and changes of a record."""
    return audit.action, audit.target_id, audit.actor_id, json.loads(audit.changes)


def _named(message: Any) -> str:
    whom = getattr(message, "email", None) or getattr(message, "session_id", None)
    return f"{type(message).__name__} of {whom or message.session.email}"
