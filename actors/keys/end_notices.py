"""Mails the owners of keys that end soon. Every node runs one; the transaction of the key actor mails each end once."""

from collections.abc import Callable

from actors.kernel.periodic import PeriodicTask
from actors.keys.actor import KeyActor
from actors.values import CallFailed

BATCH = 100
"""The most keys of one transaction."""
ROUNDS = 50
"""The most transactions of one round. The rest waits for the next round."""


class KeyEndNotifier(PeriodicTask):
    """Looks for due mails at every interval. Looking late, twice, or on several nodes is harmless."""

    name = "key_ends"
    tolerated = (CallFailed,)

    def __init__(self, keys: KeyActor, wake_mail: Callable[[], None], *, seconds: float = 60.0) -> None:
        super().__init__(seconds)
        self._keys = keys
        self._wake_mail = wake_mail

    async def _round(self) -> None:
        for _ in range(ROUNDS):
            due = await self._keys.send_end_notices(BATCH)
            if due:
                self._wake_mail()
            if due < BATCH or self._closed:
                return
