"""Translates asyncpg's errors into the three that actors know.

`Contended`: rolled back, run it again. `OutcomeUnknown`: the connection broke during the commit. `StorageUnavailable`:
nothing was written, try later. Any other error is a bug and stays as it is.
"""

from socket import gaierror
from typing import Any

from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable

OutOfTime = pg.QueryCanceledError
"""The server ended a statement at its time limit. For statements that expect it; it is `StorageUnavailable` otherwise."""

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
        return OutcomeUnknown(f"the connection broke during the commit: {error!r}")
    if isinstance(error, CONTENDED):
        return Contended(str(error))
    if isinstance(error, UNAVAILABLE):
        return StorageUnavailable(reason_of(error))
    return error


def reason_of(error: BaseException, *, connect_seconds: float | None = None) -> str:
    """Why the database failed, in words for an operator: Postgres's own sentence, or what is wrong with the connection.
    `connect_seconds` bounded a connection that was being made."""
    match error:
        case pg.InsufficientPrivilegeError() if "schema public" in str(error):
            return f"{error}: grant create on schema public to the role of database.url"
        case pg.PostgresError():
            return str(error)
        case gaierror():
            return "the host name cannot be resolved"
        case TimeoutError() if connect_seconds is not None:
            return f"it does not answer within {connect_seconds:g} s"
        case ConnectionRefusedError() | FileNotFoundError():
            return "no server listens there"
        case ConnectionError() if "rejected SSL upgrade" in str(error):
            return "it is not a Postgres server, or refuses TLS"
    return f"{type(error).__name__}: {error}"


def is_wrong_user(error: BaseException) -> bool:
    """Whether a translated error means that the server does not admit this user of the system, or the role."""
    return isinstance(error.__cause__, pg.InvalidAuthorizationSpecificationError)


def is_full_disk(error: BaseException) -> bool:
    """Whether a translated error means that the server has no room left for a write."""
    return isinstance(error.__cause__, pg.DiskFullError)


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
