"""Values shared by actors, stores and the service: errors of a call, refusals, and the basic domain types."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from operator import add
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class CallFailed(Exception):
    """Base class: the actor or the store could not answer. Its subclasses say whether anything was committed.

    Its text is for operators; a subclass without one has `words`.
    """

    words = "no reason is known"

    def __str__(self) -> str:
        return super().__str__() or self.words


class TransientStorageError(CallFailed):
    """Base class of the storage errors that pass by themselves. Retrying the same work later is safe."""


class StorageUnavailable(TransientStorageError):
    """The request was not served; the caller may try again.

    From a store it means that nothing was committed. From an actor that gave up waiting or could not learn the outcome
    of a commit, the work may have been committed; `Actor.undo` compensates for that.
    """


class WritesRefused(StorageUnavailable):
    """The database answers and accepts no writes. The text, which anybody may read, completes "the database accepts no
    writes: "."""


class OutcomeUnknown(TransientStorageError):
    """The connection broke during the commit: the batch was committed whole or not at all. A retry shows which."""


class Contended(TransientStorageError):
    """The batch conflicted with another node's and was rolled back. Retry it."""


class Overloaded(CallFailed):
    """The mailbox is full, so the message was rejected at once."""

    words = "more requests wait than the queue holds"


class Stopped(CallFailed):
    """The actor accepts no more messages: the process is shutting down."""

    words = "the process is stopping"


class ActorFailed(CallFailed):
    """A bug failed the batch that held this message. The caller cannot know whether the batch was committed."""

    words = "it failed with a bug, whose traceback is in the log"


class BatchId:
    """Identifies one batch: its owner (node and actor) and a number that only grows.

    The store journals the id in the batch's transaction, so a retry after an unknown outcome commits at most once.
    `decided` is the decision of the latest attempt; if the journal already has the id, it is the one that was
    committed.
    """

    __slots__ = ("decided", "owner", "seq")

    def __init__(self, owner: str, seq: int) -> None:
        self.owner = owner
        self.seq = seq
        self.decided: Any = None

    def __repr__(self) -> str:
        return f"<BatchId {self.owner} #{self.seq}>"


Steps = Generator[None, None, T]
"""Work that yields now and then, so that a store lets other tasks run in between, and returns its result."""


def finished(steps: Steps[T]) -> T:
    """The result of all steps, one after the other."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Code(StrEnum):
    """Every refusal code that a client can receive; `service/api/errors.py` maps each to its status and hint."""

    INVALID_REQUEST = "invalid_request"
    INVALID_CLAIM = "invalid_claim"
    INVALID_CODE = "invalid_code"
    INVALID_PASSKEY = "invalid_passkey"
    UNAUTHORIZED = "unauthorized"
    INVALID_API_KEY = "invalid_api_key"
    KEY_EXPIRED = "key_expired"
    QUOTA_EXHAUSTED = "quota_exhausted"
    CLAIM_REQUIRED = "claim_required"
    INSUFFICIENT_SCOPE = "insufficient_scope"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    ALREADY_UPGRADED = "already_upgraded"
    KEY_LIMIT = "key_limit"
    PASSKEY_LIMIT = "passkey_limit"
    SLOT_UNAVAILABLE = "slot_unavailable"
    CAMPAIGN_NOT_BOOKABLE = "campaign_not_bookable"
    PROFILE_REQUIRED = "profile_required"
    HOLD_LIMIT = "hold_limit"
    CAMPAIGN_LIMIT = "campaign_limit"
    WEBHOOK_LIMIT = "webhook_limit"
    SUBMISSION_LIMIT = "submission_limit"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    INVALID_STATE = "invalid_state"
    CURSOR_EXPIRED = "cursor_expired"
    PRECONDITION_FAILED = "precondition_failed"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    AUTHORIZATION_PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    EXPIRED_TOKEN = "expired_token"
    ACCESS_DENIED = "access_denied"
    INVALID_GRANT = "invalid_grant"
    INVALID_CLIENT = "invalid_client"
    INVALID_CLIENT_METADATA = "invalid_client_metadata"
    INVALID_REDIRECT_URI = "invalid_redirect_uri"
    INVALID_SCOPE = "invalid_scope"
    INVALID_TARGET = "invalid_target"
    UNSUPPORTED_GRANT_TYPE = "unsupported_grant_type"
    UNSUPPORTED_RESPONSE_TYPE = "unsupported_response_type"
    RATE_LIMITED = "rate_limited"
    INTERNAL_ERROR = "internal_error"
    SERVICE_UNAVAILABLE = "service_unavailable"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a request: the field's path (empty for the whole), a stable code and a message.

    `bound` is the limit that the value breaks, if the code is about one: the most or least characters, items or value.
    """

    field: str
    code: str
    message: str
    bound: int | None = None


