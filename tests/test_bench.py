"""The arithmetic of the benchmark: wrong counts and reached goals."""

import argparse
import itertools
import json
import random
import re
from collections import Counter
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.generator import requests_of
from bench.goals import Goal, outcomes
from bench.ledger import Charges, Recorded
from bench.load import Measured, together
from bench.memory import REMEMBERED, WINDOW, Course
from bench.mixed import Mixed, People, Probe, Waits, own_stalls, stalls
from bench.nodes import ONE, THREE, scenarios
from bench.nodes_report import limit, published, shares
from bench.paced import WEEK_MS, Bookings, RequestKind, source_of
from bench.peers.asgi_app import program
from bench.programs import (
    BEFORE,
    ENGINE,
    GRANIAN_READY,
    GROUPED,
    HYPERCORN,
    IDIOMS,
    OURS,
    RAW,
    READY,
    ROOT,
    UVICORN,
    Program,
    checkout,
)
from bench.report import WRONG
from bench.results import Cell, Ratio, Result, Run, Setting, verdict
from bench.rounds import complete
from bench.scenarios import INSERT, Kind, Plan, Scenario
from bench.search import misspelled
from bench.soak import FIRST, MIB, WARM_UP, Sample, figures, rates, samples_of, slope
from bench.usage import Usage
from bench.workloads import Events, Reads, read

CONNECTIONS = 4
MODELS = next(iter(IDIOMS))


def run_of(*, answers: int = 100, recorded: int = 100, failures: int = 0, seconds: float = 1.0, size: int = 1) -> Run:
    measured = Measured(answers, failures, recorded, seconds, p50_ms=1.0, p99_ms=2.0)
    return Run(measured, Usage(server_cpu=1.0, postgres_cpu=0.5, peak_bytes=1), size)


def events_result(name: str, run: Run, recorded: Recorded) -> Result:
    scenario = Scenario(Kind.EVENT, CONNECTIONS, (OURS, name))
    return Result(scenario, {name: Cell([run], recorded=recorded)})


@pytest.mark.parametrize(
    ("rows", "counted", "right"),
    [
        (100, 100, True),
        (100 + CONNECTIONS, 100 + CONNECTIONS, True),
        (100 + CONNECTIONS + 1, 100 + CONNECTIONS + 1, False),
        (99, 99, False),
        (100, 101, False),
        (101, 100, False),
    ],
    ids=["equal", "in flight", "more than in flight", "answered and not there", "counted twice", "not counted"],
)
def test_what_was_answered_is_held_against_rows_and_counts(rows: int, counted: int, right: bool) -> None:
    found = verdict(events_result(OURS, run_of(), Recorded(rows, counted, 1)), OURS)
    assert found is not None
    assert found.right is right


def test_the_insert_alone_is_not_asked_for_counts() -> None:
    found = verdict(events_result(INSERT, run_of(), Recorded(100, 0, 0)), INSERT)
    assert found is not None
    assert found.right


def test_keyed_reads_are_held_against_charges_and_keyless_ones_against_nothing() -> None:
    keyed, keyless = (Scenario(Kind.LIST, CONNECTIONS, (OURS,), keys=keys) for keys in (1, 0))
    cell = Cell([run_of()], charges=Charges(99, 1))
    found = verdict(Result(keyed, {OURS: cell}), OURS)
    assert found is not None
    assert not found.right
    assert verdict(Result(keyless, {OURS: cell}), OURS) is None


def test_a_ratio_is_of_the_medians_with_the_range_of_the_rounds() -> None:
    scenario = Scenario(Kind.EVENT, CONNECTIONS, (OURS, "other"))
    ours = Cell([run_of(answers=answers) for answers in (100, 300, 200)])
    other = Cell([run_of(answers=answers) for answers in (100, 100, 50)])
    assert Result(scenario, {OURS: ours, "other": other}).ratio("other", "Throughput") == Ratio(2.0, 1.0, 4.0)


def test_a_missed_figure_says_by_how_much() -> None:
    scenario = Scenario(Kind.BATCH, CONNECTIONS, (OURS, INSERT), size=500)
    cells = {OURS: Cell([run_of(answers=35)]), INSERT: Cell([run_of(answers=100)])}
    [outcome] = outcomes([Result(scenario, cells)], connections=128)
    assert outcome.goal == Goal("Throughput", 0.65)
    assert outcome.words == "**missed** by 46%"


