"""The faults: each begins, lasts for a while, and ends. Each returns how often it was seen to take effect."""

import os
import signal
from collections.abc import Awaitable, Callable

import trio

from actors.clock import HOUR_MS, SECOND_MS, SystemClock
from tests.acceptance.processes import is_alive
from tests.chaos.ground import NO_SPACE
from tests.chaos.history import Made, Span
from tests.chaos.plan import Fault, Kind
from tests.chaos.stage import Node, Probe, Stage
from tests.storage.proxy import Weather

BITES_SECONDS = 4.0
"""How much longer a fault lasts that has had no effect yet."""

ANONYMOUS_HOURS = 72


async def suffer(stage: Stage, fault: Fault) -> Made:
    """Inject one fault, end it, and measure how long each node takes to accept writes again."""
    await trio.sleep(fault.breath_seconds)
    began = trio.current_time()
    hit = await FAULTS[fault.kind](stage, fault)
    ended = trio.current_time()
    return Made(fault.kind, began, ended, hit, await stage.healed())


def _node(stage: Stage, fault: Fault) -> Node:
    return stage.nodes[fault.place % len(stage.nodes)]


async def _until_bitten(bitten: Callable[[], int]) -> None:
    with trio.move_on_after(BITES_SECONDS):
        while not bitten():  # noqa: ASYNC110 - what another process does sets no event
            await trio.sleep(0.02)


# Nodes.


async def kill_node(stage: Stage, fault: Fault) -> int:
    node = _node(stage, fault)
    await trio.sleep(fault.lasting_seconds)
    began = trio.current_time()
    await trio.to_thread.run_sync(node.service.kill)
    await stage.restart(node, began)
    return 1


async def freeze_node(stage: Stage, fault: Fault) -> int:
    node = _node(stage, fault)
    began = trio.current_time()
    os.kill(node.pid, signal.SIGSTOP)
    await trio.sleep(fault.lasting_seconds)
    stood = _state(node.pid) == "T"
    os.kill(node.pid, signal.SIGCONT)
    stage.happened.frozen.append(Span(node.number, began, trio.current_time()))
    return int(stood)


async def restart_node(stage: Stage, fault: Fault) -> int:
    node = _node(stage, fault)
    await trio.sleep(fault.lasting_seconds)
    began = trio.current_time()
    node.service.terminate()
    code = await trio.to_thread.run_sync(node.service.wait)
    stage.happened.exits.append((node.number, code))
    await stage.restart(node, began)
    return 1


async def step_clock(stage: Stage, fault: Fault) -> int:
    """Step the clock of a node and step it back. The expiry of a key minted meanwhile shows the node's time."""
    node = _node(stage, fault)
    node.clock.ahead_ms = fault.step_seconds * SECOND_MS
    probe = Probe({node.number: node.url}, stage.answers)
    began, hit = trio.current_time(), 0
    while not hit and trio.current_time() < began + BITES_SECONDS:
        expires_ms = await probe.mint()
        if expires_ms is not None:
            ahead_ms = expires_ms - ANONYMOUS_HOURS * HOUR_MS - SystemClock().now_ms()
            hit += abs(ahead_ms - fault.step_seconds * SECOND_MS) < abs(fault.step_seconds) * SECOND_MS / 2
    await trio.sleep(max(0.0, began + fault.lasting_seconds - trio.current_time()))
    node.clock.ahead_ms = 0
    return hit


# Postgres.


async def kill_postgres(stage: Stage, fault: Fault) -> int:
    await trio.to_thread.run_sync(stage.ground.postgres.kill)
    await trio.sleep(fault.lasting_seconds)
    await stage.start_postgres()
    return 1


async def freeze_postgres(stage: Stage, fault: Fault) -> int:
    postgres = stage.ground.postgres
    assert postgres.process is not None
    postgres.freeze()
    await trio.sleep(fault.lasting_seconds)
    stood = _state(postgres.process.pid) == "T"
    postgres.thaw()
    return int(stood)


async def restart_postgres(stage: Stage, fault: Fault) -> int:
    await trio.to_thread.run_sync(stage.ground.postgres.stop)
    await trio.sleep(fault.lasting_seconds)
    await stage.start_postgres()
    return 1


async def terminate_backends(stage: Stage, fault: Fault) -> int:
    terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'catalog'"
    ended = 0
    for _ in range(3):
        [[count]] = await trio.to_thread.run_sync(stage.ground.postgres.ask, terminate)
        ended += int(count)
        await trio.sleep(fault.lasting_seconds / 3)
    return ended


async def fill_disk(stage: Stage, fault: Fault) -> int:
    """Fill the disk and free it again. Restart the server if it stopped because of that, as an operator would."""
    postgres, disk = stage.ground.postgres, stage.ground.disk
    assert disk is not None
    assert postgres.process is not None
    before = postgres.log().count(NO_SPACE)

    def refused() -> int:
        return postgres.log().count(NO_SPACE) - before

    await trio.to_thread.run_sync(disk.fill)
    await trio.sleep(fault.lasting_seconds)
    await _until_bitten(refused)
    hit = refused()
    await trio.to_thread.run_sync(disk.free)
    if postgres.process.poll() is not None or not is_alive(postgres.process.pid):
        postgres.process = None
        await stage.start_postgres()
    return hit


# The network between the first node and Postgres.


def _weather(weather: Weather) -> Callable[[Stage, Fault], Awaitable[int]]:
    async def make(stage: Stage, fault: Fault) -> int:
        before = stage.proxy.bitten
        stage.proxy.weather = weather
        await trio.sleep(fault.lasting_seconds)
        await _until_bitten(lambda: stage.proxy.bitten - before)
        stage.proxy.weather = Weather.FAIR
        return stage.proxy.bitten - before

    return make


async def reset_network(stage: Stage, fault: Fault) -> int:
    before = stage.proxy.bitten
    for _ in range(5):
        await stage.proxy.cut_all()
        await trio.sleep(fault.lasting_seconds / 5)
    return stage.proxy.bitten - before


FAULTS: dict[Kind, Callable[[Stage, Fault], Awaitable[int]]] = {
    Kind.NODE_KILLED: kill_node,
    Kind.NODE_FROZEN: freeze_node,
    Kind.NODE_RESTARTED: restart_node,
    Kind.POSTGRES_KILLED: kill_postgres,
    Kind.POSTGRES_FROZEN: freeze_postgres,
    Kind.POSTGRES_RESTARTED: restart_postgres,
    Kind.BACKENDS_TERMINATED: terminate_backends,
    Kind.NETWORK_DELAYS: _weather(Weather.SLOW),
    Kind.NETWORK_HOLDS: _weather(Weather.HELD),
    Kind.NETWORK_SILENT: _weather(Weather.SILENT),
    Kind.NETWORK_RESETS: reset_network,
    Kind.CUT_BEFORE_COMMIT: _weather(Weather.CUT_BEFORE_COMMIT),
    Kind.CUT_AFTER_COMMIT: _weather(Weather.CUT_AFTER_COMMIT),
    Kind.DISK_FULL: fill_disk,
    Kind.CLOCK_STEPPED: step_clock,
}


def _state(pid: int) -> str:
    """Return the state of a process as the kernel names it, such as T if stopped."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
