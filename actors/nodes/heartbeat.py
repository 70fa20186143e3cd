"""The heartbeat: tells the store that this node lives and reads how many others do. A member of the troupe on every node.

Limits that each node counts for itself are divided by that number. A beat can do no harm: when it fails, the last number
holds for a while, and the node serves on.
"""

import logging
from collections.abc import Sequence

import trio

from actors.nodes.messages import NodeInfo, Seen
from actors.nodes.state import NodeRules, known
from actors.nodes.store import NodeStore
from actors.values import Contended, OutcomeUnknown, StorageUnavailable

TRANSIENT = (StorageUnavailable, Contended, OutcomeUnknown)

log = logging.getLogger(__name__)


class Heartbeat:
    """Beats before the node serves, then at every interval, and says goodbye at a stop in order. A node that is killed
    counts for `live_seconds` more."""

    name = "nodes"

    def __init__(self, store: NodeStore, node: NodeInfo, rules: NodeRules | None = None) -> None:
        self.node = node
        self.rules = rules or NodeRules()
        self._store = store
        self._seen: Sequence[Seen] = ()
        self._heard: float | None = None
        # Kept as a number, since every request that is limited asks for it.
        self._live = 1
        self._silent = False
        self._closed = trio.Event()

    # Intents.

    def live(self) -> int:
        """How many nodes live, this one among them: as of the last beat, and 1 when none has got through for long."""
        return self._live

    def nodes(self) -> Sequence[Seen]:
        """The nodes that are counted, the oldest first, with the age of their last beat as of now."""
        return known(self.node, self._seen, self.age_seconds or 0.0, self.rules)

    @property
    def age_seconds(self) -> float | None:
        """Since this node's last beat that got through; None before the first."""
        return None if self._heard is None else trio.current_time() - self._heard

    # What the troupe uses.

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Beat until closed. The first beat comes before anything is served, so that the number is right from the start."""
        await self._beat()
        task_status.started()
        while not self._closed.is_set():
            with trio.move_on_after(self.rules.beat_seconds):
                await self._closed.wait()
                break
            await self._beat()
        await self._leave()

    def close(self) -> None:
        self._closed.set()

    def abandon(self) -> None:
        self.close()

    async def _beat(self) -> None:
        try:
            self._seen = await self._store.beat(self.node, self.rules.live_seconds)
        except Exception as error:
            self._on_silence(error)
        else:
            self._heard = trio.current_time()
            if self._silent:
                log.info("beats get through again")
            self._silent = False
        self._count()

    def _on_silence(self, error: Exception) -> None:
        """Told once until a beat gets through. What nobody expected is told with its traceback, and ends nothing either."""
        if not self._silent:
            unexpected = None if isinstance(error, TRANSIENT) else error
            words = "beats do not get through; %d live nodes are assumed for up to %g s: %s"
            told = str(error) or type(error).__name__
            log.warning(words, self._live, self.rules.keep_seconds, told, exc_info=unexpected)
        self._silent = True

    def _count(self) -> None:
        live = len(self.nodes())
        if live != self._live:
            log.info("live nodes: %d, and %d before", live, self._live)
        self._live = live

    async def _leave(self) -> None:
        """Say goodbye, unless the store was away when it was last asked: nobody waits for it while the node goes down."""
        if self._silent:
            return
        try:
            await self._store.leave(self.node.id)
        except Exception as error:
            log.info("no goodbye: this node counts for %g s more: %s", self.rules.live_seconds, error)

    def __repr__(self) -> str:
        return f"<Heartbeat of {self.node.id}, {self._live} live{', silent' if self._silent else ''}>"
