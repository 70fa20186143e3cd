"""The servers of a distributed database that hold events, as operators see them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from actors.kernel.periodic import PeriodicTask

PREPARED_SECONDS = 300.0
"""The age at which a prepared transaction is a problem. Citus settles those of failed servers once a minute."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """A server's answers to the role of the service. `error` says why it could not be asked; the other values are then
    empty. `number` is the engine's, `name` the host and port."""

    number: int
    name: str
    places: int
    error: str = ""
    unsafe: Sequence[str] = ()
    """Settings with which a crash can lose a write after its response was sent, as `name=value`."""
    lacks: str = ""
    """The function for recording that it does not have, or that the role may not call."""
    prepared_seconds: float = 0.0
    """The age of its oldest prepared transaction."""
    room: int = 0
    """The number of connections that it allows to the role."""
    since: int = 0
    """The first day whose events it records: those of earlier days need the coordinator."""

    def records(self, day: int) -> bool:
        """Whether it can record events of a day, in days since 1970."""
        return not self.error and not self.lacks and day >= self.since

    def problems(self) -> list[str]:
        """The problems that an operator has to fix, one line each."""
        if self.error:
            return [f"{self.name} cannot be used, so the events of its {self.places} places get 503: {self.error}"]
        found = [f"{self.name} has {setting}: a confirmed event can be lost in a crash" for setting in self.unsafe]
        if self.lacks:
            found.append(
                f"{self.name} does not let the role call {self.lacks}: synchronize its metadata and its rights"
            )
        if self.prepared_seconds > PREPARED_SECONDS:
            found.append(
                f"{self.name} has a transaction that was prepared {self.prepared_seconds:,.0f} s ago: "
                "call recover_prepared_transactions() on the coordinator"
            )
        return found


AskServers = Callable[[], Awaitable[Sequence[ServerReport]]]
"""Asks all servers at once, within the time limits of the database's connections."""


class ServerWatch(PeriodicTask):
    """Keeps the latest report of each server. Without `ask`, the database is not distributed and there are none."""

    name = "event servers"

    def __init__(self, ask: AskServers | None, *, check_seconds: float = 5.0) -> None:
        super().__init__(check_seconds)
        self._ask = ask
        self.reports: Sequence[ServerReport] = ()

    async def _round(self) -> None:
        if self._ask is not None:
            self.reports = await self._ask()
