"""Device logins and guesses at user codes, computed again one message at a time.

Written from RFC 8628 and `docs/adr/`. It knows no batches and no overlays, and no clock but the decision time.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from actors.clock import DAY_MS, day_of
from actors.devices import messages as devices
from actors.shared.credentials import Kind
from actors.values import Refused
from tests.doubles.tables import Memory
from tests.simulation.oracle.visits import recorded, waiting
from tests.simulation.register import Batch
from tests.simulation.rules import DEVICES

EARLY_MS, SLOWER_SECONDS, SLOWEST_SECONDS = 500, 5, 60
DECIDED = {True: "approved", False: "denied"}


@dataclass(slots=True, eq=False)
class Login:
    """One device login. `decided` has the email and session of its decision."""

    code_hash: bytes
    user_code: str
    agent: str
    ends_ms: int
    interval: int
    status: str = "pending"
    polled_ms: int | None = None
    decided: tuple[str, str] | None = None
    key_id: str | None = None


class Logins:
    """The expected answers and rows."""

    def __init__(self) -> None:
        self.logins: dict[str, Login] = {}
        self.wrong: dict[str, int] = {}
        self.locked_ms: dict[str, int] = {}
        self.met: Counter[str] = Counter()
        self._batch: Batch
        self._audits: list[tuple[str, str, str, dict[str, Any]]] = []
        self._keys: dict[str, tuple[str, str | None]] = {}

    def judge(self, memory: Memory, batch: Batch) -> Iterator[str]:
        """Repeat a transaction, and yield the differences."""
        self._batch, self._audits, self._keys = batch, [], {}
        for message, answer in batch.pairs:
            expected, actual = self._do(message), summary(answer)
            if expected != actual:
                yield f"{batch.owner} answered {message} at {batch.now_ms} with {actual} instead of {expected}"
        yield from self._rows(memory)

    # One message.

    def _do(self, message: devices.Message) -> str:
        match message:
            case devices.Start():
                return self._start(message)
            case devices.Poll():
                return self._poll(message)
            case devices.ViewDevice(user_code, session_id):
                login_id = self._typed(user_code, session_id)
                return self._seen(login_id) if login_id in self.logins else login_id
            case devices.Decide(user_code, session_id):
                login_id = self._typed(user_code, session_id)
                return self._decide(message, login_id) if login_id in self.logins else login_id
            case devices.EndApproved():
                raise AssertionError("nobody in the simulation does this")

    def _start(self, start: devices.Start) -> str:
        taken = {login.user_code for login in self.logins.values()}
        free = [code for code in start.user_codes if code not in taken]
        if not free:
            return "service_unavailable for 1 s"
        device = start.device
        ends_ms = device.created_ms + DEVICES.life_ms
        self.logins[device.id] = Login(device.code_hash, free[0], device.agent, ends_ms, DEVICES.interval_seconds)
        return self._seen(device.id)

    def _poll(self, poll: devices.Poll) -> str:
        login_id = next((id for id, login in self.logins.items() if login.code_hash == poll.code_hash), None)
        if login_id is None:
            return "invalid_code"
        login = self._now(login_id)
        match login.status:
            case "redeemed":
                return self._again(login, poll)
            case "denied":
                return "access_denied"
            case "expired":
                return "expired_token"
            case "approved":
                return self._redeem(login_id, poll)
        early_ms = None if login.polled_ms is None else self._batch.now_ms - login.polled_ms
        self.met["a poll came from the future"] += early_ms is not None and early_ms < 0
        if early_ms is not None and 0 <= early_ms < login.interval * 1_000 - EARLY_MS:
            login.interval = min(SLOWEST_SECONDS, login.interval + SLOWER_SECONDS)
            self.met["slowed down as far as can be"] += login.interval == SLOWEST_SECONDS
            return f"slow_down {login.interval}"
        self.met["recovered after slow_down"] += login.interval > DEVICES.interval_seconds
        login.polled_ms = self._batch.now_ms
        return "authorization_pending"

    def _redeem(self, login_id: str, poll: devices.Poll) -> str:
        login = self.logins[login_id]
        assert login.decided is not None
        email, session_id = login.decided
        if self._promised(email) > DEVICES.full_keys_per_account:
            # A node whose clock is ahead saw it expire, and gave its place away.
            login.status = "expired"
            self.met["a promise lapsed, and its place was taken"] += 1
            return "expired_token"
        self.met["redeemed although early"] += (
            login.polled_ms is not None and self._batch.now_ms < login.polled_ms + login.interval * 1_000 - EARLY_MS
        )
        tenant_id = self._batch.accounts[email]
        login.status, login.key_id, login.polled_ms = "redeemed", poll.key.id, self._batch.now_ms
        self._keys[poll.key.id] = tenant_id, login.agent[:64].strip() or None
        self._audits.append(("key.issued", poll.key.id, session_id, {"deviceId": login_id}))
        return f"key {poll.key.id} of {tenant_id}"

    def _again(self, login: Login, poll: devices.Poll) -> str:
        """A lost answer can be asked for once more, for a while."""
        assert login.decided is not None
        assert login.polled_ms is not None
        late = self._batch.now_ms >= login.polled_ms + DEVICES.repeat_ms
        self.met["a key was asked for again too late" if late else "a key was handed out again"] += 1
        if late or login.key_id != poll.key.id:
            return "invalid_code"
        return f"key {login.key_id} of {self._batch.accounts[login.decided[0]]}"

    def _typed(self, user_code: str, session_id: str) -> str:
        """Return the login with a user code, or the refusal."""
        now_ms = self._batch.now_ms
        if now_ms < self.locked_ms.get(session_id, 0):
            self.met["a right user code met a lock"] += any(
                login.user_code == user_code for login in self.logins.values()
            )
            return waiting(self.locked_ms[session_id] - now_ms)
        self.met["a form was unlocked"] += session_id in self.locked_ms
        login_id = next((id for id, login in self.logins.items() if login.user_code == user_code), None)
        if login_id is None:
            self._unlock(session_id)
            self.wrong[session_id] = self.wrong.get(session_id, 0) + 1
            if self.wrong[session_id] == DEVICES.wrong_codes:
                self.met["a form was locked"] += 1
                self.wrong[session_id], self.locked_ms[session_id] = 0, now_ms + DEVICES.lock_ms
            return "invalid_code"
        self._now(login_id)
        return login_id

    def _unlock(self, session_id: str) -> None:
        """If a node's clock shows that a lock is over and it writes this, the lock ends for nodes that are behind, too."""
        self.locked_ms.pop(session_id, None)

    def _decide(self, decide: devices.Decide, login_id: str) -> str:
        login, wish = self.logins[login_id], DECIDED[decide.approve]
        if login.status == "expired":
            return "expired_token"
        if login.status != "pending":
            self.met[f"decided again when {login.status}"] += 1
            same = login.decided is not None and login.decided[0] == decide.email
            return self._seen(login_id) if same and (login.status != "denied") == decide.approve else "invalid_state"
        if decide.approve and self._promised(decide.email) >= DEVICES.full_keys_per_account:
            return "key_limit"
        if decide.approve and self._made_today(decide.email) >= DEVICES.keys_per_day:
            self.met["an approval met the keys of the day"] += 1
            return waiting(DAY_MS - self._batch.now_ms % DAY_MS)
        login.status, login.decided = wish, (decide.email, decide.session_id)
        self.met["wrong user codes were forgiven"] += self.wrong.get(decide.session_id, 0) > 0
        self.wrong[decide.session_id] = 0
        self._unlock(decide.session_id)
        self._audits.append((f"device.{wish}", login_id, decide.session_id, {"agent": login.agent}))
        return self._seen(login_id)

    def _now(self, login_id: str) -> Login:
        login = self.logins[login_id]
        if login.status in ("pending", "approved") and self._batch.now_ms >= login.ends_ms:
            self.met[f"expired when {login.status}"] += 1
            login.status = "expired"
        return login

    def _promised(self, email: str) -> int:
        """Return the full keys of an account, plus those promised to approved devices."""
        return self._batch.full_keys.get(self._batch.accounts[email], 0) + self._fresh(email)

    def _made_today(self, email: str) -> int:
        """Return the keys that an account made since midnight, plus those promised to approved devices."""
        tenant_id, today = self._batch.accounts[email], day_of(self._batch.now_ms)
        made = sum(count for (owner, day), count in self._batch.made.items() if owner == tenant_id and day >= today)
        return made + self._fresh(email)

    def _fresh(self, email: str) -> int:
        """Return the keys of an account from this batch, plus those promised."""
        waiting = [
            login
            for login in self.logins.values()
            if login.status == "approved"
            and self._batch.now_ms < login.ends_ms
            and login.decided is not None
            and login.decided[0] == email
        ]
        return len(waiting) + sum(owner == self._batch.accounts[email] for owner, _ in self._keys.values())

    def _seen(self, login_id: str) -> str:
        login = self.logins[login_id]
        return f"{login_id} {login.user_code} {login.status} {login.interval} of {login.decided} ends {login.ends_ms}"

    # Rows.

    def _rows(self, memory: Memory) -> Iterator[str]:
        batch = self._batch
        for login_id in sorted({*memory.devices, *self.logins}):
            device = memory.devices.get(login_id)
            stored = "nothing" if device is None else described(device)
            expected = self._seen(login_id) if login_id in self.logins else "nothing"
            if stored != expected:
                yield f"{batch.owner} left {stored}, not {expected}"
            elif device is not None and device.key_id != self.logins[login_id].key_id:
                yield f"{batch.owner} left {login_id} with {device.key_id}, not with {self.logins[login_id].key_id}"
        made = {key_id: (memory.keys[key_id].tenant_id, memory.keys[key_id].name) for key_id in batch.key_ids}
        if made != self._keys or any(memory.keys[key_id].kind is not Kind.USER for key_id in made):
            yield f"{batch.owner} made {made}, not {self._keys}"
        mails = sorted((mail.template, mail.recipient, json.loads(mail.facts)["target"]) for mail in batch.letters)
        owners = {tenant_id: email for email, tenant_id in batch.accounts.items()}
        due = sorted(("new_key", owners[tenant_id], key_id) for key_id, (tenant_id, _) in self._keys.items())
        if mails != due:
            yield f"{batch.owner} wrote the mails {mails}, not {due}"
        actual = [recorded(audit) for audit in batch.audits]
        if actual != self._audits:
            yield f"{batch.owner} recorded {actual}, not {self._audits}"


def described(device: devices.Device) -> str:
    """Convert a row to the form used here."""
    decided = None if device.email is None else (device.email, device.session_id)
    return f"{device.id} {device.user_code} {device.status} {device.interval_seconds} of {decided} ends {device.expires_ms}"


def summary(answer: Any) -> str:
    """Convert an answer to the form used here."""
    match answer:
        case devices.DeviceView(device):
            return described(device)
        case devices.Redeemed(key):
            return f"key {key.id} of {key.tenant_id}"
        case Refused(interval_seconds=int() as seconds):
            return f"{answer.code} {seconds}"
        case Refused(retry_after_seconds=int() as seconds):
            return f"{answer.code} for {seconds} s"
        case Refused():
            return str(answer.code)
    return repr(answer)