@pytest.mark.parametrize(
    ("scenario", "goals"),
    [
        (
            Scenario(Kind.EVENT, 128, ()),
            {ENGINE: [0.36], GROUPED: [2.8], BEFORE: [1.4], MODELS: [6, 0.5], RAW: [5, 0.5]},
        ),
        (Scenario(Kind.EVENT, 128, (), repeats=20), {MODELS: [6, 0.5], RAW: [5, 0.5]}),
        (Scenario(Kind.EVENT, 1, ()), {RAW: [1.1]}),
        (Scenario(Kind.EVENT, 32, ()), {}),
        (Scenario(Kind.BATCH, 32, (), size=500), {INSERT: [0.65], BEFORE: [0.6]}),
        (Scenario(Kind.BATCH, 128, (), size=50), {}),
        (Scenario(Kind.PLACEMENTS, 128, ()), {MODELS: [5.5], RAW: [5.5], UVICORN: [0.5]}),
        (Scenario(Kind.PLACEMENTS, 512, ()), {}),
        (Scenario(Kind.ITEM, 128, ()), {MODELS: [5], RAW: [4.5], UVICORN: [0.5]}),
        (Scenario(Kind.SEARCH, 16, ()), {MODELS: [1.4], RAW: [1.4]}),
    ],
)
def test_goals_are_those_of_the_programs_that_took_part(scenario: Scenario, goals: dict[str, list[float]]) -> None:
    def bounds(*programs: str) -> dict[str, list[float]]:
        result = Result(replace(scenario, programs=programs), {name: Cell([run_of()]) for name in programs})
        found: dict[str, list[float]] = {}
        for outcome in outcomes([result], connections=128):
            found.setdefault(outcome.other, []).append(outcome.goal.bound)
        return found

    assert bounds(OURS, HYPERCORN, *goals) == goals
    assert bounds(OURS, HYPERCORN, *(goals.keys() - {BEFORE})) == {
        name: goals[name] for name in goals.keys() - {BEFORE}
    }


def test_each_seed_has_visitors_of_its_own_and_as_many_repeats_as_wanted() -> None:
    def sent(seed: int) -> list[str]:
        requests = itertools.islice(Events(["a", "b"], seed, repeats=20).requests(), 2_000)
        return [json.loads(line.partition("~~")[2])["visitorId"] for line in requests]

    first, second = sent(1), sent(2)
    assert first == sent(1)
    assert not set(first) & set(second)
    assert 0.17 < 1 - len(set(first)) / len(first) < 0.23


def test_every_scenario_begins_with_the_service_and_stands_once() -> None:
    scenarios = Plan(100, 1, 1, (32, 128, 512), audit=True).scenarios()
    assert len(set(scenarios)) == len(scenarios)
    assert all(each.programs[0] == OURS for each in scenarios)


def test_the_quick_plan_has_every_kind_and_every_program() -> None:
    whole, quick = (
        Plan(100, 1, 1, (16,), audit=False, quick=quick, other=Path()).scenarios() for quick in (False, True)
    )
    assert [each.kind for each in quick] == list(Kind)
    assert all(each.programs[0] == OURS for each in quick)
    assert {name for each in quick for name in each.programs} == {name for each in whole for name in each.programs}
    assert any(each.keys for each in quick)
    assert any(each.repeats for each in quick)
    assert all(each.programs[-1] == BEFORE for each in [*whole, *quick])


@pytest.mark.parametrize(("answers", "failures"), [(0, 0), (0, 100), (99, 1)])
def test_a_quick_run_without_answers_or_with_failures_is_refused(answers: int, failures: int) -> None:
    scenario, run = Scenario(Kind.SEARCH, CONNECTIONS, (OURS,)), run_of(answers=answers, failures=failures)
    with pytest.raises(
        RuntimeError, match=rf"q=.*, keyless, service: {answers} requests succeeded and {failures} failed"
    ):
        complete(scenario, OURS, run)


def followed(*shares: float, answers: int = REMEMBERED) -> Course:
    return Course([float(at) for at in range(len(shares))], list(shares), answers, failures=0, kept_right=True)


