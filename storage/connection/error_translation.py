"""Translates asyncpg's errors into the three that actors know.

`Contended`: rolled back, run it again. `OutcomeUnknown`: the connection broke during the commit. `StorageUnavailable`:
nothing was written, try later. Any other error is a bug and stays as it is.
"""

import os
import ssl
from socket import gaierror
from typing import Any

import trio
from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable

CONTENDED = (
    pg.SerializationError,
    pg.DeadlockDetectedError,
    pg.UniqueViolationError,
    pg.LockNotAvailableError,
)
LOST = (
    pg.PostgresConnectionError,
    pg.InterfaceError,
    # asyncpg raises this when a statement meets the server's shutdown message on an idle connection.
    pg.InternalClientError,
    pg.OperatorInterventionError,
    ConnectionError,
    OSError,
    TimeoutError,
)
"""Errors after which the outcome of a commit that was sent is unknown."""
PASSING = (pg.InternalServerError, pg.ObjectNotInPrerequisiteStateError)
"""Errors of Citus that pass by themselves."""
UNAVAILABLE = (
    *LOST,
    pg.InsufficientResourcesError,
    pg.ReadOnlySQLTransactionError,
    pg.IdleInTransactionSessionTimeoutError,
    pg.InvalidAuthorizationSpecificationError,
    pg.InsufficientPrivilegeError,
    pg.InvalidCatalogNameError,
    pg.PostgresIOError,
    pg.PostgresSystemError,
    # A newer release has changed a table meanwhile, twice within one statement. The driver has forgotten the old plan.
    pg.InvalidCachedStatementError,
    # A pooler has given the connection's server to another client.
    pg.InvalidSQLStatementNameError,
    pg.DuplicatePreparedStatementError,
)


def translated(error: BaseException, *, sent_commit: bool, distributed: bool = False) -> BaseException:
    """The error to raise in place of `error`. `sent_commit` says whether the commit may have reached the server.

    `distributed`: it comes from Citus, which reports what passes by itself without a SQLSTATE of its own (XX000): servers of
    the cluster that are down or restart, shards that are moved or split. On one Postgres such an error is a bug.
    """
    if isinstance(error, StorageUnavailable | Contended | OutcomeUnknown):
        return error
    if distributed and isinstance(error, PASSING):
        return (OutcomeUnknown if sent_commit else StorageUnavailable)(reason_of(error))
    if sent_commit and isinstance(error, LOST):
        return OutcomeUnknown(f"a commit got no answer: {reason_of(error)}")
    if isinstance(error, CONTENDED):
        return Contended(str(error))
    if isinstance(error, UNAVAILABLE):
        return StorageUnavailable(reason_of(error))
    return error


POOLED = (
    "it is behind a pooler that gives one connection to several clients, such as PgBouncer with pool_mode = transaction or "
    "statement: set pool_mode = session"
)
"""Why a server cannot be used whose connections change between two transactions."""

READ_ONLY = "it is read-only"
BROKE = "the connection to the database broke"


def reason_of(error: BaseException, *, place: str = "the server", connect_seconds: float | None = None) -> str:
    """Why the database failed, in words for an operator: Postgres's own sentence, or what is wrong with the connection to
    `place`. `connect_seconds` bounded a connection that was being made. Names no class and quotes no text of the driver."""
    match error:
        case pg.TargetServerAttributeNotMatched():
            return f"no server at {place} is a primary, which accepts writes"
        case pg.InvalidSQLStatementNameError() | pg.DuplicatePreparedStatementError():
            return POOLED
        case pg.DiskFullError():
            return f"the database server has no room to write; make room on its disk ({_words(error)})"
        case pg.InsufficientPrivilegeError():
            return f"the role of the service lacks a right ({_words(error)}); see docs/installing.md"
        case pg.PostgresError() if not isinstance(error, pg.PostgresConnectionError):
            return _words(error)
        case pg.InterfaceError() if connect_seconds is not None:
            return f"{place} is a server that the driver cannot use ({_words(error)})"
        case TimeoutError() | trio.TooSlowError():
            bound = "in time" if connect_seconds is None else f"within {connect_seconds:g} s"
            return f"{place} does not answer {bound}"
        case ConnectionError() if "rejected SSL upgrade" in str(error):  # the driver's words, in no other language
            return f"{place} is not a Postgres server, or refuses TLS"
        case ssl.SSLError():
            why = getattr(error, "verify_message", None) or getattr(error, "reason", None) or "no reason given"
            return f"TLS with {place} fails ({why})"
        case OSError() if connect_seconds is not None:
            return _unreachable(error, place)
        case pg.PostgresConnectionError() | pg.InterfaceError() | pg.InternalClientError() | OSError():
            return BROKE
    return f"the database failed unexpectedly ({_words(error) or 'no reason given'})"


def _unreachable(error: OSError, place: str) -> str:
    match error:
        case gaierror():
            return f"the host name of {place} cannot be resolved"
        case ConnectionRefusedError() | FileNotFoundError():
            return f"no server listens at {place}"
        case ConnectionError():
            return f"{place} closes the connection"
    # A host with several addresses fails without a number.
    return f"{place} cannot be reached" + (f" ({os.strerror(error.errno).lower()})" if error.errno else "")


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())


def is_wrong_user(error: BaseException) -> bool:
    """Whether a translated error means that the server does not admit this user of the system, or the role."""
    return isinstance(error.__cause__, pg.InvalidAuthorizationSpecificationError)


def refusal_of(error: BaseException) -> str | None:
    """Why the server refuses writes, if a translated error says so and the server answers otherwise."""
    match error.__cause__:
        case pg.DiskFullError():
            return "its disk is full"
        case pg.PostgresIOError():
            return "its disk fails"
        case pg.InsufficientPrivilegeError():
            return "the role of the service lacks a right; doctor lists it"
        case pg.ReadOnlySQLTransactionError():
            return READ_ONLY
    return None


def is_lock_timeout(error: BaseException) -> bool:
    """Whether a translated error means that others held a lock, and not that a row was there already."""
    return isinstance(error.__cause__, pg.LockNotAvailableError | pg.DeadlockDetectedError)


def is_refusal(error: BaseException) -> bool:
    """Whether an untranslated error means that the server refuses a statement for what it says, now and later."""
    return isinstance(error, pg.PostgresError) and not isinstance(error, (*CONTENDED, *UNAVAILABLE))


def error_of(connection: Any, error: BaseException) -> BaseException:
    """`error`, or an `InterfaceError` in its place. asyncpg may raise `AttributeError` on a connection that was terminated
    between two steps of a statement, such as preparing it and closing an old one that its cache has no room for."""
    if connection.is_closed() and isinstance(error, AttributeError):
        broken: BaseException = pg.InterfaceError("the connection broke while a statement was under way")
        return broken
    return error
