"""The goals, as ratios of medians of one run, and whether they were reached."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.programs import BEFORE, ENGINE, GROUPED, IDIOMS, RAW, UVICORN
from bench.results import Ratio, Result
from bench.scenarios import INSERT, KEYS, Kind, Scenario

READS = {
    (Kind.PLACEMENTS, 0): (5.5, 5.5),
    (Kind.LIST, 0): (7.5, 5.0),
    (Kind.LIST, 1): (7.5, 6.5),
    (Kind.LIST, KEYS): (4.5, 3.5),
    (Kind.INVENTORY, 0): (6.0, 6.0),
    (Kind.ITEM, 0): (5.0, 4.5),
    (Kind.ITEM, 1): (6.0, 3.0),
    (Kind.ITEM, KEYS): (3.0, 2.5),
    (Kind.SEARCH, 0): (1.4, 1.4),
}
"""The throughput of reads to each of `IDIOMS`, by operation and number of keys: a little below the published ratios of
1.1.0."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A lower or upper bound for a ratio of the service to another program."""

    figure: str
    bound: float
    at_least: bool = True

    @property
    def words(self) -> str:
        return f"{'at least' if self.at_least else 'at most'} {self.bound:g}"

    def reached(self, ratio: Ratio) -> bool:
        return ratio.value >= self.bound if self.at_least else ratio.value <= self.bound


@dataclass(frozen=True, slots=True)
class Outcome:
    """A goal and its measured ratio."""

    goal: Goal
    result: Result
    other: str
    ratio: Ratio

    @property
    def words(self) -> str:
        """ "reached", or the margin by which the goal was missed."""
        if self.goal.reached(self.ratio):
            return "reached"
        return f"**missed** by {abs(1 - self.ratio.value / self.goal.bound):.0%}"


def outcomes(results: Sequence[Result], connections: int) -> list[Outcome]:
    """All goals that the results cover. Goals for events and reads apply at this number of connections."""
    measured = []
    for result in results:
        for other, goal in _goals(result, connections):
            ratio = result.ratio(other, goal.figure) if other in result.cells else None
            if ratio is not None:
                measured.append(Outcome(goal, result, other, ratio))
    return measured


def _goals(result: Result, connections: int) -> Iterator[tuple[str, Goal]]:
    scenario = result.scenario
    if scenario.kind is Kind.BATCH and scenario.size == 500:
        yield INSERT, Goal("Throughput", 0.65)
        yield BEFORE, Goal("p99", 0.6, at_least=False)
    if scenario.kind is Kind.EVENT and scenario.connections == 1:
        yield RAW, Goal("Throughput", 1.1)
    if scenario.connections == connections:
        yield from _of_events(scenario) if scenario.kind is Kind.EVENT else ()
    if scenario.connections == connections or scenario.kind is Kind.SEARCH:
        yield from _of_reads(scenario)


def _of_events(scenario: Scenario) -> Iterator[tuple[str, Goal]]:
    if not scenario.repeats:
        yield ENGINE, Goal("Throughput", 0.36)
        yield GROUPED, Goal("Throughput", 2.8)
        yield BEFORE, Goal("Throughput", 1.4)
    for idiom in IDIOMS:
        yield idiom, Goal("Throughput", 5.0 if idiom == RAW else 6.0)
        yield idiom, Goal("p99", 0.5, at_least=False)


def _of_reads(scenario: Scenario) -> Iterator[tuple[str, Goal]]:
    for idiom, bound in zip(IDIOMS, READS.get((scenario.kind, scenario.keys), ()), strict=False):
        yield idiom, Goal("Throughput", bound)
    yield UVICORN, Goal("Throughput", 0.5)
