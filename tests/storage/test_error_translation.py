"""Errors of the driver become the three that actors know. The texts of Citus are those that a real cluster sent."""

import ssl
from socket import gaierror

import pytest
import trio
from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from storage.connection.error_translation import BROKE, POOLED, reason_of, translated

OF_CITUS = [
    pg.InternalServerError("terminating connection due to unexpected postmaster exit"),
    pg.InternalServerError("could not find valid entry for shard 102008"),
    pg.InternalServerError("failure on connection marked as essential: 127.0.0.1:5601"),
    pg.InternalServerError("connection not open"),
]


@pytest.mark.parametrize("error", OF_CITUS, ids=str)
def test_what_passes_by_itself_on_citus_is_no_bug(error: Exception) -> None:
    before = translated(error, sent_commit=False, distributed=True)
    assert isinstance(before, StorageUnavailable)
    assert str(error) in str(before)
    in_commit = translated(error, sent_commit=True, distributed=True)
    assert isinstance(in_commit, OutcomeUnknown)
    for sent_commit in (False, True):
        assert translated(error, sent_commit=sent_commit) is error, "on one Postgres it is a bug"


@pytest.mark.parametrize("distributed", [False, True])
def test_conflicts_and_broken_connections_are_the_same_on_both(distributed: bool) -> None:
    conflict, broken, bug = pg.DeadlockDetectedError("x"), ConnectionResetError(), pg.UndefinedColumnError("x")
    for sent_commit in (False, True):
        assert isinstance(translated(conflict, sent_commit=sent_commit, distributed=distributed), Contended)
        assert translated(bug, sent_commit=sent_commit, distributed=distributed) is bug
    assert isinstance(translated(broken, sent_commit=False, distributed=distributed), StorageUnavailable)
    assert isinstance(translated(broken, sent_commit=True, distributed=distributed), OutcomeUnknown)


DE = "keine Berechtigung für Schema public"
CONNECTING = {
    pg.InvalidPasswordError(
        'password authentication failed for user "ann"'
    ): 'password authentication failed for user "ann"',
    pg.InsufficientPrivilegeError(DE): f"the role of the service lacks a right ({DE}); see docs/installing.md",
    pg.TargetServerAttributeNotMatched(
        "None of the hosts match"
    ): "no server at db:5432 is a primary, which accepts writes",
    pg.UnsupportedClientFeatureError(
        "unknown authentication"
    ): "db:5432 is a server that the driver cannot use (unknown authentication)",
    ConnectionRefusedError(111, "Connect call failed"): "no server listens at db:5432",
    FileNotFoundError(2, "No such file or directory"): "no server listens at db:5432",
    ConnectionResetError(104, "Connection reset by peer"): "db:5432 closes the connection",
    OSError("Multiple exceptions: [Errno 111] Connect call failed"): "db:5432 cannot be reached",
    OSError(113, "Connect call failed ('10.0.0.1', 5432)"): "db:5432 cannot be reached (no route to host)",
    gaierror(-2, "Name or service not known"): "the host name of db:5432 cannot be resolved",
    TimeoutError(): "db:5432 does not answer within 3 s",
    trio.TooSlowError(): "db:5432 does not answer within 3 s",
    ConnectionError(
        "PostgreSQL server at 'db:5432' rejected SSL upgrade"
    ): "db:5432 is not a Postgres server, or refuses TLS",
    ssl.SSLError(1, "[SSL] wrong version"): "TLS with db:5432 fails (no reason given)",
    KeyError("what nobody knows"): "the database failed unexpectedly ('what nobody knows')",
}
WORKING = {
    pg.DiskFullError(
        "could not extend file"
    ): "the database server has no room to write; make room on its disk (could not extend file)",
    pg.QueryCanceledError(
        "canceling statement due to statement timeout"
    ): "canceling statement due to statement timeout",
    pg.CannotConnectNowError("the database system\nis starting up"): "the database system is starting up",
    pg.InternalClientError("cannot switch to state 12"): BROKE,
    pg.InterfaceError("connection is closed"): BROKE,
    pg.ConnectionDoesNotExistError("connection was closed in the middle of operation"): BROKE,
    ConnectionResetError(104, "Connection reset by peer"): BROKE,
    BrokenPipeError(32, "Broken pipe"): BROKE,
    OSError(113, "No route to host"): BROKE,
    TimeoutError(): "db:5432 does not answer in time",
    pg.DuplicatePreparedStatementError('prepared statement "__asyncpg_stmt_1__" already exists'): POOLED,
    pg.InvalidSQLStatementNameError('prepared statement "__asyncpg_stmt_1__" does not exist'): POOLED,
}
CASES = [(error, reason, 3.0) for error, reason in CONNECTING.items()] + [
    (error, reason, None) for error, reason in WORKING.items()
]


@pytest.mark.parametrize(("error", "reason", "connect_seconds"), CASES)
def test_a_failure_has_a_plain_reason_in_any_language(
    error: Exception, reason: str, connect_seconds: float | None
) -> None:
    assert reason_of(error, place="db:5432", connect_seconds=connect_seconds) == reason


def test_no_error_of_the_driver_or_the_system_shows_its_class_or_a_line_break() -> None:
    kinds = (pg.PostgresError, pg.InterfaceError, pg.InternalClientError)
    classes = [each for each in vars(pg).values() if isinstance(each, type) and issubclass(each, kinds)]
    assert len(classes) > 200
    for kind in (*classes, OSError, TimeoutError, EOFError, AttributeError):
        for connect_seconds in (None, 3.0):
            reason = reason_of(kind("two\nlines"), connect_seconds=connect_seconds)
            assert kind.__name__ not in reason
            assert "\n" not in reason
