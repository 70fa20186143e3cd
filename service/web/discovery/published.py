"""A small document as a response: its bytes, their ETag, and how long caches may keep them. Knows no framework."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from service.api.encodings import VARY, known_tag
from service.api.messages import Answer, Headers
from service.snapshots.etags import digest_of, etag_of

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

    def answer(self, headers: Mapping[str, str]) -> Answer:
        """200 with the document, which may be compressed, or 304 if the client has it. `headers` are the request's."""
        body = self.body
        assert self.etag or isinstance(body, bytes), "without an ETag, the body has to be known"
        etag = self.etag if not isinstance(body, bytes) else etag_of(digest_of(body))
        own: Headers = [("cache-control", f"public, max-age={MAX_AGE_SECONDS}"), VARY]
        if self.shared:
            own.append(("access-control-allow-origin", "*"))
        if self.link:
            own.append(("link", self.link))
        tag = known_tag(headers, etag)
        if tag is not None:
            return Answer(304, b"", [("etag", tag), *own])
        content = body if isinstance(body, bytes) else body()
        return Answer(200, content, [("etag", etag), *own], self.content_type, public_tag=etag)
