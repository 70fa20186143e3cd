"""A pytest plugin for mutation runs: deterministic and as fast as possible.

A surviving mutant is tried with all tests that reach it. So examples are derandomized, failures are not shrunk, and
random walks of state machines are skipped: what only they find deserves a test of its own.
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
    """Exclude imported objects from the garbage collections in which pytest looks for lost warnings.

    Halves a short run.
    """
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip state machines. Run whole decisions first, which notice most changes, then tests near the mutant, and drawn
    examples last."""
    walks = [item for item in items if _walks(item)]
    items[:] = sorted((item for item in items if not _walks(item)), key=_order)
    config.hook.pytest_deselected(items=walks)


def _order(item: pytest.Item) -> tuple[bool, bool, bool]:
    return not item.nodeid.startswith("tests/state/test_decisions.py"), _draws(item), _is_far(item)


def _walks(item: pytest.Item) -> bool:
    return getattr(getattr(item, "cls", None), "__module__", "") == "hypothesis.stateful"


def _draws(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "obj", None), "hypothesis")


def _is_far(item: pytest.Item) -> bool:
    """Tests of actors also reach the kernel and the rules; the tests of those two are faster and more specific."""
    return item.nodeid.startswith("tests/actors/")