def test_memory_is_called_flat_only_when_it_was_followed_for_long_enough() -> None:
    steady = [1.0] * (2 * WINDOW)
    assert followed(*steady).flat
    assert not followed(*steady[1:]).flat
    assert not followed(*steady, answers=REMEMBERED - 1).flat
    assert followed(*steady[1:]).verdict.startswith("**not shown**")
    grown = followed(*steady, *[1.06] * WINDOW)
    assert not grown.flat
    assert grown.verdict == "**missed**: it grew by 6.0%"


def test_the_own_generator_sends_reads_in_turn_and_events_that_differ_without_an_end() -> None:
    reads = requests_of(Reads([read("/a"), read("/b")]))
    assert [next(reads).split()[1] for _ in range(5)] == [b"/a", b"/b", b"/a", b"/b", b"/a"]
    events = requests_of(Events(["spb_1"], seed=1))
    assert len({next(events) for _ in range(1_000)}) == 1_000


async def test_the_plain_program_returns_what_was_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "responses.json"
    file.write_text(json.dumps({"/a": ([("etag", '"x"')], "{}")}))
    monkeypatch.setenv("PEER_RESPONSES", str(file))
    app, sent = program(), []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    for path in ("/a", "/b"):
        await app({"type": "http", "path": path}, None, send)
    assert [(each["status"], each["headers"]) for each in sent[::2]] == [(200, [(b"etag", b'"x"')]), (404, [])]
    assert [each["body"] for each in sent[1::2]] == [b"{}", b""]


@pytest.mark.parametrize(
    ("ready", "log", "found"),
    [
        (READY, "info listening on http://127.0.0.1:8080\n", ("8080", None)),
        (READY, "INFO: Uvicorn running on http://127.0.0.1:81 (Press CTRL+C to quit)", ("81", None)),
        (GRANIAN_READY, "Listening at: http://127.0.0.1:82\nSpawning worker-1 with PID: 7\n", None),
        (
            GRANIAN_READY,
            "Listening at: http://127.0.0.1:82\nSpawning worker-1 with PID: 7\nStarted worker-1\n",
            ("82", "7"),
        ),
    ],
)
def test_a_program_is_ready_when_it_says_so(ready: re.Pattern[str], log: str, found: tuple[str, str | None]) -> None:
    said = ready.search(log)
    assert (said and (said["port"], said.groupdict().get("pid"))) == found


@pytest.mark.parametrize(
    ("migrations", "words"),
    [(["9999_later.sql"], "does not know \\(9999_later\\): exchange the two"), ([], "is no checkout of the service")],
)
def test_a_checkout_that_would_migrate_is_refused(tmp_path: Path, migrations: list[str], words: str) -> None:
    folder = tmp_path / "storage" / "migrations"
    folder.mkdir(parents=True)
    for name in migrations:
        (folder / name).touch()
    with pytest.raises(argparse.ArgumentTypeError, match=words):
        checkout(str(tmp_path))
    assert checkout(str(ROOT)) == ROOT


# Nodes.


def nodes_run(*, nodes: float, postgres: float, generators: float, machine: float) -> Run:
    """A run of two seconds with these CPU seconds."""
    measured = Measured(100, 0, 100, 2.0, p50_ms=1.0, p99_ms=2.0, generator_cpu=generators / 2.0)
    return Run(measured, Usage(nodes, postgres, 1, machine, seconds=2.0))


def test_generators_beside_one_another_count_as_one_that_is_as_slow_as_the_slowest() -> None:
    runs = [Measured(10, 1, 9, 2.0, p50_ms=1.0, p99_ms=5.0), Measured(20, 0, 20, 2.1, p50_ms=2.0, p99_ms=4.0)]
    assert together(runs) == Measured(30, 1, 29, 2.1, p50_ms=2.0, p99_ms=5.0)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (nodes_run(nodes=2.0, postgres=1.0, generators=0.6, machine=3.8), "the machine"),
        (nodes_run(nodes=1.0, postgres=0.5, generators=0.5, machine=3.9), "the machine, which others use"),
        (nodes_run(nodes=1.9, postgres=0.5, generators=0.2, machine=2.7), "a core of the nodes"),
        (nodes_run(nodes=0.8, postgres=0.5, generators=0.2, machine=1.6), "waiting for commits"),
    ],
)
def test_what_limits_nodes_is_told_by_what_was_full(run: Run, words: str) -> None:
    assert limit(Cell([run]), cores=2) == words


