"""The examples of docs/events.md, run unchanged against a fresh service, and its figures."""

import re
import subprocess
import sys
from pathlib import Path

import httpx

from actors.events.router import EventOutcome
from service.api.operations.events import BATCH_BYTES, EVENT_BYTES
from service.api.rate_limits import NETWORK_FACTOR
from service.config.loading import load
from service.schemas.events import EVENTS_IN_A_REQUEST
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import serving, until

TEXT = (REPOSITORY / "docs/events.md").read_text(encoding="utf-8")
VISITOR = "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_examples_in_curl_do_what_is_said_of_them(data_dir: Path) -> None:
    with serving(data_dir, python=sys.executable) as service:
        script = "set -eu\n" + "".join(blocks("sh")).replace("http://127.0.0.1:8080", service.url)
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)
        first, rest = done.stdout.removeprefix("HTTP/1.1 200").split("HTTP/1.1 200")
        assert first.endswith('{"recorded":true}')
        assert "x-event-dropped" not in first
        second, results, batch = rest.partition('{"results"')
        assert second.endswith('{"recorded":false}')
        assert "\nx-event-dropped: duplicate\n" in second
        assert f"\n\n    {results}{batch}\n\n" in TEXT, batch
        # An access log line is written once the answer is.
        until(lambda: "/api/v1/sponsors/events/batch" in service.log(), what="the last request is logged")
        assert VISITOR not in service.log()
        assert _fates(service.url) == {"recorded": 2, "duplicate": 2}


def _fates(url: str) -> dict[str, float]:
    found = re.findall(r'^catalog_events_total\{fate="(\w+)"\} (\S+)$', httpx.get(f"{url}/metrics").text, re.MULTILINE)
    return {fate: float(count) for fate, count in found if float(count)}


def test_pages_are_told_to_send_events_as_the_script_does() -> None:
    [sample] = blocks("js")
    assert "keepalive: true" in sample
    assert "events?unit=day" in sample
    assert "sendBeacon" not in sample


def test_its_words_and_figures_are_those_of_the_code() -> None:
    events = load(None, {}).events
    reasons = TEXT.partition("| `X-Event-Dropped` |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", reasons, re.MULTILINE)) == set(EventOutcome) - {
        EventOutcome.RECORDED,
        EventOutcome.UNAVAILABLE,
    }
    for words in (
        f"more than {EVENT_BYTES // 1024} KiB",
        f"1 to {EVENTS_IN_A_REQUEST} of them in at most {BATCH_BYTES // 1024} KiB",
        f"| `events.per_minute` | {events.per_minute:,} |",
        f"| `events.per_booking_per_hour` | {events.per_booking_per_hour:,} |",
        f"`events.per_booking_per_hour` ({events.per_booking_per_hour})",
        f"at most {24 * events.per_booking_per_hour:,} events to a booking in a day",
        f"most {24 * NETWORK_FACTOR * events.per_booking_per_hour:,}. Deduplication",
        f"| `events.mailbox` | {events.mailbox:,} |",
        f"`events.keep_days` ({events.keep_days})",
    ):
        assert words in TEXT, words
