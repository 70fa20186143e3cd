"""Public documents as responses: those that never change while the node runs, and small ones written for a request."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from quart import Response

from service.api.encodings import IDENTITY, VARY, known_tag
from service.api.messages import Answer, Headers, note, trace
from service.api.refusals import failure
from service.http.asgi import Send
from service.snapshots.etags import digest_of, etag_of
from service.web.compression import MIN_BYTES, STEADY, choice, compressed, encoded_headers

TEXT = "text/plain; charset=utf-8"
XML = "application/xml; charset=utf-8"
MAX_AGE_SECONDS = 3600
MAX_SHARE = 0.9
"""A document is sent plain unless compressing it saves a tenth."""


class Representation:
    """A document, rendered once. It is compressed once in each coding, when a client first accepts it."""

    def __init__(
        self,
        body: bytes,
        content_type: str,
        headers: Iterable[tuple[str, str]] = (),
        levels: Mapping[str, int] = STEADY,
    ) -> None:
        self.body = body
        self.etag = etag_of(digest_of(body))
        self._content_type = content_type
        self._headers = tuple(headers)
        self._levels = levels
        self._encoded: dict[str, bytes | None] = {}
        self._making: set[str] = set()

    async def answer(self, headers: Mapping[str, str]) -> Answer:
        """200 with the document, or 304 if the client has it. `headers` are the request's."""
        tag = known_tag(headers, self.etag)
        if tag is not None:
            return Answer(304, b"", [("etag", tag), VARY, *self._headers])
        own: Headers = [("etag", self.etag), VARY, *self._headers]
        coding = choice(headers, len(self.body), MIN_BYTES)
        body = None if coding == IDENTITY else await self._in(coding)
        if body is None:
            return Answer(200, self.body, own, self._content_type)
        return Answer(200, body, encoded_headers(own, coding), self._content_type)

    async def _in(self, coding: str) -> bytes | None:
        """The document in a coding. None while it is being made, and if that does not pay, as for a picture."""
        if coding not in self._encoded:
            if coding in self._making:
                return None
            self._making.add(coding)
            try:
                made = await compressed(self.body, coding, self._levels)
                self._encoded[coding] = made if len(made) < MAX_SHARE * len(self.body) else None
            finally:
                self._making.remove(coding)
        return self._encoded[coding]


@dataclass(frozen=True, slots=True)
class Published:
    """A small document that caches may store. A body that is a function needs an `etag`, and is made only for clients that do
    not have it."""

    body: bytes | Callable[[], bytes]
    content_type: str
    etag: str = ""
    link: str = ""
    """The value of its `Link` header, if it has one."""
    max_age_seconds: int = MAX_AGE_SECONDS

    def answer(self, headers: Mapping[str, str]) -> Answer:
        """200 with the document, which may be compressed, or 304 if the client has it. `headers` are the request's."""
        body = self.body
        assert self.etag or isinstance(body, bytes), "without an ETag, the body has to be known"
        etag = self.etag if not isinstance(body, bytes) else etag_of(digest_of(body))
        own: Headers = [("cache-control", f"public, max-age={self.max_age_seconds}"), VARY]
        if self.link:
            own.append(("link", self.link))
        tag = known_tag(headers, etag)
        if tag is not None:
            return Answer(304, b"", [("etag", tag), *own])
        content = body if isinstance(body, bytes) else body()
        return Answer(200, content, [("etag", etag), *own], self.content_type, public_tag=etag)


class StreamedResponse(Response):
    """A response of pieces. It has no limit for the whole, because each piece has its own, and so has sending it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(b"", status=answer.status, content_type=answer.content_type)
        assert answer.pieces is not None
        self.pieces = answer.pieces
        self.timeout = None
        del self.headers["content-length"]


async def send_stream(response: StreamedResponse, method: str, send: Send) -> None:
    """Send the pieces as they are made. If one fails, the response is cut off, so that it does not look complete."""
    headers = [(name.lower().encode(), value.encode()) for name, value in response.headers]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    if method != "HEAD":
        try:
            async for piece in response.pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except Exception as error:
            notes = trace.get()
            note("refusal", str(failure("a stream" if notes is None else notes.operation, error).code))
            return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
