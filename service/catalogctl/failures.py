"""What ends a command: one line for a person, and the exit code. Knows nothing of how it is shown."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `catalogctl`."""

    SUCCESS = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130
    BROKEN_PIPE = 141


class Failure(Exception):
    """The command cannot go on; the text is for a person."""

    code = Exit.REFUSED


class Refused(Failure):
    """The service answered no."""


class Misused(Failure):
    """What was asked for cannot be sent: arguments, variables or files of this side."""

    code = Exit.USAGE


class Unreachable(Failure):
    """No answer came, or none that is the service's. Whether the request was carried out is not known."""

    code = Exit.UNREACHABLE
