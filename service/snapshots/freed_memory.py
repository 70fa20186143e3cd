"""Returns freed memory to the system."""

import ctypes


def give_back() -> None:
    """Return what was freed, as far as the C library keeps it: each change of an index frees buffers of some MiB, in threads
    of its own. Takes a few milliseconds. Does nothing with a library other than glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
