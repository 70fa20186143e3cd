"""One attack on one node, the checks during and after it, and SIGTERM in the middle of it.

All limits for a node are defined here, with their reasons.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import trio

from tests.abuse.attacker import ATTACKS, Attacker
from tests.abuse.http2 import UNREAD_CONNECTIONS
from tests.abuse.node import HOST, Watched
from tests.abuse.probe import Errand, Report, start
from tests.abuse.volley import DEADLINE_SECONDS, Tally, Volley
from tests.acceptance.processes import until

P99_FACTOR = 3.0
P99_FLOOR_SECONDS = 0.050
"""A probe's p99 below this always passes, because on a shared core a few milliseconds are noise."""
BUSY_P99_SECONDS = {"malformed flood": 0.500, "churn": 0.500, "code guesses": 0.500, "token guesses": 0.500}
"""The same for attacks with 32 clients that send complete requests, or open connections, as fast as they are served. Like
ordinary clients, they keep a core busy and the probe queues with them, for a time that differs up to fivefold by machine.
"""
BUSY_SHARE = 0.2
"""If a node waits for a core for a larger share of the time, the machine is busy with other work. Then neither the probe's
times nor the attacker's counts say anything about the node.
"""
FILES_SECONDS = 15.0
"""A node closes all connections of silent attackers within these seconds."""
MEMORY_MIB = 48.0
"""Memory that a node may keep after an attack. The allocator returns only whole arenas, and never all of them."""
UNREAD_MIB = 30.0
"""The same for clients that read no response. Their requests are all alike, and so is what they leave behind."""
HELD_MIB = 2.0
"""Memory that a node may hold for one HTTP/2 connection, while its client reads nothing."""
CORE_SHARE = {"ping flood": 0.35, "settings flood": 0.35, "rapid reset": 0.35}
"""The share of a core that a flood of HTTP/2 frames without requests may cost."""
NEEDED: Mapping[str, Mapping[str, int]] = {
    "slowloris": {"most open": 500, "drops": 500},
    "dripped bodies": {"most open": 200, "drops": 200},
    "unread bodies": {"bodies": 200},
    "slow readers": {"requests": 20 * 64},
    "idle connections": {"most open": 1_500},
    "malformed flood": {"requests": 500},
    "churn": {"requests": 500},
    "code guesses": {"guesses": 200},
    "token guesses": {"registrations": 500, "guesses": 1_000},
    "http2 on the plain port": {"frames": 8_000},
    "ping flood": {"agreed on h2": 8, "frames": 8_000},
    "settings flood": {"agreed on h2": 8, "frames": 8_000},
    "rapid reset": {"agreed on h2": 8, "frames": 8_000},
    "search hog": {"requests": 20, "status 429": 1},
    "unread http2": {"agreed on h2": 100, "requests": 100 * 32},
}
"""The least work of an attack that proves something."""
FORBIDDEN = ("spoke HTTP/2", "held for 15 s")
BEFORE_SECONDS = 1.0
"""Duration of an attack before the node is sent SIGTERM."""
AFTER_SECONDS = 1.0
"""Seconds beyond `graceful_seconds` that a node may take to end."""


