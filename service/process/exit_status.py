"""Exit codes, and how the outcome of a process's work becomes one. Shared by the command line and the workers."""

import logging
from collections.abc import Callable

from service.http.listeners import ListenError
from service.process.supervisor import DiesTooOften, WorkerFailed
from service.user_errors import UserError
from storage.opening import StorageError

SUCCESS, BUG, USAGE, INTERRUPTED = 0, 1, 2, 130

EXPECTED = (UserError, ListenError, StorageError, WorkerFailed)
"""Errors that an operator can fix. Their text is the whole message; they are shown without a traceback."""

log = logging.getLogger(__name__)


def outcome_of(work: Callable[[], int], complain: Callable[[str], None]) -> int:
    """Run `work` and return its exit code. An expected error is reported through `complain` and returns `USAGE`."""
    try:
        return work()
    except EXPECTED as error:
        complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseExceptionGroup as group:
        return _of_group(group, complain)


def _of_group(group: BaseExceptionGroup[BaseException], complain: Callable[[str], None]) -> int:
    """The exit code for errors out of nested nurseries. Any unexpected one among them is logged with its traceback."""
    known, rest = group.split(EXPECTED)
    if rest is None and known is not None:
        complain(str(first_of(known)))
        return USAGE
    if group.split(KeyboardInterrupt)[1] is None:
        return INTERRUPTED
    dying, rest = group.split(DiesTooOften)
    if rest is None and dying is not None:
        log.critical("the service ends: %s", first_of(dying))
        return BUG
    log.critical("the service ends after a failure", exc_info=group)
    return BUG


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group that may hold other groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
