"""A developer's journey on a node that Hypercorn serves."""

from collections.abc import Iterator

import pytest

from tests.acceptance.processes import Service
from tests.browser.conftest import running_node
from tests.browser.test_developer_walk import test_a_developer_mints_a_key_claims_it_makes_another_and_revokes_it
from tests.slow import repeats

pytestmark = repeats("test_stopping and test_asgi of tests/acceptance serve with Hypercorn")

__all__ = ["test_a_developer_mints_a_key_claims_it_makes_another_and_revokes_it"]


@pytest.fixture(scope="module")
def node() -> Iterator[Service]:
    with running_node(server__engine="hypercorn") as service:
        yield service