@dataclass(slots=True)
class Outcome:
    """The work of one attack and its effect on the node.

    `faults` are failed checks, except those that depend on timing: these are `doubts`. If the attacker did too little or
    the machine is too busy, doubts prove nothing, and the outcome is `unsure`.
    """

    name: str
    faults: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    before: Report | None = None
    during: Report | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    core_share: float = 0.0
    waited_share: float = 0.0
    files: tuple[int, int] = (0, 0)
    files_seconds: float = 0.0
    memory_mib: tuple[float, float, float] = (0.0, 0.0, 0.0)

    weak: bool = False

    @property
    def unsure(self) -> bool:
        return self.weak or self.waited_share > BUSY_SHARE

    @property
    def counted(self) -> list[str]:
        """The failed checks that prove something: on a busy machine those that do not depend on timing."""
        return self.faults if self.waited_share > BUSY_SHARE else [*self.faults, *self.doubts]

    @property
    def held(self) -> bool:
        """Whether all checks passed."""
        return not self.faults and not self.doubts

    def __str__(self) -> str:
        counts = ", ".join(f"{what} {count}" for what, count in sorted(self.counts.items()))
        files, memory = self.files, self.memory_mib
        lines = [
            f"{self.name}: {'held' if self.held else 'unsure' if self.unsure and not self.faults else 'FAULTY'}",
            f"  attack: {counts}",
            f"  probe before: {self.before}",
            f"  probe during: {self.during}",
            f"  node: {self.core_share:.2f} of a core, and {self.waited_share:.2f} of the time without one",
            f"        files {files[0]} -> {files[1]} after {self.files_seconds:.1f} s, "
            f"memory {memory[0]:.0f}, at most {memory[1]:.0f}, after {memory[2]:.0f} MiB",
        ]
        lines += [f"  UNSURE: {doubt}" for doubt in self.doubts if doubt not in self.counted]
        if self.counts.get("bytes"):
            held = (memory[1] - memory[0]) * 1024 * 1024
            lines.append(f"        at most {held / self.counts['bytes']:.0f} bytes held for each byte sent")
        return "\n".join(lines)


def endure(
    node: Watched,
    names: Sequence[str],
    *,
    seconds: float,
    before_seconds: float,
    tries: int,
    errands: Sequence[Errand] | None = None,
) -> Outcome:
    """Run these attacks at once for `seconds`, and measure the node before, during and after by the probe's `errands`.

    If there are only doubts, the attack is repeated, up to `tries` times: other work on the machine passes, a defect of
    the node stays.
    """
    for _ in range(tries):
        outcome = _endure_once(node, names, seconds, before_seconds, errands or node.errands())
        if outcome.faults or not outcome.doubts:
            break
    return outcome


def _endure_once(
    node: Watched, names: Sequence[str], seconds: float, before_seconds: float, errands: Sequence[Errand]
) -> Outcome:
    outcome = Outcome(" + ".join(names))
    outcome.before = start(HOST, node.service.port, before_seconds, errands)()
    node.forget_peak()
    files, memory, core, waited = node.open_files, node.memory_mib, node.core_seconds, node.waited_seconds
    complaints = len(node.complaints())
    began = time.monotonic()
    probe = start(HOST, node.service.port, seconds, errands)
    attacker = Attacker.start(names, HOST, node.service.port, node.tls_port)
    try:
        attacker.wait_begun()
        outcome.during = probe()
        took = time.monotonic() - began
        outcome.core_share = (node.core_seconds - core) / took
        outcome.waited_share = (node.waited_seconds - waited) / took
        outcome.counts = attacker.fall_silent()
        outcome.files_seconds = _until_files(node, files)
    finally:
        attacker.hang_up()
    outcome.files = (files, node.open_files)
    outcome.memory_mib = (memory, node.peak_mib(), node.memory_mib)
    weak = _of_the_attack(outcome, names)
    outcome.weak = bool(weak)
    outcome.doubts = [*weak, *_of_the_times(outcome)]
    outcome.faults = [*_of_the_probe(outcome), *_of_the_node(outcome, names)]
    outcome.faults += _logged_faults(node, complaints)
    if not node.service.is_ready():
        outcome.faults.append("the node is not ready afterwards")
    return outcome


def end_under(node: Watched, names: Sequence[str], *, graceful_seconds: float) -> tuple[float, list[str]]:
    """Send SIGTERM in the middle of these attacks. Returns the seconds until the node's end, and the faults."""
    attacker = Attacker.start(names, HOST, node.service.port, node.tls_port)
    faults = []
    try:
        attacker.wait_begun()
        time.sleep(BEFORE_SECONDS)
        bound = graceful_seconds + AFTER_SECONDS
        began = time.monotonic()
        node.service.terminate()
        code = node.service.wait()
        took = time.monotonic() - began
        if code != 0:
            faults.append(f"exit code {code}")
        if took > bound:
            faults.append(f"ended after {took:.1f} s, not within {bound:.1f} s")
    finally:
        attacker.hang_up()
    return took, faults + _logged_faults(node, 0)


