"""The random secrets of UTC days, under which events of the unit day are hashed: one a day for all nodes (ADR 0100)."""

from collections.abc import Mapping
from typing import Protocol

from actors.clock import Clock, Entropy
from actors.events.state import AHEAD_MS, SECRET_BYTES, VisitorHasher, first_secret_day, secret_days
from actors.kernel.periodic import PeriodicTask

RETRY_SECONDS = 0.5


class SecretStore(Protocol):
    """The secrets of days, in the database and in no backup."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        """Store each offered secret whose day has none, and delete those of days before `first_day`. Returns all that are
        stored then. Of many nodes that do it at once, all get the same. Can be repeated. Raises `StorageUnavailable`,
        `Contended` or `OutcomeUnknown`."""
        ...


class VisitorSecrets(PeriodicTask):
    """Keeps the hasher's secrets: makes the next one hours before its day, so that no event waits for it, and deletes those
    whose time is over. A node without the secret of the day refuses the events that need it. Reads them again and again,
    because a database that failed over may have lost the newest."""

    name = "visitor secrets"
    check_seconds = 5.0
    ahead_ms = AHEAD_MS

    def __init__(self, store: SecretStore, hasher: VisitorHasher, clock: Clock, entropy: Entropy) -> None:
        super().__init__(self.check_seconds, retry_seconds=RETRY_SECONDS)
        self._store = store
        self._hasher = hasher
        self._clock = clock
        self._entropy = entropy
        self._loaded = False

    async def _round(self) -> None:
        now_ms = self._clock.now_ms()
        first_day = first_secret_day(now_ms)
        days = secret_days(now_ms, self.ahead_ms)
        offered = {day: self._hasher.secret_of(day) or self._entropy.token(SECRET_BYTES) for day in days}
        self._hasher.learn(await self._store.agree(offered, first_day), first_day)
        self._loaded = True

    def _is_ready(self) -> bool:
        return self._loaded

    def _meanwhile(self) -> str:
        return "events of the unit day get 503 once their secret is missing"
