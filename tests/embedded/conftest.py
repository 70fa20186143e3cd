import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from storage.embedded.cluster import make_data_dir, prepare
from tests.memory import in_memory


@contextmanager
def passable_directory() -> Iterator[Path]:
    """A directory that every user can enter, unlike those of `tmp_path`, which are 0700."""
    path = Path(tempfile.mkdtemp(prefix="embedded-", dir=in_memory()))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@pytest.fixture
def place() -> Iterator[Path]:
    with passable_directory() as path:
        yield path


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """A data directory with a cluster, shared by all tests. Each test leaves it in a state that can be started."""
    with passable_directory() as path:
        make_data_dir(path / "data")
        trio.run(prepare, path / "data", None)
        yield path / "data"


@pytest.fixture
def new_dir(place: Path) -> Path:
    """A data directory that does not exist yet."""
    return place / "new"
