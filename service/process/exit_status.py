"""The mapping of errors to exit codes. Shared by the command line and the workers."""

import logging
from collections.abc import Callable

from actors.values import TransientStorageError
from service.config.user_errors import UserError
from service.http.listen_address import ListenError
from service.process.supervisor import TooManyRestarts, WorkerFailed
from service.terminal.output import BUG, INTERRUPTED, USAGE, OutputLost
from storage.opening import StorageError

EXPECTED = (UserError, ListenError, StorageError, TransientStorageError, WorkerFailed)
"""Errors that an operator can fix, shown without a traceback."""

log = logging.getLogger(__name__)


def outcome_of(work: Callable[[], int], report: Callable[[str], None]) -> int:
    """Run `work` and return its exit code. An expected error is passed to `report` and returns `USAGE`. Raises `OutputLost`
    alone, also if it came out of nurseries."""
    try:
        return work()
    except EXPECTED as error:
        report(_told(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseExceptionGroup as group:
        return _of_group(group, report)


def _of_group(group: BaseExceptionGroup[BaseException], report: Callable[[str], None]) -> int:
    """The exit code for errors from nested nurseries. Logs a traceback if any of them is unexpected."""
    lost, rest = group.split(OutputLost)
    if rest is None and lost is not None:
        raise first_of(lost) from None
    known, rest = group.split(EXPECTED)
    if rest is None and known is not None:
        report(_told(first_of(known)))
        return USAGE
    if group.split(KeyboardInterrupt)[1] is None:
        return INTERRUPTED
    dying, rest = group.split(TooManyRestarts)
    if rest is None and dying is not None:
        log.critical("the service is stopping: %s", first_of(dying))
        return BUG
    log.critical("the service is stopping after an unexpected error", exc_info=group)
    return BUG


def _told(error: BaseException) -> str:
    return f"the database is not available: {error}" if isinstance(error, TransientStorageError) else str(error)


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group that may hold other groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
