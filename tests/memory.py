"""A place in memory for the data of the tests' own Postgres servers."""

import os
import shutil
from pathlib import Path

ROOM_BYTES = 4 * 1024**3


def in_memory() -> Path | None:
    """A file system in memory where there is a roomy one: what tests kill are processes, not the machine."""
    place = Path("/dev/shm")
    roomy = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > ROOM_BYTES
    return place if roomy else None
