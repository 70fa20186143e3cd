"""One attack on one node, with what has to hold of both while it goes on and after it; and SIGTERM in the middle of it.

Every figure that a node is held to stands here, with its reason.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import trio

from tests.abuse.attacker import ATTACKS, Attacker
from tests.abuse.node import DATABASE_CONNECTIONS, HOST, Watched
from tests.abuse.probe import Report, start
from tests.abuse.volley import DEADLINE_SECONDS, Tally, Volley
from tests.acceptance.processes import until

P99_FACTOR = 3.0
P99_FLOOR_SECONDS = 0.050
"""A probe's p99 below this passes whatever it was before: on a core that others share, a few milliseconds are chance."""
BUSY_P99_SECONDS = {"malformed flood": 0.500, "churn": 0.500}
"""The same where 32 attackers send whole requests, or open connections, as quickly as they are served: they keep a core busy,
as so many clients would, and the probe waits its turn among them. How long that takes is the machine's, by a factor of five.
"""
BUSY_SHARE = 0.2
"""Of the time. A node that is ready to run and has no core for longer than this shares the machine with others who are at
work, and neither the probe's times nor what an attacker got done say anything about the node.
"""
FILES_SECONDS = 15.0
"""Within this, a node has closed everything that silent attackers left open."""
MEMORY_MIB = 48.0
"""What a node may keep of an attack: the allocator gives back whole arenas only, and never all of them."""
CORE_SHARE = {"ping flood": 0.35, "settings flood": 0.35, "rapid reset": 0.35}
"""The share of a core that a flood of HTTP/2 frames may cost, for there is no request in it."""
NEEDED: Mapping[str, Mapping[str, int]] = {
    "slowloris": {"most open": 500, "drops": 500},
    "dripped bodies": {"most open": 200, "drops": 200},
    "unread bodies": {"bodies": 200},
    "slow readers": {"requests": 20 * 64},
    "idle connections": {"most open": 1_500},
    "malformed flood": {"requests": 500},
    "churn": {"requests": 500},
    "http2 on the plain port": {"frames": 8_000},
    "ping flood": {"agreed on h2": 8, "frames": 8_000},
    "settings flood": {"agreed on h2": 8, "frames": 8_000},
    "rapid reset": {"agreed on h2": 8, "frames": 8_000},
}
"""What an attack has to have done, or nothing was shown."""
FORBIDDEN = ("spoke HTTP/2", "held for 15 s")
BEFORE_SECONDS = 1.0
"""How long an attack goes on before the node is told to stop."""
AFTER_SECONDS = 1.0
"""How much longer than `graceful_seconds` a node may take to end."""


@dataclass(slots=True)
class Outcome:
    """What one attack did and what it did to the node.

    `faults` is empty when all that has to hold did, but for `doubts`: what was at fault by the clock. Where the attacker
    got too little done, or the machine is too busy, those are nobody's, and the outcome is `unsure`.
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
    def held(self) -> bool:
        """Whether everything that has to hold was seen to hold."""
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
        return "\n".join(lines)


def endure(node: Watched, names: Sequence[str], *, seconds: float, before_seconds: float, tries: int) -> Outcome:
    """Attack a node in these ways at once for `seconds`, and look at it before, meanwhile and afterwards.

    Where nothing was at fault but by the clock, all of it is done again, at most `tries` times: what others do on the
    machine passes, what the node does stays.
    """
    for _ in range(tries):
        outcome = _endure_once(node, names, seconds, before_seconds)
        if outcome.faults or not outcome.doubts:
            break
    return outcome


def _endure_once(node: Watched, names: Sequence[str], seconds: float, before_seconds: float) -> Outcome:
    outcome = Outcome(" + ".join(names))
    errands = node.errands()
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
    outcome.faults += _said(node, complaints)
    if not node.service.is_ready():
        outcome.faults.append("the node is not ready afterwards")
    return outcome


def end_under(node: Watched, names: Sequence[str], *, graceful_seconds: float) -> tuple[float, list[str]]:
    """SIGTERM in the middle of these attacks: how long the node took to end, and what was wrong with that."""
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
    return took, faults + _said(node, 0)


@dataclass(slots=True)
class Volleyed:
    """What a volley of mutations did, and what it did to the node."""

    tally: Tally
    seconds: float
    faults: list[str]

    def __str__(self) -> str:
        return f"{self.tally.outcomes.total()} mutations in {self.seconds:.0f} s: {self.tally}"


def mutate(node: Watched, seed: int, numbers: Sequence[int], *, deadline_seconds: float = DEADLINE_SECONDS) -> Volleyed:
    """Send the mutations of these numbers to a node, each of which has a deadline, and look at it afterwards."""
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
    faults += volley.tally.faults + _said(node, complaints)
    if not node.service.is_ready():
        faults.append("the node is not ready afterwards")
    return Volleyed(volley.tally, seconds, faults)


def _said(node: Watched, before: int) -> list[str]:
    """What its log complains of since there were `before` complaints in it."""
    return [f"the log says: {line[:2_000]}" for line in node.complaints()[before:][:5]]


def _until_files(node: Watched, base: int) -> float:
    """How long until the node's files are back to what they were; infinite when they are not within bounds."""
    try:
        return until(lambda: node.open_files <= base + DATABASE_CONNECTIONS, FILES_SECONDS)
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
    said = [f"the probe failed: {errors}"] if errors else []
    return said + [f"{what}: {outcome.counts[what]}" for what in FORBIDDEN if outcome.counts.get(what)]


def _of_the_node(outcome: Outcome, names: Sequence[str]) -> list[str]:
    faults = []
    bound = min(1.0, sum(CORE_SHARE.get(name, 1.0) for name in names))
    if outcome.core_share > bound:
        faults.append(f"the attack cost {outcome.core_share:.2f} of a core, above {bound:.2f}")
    if outcome.files_seconds > FILES_SECONDS:
        faults.append(f"files were not back to {outcome.files[0]} within {FILES_SECONDS:.0f} s: {outcome.files[1]}")
    if outcome.memory_mib[2] > outcome.memory_mib[0] + MEMORY_MIB:
        faults.append(f"memory stayed {outcome.memory_mib[2] - outcome.memory_mib[0]:.0f} MiB above what it was")
    return faults


assert set(NEEDED) >= set(ATTACKS), "every attack says what it needs"
