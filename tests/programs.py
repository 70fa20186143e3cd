"""Finds the programs of others that tests run: browsers, proxies, load generators, systemd-analyze, Prometheus's promtool."""

import os
import shutil

import pytest

from tests.slow import SLOW

FOLDERS = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


def program(name: str, package: str) -> str:
    """The path of a program. Without it, the test is skipped by `make test`, and fails in CI and `make thorough`."""
    return _found(shutil.which(name, path=FOLDERS), name, package)


def installed(path: str, package: str) -> str:
    """The path of what a package has besides programs. Without it, the same happens."""
    return _found(path if os.path.exists(path) else None, path, package)


def _found(path: str | None, name: str, package: str) -> str:
    if path is None:
        why = f"there is no {name} here (Debian's package is `{package}`)"
        if SLOW or os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return path
