"""Device logins through the stores: sends the authorizer's messages like its actor, and creates the rows they need."""

from collections.abc import Sequence
from dataclasses import fields, replace

from actors.devices.messages import (
    Answer,
    ApprovedEnded,
    Decide,
    Device,
    DeviceView,
    FreshKey,
    Poll,
    Redeemed,
    Start,
    ViewDevice,
)
from actors.devices.state import DeviceRules, decide, rows_to_lock
from actors.keys.messages import Issue, Key
from actors.keys.state import KeyRules
from actors.keys.state import decide as decide_keys
from actors.keys.state import rows_to_lock as wanted_of_keys
from actors.sessions.messages import Session
from actors.sessions.second_factor import Passkey
from actors.shared.credentials import Kind
from actors.values import AuditRecord, BatchId, Refused
from storage.connection.pool import Database
from tests.stores.conftest import Stores

NOW = 1_790_000_000_000
LATE = NOW + 900_000
ANN, BOB = "ann@example.com", "bob@example.com"
ALPHABET = "BCDFGHJKLM"


def hash_of(number: int, mark: str = "d") -> bytes:
    return f"{mark}{number}".encode().rjust(32, b"-")


def code(number: int) -> str:
    """The user code of a device."""
    return "".join(ALPHABET[int(digit)] for digit in f"{number:08}")


def device(number: int, now_ms: int = NOW) -> Device:
    """A started login, as a store returns it."""
    return Device(
        f"dev_{number}", hash_of(number), code(number), "a-program/1.0", "203.0.113.7", now_ms, now_ms + 900_000, 5
    )


def start(number: int, *codes: str, now_ms: int = NOW) -> Start:
    return Start(replace(device(number, now_ms), user_code=""), codes or (code(number),))


def poll(number: int, key: int | None = None) -> Poll:
    name = number if key is None else key
    fresh = FreshKey(f"key_of_{name}", hash_of(name, "k"), f"cs_user_{name:04}", "", NOW)
    return Poll(hash_of(number), fresh, f"aud_poll_{name}", "req")


def look(typed: str, session: int = 1) -> ViewDevice:
    return ViewDevice(typed, f"ses_{session}")


def deciding(number: int, *, approve: bool = True, session: int = 1, email: str = ANN) -> Decide:
    return Decide(code(number), f"ses_{session}", email, approve, f"aud_decide_{number}_{session}", "req")


def issue(number: int, email: str = ANN) -> Issue:
    """A full key of an account, issued by the dashboard or an operator."""
    key = Key(f"key_{number}", hash_of(number, "i"), f"cs_user_{number:04}", Kind.USER, f"ten_{number}", NOW)
    return Issue(key, email, AuditRecord(f"aud_{number}", NOW, "cli", "uid 0", "key.issued", "key", key.id))


class Logins:
    """The authorizer and the key actor of one node, with one batch id per call."""

    def __init__(self, stores: Stores, node: str = "node1", rules: DeviceRules | None = None) -> None:
        self.stores = stores
        self.node = node
        self.rules = rules or DeviceRules()
        self.batches = 0

    def next_batch_id(self) -> BatchId:
        self.batches += 1
        return BatchId(f"{self.node}/devices", self.batches)

    async def send(
        self, *messages: Start | Poll | ViewDevice | Decide, now_ms: int = NOW, batch_id: BatchId | None = None
    ) -> Sequence[Answer]:
        decision = await self.stores.devices.transact(
            batch_id or self.next_batch_id(),
            rows_to_lock(messages),
            lambda snapshot: decide(snapshot, messages, now_ms, self.rules),
            now_ms,
        )
        return decision.answers

    async def words(self, *messages: Start | Poll | ViewDevice | Decide, now_ms: int = NOW) -> list[str]:
        return [word(answer) for answer in await self.send(*messages, now_ms=now_ms)]

    async def issue(self, number: int, email: str = ANN, *, now_ms: int = NOW) -> str:
        """Issue a full key. Returns "kept" or the code of the refusal."""
        message = issue(number, email)
        decision = await self.stores.keys.transact(
            BatchId(f"{self.node}/keys", self.next_batch_id().seq),
            wanted_of_keys([message]),
            lambda snapshot: decide_keys(snapshot, [message], now_ms, KeyRules()),
            now_ms,
        )
        [answer] = decision.answers
        return str(answer.code) if isinstance(answer, Refused) else "kept"

    async def settle(self, *emails: str) -> None:
        """Create accounts with one full key and one session each: `ses_1` for the first, `ses_2` for the second."""
        for place, email in enumerate(emails, start=1):
            assert await self.issue(9_000 + place, email) == "kept"
            await self.session(place, email)

    async def session(self, number: int, email: str) -> None:
        session = Session(f"ses_{number}", hash_of(number, "s"), email, "A browser", NOW, NOW, NOW + 10**9)
        below = self.stores.below
        if not isinstance(below, Database):
            below.sessions[session.id] = session
            return
        columns = "id, token_hash, email, agent, created_ms, seen_ms, expires_ms"
        await below.read(
            lambda connection: connection.execute(
                f"insert into sessions ({columns}) values ($1, $2, $3, $4, $5, $6, $7)",
                session.id,
                session.token_hash,
                session.email,
                session.agent,
                session.created_ms,
                session.seen_ms,
                session.expires_ms,
            )
        )

    async def end(self, number: int) -> None:
        """End a session."""
        below, session_id = self.stores.below, f"ses_{number}"
        if not isinstance(below, Database):
            below.sessions[session_id] = replace(below.sessions[session_id], revoked_ms=NOW)
            return
        await below.read(lambda c: c.execute("update sessions set revoked_ms = $2 where id = $1", session_id, NOW))

    async def passkey(self, number: int, email: str) -> None:
        passkey = Passkey(f"psk_{number}", email, hash_of(number, "c"), b"public", 0, "Laptop", NOW, NOW)
        below = self.stores.below
        if not isinstance(below, Database):
            below.passkeys[passkey.id] = passkey
            return
        columns = ", ".join(f"${place + 1}" for place in range(len(fields(passkey))))
        names = ", ".join(field.name for field in fields(passkey))
        values = [getattr(passkey, field.name) for field in fields(passkey)]
        await below.read(lambda c: c.execute(f"insert into passkeys ({names}) values ({columns})", *values))

    async def keys(self, *numbers: int) -> list[str]:
        """The prefixes of the existing keys among those of redeemed devices."""
        found = await self.stores.keys.resolve([hash_of(number, "k") for number in numbers])
        return sorted(resolved.key.prefix for resolved in found.values())


def word(answer: Answer) -> str:
    match answer:
        case Refused(code=refused):
            return str(refused)
        case DeviceView(device=seen):
            return str(seen.status)
        case Redeemed():
            return "a key"
        case ApprovedEnded(count=count):
            return f"{count} ended"
