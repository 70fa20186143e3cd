"""Errors of the driver become the three that actors know. The texts of Citus are those that a real cluster sent."""

import pytest
from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from storage.error_translation import translated

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


@pytest.mark.parametrize("error", OF_CITUS, ids=str)
def test_the_same_class_of_one_postgres_is_a_bug(error: Exception) -> None:
    for sent_commit in (False, True):
        assert translated(error, sent_commit=sent_commit) is error


@pytest.mark.parametrize("distributed", [False, True])
def test_conflicts_and_broken_connections_are_the_same_on_both(distributed: bool) -> None:
    conflict, broken, bug = pg.DeadlockDetectedError("x"), ConnectionResetError(), pg.UndefinedColumnError("x")
    for sent_commit in (False, True):
        assert isinstance(translated(conflict, sent_commit=sent_commit, distributed=distributed), Contended)
        assert translated(bug, sent_commit=sent_commit, distributed=distributed) is bug
    assert isinstance(translated(broken, sent_commit=False, distributed=distributed), StorageUnavailable)
    assert isinstance(translated(broken, sent_commit=True, distributed=distributed), OutcomeUnknown)