def test_shares_are_of_all_cores() -> None:
    spent = shares(Cell([nodes_run(nodes=2.0, postgres=1.0, generators=0.4, machine=3.6)]), cores=4)
    assert {name: round(share, 3) for name, share in spent.items()} == {
        "nodes": 0.25,
        "Postgres": 0.125,
        "generators": 0.05,
        "others": 0.025,
    }


@pytest.mark.parametrize(("rows", "deadlocks", "right"), [(100, 0, True), (99, 0, False), (100, 1, False)])
def test_a_lost_event_or_a_deadlock_among_nodes_is_wrong(rows: int, deadlocks: int, right: bool) -> None:
    cells = {
        THREE: Cell([run_of()], recorded=Recorded(rows, rows, 1)),
        ONE: Cell([run_of()], recorded=Recorded(100, 100, 1)),
    }
    result = Result(Scenario(Kind.EVENT, CONNECTIONS, (THREE, ONE)), cells)
    for cell in cells.values():
        cell.runs[0] = nodes_run(nodes=1.0, postgres=0.5, generators=0.5, machine=2.0)
    setting = Setting(1, 1, 1, 1.0, "wrk", "18", "3.11", "6.0", cores=2)
    assert (WRONG not in published(setting, [result], deadlocks)) is right


def test_the_connections_of_nodes_can_be_divided_among_the_generators() -> None:
    assert all(each.connections % 3 == 0 and each.connections > 0 for each in scenarios(96))


def test_a_misspelled_word_keeps_its_first_letter_and_most_others() -> None:
    chance = random.Random(1)
    for _ in range(100):
        word = misspelled("invoice", chance)
        assert word[0] == "i"
        assert len(word) in (6, 7)
        assert not Counter(word) - Counter("invoice")


# Mixed load.

OWN, MACHINE = "2026-11-29T12:00:01.000Z", "2026-11-29T12:00:09.000Z"


def test_a_stall_is_the_node_s_own_by_the_time_for_which_it_had_a_core() -> None:
    began = datetime.fromisoformat(OWN).timestamp()
    words = "warning service.observability.loop_lag the event loop stalled: all requests waited"
    # It waits for a core for 70 ms before the second one ends.
    moments = [(began + at / 100, 0.07 if at >= 795 else 0.0) for at in range(-200, 900)]
    own, machine = stalls(f"{OWN} {words} 60 ms\n{MACHINE} {words} 80 ms\n{OWN} info else 90 ms\n", Waits(0, moments))
    assert (own.took_ms, own.waited_ms, machine.took_ms, round(machine.waited_ms)) == (60, 0, 80, 70)
    assert own_stalls([own, machine]) == [own]


def test_a_probe_is_within_if_the_middle_of_its_ratios_is() -> None:
    def phases(*p99_ms: float) -> list[dict[str, float]]:
        return [{"p50_ms": 1.0, "p99_ms": each} for each in p99_ms]

    assert Probe("event", phases(2, 2, 2), phases(4, 6, 60)).within
    assert not Probe("event", phases(2, 2, 2), phases(4, 7, 60)).within


BUYERS = [{"key": f"cs_user_{number}", "campaign": f"cmp_{number}"} for number in range(2)]


def test_each_request_of_the_mix_is_one_request() -> None:
    person = {"key": "cs_user_key", "session": "sst_session"}
    mixed = Mixed(Program(OURS, 1, 1), Path(), People(person, person, BUYERS), ["bok_1"], ["slug"])
    for name, (rate, fields) in {**mixed.mix(), **mixed.probes()}.items():
        source = source_of(dict(fields))
        for _ in range(10):
            head, blank, body = source.next().partition(b"\r\n\r\n")
            length = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
            assert (blank, len(body)) == (b"\r\n\r\n", int(length[1]) if length else 0), name
        assert rate > 0


def test_a_booking_is_cancelled_before_the_next_buyer_reserves_the_next_week() -> None:
    bookings = Bookings(BUYERS, slots=1, first_week_ms=0, weeks=2)
    made = []
    for number in range(3):
        head, _, body = bookings.next().partition(b"\r\n\r\n")
        made.append((json.loads(body)["weekStart"], json.loads(body)["campaignId"]))
        booking = {"id": f"bok_{number}", "campaignId": made[-1][1], "status": "reserved"}
        bookings.answered(json.dumps({"booking": booking}).encode())
        cancelled = bookings.next()
        assert cancelled.startswith(b"POST /api/v1/sponsors/bookings/bok_%d/cancel " % number)
        [key] = re.findall(rb"\r\nAuthorization: .+\r\n", cancelled)
        assert key in head, "by the same buyer"
        bookings.answered(json.dumps({"booking": {**booking, "status": "cancelled"}}).encode())
    assert made == [(0, "cmp_0"), (WEEK_MS, "cmp_1"), (0, "cmp_0")]


