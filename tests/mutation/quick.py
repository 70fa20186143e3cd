"""A pytest plugin of the run over mutants: the same verdict every time, and as soon as can be.

A mutant that lives is met by all tests that reach it, so nothing is drawn by chance, nothing that failed is made smaller, and
random walks of state machines stay away: what they alone would find has no test that says so.
"""

import gc

import pytest
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "mutants",
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("mutants")


def pytest_configure() -> None:
    """Take what was imported out of the collections in which pytest looks for lost warnings: half the time of a short run."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave state machines out; run what is near to the mutant before what is far, and drawn examples after all that."""
    walks = [item for item in items if _walks(item)]
    items[:] = sorted((item for item in items if not _walks(item)), key=lambda item: (_draws(item), _is_far(item)))
    config.hook.pytest_deselected(items=walks)


def _walks(item: pytest.Item) -> bool:
    return getattr(getattr(item, "cls", None), "__module__", "") == "hypothesis.stateful"


def _draws(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "obj", None), "hypothesis")


def _is_far(item: pytest.Item) -> bool:
    """Tests of actors reach the kernel and the rules by the way; tests of both are quick, and know better."""
    return item.nodeid.startswith("tests/actors/")
