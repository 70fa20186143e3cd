"""Keeps a snapshot in memory as current as the store's revision."""

from abc import abstractmethod

import trio

from actors.kernel.periodic import PeriodicTask, shared_pause


class SnapshotFollower(PeriodicTask):
    """Loads a snapshot, then checks every `check_seconds`, and at once after `refresh_soon`, whether it is still current.

    While the store is unavailable the last snapshot is served. Loads never overlap.
    """

    def __init__(self, check_seconds: float) -> None:
        super().__init__(check_seconds)
        self._current_at: float | None = None
        self._loads = 0

    # Provided by the subclass.

    @property
    @abstractmethod
    def revision(self) -> int:
        """The revision of the snapshot; negative before the first load."""

    @abstractmethod
    async def _is_current(self) -> bool:
        """Ask the store whether the snapshot is still the newest."""

    @abstractmethod
    async def _load(self) -> None:
        """Load the newest snapshot and replace the current one."""

    # Intents.

    def refresh_soon(self) -> None:
        """Check the store now, because it may have changed."""
        self.wake()

    @property
    def loaded(self) -> bool:
        return self.revision >= 0

    @property
    def away(self) -> bool:
        """Whether the last check failed."""
        return self._failing

    @property
    def loads(self) -> int:
        """How many snapshots were loaded since the process started."""
        return self._loads

    @property
    def age_seconds(self) -> float | None:
        """Seconds since the snapshot was last known to be the newest; None before the first load."""
        return None if self._current_at is None else trio.current_time() - self._current_at

    @property
    def accepting(self) -> bool:
        return self.loaded and not self._closed

    # The rounds.

    def _is_ready(self) -> bool:
        return self.loaded

    async def _round(self) -> float:
        """The followers of a node ask together."""
        if not self.loaded or not await self._is_current():
            await self._load()
            self._loads += 1
        self._current_at = trio.current_time()
        return shared_pause(self._pause_seconds)

    def _meanwhile(self) -> str:
        return f"serving revision {self.revision}"
