"""The counts of requests: the summary that operators see, and the histogram of the metrics."""

import pytest

from actors.clock import MINUTE_MS, SECOND_MS
from service.observability.metrics import Metrics, SharedPage
from service.observability.request_counts import LATENCY_BUCKETS, SPANS, AnswerCounts, AnswerSummary, LastHour, Load
from tests.fakes import HandClock

NOON_MS = 1_800_014_400_000


def counted(*answers: tuple[float, int], operation: str = "listBots") -> AnswerCounts:
    counts = AnswerCounts()
    for seconds, status in answers:
        counts.count(operation, status, seconds, "")
    return counts


def test_without_a_request_there_is_no_time() -> None:
    assert AnswerCounts().summary() == AnswerSummary(0, 0, None, None)


def test_a_time_is_the_upper_bound_of_its_bucket() -> None:
    for bound in LATENCY_BUCKETS:
        assert counted((bound, 200)).summary()[2:] == (bound, bound)
    assert counted((0.0011, 200)).summary()[2:] == (0.0025, 0.0025)


def test_one_slow_request_of_a_hundred_is_beyond_the_time_of_the_rest() -> None:
    quick = [(0.004, 200)] * 99
    assert counted(*quick, (3.0, 200)).summary()[2:] == (0.005, 0.005)
    assert counted(*quick[1:], (3.0, 200), (3.0, 200)).summary()[2:] == (0.005, 5.0)


def test_half_of_two_requests_is_the_quicker_one() -> None:
    assert counted((0.001, 200), (1.0, 200)).summary()[2:] == (0.001, 1.0)


def test_a_request_beyond_the_last_bucket_has_no_bound() -> None:
    assert counted((10.1, 200)).summary()[2:] == (None, None)
    assert counted((0.001, 200), (60.0, 200)).summary()[2:] == (0.001, None)


def test_all_operations_count_together_and_only_5xx_are_failures() -> None:
    counts = AnswerCounts()
    for operation, status in (("listBots", 200), ("getBot", 404), ("getBot", 499), ("getBot", 500), ("", 503)):
        counts.count(operation, status, 0.02, "")
    assert counts.summary() == AnswerSummary(5, 2, 0.025, 0.025)


def test_the_metrics_have_the_same_counts() -> None:
    counts = counted((0.001, 200), (20.0, 503))
    counts.count("getBot", 404, 0.3, "not_found")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for metric in counts.collect()
        for sample in metric.samples
    }
    assert samples["catalog_requests_total", "503", "listBots"] == 1
    assert samples["catalog_request_seconds_bucket", "0.001", "listBots"] == 1
    assert samples["catalog_request_seconds_bucket", "10.0", "listBots"] == 1
    assert samples["catalog_request_seconds_bucket", "+Inf", "listBots"] == 2
    assert samples["catalog_request_seconds_sum", "listBots"] == 20.001
    assert samples["catalog_refusals_total", "not_found"] == 1


def test_the_last_hour_is_what_was_done_in_each_two_minutes_and_what_was_there_at_their_start() -> None:
    clock = HandClock(NOON_MS)
    hour, load = LastHour(clock), Load(5, 1, 0, 2, 3, 4)
    assert hour.spans(load) == [None] * SPANS
    hour.sample(lambda: load)
    clock.at_ms += MINUTE_MS
    hour.sample(lambda: pytest.fail("a span has one sample"))
    assert hour.spans(Load(7, 1, 1, 2, 9, 9)) == [*[None] * (SPANS - 1), Load(2, 0, 1, 0, 3, 4)]
    clock.at_ms += 5 * MINUTE_MS  # a span without a sample belongs to the one before
    hour.sample(lambda: Load(9, 1, 1, 2, 0, 0))
    assert hour.spans(Load(9, 1, 1, 2, 0, 0))[-4:] == [Load(4, 0, 1, 0, 3, 4), None, None, Load(0, 0, 0, 0, 0, 0)]
    clock.at_ms -= MINUTE_MS
    for _ in range(200):
        clock.at_ms += 2 * MINUTE_MS
        hour.sample(lambda: Load(9, 1, 1, 2, 0, 0))
    assert hour.spans(Load(9, 1, 1, 2, 0, 0)) == [Load(0, 0, 0, 0, 0, 0)] * SPANS
    clock.at_ms += 60 * MINUTE_MS
    assert hour.spans(load) == [None] * SPANS


def test_the_public_page_of_metrics_is_rendered_once_a_second() -> None:
    clock, metrics = HandClock(NOON_MS), Metrics()
    page = SharedPage(metrics, clock)
    first = page.read()
    metrics.answered("listBots", 200, 0.01, "")
    clock.at_ms += SECOND_MS - 1
    assert page.read() is first
    clock.at_ms += 1
    assert b'catalog_requests_total{operation="listBots",status="200"} 1.0' in page.read()
    metrics.answered("listBots", 200, 0.01, "")
    clock.at_ms -= 10 * SECOND_MS  # a clock that is set back does not keep an old page
    assert b'catalog_requests_total{operation="listBots",status="200"} 2.0' in page.read()
