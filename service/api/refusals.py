"""Turns refusals and failures into responses with the error body of the operation's family."""

import json
import logging

import trio

from actors.values import ActorFailed, Overloaded, Refused, Stopped, StorageUnavailable
from service.api.cors import CORS
from service.api.errors import Family, body_of, headers_of, internal_error, invalid_cursor, status_of, unavailable
from service.api.messages import Answer, note
from service.api.operation import Operation
from service.tokens.signing import BadCursor

log = logging.getLogger(__name__)


def rendered(refused: Refused, family: Family) -> Answer:
    """The response to a refused request."""
    body = json.dumps(body_of(refused, family), ensure_ascii=False, separators=(",", ":")).encode()
    headers = [*headers_of(refused), ("cache-control", "no-store")]
    return Answer(status_of(refused), body, headers, refused=refused)


def refusal(refused: Refused, family: Family) -> Answer:
    """Like `rendered`, and records the code for the access log and the metrics."""
    note("refusal", str(refused.code))
    return rendered(refused, family)


def refusal_of(operation: Operation, refused: Refused) -> Answer:
    """The response to a request refused before dispatch. It has CORS headers if the operation does."""
    answer = refusal(refused, operation.family)
    if operation.cors:
        answer.headers += CORS
    return answer


def failure(name: str, error: Exception) -> Refused:
    """The refusal for an error in the operation or page `name`. Logs the error, unless an actor already has, or it
    is the caller's."""
    match error:
        case StorageUnavailable() | Overloaded() | Stopped() | trio.TooSlowError():
            # The library's error has no text.
            log.warning("%s is answered with 503: %s", name, str(error) or "it was not done in time")
            return unavailable()
        case BadCursor():
            return invalid_cursor()
        case ActorFailed():
            return internal_error()
        case _:
            log.error("%s failed", name, exc_info=error)
            return internal_error()
