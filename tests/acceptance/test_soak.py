"""Events while everything breaks: no answer is untrue, every request is answered, and all is well again soon."""

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.acceptance.postgres import PostgresServer, started
from tests.soak.campaign import run
from tests.soak.faults import FAULTS

SECONDS = float(os.environ.get("CATALOG_TEST_SOAK_SECONDS", "25"))
"""`make soak` runs it for longer."""


async def test_no_answer_about_an_event_is_untrue_whatever_breaks(
    playground: Path, new_server: Callable[..., PostgresServer]
) -> None:
    seed = int(os.environ.get("CATALOG_TEST_SEED") or random.SystemRandom().randrange(10**6))
    with started(new_server(playground / "soak")) as postgres:
        report = await run(postgres, playground / "soak", seed, SECONDS)
    words = "\n".join(report.lines())
    assert not report.found, f"CATALOG_TEST_SEED={seed} replays the plan of faults:\n{words}"
    assert report.stage.made.keys() == FAULTS.keys()
    assert report.stage.answers.trues
    assert report.stage.answers.duplicates
