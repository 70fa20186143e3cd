"""Generated requests against a real server: whatever the document allows or forbids, answers are as it says."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi import checks

from tests.http.conformity import DOCUMENT

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = 200
PLENTY = "1000000000"
LIMITS = {
    # So high that no limit is met: what happens at limits is tested beside this.
    f"CATALOG__{name}": PLENTY
    for name in (
        "KEYLESS__PER_MINUTE",
        "MINT__PER_HOUR",
        "MINT__PER_HOUR_TOTAL",
        "CLAIM__STARTS_PER_HOUR",
        "CLAIM__COMPLETIONS_PER_HOUR",
        "TIERS__ANONYMOUS__LIFETIME",
        "TIERS__ANONYMOUS__DAILY",
        "TIERS__ANONYMOUS__PER_MINUTE",
        "TIERS__ANONYMOUS__USECASE_READS",
        "TIERS__CLAIMED__MONTHLY",
        "TIERS__CLAIMED__DAILY",
        "TIERS__CLAIMED__PER_MINUTE",
    )
}
LEFT_OUT = [
    # A cursor and a claim token that are made up are refused with 400, though they have the right shape.
    checks.positive_data_acceptance,
]

schema = schemathesis.openapi.from_dict(DOCUMENT)
schema.config.update(base_url="http://127.0.0.1:1")
schema.config.seed = 1


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and the headers of each kind of caller."""

    url: str
    callers: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with an embedded Postgres of its own."""
    directory = tmp_path_factory.mktemp("schemathesis")
    for place in (directory, *directory.parents[:2]):
        # The embedded Postgres may run as another user, who has to get through.
        place.chmod(place.stat().st_mode | 0o711)
    environment = os.environ | LIMITS | {"CATALOG__LOG__LEVEL": "warning"}
    command = [sys.executable, "-m", "service"]
    rest = ["--data-dir", str(directory / "data")]
    process = subprocess.Popen(
        [*command, "serve", "--bind", "127.0.0.1:0", *rest], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().removeprefix("listening on ").strip()
        assert url.startswith("http://"), "the server did not start"
        minted = requests.post(f"{url}/api/v1/auth/agent", timeout=10).json()
        issue = [*command, "issue-key", "--email", "ann@example.com", *rest]
        issued = subprocess.run(issue, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        keys = {"anonymous": minted["apiKey"], "claimed": issued.stdout.strip()}
        callers = {name: {"Authorization": f"Bearer {key}"} for name, key in keys.items()}
        yield Server(url, {"keyless": {}} | callers)
    finally:
        process.terminate()
        code = process.wait(timeout=30)
        process.stdout.close()
    assert code == 0


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        yield opened


@schema.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.explicit, Phase.generate],
          suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("caller", ["keyless", "anonymous", "claimed"])
def test_answers_are_as_the_document_says(
    case: schemathesis.Case, caller: str, server: Server, session: requests.Session
) -> None:
    case.call_and_validate(
        base_url=server.url, session=session, headers=server.callers[caller], excluded_checks=LEFT_OUT, timeout=30
    )
