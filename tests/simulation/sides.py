"""What the sides of a node share: a side is a part of it that only some worlds have."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import trio

from actors.kernel.actor import Actor
from actors.kernel.supervision import Member
from actors.values import Contended, StorageUnavailable
from tests.simulation.faults import SimulatedBug

if TYPE_CHECKING:
    from tests.simulation.node import Node

R = TypeVar("R")


class NodeSide:
    """A part of a node that only some worlds have, for one life of the node."""

    @property
    def actors(self) -> list[Actor[Any, Any]]:
        """Actors whose statistics are counted."""
        return []

    @property
    def members(self) -> list[Member]:
        """Everything to run, in start order."""
        return [*self.actors]

    def notice(self, topic: str) -> None:
        """Handle an announced change. Nothing to do where nothing is cached."""

    def listen_again(self) -> None:
        """Assume that announcements were missed. Nothing to do where nothing is cached."""


class Counted:
    """A mixin for a member that is no actor, placed before its own class: counts failures as those of actors are."""

    node: "Node"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        try:
            await cast("Any", super()).run(task_status=task_status)
        except Exception:
            self.node.world.count("actor restarts")
            raise
        except BaseExceptionGroup as group:
            # It failed while it was killed.
            self.node.world.count("actor restarts", group.subgroup(Exception) is not None)
            raise


async def answering(node: "Node", work: Callable[[], Awaitable[R]]) -> R:
    """Turn every storage error of a request into a 5xx."""
    try:
        return await work()
    except Contended as error:
        raise StorageUnavailable(str(error)) from None
    except SimulatedBug as error:
        node.world.count("requests that met a bug")
        raise StorageUnavailable(str(error)) from None
