"""The status, headers and error body of every refusal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from actors.shared.limits import Allowance
from actors.values import Code, Problem, Refused
from service.schemas.problems import fields_of, text_of


class Family(Enum):
    """The kind of error body that an operation returns (specification, "Errors")."""

    CATALOG = "catalog"
    SPONSORSHIP = "sponsorship"
    DEVICE = "device"


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The status of a code, and the endpoint that usually resolves the error."""

    status: int
    hint: str | None = None


CLAIM, MINT, DEVICE = "/api/v1/auth/claim", "/api/v1/auth/agent", "/api/v1/auth/device"

TABLE: Mapping[Code, ErrorResponse] = {
    Code.INVALID_REQUEST: ErrorResponse(400),
    Code.INVALID_CLAIM: ErrorResponse(400),
    Code.INVALID_CODE: ErrorResponse(400),
    Code.INVALID_PASSKEY: ErrorResponse(400),
    Code.UNAUTHORIZED: ErrorResponse(401, MINT),
    Code.INVALID_API_KEY: ErrorResponse(401, MINT),
    Code.KEY_EXPIRED: ErrorResponse(403, CLAIM),
    Code.QUOTA_EXHAUSTED: ErrorResponse(403, CLAIM),
    Code.CLAIM_REQUIRED: ErrorResponse(403, CLAIM),
    Code.INSUFFICIENT_SCOPE: ErrorResponse(403),
    Code.FORBIDDEN: ErrorResponse(403),
    Code.NOT_FOUND: ErrorResponse(404),
    Code.METHOD_NOT_ALLOWED: ErrorResponse(405),
    Code.ALREADY_UPGRADED: ErrorResponse(409),
    Code.KEY_LIMIT: ErrorResponse(409),
    Code.PASSKEY_LIMIT: ErrorResponse(409),
    Code.SLOT_UNAVAILABLE: ErrorResponse(409),
    Code.CAMPAIGN_NOT_BOOKABLE: ErrorResponse(409),
    Code.PROFILE_REQUIRED: ErrorResponse(409),
    Code.HOLD_LIMIT: ErrorResponse(409),
    Code.CAMPAIGN_LIMIT: ErrorResponse(409),
    Code.WEBHOOK_LIMIT: ErrorResponse(409),
    Code.SUBMISSION_LIMIT: ErrorResponse(409),
    Code.IDEMPOTENCY_CONFLICT: ErrorResponse(409),
    Code.INVALID_STATE: ErrorResponse(409),
    Code.CURSOR_EXPIRED: ErrorResponse(410),
    Code.PRECONDITION_FAILED: ErrorResponse(412),
    Code.PAYLOAD_TOO_LARGE: ErrorResponse(413),
    Code.UNSUPPORTED_MEDIA_TYPE: ErrorResponse(415),
    Code.AUTHORIZATION_PENDING: ErrorResponse(400),
    Code.SLOW_DOWN: ErrorResponse(400),
    Code.EXPIRED_TOKEN: ErrorResponse(400, DEVICE),
    Code.ACCESS_DENIED: ErrorResponse(400),
    Code.INVALID_GRANT: ErrorResponse(400),
    Code.INVALID_CLIENT: ErrorResponse(401),
    Code.INVALID_CLIENT_METADATA: ErrorResponse(400),
    Code.INVALID_REDIRECT_URI: ErrorResponse(400),
    Code.INVALID_SCOPE: ErrorResponse(400),
    Code.INVALID_TARGET: ErrorResponse(400),
    Code.UNSUPPORTED_GRANT_TYPE: ErrorResponse(400),
    Code.UNSUPPORTED_RESPONSE_TYPE: ErrorResponse(400),
    Code.RATE_LIMITED: ErrorResponse(429),
    Code.INTERNAL_ERROR: ErrorResponse(500),
    Code.SERVICE_UNAVAILABLE: ErrorResponse(503),
}

_UNDESCRIBABLE = re.compile(r"[^ -~]")

RETRY_SECONDS = 1
"""Retry-After of a 503. Overload and database outages are usually short."""


def unavailable(why: str = "The service is temporarily unavailable. Try again in a moment.") -> Refused:
    return Refused(Code.SERVICE_UNAVAILABLE, why, RETRY_SECONDS)


def too_large() -> Refused:
    return Refused(Code.PAYLOAD_TOO_LARGE, "The request body is too large.")


def not_valid() -> Refused:
    return Refused(Code.INVALID_REQUEST, "The request is not valid.")


def internal_error() -> Refused:
    message = "Something went wrong on our side. Include the request ID when you contact support."
    return Refused(Code.INTERNAL_ERROR, message)


def invalid_cursor() -> Refused:
    message = "`cursor` is not valid. Use the `cursor` value from the previous page."
    problem = Problem("cursor", "cursor", "must be the `cursor` value from the previous page")
    return Refused(Code.INVALID_REQUEST, message, problems=(problem,))


def too_fast(allowance: Allowance) -> Refused | None:
    """The refusal of a request over its limit, or None."""
    if allowance.allowed:
        return None
    wait = allowance.reset_seconds
    return Refused(Code.RATE_LIMITED, f"Too many requests. Try again in {wait} s.", wait)


def too_many_changes(allowance: Allowance) -> Refused | None:
    """The refusal of a change beyond those that an account may make in a day, or None."""
    if allowance.allowed:
        return None
    hours = max(1, -(-allowance.reset_seconds // 3_600))
    words = f"This account has made {allowance.limit} changes in a day, the maximum. Try again in {hours} h."
    return Refused(Code.RATE_LIMITED, words, allowance.reset_seconds)


def status_of(refused: Refused) -> int:
    return TABLE[refused.code].status


def message_of(refused: Refused) -> str:
    """The message, followed by any problems with the input."""
    return f"{refused.message}: {text_of(refused.problems)}" if refused.introduces_problems else refused.message


def description_of(refused: Refused) -> str:
    """The message in the characters that RFC 6749 (5.2) allows."""
    return _UNDESCRIBABLE.sub("?", message_of(refused).replace('"', "'").replace("\\", "/"))


def body_of(refused: Refused, family: Family) -> dict[str, object]:
    """The error body.

    `fields` lists the fields that are wrong, `retryAfter` mirrors the Retry-After header, and `interval` is the polling
    interval of a device.
    """
    message = message_of(refused)
    body: dict[str, object] = {"error": str(refused.code), "message": message}
    usual = None if family is Family.SPONSORSHIP else TABLE[refused.code].hint
    hint = usual if refused.hint is None else refused.hint
    if family is Family.DEVICE:
        # For clients that follow RFC 6749 (5.2) and RFC 8628 (3.5) only.
        body["error_description"] = description_of(refused)
    if hint:
        body["hint"] = hint
    if fields := fields_of(refused.problems):
        body["fields"] = fields
    if refused.interval_seconds is not None:
        body["interval"] = refused.interval_seconds
    if refused.retry_after_seconds is not None:
        body["retryAfter"] = refused.retry_after_seconds
    return body


def headers_of(refused: Refused) -> list[tuple[str, str]]:
    """Retry-After on 429 and 503, and on 409 if the refusal is for a time; WWW-Authenticate on 401."""
    headers = []
    if refused.retry_after_seconds is not None:
        headers.append(("retry-after", str(refused.retry_after_seconds)))
    if status_of(refused) == HTTPStatus.UNAUTHORIZED:
        # RFC 6749 (5.2) names the scheme that a client used. This service supports none for clients.
        headers.append(("www-authenticate", "Basic" if refused.code is Code.INVALID_CLIENT else "Bearer"))
    return headers
