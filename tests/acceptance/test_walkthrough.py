"""The walks of docs/sponsorship.md, run unchanged against a fresh service, and what becomes of a clock that was moved."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import Service, complaint, run, serving

WALKS = (
    "## From nothing to a live placement, in curl\n",
    "## The whole life of a booking in a minute, in curl\n",
)
"""The second one goes on in the shell of the first."""


def _walk(service: Service, data_dir: Path) -> str:
    text = (REPOSITORY / "docs/sponsorship.md").read_text(encoding="utf-8")
    blocks = []
    for heading in WALKS:
        section = text.split(heading)[1].split("\n## ")[0]
        blocks += re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    script = "set -eu\n" + "".join(blocks).replace("http://127.0.0.1:8080", service.url)
    own = f"{sys.executable} -m service"
    script = re.sub(r"\.venv/bin/python -m service( [^)\n]*)", rf"{own}\1 --data-dir {data_dir}", script)
    done = subprocess.run(
        ["bash", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def test_the_walks_lead_from_nothing_to_the_end_of_a_booking_and_its_time_goes_on_after_a_restart(
    data_dir: Path,
) -> None:
    with serving(data_dir) as service:
        told = _walk(service, data_dir)
        reached = json.loads(re.findall(r'\{"now":[^}]*\}', told)[-1])
    [live] = re.findall(r'\{"placements".*?\}\]\}', told)
    [ours] = [each for each in json.loads(live)["placements"] if not each["demo"]]
    assert (ours["sponsorName"], ours["side"]) == ("Example Tools", "left")
    for words in (
        '"status":"paid"',
        "A booking that is expired cannot be brought to checkout.",
        '"impressions":1,"clicks":0,"ctr":0.0',
        "Your report: 1 time shown, 0 clicks",
        '"number":"TEST-CN-000001"',
    ):
        assert words in told
    assert told.rstrip().endswith('"message":"There is no such booking."}')
    refused = run("serve", "--data-dir", data_dir, settings={"mail.smtp_url": "smtp://127.0.0.1:25"})
    assert "the clock of this database was moved 40" in complaint(refused)
    with serving(data_dir) as service:
        now = service.post("/dev/clock", {"advanceSeconds": 0}).json()
        assert now["now"] > reached["now"]
        assert now["aheadSeconds"] == reached["aheadSeconds"]
        assert "note: the clock of this database was moved" in service.command("doctor")
        soon = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%dT%H:%MZ}"
        service.command(
            "create-slot", "--name", "Late", "--side", "left", "--week-price-cents", "900", "--offer-ends", soon
        )
        [late] = [line for line in service.command("list-slots").splitlines() if " Late " in line]
        assert late.endswith("offer ended"), "commands have the time of the service"