def unknown(what: str) -> "Refused":
    """The refusal for what does not exist, or is another's."""
    return Refused(Code.NOT_FOUND, f"There is no such {what}.")


@dataclass(frozen=True, slots=True)
class Done:
    """Committed, and there is nothing else to say. Repeating a message that changed nothing gives the same answer."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An expected refusal, as a value: a code, a message, and how long to wait where waiting helps.

    `interval_seconds` is the new pace of a device that polled too early. `problems` lists what is wrong with the input;
    each edge renders the list in its own way. A message without a full stop, such as "The body is not valid", introduces the
    list; a sentence already says all that is in it. `hint` is the path of the endpoint that resolves the refusal, if it is
    another than the usual one of the code; `NO_HINT` if nothing but time does.
    """

    code: Code
    message: str
    retry_after_seconds: int | None = None
    interval_seconds: int | None = None
    problems: tuple[Problem, ...] = ()
    hint: str | None = None

    @property
    def introduces_problems(self) -> bool:
        """Whether the message is complete only together with the problems."""
        return bool(self.problems) and not self.message.endswith(".")


NO_HINT = ""
SIGN_IN = "/api/v1/auth/session"
"""The operation that begins a sign-in: the hint of refusals for want of one, where a new key would not help."""


def session_ended() -> Refused:
    return Refused(Code.UNAUTHORIZED, "This session has ended. Sign in again.", hint=SIGN_IN)


def invalid_field(field: str, code: str, message: str) -> Refused:
    """A refusal because one field is wrong: `invalid_field("weekStart", "not_monday", "must be a Monday")`."""
    return Refused(Code.INVALID_REQUEST, f"{field} {message}.", problems=(Problem(field, code, message),))


class Tier(StrEnum):
    """The levels of usage; also the `status` of `Usage`."""

    ANONYMOUS = "anonymous"
    CLAIMED = "claimed"
    UPGRADED = "upgraded"


class Scope(StrEnum):
    """The permissions of a scoped key (specification, "Scopes")."""

    LIBRARY_READ = "library:read"
    SPONSOR_READ = "sponsor:read"
    SPONSOR_WRITE = "sponsor:write"
    BILLING_WRITE = "billing:write"
    ADMIN_READ = "admin:read"
    ADMIN_WRITE = "admin:write"
    KEYS_MANAGE = "keys:manage"


@dataclass(frozen=True, slots=True)
class Tenant:
    """The unit of usage, with its counters. `day` counts days since the epoch, `month` as `clock.month_of` does."""

    id: str
    tier: Tier
    lifetime_used: int = 0
    usecase_reads: int = 0
    month: int = 0
    month_used: int = 0
    day: int = 0
    day_used: int = 0
    merged_into: str | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """An email with its tenant. Since `suspended_ms`, an administrator has suspended it for `suspension_reason`."""

    email: str
    tenant_id: str
    created_ms: int
    suspended_ms: int | None = None
    suspension_reason: str | None = None


class Filtered(NamedTuple):
    """Events of a booking that were reported and not counted, by reason: the values of `X-Event-Dropped`."""

    duplicate: int = 0
    crawler: int = 0
    prefetch: int = 0
    capped: int = 0
    inactive: int = 0

    def plus(self, other: "Filtered") -> "Filtered":
        """Both together."""
        return Filtered(*map(add, self, other))


NOT_FILTERED = Filtered()


def together(parts: Iterable[Filtered]) -> Filtered:
    """The sums of parts."""
    found = NOT_FILTERED
    for part in parts:
        found = found.plus(part)
    return found


@dataclass(frozen=True, slots=True)
class AcceptedTerms:
    """An account accepted a version of the terms, by signing in or by claiming a key. The first time counts."""

    tenant_id: str
    version: str
    accepted_ms: int


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A new row of the outbox. The sender derives the code from `nonce` when it renders the mail. `facts` is a JSON object
    of strings: the values of the template's placeholders."""

    id: str
    recipient: str
    template: str
    nonce: bytes
    created_ms: int
    expires_ms: int
    facts: str = "{}"


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent of a change, for the audit: `key`, `session`, `cli` or `system`, its id, and the account's email."""

    type: str
    id: str
    email: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One change and who made it, written in the same transaction as the change."""

    id: str
    created_ms: int
    actor_type: str
    actor_id: str
    action: str
    target_type: str
    target_id: str
    actor_email: str | None = None
    request_id: str = ""
    changes: str = "{}"

    @classmethod
    def by(
        cls,
        agent: Agent,
        record_id: str,
        now_ms: int,
        action: str,
        target: tuple[str, str],
        request_id: str,
        changes: str,
    ) -> "AuditRecord":
        """The record of an agent's `action` ("key.issued") on a `target`, its type and id. `changes` is a JSON object."""
        return cls(record_id, now_ms, agent.type, agent.id, action, *target, agent.email, request_id, changes)
