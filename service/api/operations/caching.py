"""What caches may keep of an answer: the one form of answers that are the same for everybody."""

from service.api.messages import Answer
from service.api.operation import Call
from service.snapshots.etags import matches


def cached(call: Call, body: bytes, etag: str, max_age_seconds: int) -> Answer:
    """200, or 304 when a keyless request has this body already. Keyed answers carry counters and are not cached."""
    if call.caller.resolved is not None:
        return Answer(200, body, [("cache-control", "no-store")])
    headers = [("etag", etag), ("cache-control", f"public, max-age={max_age_seconds}"), ("vary", "Authorization")]
    if matches(call.request.headers.get("if-none-match"), etag):
        return Answer(304, b"", headers)
    return Answer(200, body, headers)
