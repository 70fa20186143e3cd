"""The report that an actor makes of a batch, after its callers have their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from actors.kernel.mailbox import Envelope


@dataclass(slots=True)
class ServedBatch:
    """One batch of `actor`. Times are on Trio's clock."""

    actor: str
    envelopes: Sequence[Envelope[Any, Any]]
    size: int
    """In the units of `Actor.weigh`."""
    started: float
    committed: float = 0.0
    """When its outcome was known, before its callers were answered."""
    ended: float = 0.0
    attempts: int = 0
    """How often it was committed until its outcome was known."""
    error: str = ""
    """The class of the error that its callers got, if any."""

    @property
    def seconds(self) -> float:
        return self.ended - self.started


Observer = Callable[[ServedBatch], None]
