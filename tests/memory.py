"""A directory in memory for the data of the tests' Postgres servers."""

import os
import shutil
from pathlib import Path

ROOM_BYTES = 4 * 1024**3


def in_memory() -> Path | None:
    """An in-memory file system with enough room, or None. Safe, because tests kill processes, not the machine."""
    place = Path("/dev/shm")
    roomy = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > ROOM_BYTES
    return place if roomy else None
