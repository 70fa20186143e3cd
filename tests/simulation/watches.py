"""Hooks around each transaction: it runs between two snapshots and is judged at once."""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

import trio

from actors.values import BatchId
from tests.simulation.oracle import commits, counts, filtered, notifications, renewals, submissions
from tests.simulation.oracle.keys import keys_of_ended_sessions, too_many_keys, too_many_keys_today
from tests.simulation.oracle.log import KEEPER, LEDGER, Commit
from tests.simulation.oracle.quota import totals

if TYPE_CHECKING:
    from tests.simulation.world import World


def keeping(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of keys."""
    before, audits, rows = totals(world.memory), len(world.memory.audits), dict(world.memory.keys)
    claims, mails = dict(world.memory.claims), len(world.memory.messages)
    if world.signs_in:
        (done, _), batch = world.register.record(batch_id, lambda: _logged(world, batch_id, work, KEEPER))
        world.violations.extend(world.programs.judge(world, batch, rows))
    else:
        done, _ = _logged(world, batch_id, work, KEEPER)
    after = totals(world.memory)
    if before != after:
        world.violations.append(f"{batch_id!r} changed the sums of all counters from {before} to {after}")
    world.violations.extend(too_many_keys(world, batch_id))
    world.violations.extend(keys_of_ended_sessions(world, world.memory.audits[audits:]))
    world.violations.extend(too_many_keys_today(world, world.memory.audits[audits:]))
    world.violations.extend(renewals.judge(world, batch_id, rows, world.memory.audits[audits:]))
    written = tuple(islice(world.memory.messages.values(), mails, None))
    world.violations.extend(notifications.judge_keys(world, batch_id, claims, world.memory.audits[audits:], written))
    return done


def selling(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of the ledger."""
    done, commit = _logged(world, batch_id, work, LEDGER)
    if commit is not None:
        world.violations.extend(commits.judge(world, commit))
        world.glances.note(world.memory, world.history.tick(), trio.current_time())
    return done


def counting(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of events."""
    before = world.tally.picture(world.memory)
    done = work()
    stored = world.tally.note(world.memory, before, batch_id, world.history.tick())
    world.violations.extend(counts.judge(world, f"{batch_id!r}", before, stored))
    return done


def filtering(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A write of what was filtered."""
    flush = world.tally.flushes[batch_id.owner, batch_id.seq]
    done = work()
    world.violations.extend(filtered.judge(world, f"{batch_id!r}", flush))
    flush.committed = True
    return done


def visiting(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of sign-ins and sessions."""
    done, batch = world.register.record(batch_id, work)
    world.violations.extend(world.visits.judge(world.memory, batch))
    return done


def approving(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of device logins."""
    done, batch = world.register.record(batch_id, work)
    world.violations.extend(world.logins.judge(world.memory, batch))
    world.violations.extend(too_many_keys(world, batch_id))
    return done


def submitting(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of submissions, or of the editor or an import of the catalog, which change none of them."""
    name = batch_id.owner.rpartition("/")[2].partition("-")[0]
    shelf = {"catalog_editor": world.shelf.judge_commit, "imports": world.shelf.judge_import}
    before, memory = submissions.picture(world), world.memory
    audits, mails = len(memory.audits), len(memory.messages)
    done = shelf.get(name, world.shelf.judge_reviews)(batch_id, work)
    after = submissions.picture(world)
    world.submissions.states.append(after)
    if name == "submissions":
        written = tuple(islice(memory.messages.values(), mails, None))
        world.violations.extend(submissions.judge(world, batch_id, before, after, memory.audits[audits:], written))
    elif after.submissions != before.submissions:
        world.violations.append(f"{batch_id!r} changed submissions")
    return done


def _logged(
    world: "World", batch_id: BatchId, work: Callable[[], Any], tables: tuple[str, ...]
) -> tuple[Any, Commit | None]:
    """Do the work, and record its changes if a later check needs them."""
    if not world.sells:
        return work(), None
    before = world.log.picture(world.memory, tables)
    done = work()
    name = batch_id.owner.partition("/")[0]
    node = world.nodes[int(name[1:].partition(".")[0])]
    return done, world.log.note(
        world.memory, before, world.history.tick(), batch_id.owner, world.decided_between(node), done
    )
