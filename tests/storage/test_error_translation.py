"""Errors of the driver become the three that actors know. The texts of Citus are those that a real cluster sent."""

from socket import gaierror

import pytest
from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from storage.connection.error_translation import reason_of, translated

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


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            pg.InvalidPasswordError('password authentication failed for user "ann"'),
            'password authentication failed for user "ann"',
        ),
        (
            pg.InsufficientPrivilegeError("permission denied for schema public"),
            "permission denied for schema public: grant create on schema public to the role of database.url",
        ),
        (pg.InsufficientPrivilegeError("permission denied for table keys"), "permission denied for table keys"),
        (ConnectionRefusedError(111, "Connect call failed"), "no server listens there"),
        (FileNotFoundError(2, "No such file or directory"), "no server listens there"),
        (gaierror(-2, "Name or service not known"), "the host name cannot be resolved"),
        (TimeoutError(), "it does not answer within 3 s"),
        (
            ConnectionError("PostgreSQL server at 'db.example.com:5432' rejected SSL upgrade"),
            "it is not a Postgres server, or refuses TLS",
        ),
        (KeyError("what nobody knows"), "KeyError: 'what nobody knows'"),
    ],
)
def test_a_failure_has_a_plain_reason_and_only_an_unknown_one_names_its_class(error: Exception, reason: str) -> None:
    assert reason_of(error, connect_seconds=3.0) == reason
