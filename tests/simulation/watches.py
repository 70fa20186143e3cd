"""What is watched from outside while a transaction is under way: it is run between two pictures, and then judged."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actors.values import BatchId
from tests.simulation.oracle import commits, counts
from tests.simulation.oracle.keys import too_many_keys
from tests.simulation.oracle.log import KEEPER, LEDGER, Commit
from tests.simulation.oracle.quota import totals

if TYPE_CHECKING:
    from tests.simulation.world import World


def keeping(world: "World", turn: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of keys."""
    before = totals(world.memory)
    done, _ = _logged(world, turn, work, KEEPER)
    after = totals(world.memory)
    if before != after:
        world.violations.append(f"{turn!r} changed the sums of all counters from {before} to {after}")
    world.violations.extend(too_many_keys(world, turn))
    return done


def selling(world: "World", turn: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of the ledger."""
    done, commit = _logged(world, turn, work, LEDGER)
    if commit is not None:
        world.violations.extend(commits.judge(world, commit))
    return done


def counting(world: "World", turn: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of events."""
    before = world.tally.picture(world.memory)
    done = work()
    kept = world.tally.note(world.memory, before, turn, world.history.tick())
    world.violations.extend(counts.judge(world, f"{turn!r}", before, kept))
    return done


def visiting(world: "World", turn: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of sign-ins, sessions and forms."""
    done, kept = world.register.keep(turn, work)
    world.violations.extend(world.visits.judge(world.memory, kept))
    return done


def approving(world: "World", turn: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of device logins."""
    done, kept = world.register.keep(turn, work)
    world.violations.extend(world.logins.judge(world.memory, kept))
    world.violations.extend(too_many_keys(world, turn))
    return done


def _logged(
    world: "World", turn: BatchId, work: Callable[[], Any], tables: tuple[str, ...]
) -> tuple[Any, Commit | None]:
    """The work done, and what it changed: only where somebody looks at it later."""
    if not world.sells:
        return work(), None
    before = world.log.picture(world.memory, tables)
    done = work()
    name = turn.owner.partition("/")[0]
    node = world.nodes[int(name[1:].partition(".")[0])]
    return done, world.log.note(world.memory, before, world.history.tick(), turn.owner, world.wall_ms(node))
