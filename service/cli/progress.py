"""Progress bars of long commands, on standard error and only where that is a terminal."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

Progress = Callable[[int, int], None]
"""Shows how much is done, and of how much; 0 if that is unknown."""

MOST_COLUMNS = 100

tqdm.monitor_interval = 0  # no thread that refreshes bars


@contextmanager
def progress_bar(words: str, unit: str) -> Iterator[Progress]:
    """A bar for the block. `unit` is `bytes`, which are shown in thousands, or the plural of what is counted."""
    in_bytes = unit == "bytes"
    look = {"unit": "B", "unit_scale": True} if in_bytes else {"unit": f" {unit}"}
    # The size is given, because a terminal may not know its own.
    size = shutil.get_terminal_size()
    columns = min(size.columns, MOST_COLUMNS)
    with tqdm(desc=words, file=sys.stderr, disable=None, ncols=columns, nrows=size.lines, **look) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        yield show
