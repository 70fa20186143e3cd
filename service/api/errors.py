"""One table of refusals, two envelopes: what a client sees when something is not let through."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from actors.limits import Allowance
from actors.values import Code, Refused
from service.schemas.problems import text_of


class Family(Enum):
    """Which error body an operation answers with (specification, "Errors")."""

    CATALOG = "catalog"
    SPONSORSHIP = "sponsorship"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class Wire:
    """How a code looks on the wire. `hint` is the endpoint that resolves it, in the catalog family."""

    status: int
    hint: str | None = None


CLAIM, MINT, DEVICE = "/api/v1/auth/claim", "/api/v1/auth/agent", "/api/v1/auth/device"

TABLE: Mapping[Code, Wire] = {
    Code.INVALID_REQUEST: Wire(400),
    Code.INVALID_CLAIM: Wire(400),
    Code.INVALID_CODE: Wire(400),
    Code.UNAUTHORIZED: Wire(401, MINT),
    Code.INVALID_API_KEY: Wire(401, MINT),
    Code.KEY_EXPIRED: Wire(403, CLAIM),
    Code.QUOTA_EXHAUSTED: Wire(403, CLAIM),
    Code.CLAIM_REQUIRED: Wire(403, CLAIM),
    Code.INSUFFICIENT_SCOPE: Wire(403),
    Code.FORBIDDEN: Wire(403),
    Code.NOT_FOUND: Wire(404),
    Code.METHOD_NOT_ALLOWED: Wire(405),
    Code.ALREADY_UPGRADED: Wire(409),
    Code.KEY_LIMIT: Wire(409),
    Code.SLOT_UNAVAILABLE: Wire(409),
    Code.CAMPAIGN_NOT_BOOKABLE: Wire(409),
    Code.PROFILE_REQUIRED: Wire(409),
    Code.HOLD_LIMIT: Wire(409),
    Code.IDEMPOTENCY_CONFLICT: Wire(409),
    Code.INVALID_STATE: Wire(409),
    Code.PAYLOAD_TOO_LARGE: Wire(413),
    Code.UNSUPPORTED_MEDIA_TYPE: Wire(415),
    Code.AUTHORIZATION_PENDING: Wire(400),
    Code.SLOW_DOWN: Wire(400),
    Code.EXPIRED_TOKEN: Wire(400, DEVICE),
    Code.ACCESS_DENIED: Wire(400),
    Code.RATE_LIMITED: Wire(429),
    Code.INTERNAL_ERROR: Wire(500),
    Code.SERVICE_UNAVAILABLE: Wire(503),
}

RETRY_SECONDS = 1
"""Retry-After of a 503: overload and an absent database are both worth another try soon."""


def unavailable(why: str = "The service cannot answer now. Try again in a moment.") -> Refused:
    return Refused(Code.SERVICE_UNAVAILABLE, why, RETRY_SECONDS)


def too_large() -> Refused:
    return Refused(Code.PAYLOAD_TOO_LARGE, "The body is too large.")


def not_valid() -> Refused:
    return Refused(Code.INVALID_REQUEST, "The request is not valid.")


def internal_error() -> Refused:
    return Refused(
        Code.INTERNAL_ERROR, "Something went wrong on our side. Include the request ID when you contact support."
    )


def too_fast(allowance: Allowance) -> Refused | None:
    """The refusal that an allowance means, or None where it lets through."""
    if allowance.allowed:
        return None
    wait = allowance.reset_seconds
    return Refused(Code.RATE_LIMITED, f"Too many requests. Try again in {wait} s.", wait)


def status_of(refused: Refused) -> int:
    return TABLE[refused.code].status


def message_of(refused: Refused) -> str:
    """The message, followed by what is wrong with the input, if anything is."""
    return f"{refused.message}: {text_of(refused.problems)}" if refused.problems else refused.message


def body_of(refused: Refused, family: Family) -> dict[str, object]:
    """The error body: `error`, `message`, and what the family adds. `retryAfter` mirrors the Retry-After header, `interval`
    is the pace of a device in seconds."""
    message = message_of(refused)
    body: dict[str, object] = {"error": str(refused.code), "message": message}
    hint = TABLE[refused.code].hint
    if family is Family.DEVICE:
        # What a client that knows only RFC 6749 (5.2) and RFC 8628 (3.5) reads.
        body["error_description"] = message
    if family is not Family.SPONSORSHIP and hint is not None:
        body["hint"] = hint
    if refused.interval_seconds is not None:
        body["interval"] = refused.interval_seconds
    if refused.retry_after_seconds is not None:
        body["retryAfter"] = refused.retry_after_seconds
    return body


def headers_of(refused: Refused) -> list[tuple[str, str]]:
    """Retry-After on 429 and 503, WWW-Authenticate on 401."""
    headers = []
    if refused.retry_after_seconds is not None:
        headers.append(("retry-after", str(refused.retry_after_seconds)))
    if status_of(refused) == HTTPStatus.UNAUTHORIZED:
        headers.append(("www-authenticate", "Bearer"))
    return headers
