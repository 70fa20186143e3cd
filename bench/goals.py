"""The goals, as ratios of medians of one run, and whether they were reached."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.programs import ENGINE, GROUPED, IDIOMS, RAW
from bench.results import Ratio, Result
from bench.scenarios import INSERT, REPEATS, Kind

FAST_READS = (Kind.PLACEMENTS, Kind.INVENTORY, Kind.LIST, Kind.ITEM)


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
        yield INSERT, Goal("Throughput", 0.70)
    if scenario.kind is Kind.EVENT and scenario.connections == 1:
        yield RAW, Goal("Throughput", 1.0)
    if scenario.connections != connections:
        return
    if scenario.kind is Kind.EVENT and scenario.repeats != REPEATS:
        yield ENGINE, Goal("Throughput", 0.35)
        yield GROUPED, Goal("Throughput", 2.0)
    for idiom in IDIOMS:
        if scenario.kind is Kind.EVENT:
            yield idiom, Goal("Throughput", 5.0 if idiom == RAW else 6.0)
            yield idiom, Goal("p99", 0.5, at_least=False)
        elif scenario.kind in FAST_READS:
            yield idiom, Goal("Throughput", 2.0)
