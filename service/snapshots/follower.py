"""Following a store: a member of the troupe that keeps a picture in memory as new as the store's revision.

Knows neither what the picture shows nor who reads it.
"""

import logging
from abc import ABC, abstractmethod

import trio

from actors.values import Contended, OutcomeUnknown, StorageUnavailable

TRANSIENT = (StorageUnavailable, Contended, OutcomeUnknown)


class SnapshotFollower(ABC):
    """Loads a picture, then looks every `check_seconds`, and at once when nudged, whether it is still current.

    While the store is away the last picture is served. One look follows another, so that many changes in a short time
    cost the store no more than one load after the other.
    """

    name: str

    def __init__(self, check_seconds: float) -> None:
        self._check_seconds = check_seconds
        self._wake = trio.Event()
        self._closed = self._away = False
        self._found_current: float | None = None
        self._loads = 0
        self._load_seconds = 0.0
        # Under the name of what follows, so that a log says whose revision it is.
        self._log = logging.getLogger(type(self).__module__)

    # What a follower of something says.

    @property
    @abstractmethod
    def revision(self) -> int:
        """The revision of the picture; negative before the first load."""

    @abstractmethod
    async def _is_current(self) -> bool:
        """Ask the store whether the picture is still the newest."""

    @abstractmethod
    async def _take(self) -> None:
        """Load the newest picture and put it in the place of the last one."""

    # What those who hear of changes use.

    def nudge(self) -> None:
        """The store may have changed: look now."""
        self._wake.set()

    # What the troupe uses.

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load, then follow until closed."""
        starting = True
        while not self._closed:
            await self._refresh()
            if starting and self.loaded:
                starting = False
                task_status.started()
            with trio.move_on_after(self._check_seconds):
                await self._wake.wait()
            self._wake = trio.Event()
        if starting:
            # Closed before the store ever answered: the process goes down, which is no failure of the follower.
            task_status.started()

    def close(self) -> None:
        """Follow no more; the picture goes on being served."""
        self._closed = True
        self._wake.set()

    def abandon(self) -> None:
        self.close()

    @property
    def loaded(self) -> bool:
        return self.revision >= 0

    @property
    def away(self) -> bool:
        """Whether the store did not answer when it was last looked at."""
        return self._away

    @property
    def loads(self) -> int:
        """How many pictures were taken since the process began."""
        return self._loads

    @property
    def age_seconds(self) -> float | None:
        """Since the picture was last found to be the newest; None before the first load."""
        return None if self._found_current is None else trio.current_time() - self._found_current

    @property
    def accepting(self) -> bool:
        return self.loaded and not self._closed

    async def _refresh(self) -> None:
        try:
            if not self.loaded or not await self._is_current():
                started = trio.current_time()
                await self._take()
                self._loads += 1
                self._load_seconds = trio.current_time() - started
        except TRANSIENT as error:
            if not self._away:
                words = "the %s cannot be read, revision %d is served on: %s"
                self._log.warning(words, self.name, self.revision, error)
            self._away = True
        else:
            if self._away:
                self._log.info("the %s can be read again", self.name)
            self._away = False
            self._found_current = trio.current_time()
