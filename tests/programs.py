"""Finds the programs of others that tests run: proxies, load generators, systemd-analyze, Prometheus and its promtool."""

import os
import shutil

import pytest

from tests.slow import SLOW

FOLDERS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


def program(name: str, package: str) -> str:
    """The path of a program. Without it, the test is skipped by `make test`, and fails in CI and `make thorough`."""
    found = shutil.which(name, path=FOLDERS)
    if found is None:
        why = f"there is no {name} here (Debian's package is `{package}`)"
        if SLOW or os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return found
