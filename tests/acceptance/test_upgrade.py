"""The previous release and this one run side by side on one database: docs/upgrading.md."""

import re
from contextlib import ExitStack
from pathlib import Path

import service.version
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.prepared import REPOSITORY
from tests.chaos.releases import VERSION, previous_release
from tests.chaos.upgrade import Upgrade

MOST_UNAVAILABLE = 0.001
"""The share of requests that may be answered with 5xx. A migration holds its locks while it runs."""


def test_the_upgrade_begins_with_the_last_release() -> None:
    headings = re.findall(r"^## (\d+\.\d+\.\d+) \(", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert next(each for each in headings if each != service.version.VERSION) == VERSION


async def test_an_upgrade_from_the_last_release_loses_nothing_and_refuses_hardly_anything(
    external: PostgresServer, playground: Path
) -> None:
    with ExitStack() as services:
        upgrade = Upgrade(external, playground, previous_release(), services, print)
        upgraded = await upgrade.run(seed=17)
    assert upgraded.verdict.found == []
    assert upgraded.unavailable.total() <= MOST_UNAVAILABLE * upgraded.answers.requests, upgraded.unavailable
