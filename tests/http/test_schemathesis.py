"""Generated requests against a real server: whatever the document allows or forbids, answers are as it says."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi import checks

from tests.http.conformity import DOCUMENT

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = 200
PLENTY = "1000000000"
BOSS = "boss@example.com"
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
# What a server answers differs from run to run: what is asked must not depend on it.
schema.config.phases.fuzzing.extra_data_sources.responses = False
schema.config.phases.fuzzing.error_feedback.is_enabled = False


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, and the headers of each kind of caller."""

    url: str
    callers: dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with an embedded Postgres of its own."""
    with tempfile.TemporaryDirectory(prefix="catalog-tests-", ignore_cleanup_errors=True) as directory:
        # The embedded Postgres may run as another user, who has to get through.
        Path(directory).chmod(0o711)
        environment = os.environ | LIMITS | {"CATALOG__LOG__LEVEL": "warning", "CATALOG__ADMIN__EMAILS": BOSS}
        run = partial(_command, environment, f"{directory}/data")
        process = subprocess.Popen(**run("serve", "--bind", "127.0.0.1:0"), stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("listening on ").strip()
            assert url.startswith("http://"), "the server did not start"
            minted = requests.post(f"{url}/api/v1/auth/agent", timeout=10).json()
            issued = subprocess.run(**run("issue-key", "--email", "ann@example.com"), capture_output=True, check=True)
            boss = subprocess.run(**run("issue-key", "--email", BOSS), capture_output=True, check=True)
            keys = {
                "anonymous": minted["apiKey"],
                "claimed": issued.stdout.strip(),
                "administrator": boss.stdout.strip(),
            }
            callers = {name: {"Authorization": f"Bearer {key}"} for name, key in keys.items()}
            yield Server(url, {"keyless": {}} | callers)
        finally:
            process.terminate()
            code = process.wait(timeout=30)
            process.stdout.close()
        assert code == 0


def _command(environment: Mapping[str, str], data_dir: str, *words: str) -> dict[str, Any]:
    """How to run a command of the service, as arguments of `subprocess`."""
    command = [sys.executable, "-m", "service", *words, "--data-dir", data_dir]
    return {"args": command, "cwd": ROOT, "env": environment, "text": True}


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        yield opened


thorough = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
with_keys = schema.include(tag=["Account", "Catalog", "Sponsorship"])
of_accounts = schema.include(tag=["Sponsors", "Campaigns", "Bookings", "Scoped keys", "Administration"])
without_keys = schema.include(tag=["Keys", "Payments", "Operation"])
brief = settings(thorough, max_examples=EXAMPLES // 4)
"""Callers are refused before anything is read, or write to the database each time."""


@with_keys.parametrize()
@thorough
@pytest.mark.parametrize("caller", ["keyless", "anonymous", "claimed"])
def test_answers_are_as_the_document_says(
    case: schemathesis.Case, caller: str, server: Server, session: requests.Session
) -> None:
    _check(case, server, session, caller)


@of_accounts.parametrize()
@brief
@pytest.mark.parametrize("caller", ["anonymous", "administrator"])
def test_answers_to_accounts_are_as_the_document_says(
    case: schemathesis.Case, caller: str, server: Server, session: requests.Session
) -> None:
    _check(case, server, session, caller)


@without_keys.parametrize()
@thorough
def test_answers_of_public_operations_are_as_the_document_says(
    case: schemathesis.Case, server: Server, session: requests.Session
) -> None:
    _check(case, server, session, "keyless")


def _check(case: schemathesis.Case, server: Server, session: requests.Session, caller: str) -> None:
    case.call_and_validate(
        base_url=server.url, session=session, headers=server.callers[caller], excluded_checks=LEFT_OUT, timeout=30
    )
