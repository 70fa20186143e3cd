"""The errors that end a command, and the exit codes. Does not know how they are shown."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from http import HTTPStatus


class Exit(IntEnum):
    """The exit codes of `catalogctl`. `MEANINGS` documents them."""

    SUCCESS = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    NOT_ALLOWED = 5
    LIMITED = 6
    UNAVAILABLE = 7
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS: Mapping[Exit, str] = {
    Exit.SUCCESS: "success",
    Exit.REFUSED: "the service refused the request for another reason, such as invalid fields or a conflict",
    Exit.USAGE: "invalid command, or the credentials file or output cannot be used",
    Exit.UNREACHABLE: "the service cannot be reached, or the response is not from the service",
    Exit.NOT_FOUND: "not found",
    Exit.NOT_ALLOWED: "not logged in, or the key is invalid, has expired or lacks the permission",
    Exit.LIMITED: "rate limit or quota reached",
    Exit.UNAVAILABLE: "the service is unavailable or has failed",
    Exit.INTERRUPTED: "interrupted",
    Exit.READER_GONE: "the program that reads the output closed it",
}

LIMITS = ("quota_exhausted", "rate_limited")
"""Error codes that mean a limit, whatever their status."""


def exit_of(status: int, error: str) -> Exit:
    """The exit code of a refusal, by its status and error code."""
    if status == HTTPStatus.TOO_MANY_REQUESTS or error in LIMITS:
        return Exit.LIMITED
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Exit.NOT_ALLOWED
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return Exit.NOT_FOUND
    return Exit.UNAVAILABLE if status >= HTTPStatus.INTERNAL_SERVER_ERROR else Exit.REFUSED


class Failure(Exception):
    """The command failed.

    The text is one line for the user, and `details` are further lines. `error` is the stable code of the error. `body` is the
    JSON of the service, if the service refused the request.
    """

    code = Exit.REFUSED
    error = "failed"
    details: Sequence[str] = ()
    body = b""


class Refused(Failure):
    """The service refused the request."""

    def __init__(
        self,
        words: str,
        error: str,
        code: Exit = Exit.REFUSED,
        *,
        details: Sequence[str] = (),
        body: bytes = b"",
    ) -> None:
        super().__init__(words)
        self.code, self.error, self.details, self.body = code, error, details, body


class Misused(Failure):
    """Arguments, environment variables or local files are wrong, so nothing can be sent."""

    code = Exit.USAGE
    error = "invalid_command"


class NotLoggedIn(Failure):
    """The command needs a key and there is none, so nothing was sent."""

    code = Exit.NOT_ALLOWED
    error = "not_logged_in"


class Unreachable(Failure):
    """No response arrived, or it was not from the service. The request may have been carried out."""

    code = Exit.UNREACHABLE
    error = "unreachable"
