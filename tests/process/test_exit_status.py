"""Exit codes of errors, including those from nested nurseries."""

import logging

import pytest

from actors.values import OutcomeUnknown, StorageUnavailable
from service.config.user_errors import ConfigError
from service.process.exit_status import outcome_of
from service.process.supervisor import TooManyRestarts, WorkerFailed
from service.terminal.output import BUG, INTERRUPTED, SUCCESS, USAGE


def raising(error: BaseException) -> tuple[int, list[str]]:
    """The exit code of work that raises `error`, and the reported texts."""
    reported: list[str] = []

    def work() -> int:
        raise error

    return outcome_of(work, reported.append), reported


def nested(*errors: BaseException) -> BaseExceptionGroup[BaseException]:
    return BaseExceptionGroup("outer", [BaseExceptionGroup("inner", list(errors))])


def test_work_that_ends_well_gives_its_own_code() -> None:
    assert outcome_of(lambda: SUCCESS, print) == SUCCESS


@pytest.mark.parametrize("error", [ConfigError("no such file"), nested(ConfigError("no such file"))])
def test_an_error_that_an_operator_can_fix_is_reported_as_usage(error: BaseException) -> None:
    assert raising(error) == (USAGE, ["no such file"])


@pytest.mark.parametrize("error", [StorageUnavailable("no connection"), nested(OutcomeUnknown("no connection"))])
def test_a_database_that_fails_is_reported_as_usage(error: BaseException) -> None:
    assert raising(error) == (USAGE, ["the database is not available: no connection"])


def test_of_several_such_errors_the_first_is_reported() -> None:
    assert raising(nested(WorkerFailed("worker 1"), WorkerFailed("worker 2"))) == (USAGE, ["worker 1"])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), nested(KeyboardInterrupt())])
def test_an_interrupt_has_its_own_code(error: BaseException) -> None:
    assert raising(error) == (INTERRUPTED, [])


def test_an_unexpected_error_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        assert raising(nested(ConfigError("no such file"), ValueError("a bug"))) == (BUG, [])
    [record] = caplog.records
    assert record.exc_info


def test_workers_that_die_too_often_are_logged_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.CRITICAL):
        assert raising(nested(TooManyRestarts("worker 1 died 5 times"))) == (BUG, [])
    [record] = caplog.records
    assert record.getMessage() == "the service is stopping: worker 1 died 5 times"
    assert not record.exc_info
