"""The errors that end a command, each with its exit code. Does not know how they are shown."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `catalogctl`."""

    SUCCESS = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


class Failure(Exception):
    """The command failed. The text is one line for the user."""

    code = Exit.REFUSED


class Refused(Failure):
    """The service refused the request."""


class Misused(Failure):
    """Arguments, environment variables or local files are wrong, so nothing can be sent."""

    code = Exit.USAGE


class Unreachable(Failure):
    """No response arrived, or it was not from the service. The request may have been carried out."""

    code = Exit.UNREACHABLE
