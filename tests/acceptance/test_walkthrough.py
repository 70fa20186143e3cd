"""The walk-through of docs/sponsorship.md, run unchanged against a fresh service."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import serving


def _script() -> str:
    text = (REPOSITORY / "docs/sponsorship.md").read_text(encoding="utf-8")
    section = text.split("## From nothing to a live placement, in curl\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    return "set -eu\n" + "".join(blocks)


def test_the_walk_through_leads_from_nothing_to_a_live_placement(data_dir: Path) -> None:
    with serving(data_dir) as service:
        script = _script().replace("http://127.0.0.1:8080", service.url)
        own = f"{sys.executable} -m service"
        script = script.replace(".venv/bin/python -m service", own)
        command = rf"({re.escape(own)} [^)\n]*)"
        script = re.sub(command, rf"\1 --data-dir {data_dir}", script)
        done = subprocess.run(
            ["bash", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        placements = json.loads(done.stdout[done.stdout.rindex('{"placements"') :])["placements"]
        [ours] = [each for each in placements if not each["demo"]]
        assert (ours["sponsorName"], ours["side"]) == ("Example Tools", "left")
        assert '"status":"paid"' in done.stdout
