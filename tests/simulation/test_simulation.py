"""The campaign: many seeds keep every promise, and a seed determines its run."""

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing
from trio._core import _run as scheduler

from tests.judge.judging import judge
from tests.judge.lines import read_history
from tests.simulation import kernel
from tests.simulation.campaign import BLOCK, Record, Regression, Summary, add_regression, regressions
from tests.simulation.node import Parts
from tests.simulation.rules import Scene
from tests.simulation.scenes import BUGS
from tests.simulation.world import Report, run
from tests.slow import SLOW, repeats

SEEDS = len(Scene)
"""`make simulate` runs more and longer ones. From 200 seeds on, it shows that they meet every fault and every refusal."""
SECONDS = 20.0
RUN_SECONDS = 6.0
WHOLE = list(Scene).index(Scene.WHOLE)
"""The first seed of the scene with all areas."""
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the clients of the scene with all areas asked and heard, once `campaign` has run."""
    return tmp_path_factory.mktemp("simulation") / "history"


@pytest.fixture(scope="module")
def campaign(history: Path) -> list[Report]:
    return [run(seed, seconds=RUN_SECONDS, history=history if seed == WHOLE else None) for seed in range(SEEDS)]


def test_every_seed_keeps_every_promise(campaign: list[Report]) -> None:
    failed = {
        Regression(each.seed, each.scene, RUN_SECONDS).command: each.violations[0]
        for each in campaign
        if each.violations
    }
    assert not failed, "\n".join(f"{command}\n    {violation}" for command, violation in failed.items())


@pytest.mark.usefixtures("campaign")
def test_a_history_of_answers_is_written_and_judged_again(history: Path) -> None:
    with history.open("rb") as stream:
        verdicts = judge(read_history(stream))
    assert not [each for verdict in verdicts.values() for each in verdict.broken]
    assert not [promise for promise, verdict in verdicts.items() if not verdict.judged]


@repeats("five seeds")
def test_seeds_that_failed_once_keep_every_promise() -> None:
    for each in regressions():
        report = run(each.seed, scene=each.scene, seconds=each.seconds)
        assert not report.violations, f"{each.command}\n    {report.violations[0]}"


def test_every_seed_has_a_schedule_of_its_own(campaign: list[Report]) -> None:
    assert len({report.trace.digest for report in campaign}) == SEEDS


@repeats("each seed's promises, after bugs were planted")
def test_a_planted_bug_is_gone_after_its_block(campaign: list[Report]) -> None:
    for bug in BUGS.values():
        with bug.plant(Parts()):
            pass
    for seed in range(len(Scene)) if SLOW else (WHOLE,):
        assert run(seed, seconds=RUN_SECONDS) == campaign[seed]


@repeats("a schedule follows from the seed alone")
def test_the_same_seed_gives_the_same_trace_in_any_process() -> None:
    seeds = ["--seeds", str(len(Scene)), "--one-by-one", "--seconds", "10" if SLOW else "4"]
    one, other = (_simulated(*seeds, hash_seed=hash_seed).stdout.splitlines() for hash_seed in ("0", "1"))
    assert len(one) == len(Scene)
    assert one == other


@repeats("a seed that failed is listed")
def test_a_campaign_prints_a_failing_seed_with_its_command_and_ends_with_1() -> None:
    done = _simulated("--seeds", "1:2", "--seconds", "12", "--bug", "cap-one-too-low")
    assert done.returncode == 1
    assert "nothing_is_refused_below_its_cap" in done.stdout
    assert "1 seeds, 1 failed" in done.stdout
    command = next(line for line in done.stdout.splitlines() if "again: python -m tests.simulation " in line)
    again = _simulated(*command.partition("tests.simulation ")[2].split())
    assert again.returncode == 1
    assert "nothing_is_refused_below_its_cap" in again.stdout


def _simulated(*arguments: str, hash_seed: str = "random") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.simulation", *arguments],
        cwd=ROOT,
        env={"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_seed_that_failed_is_listed_once_with_its_violation(tmp_path: Path) -> None:
    path, regression = tmp_path / "regressions.txt", Regression(7, Scene.WHOLE, 30.0)
    path.write_text("# why\n\n3 keys 20\n")
    for _ in range(2):
        add_regression(regression, "a_check: it was\nnot so", path)
    assert regressions(path) == [Regression(3, Scene.KEYS, 20.0), regression]
    assert path.read_text().splitlines()[2:] == ["3 keys 20", "7 whole 30  # a_check: it was not so"]


def test_a_record_has_each_block_of_seeds_once_all_of_them_ran_and_a_campaign_goes_on_from_there(
    campaign: list[Report], tmp_path: Path
) -> None:
    path, seeds = tmp_path / "campaign.csv", range(BLOCK - 2, BLOCK + 3)

    def ran(seed: int) -> Report:
        return replace(campaign[0], seed=seed, violations=["so it is not"] if seed == BLOCK else [])

    record = Record(path, "one", seeds, SECONDS)
    for seed in (BLOCK - 2, BLOCK + 1, BLOCK + 2, BLOCK):
        record.add(ran(seed))
    further = Record(path, "other", range(BLOCK + 4), SECONDS)
    assert further.missing == [*range(BLOCK), BLOCK + 3]
    assert Record(path, "other", seeds, 2 * SECONDS).missing == [*seeds]
    for seed in further.missing:
        further.add(ran(seed))
    assert [(each.first, each.last, each.commit, each.failed) for each in further.blocks()] == [
        (BLOCK, BLOCK + 2, "one", (BLOCK,)),
        (0, BLOCK - 1, "other", ()),
        (BLOCK + 3, BLOCK + 3, "other", ()),
    ]
    told = "\n".join(further.lines())
    assert f"recorded: {BLOCK + 4} seeds" in told
    assert f"{(BLOCK + 4) * campaign[0].requests:,} requests" in told
    assert f"1 failed: {BLOCK}" in told


def test_a_campaign_lists_what_it_never_met(campaign: list[Report]) -> None:
    summary = Summary(RUN_SECONDS)
    summary.add(campaign[0])
    assert "read refused key_expired, expired" in summary.missed()
    met = next(name for name, times in campaign[0].counts.items() if times and name.startswith("fault "))
    assert met not in summary.missed()


def test_the_readme_names_every_module_and_every_scene_and_no_other() -> None:
    folder = Path(__file__).parent
    rows = [line.split("|")[1] for line in (folder / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    modules = {path.stem for path in folder.rglob("*.py") if not path.stem.startswith(("__", "test_"))}
    assert named == modules | {"oracle", "campaign.csv", "regressions.txt", *Scene}


# What the kernel relies on in the pinned Trio.


def test_trio_still_has_the_private_names_of_the_kernel() -> None:
    assert isinstance(scheduler._ALLOW_DETERMINISTIC_SCHEDULING, bool)
    assert hasattr(scheduler._r, "shuffle")
    source = inspect.getsource(scheduler)
    assert "if _ALLOW_DETERMINISTIC_SCHEDULING:" in source
    assert "batch.sort(key=lambda t: t._counter)" in source
    assert "_r.shuffle(batch)" in source


def test_the_kernel_leaves_trio_as_it_was() -> None:
    # Not simply False: Hypothesis sets it, too, for a whole process of tests.
    state, allowed = scheduler._r.getstate(), scheduler._ALLOW_DETERMINISTIC_SCHEDULING

    async def main() -> None:
        await trio.lowlevel.checkpoint()
        raise KeyError

    with pytest.raises(KeyError):
        kernel.simulate(1, main)
    assert scheduler._r.getstate() == state
    assert allowed == scheduler._ALLOW_DETERMINISTIC_SCHEDULING


def test_a_schedule_follows_from_the_seed_alone() -> None:
    async def main() -> list[int]:
        order: list[int] = []

        async def one(number: int) -> None:
            await trio.sleep(1.0)
            order.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(one, number)
        return order

    first, again, other = (kernel.simulate(seed, main) for seed in (1, 1, 2))
    assert first == again
    assert first[0] != other[0]
    assert first[1].digest != other[1].digest
    assert first[1].virtual_seconds == 1.0


def test_nothing_in_the_simulation_knows_real_time_or_real_chance() -> None:
    """`perf_counter` in `campaign` only measures how long it took."""
    banned = {"os", "secrets", "uuid", "datetime"}
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
                assert not names & (banned | {"random"}), f"{path.name} imports {names}"
                assert "time" not in names or path.name == "campaign.py"
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in banned | {"time"}, f"{path.name} imports from {node.module}"
                assert node.module != "random" or [alias.name for alias in node.names] == ["Random"]
