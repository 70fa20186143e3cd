"""A small document as a response: its bytes, their ETag, and how long caches may keep them. Knows no framework."""

from collections.abc import Callable
from dataclasses import dataclass

from service.api.messages import Answer, Headers
from service.snapshots.etags import digest_of, etag_of, matches

TEXT = "text/plain; charset=utf-8"
XML = "application/xml; charset=utf-8"
MAX_AGE_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Published:
    """A document. `shared` lets pages of other sites read it. A body that is a function needs an `etag`, and is made only for
    clients that do not have it."""

    body: bytes | Callable[[], bytes]
    content_type: str
    etag: str = ""
    shared: bool = False
    link: str = ""
    """The value of its `Link` header, if it has one."""

    def answer(self, if_none_match: str | None) -> Answer:
        """200 with the document, or 304 if the client has it."""
        body = self.body
        assert self.etag or isinstance(body, bytes), "without an ETag, the body has to be known"
        etag = self.etag if not isinstance(body, bytes) else etag_of(digest_of(body))
        headers: Headers = [("etag", etag), ("cache-control", f"public, max-age={MAX_AGE_SECONDS}")]
        if self.shared:
            headers.append(("access-control-allow-origin", "*"))
        if self.link:
            headers.append(("link", self.link))
        if matches(if_none_match, etag):
            return Answer(304, b"", headers)
        return Answer(200, body if isinstance(body, bytes) else body(), headers, self.content_type)
