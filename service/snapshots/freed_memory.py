"""Settings of the C library's memory. They do nothing with a library other than glibc."""

import ctypes

_LIBRARY = ctypes.CDLL(None)
_ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's `malloc.h`."""


def share_arena() -> None:
    """Let all threads take memory from one arena. Else each thread gets one of its own, which keeps what another could use:
    5 MiB for the sample catalog. Threads that run already keep theirs."""
    set_option = getattr(_LIBRARY, "mallopt", None)
    if set_option is not None:
        set_option(_ARENA_MAX, 1)


def give_back() -> None:
    """Return what was freed, as far as the C library keeps it: each change of an index frees buffers of some MiB, in threads
    of its own. Takes a few milliseconds."""
    trim = getattr(_LIBRARY, "malloc_trim", None)
    if trim is not None:
        trim(0)