@dataclass(slots=True)
class Volleyed:
    """The results of a volley of mutations and its effect on the node."""

    tally: Tally
    seconds: float
    faults: list[str]

    def __str__(self) -> str:
        return f"{self.tally.outcomes.total()} mutations in {self.seconds:.0f} s: {self.tally}"


def mutate(node: Watched, seed: int, numbers: Sequence[int], *, deadline_seconds: float = DEADLINE_SECONDS) -> Volleyed:
    """Send the mutations of these numbers to a node, each with a deadline, and check the node afterwards."""
    files, memory, complaints = node.open_files, node.memory_mib, len(node.complaints())
    volley = Volley(HOST, node.service.port, seed, deadline_seconds=deadline_seconds)
    began = time.monotonic()
    faults = []
    try:
        trio.run(volley.send, numbers)
    except* OSError as error:
        faults.append(f"the node could not be reached: {error.exceptions[0]!r}")
    seconds = time.monotonic() - began
    if _until_files(node, files) > FILES_SECONDS:
        faults.append(f"files were not back to {files} within {FILES_SECONDS:.0f} s: {node.open_files}")
    if node.memory_mib > memory + MEMORY_MIB:
        faults.append(f"memory stayed {node.memory_mib - memory:.0f} MiB above what it was")
    faults += volley.tally.faults + _logged_faults(node, complaints)
    if not node.service.is_ready():
        faults.append("the node is not ready afterwards")
    return Volleyed(volley.tally, seconds, faults)


def _logged_faults(node: Watched, before: int) -> list[str]:
    """The complaints in its log after the first `before`."""
    return [f"the log says: {line[:2_000]}" for line in node.complaints()[before:][:5]]


def _until_files(node: Watched, base: int) -> float:
    """Seconds until the node's number of open files is back at `base`; infinite if it is not in time."""
    try:
        return until(lambda: node.open_files <= base + node.connections, FILES_SECONDS)
    except AssertionError:
        return float("inf")


def _of_the_attack(outcome: Outcome, names: Sequence[str]) -> list[str]:
    counts = outcome.counts
    needed = [(what, least) for name in names for what, least in NEEDED[name].items()]
    weak = [(what, least) for what, least in needed if counts.get(what, 0) < least]
    return [f"the attack was too weak: {what} {counts.get(what, 0)}, not {least}" for what, least in weak]


def _of_the_times(outcome: Outcome) -> list[str]:
    assert outcome.before is not None
    assert outcome.during is not None
    floor = BUSY_P99_SECONDS.get(outcome.name, P99_FLOOR_SECONDS)
    bound = max(P99_FACTOR * outcome.before.p99, floor)
    if outcome.during.p99 <= bound:
        return []
    return [f"the probe's p99 was {outcome.during.p99 * 1000:.0f} ms, above {bound * 1000:.0f} ms"]


def _of_the_probe(outcome: Outcome) -> list[str]:
    errors = [error for report in (outcome.before, outcome.during) if report for error in report.errors]
    faults = [f"the probe failed: {errors}"] if errors else []
    return faults + [f"{what}: {outcome.counts[what]}" for what in FORBIDDEN if outcome.counts.get(what)]


def _of_the_node(outcome: Outcome, names: Sequence[str]) -> list[str]:
    faults = []
    bound = min(1.0, sum(CORE_SHARE.get(name, 1.0) for name in names))
    if outcome.core_share > bound:
        faults.append(f"the attack cost {outcome.core_share:.2f} of a core, above {bound:.2f}")
    if outcome.files_seconds > FILES_SECONDS:
        faults.append(f"files were not back to {outcome.files[0]} within {FILES_SECONDS:.0f} s: {outcome.files[1]}")
    before, most, after = outcome.memory_mib
    unread = outcome.name == "unread http2"
    if after > before + (UNREAD_MIB if unread else MEMORY_MIB):
        faults.append(f"memory stayed {after - before:.0f} MiB above what it was")
    if unread and most > before + UNREAD_CONNECTIONS * HELD_MIB:
        faults.append(f"memory rose by {most - before:.0f} MiB for {UNREAD_CONNECTIONS} connections")
    return faults


assert set(NEEDED) >= set(ATTACKS), "every attack needs an entry in NEEDED"
