"""The ratios as SVG plots. The same figures give the same bytes."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bench.results import Result
from bench.scenarios import EVENT_KINDS, Kind

mpl.use("Agg")
mpl.rcParams.update({"svg.hashsalt": "bench", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"})

COLOURS = ("#3b6ea5", "#8fb3d9", "#7a7a7a", "#c08a2d", "#2f7d5b", "#9ccfb5")
ROW_INCHES = 0.3
TICKS = [digit * 10**power for power in (-3, -2, -1, 0, 1, 2) for digit in (1, 2, 5)]


def write_plots(results: Sequence[Result], directory: Path) -> list[Path]:
    """Write one plot each for events, batches and reads. Returns the files."""
    events = [result for result in results if result.scenario.kind is Kind.EVENT]
    batches = [result for result in results if result.scenario.kind is Kind.BATCH]
    reads = [result for result in results if result.scenario.kind not in EVENT_KINDS]
    made = [
        ratios(events, "Single events: the service's throughput, relative to ...", directory / "events.svg"),
        ratios(events, "Single events: the service's p99, relative to ...", directory / "events-p99.svg", figure="p99"),
        ratios(batches, "Batches: the service's events, relative to Postgres alone", directory / "batches.svg"),
        ratios(reads, "Reads: the service's throughput, relative to ...", directory / "reads.svg"),
    ]
    return [path for path in made if path is not None]


def ratios(results: Sequence[Result], title: str, path: Path, *, figure: str = "Throughput") -> Path | None:
    """Bars of the ratios to each other program, with the range of the rounds, on a logarithmic scale."""
    others = list(dict.fromkeys(name for result in results for name in result.cells if name != result.subject))
    bars = [
        (result, other, ratio)
        for result in results
        for other in others
        if other in result.cells and (ratio := result.ratio(other, figure)) is not None
    ]
    if not bars:
        return None
    canvas = Figure(figsize=(9, 1.2 + ROW_INCHES * len(bars)), layout="constrained")
    axes = canvas.add_subplot()
    for other, colour in zip(others, COLOURS, strict=False):
        places = [place for place, (_, name, _) in enumerate(bars) if name == other]
        mine = [bars[place][2] for place in places]
        low, high = [max(each.value - each.low, 0) for each in mine], [max(each.high - each.value, 0) for each in mine]
        # Bars start at 1, which means equal.
        widths = [each.value - 1 for each in mine]
        axes.barh(places, widths, left=1, color=colour, label=other, xerr=(low, high), ecolor="#444444", capsize=2)
    axes.axvline(1, color="#222222", linewidth=0.8)
    axes.set_xscale("log")
    lowest, highest = min(ratio.low for *_, ratio in bars), max(ratio.high for *_, ratio in bars)
    axes.set_xlim(min(lowest, 0.5) / 1.2, max(highest, 2) * 1.2)
    axes.set_xticks([tick for tick in TICKS if lowest / 2 < tick < highest * 2], minor=False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(bars)), [_words(result) for result, _, _ in bars])
    axes.invert_yaxis()
    axes.set_title(title)
    axes.legend(loc="best", frameon=False)
    return _saved(canvas, path)


def memory(seconds: Sequence[float], shares: Sequence[float], path: Path) -> Path:
    """Plot resident memory relative to its value after the warm-up."""
    canvas = Figure(figsize=(9, 3.5), layout="constrained")
    axes = canvas.add_subplot()
    axes.plot(seconds, shares, color=COLOURS[0])
    axes.axhline(1, color="#222222", linewidth=0.8)
    axes.set_ylim(0, max(1.2, *shares) * 1.05)
    axes.set_xlabel("seconds since the warm-up")
    axes.set_title("Resident memory of the service under single events, relative to its value after the warm-up")
    return _saved(canvas, path)


def _words(result: Result) -> str:
    scenario = result.scenario
    what = "" if scenario.kind in EVENT_KINDS else f"{scenario.kind.name.lower()}, "
    return f"{what}{scenario.load}, {scenario.connections}"


def _saved(canvas: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, format="svg", metadata={"Date": None})
    return path