def test_a_kind_reports_its_percentiles_and_failures() -> None:
    kind = RequestKind("event", 1.0, {"lines": ["GET / HTTP/1.1~~"]})
    kind.seconds = [number / 1000 for number in range(100, 0, -1)]
    kind.failures["503"] += 1
    assert kind.report() == {"answers": 100, "failures": {"503": 1}, "p50_ms": 50.0, "p99_ms": 99.0, "most_ms": 100.0}


def soaked(
    minute: int, mib: float, p99_ms: float = 8.0, tables: dict[str, tuple[int, int, int]] | None = None
) -> Sample:
    size = int(mib * MIB)
    return Sample(
        60.0 * minute,
        40.0,
        size,
        size,
        size,
        24,
        1,
        2.0,
        0.1,
        9.0,
        900,
        {},
        2.0,
        p99_ms,
        1_000,
        0,
        size,
        0,
        size,
        {"audit": (1, 2, 3)} if tables is None else tables,
    )


def test_a_soak_compares_its_last_hour_with_its_first_one_without_the_warm_up_of_each_piece() -> None:
    first = [soaked(minute, 50 if minute < WARM_UP else 100) for minute in range(WARM_UP + FIRST)]
    last = [soaked(minute, 500 if minute < WARM_UP else 106, 8.1) for minute in range(WARM_UP + 2 * FIRST)]
    found = {each.name: each for each in figures([first, last])}
    memory, p99 = found["the node's memory, MiB"], found["p99, ms"]
    assert (memory.first, memory.last, memory.within) == (100, 106, False)
    assert (p99.first, p99.last, p99.within) == (8.0, 8.1, True)
    assert figures([first[: WARM_UP + 2]]) == []


def test_tables_of_a_soak_may_grow_as_their_rows_do() -> None:
    def samples(**tables: tuple[int, int, int]) -> list[Sample]:
        return [soaked(minute, 100, tables=tables) for minute in range(WARM_UP + FIRST)]

    def tables_of(last: list[Sample]) -> tuple[float, float, bool]:
        [found] = [each for each in figures([first, last]) if "tables" in each.name]
        return found.first, found.last, found.within

    first = samples(events=(1_000, 3 * MIB, MIB), journal=(10, MIB, 0))
    assert tables_of(samples(events=(5_000, 15 * MIB, 5 * MIB), journal=(10, MIB, 0), new=(9, MIB, 0))) == (
        21,
        21,
        True,
    )
    assert tables_of(samples(events=(1_000, 3 * MIB, MIB), journal=(10, 2 * MIB, 0))) == (5, 6, False)


def test_a_soak_in_a_hurry_compares_what_had_the_usual_rate() -> None:
    assert rates(100, 40, 1) == [40] * 100
    sent = rates(WARM_UP + 150, 40, 7)
    assert sent == [40] * (WARM_UP + 50) + [280] * 50 + [40] * 50
    piece = [replace(soaked(minute, 100 if rate == 40 else 900), rate=rate) for minute, rate in enumerate(sent)]
    assert {(each.first, each.last) for each in figures([piece, piece[: WARM_UP + 60]]) if "memory" in each.name} == {
        (100, 100)
    }


def test_the_growth_of_a_piece_is_that_of_its_second_half() -> None:
    rising = [soaked(minute, 100 + minute if minute < 30 else 130) for minute in range(60)]
    assert slope(rising) == 0
    assert slope(rising[:30]) == pytest.approx(60)


def test_a_piece_that_was_killed_while_it_wrote_has_the_samples_before(tmp_path: Path) -> None:
    piece, sample = tmp_path / "piece-01.jsonl", soaked(1, 100)
    line = json.dumps(asdict(sample))
    piece.write_text(f'{{"piece": 1}}\n{line}\n{line}\n{line[:40]}')
    [one, other] = samples_of(piece)
    assert one == other == replace(sample, tables=one.tables)
