"""The errors that end a command, and the exit codes. Does not know how they are shown."""

from collections.abc import Sequence
from enum import IntEnum
from http import HTTPStatus


class Exit(IntEnum):
    """The exit codes of `catalogctl`, each with its meaning."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "Exit":
        made = int.__new__(cls, code)
        made._value_, made.meaning = code, meaning
        return made

    SUCCESS = 0, "success"
    REFUSED = 1, "the service refused the request for another reason, such as invalid fields or a conflict"
    USAGE = 2, "invalid command, or the credentials file or output cannot be used"
    UNREACHABLE = 3, "the service cannot be reached, or the response is not from the service"
    NOT_FOUND = 4, "not found"
    NOT_ALLOWED = 5, "not logged in, or the key is invalid, has expired or lacks the permission"
    LIMITED = 6, "rate limit or quota reached"
    UNAVAILABLE = 7, "the service is unavailable or has failed"
    INTERRUPTED = 130, "interrupted"
    READER_GONE = 141, "the program that reads the output closed it"


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
