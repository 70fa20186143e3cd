"""Public documents that never change while the node runs: their ETags, and their bytes in each coding."""

from collections.abc import Iterable, Mapping

from service.api.encodings import IDENTITY, VARY, known_tag
from service.api.messages import Answer, Headers
from service.snapshots.etags import digest_of, etag_of
from service.web.compression import LEAST_BYTES, STEADY, choice, compressed, encoded_headers

MOST_SHARE = 0.9
"""A document is sent plain unless compressing it saves a tenth."""


class Representation:
    """A document, rendered once. It is compressed once in each coding, when a client first accepts it."""

    def __init__(self, body: bytes, content_type: str, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.body = body
        self.etag = etag_of(digest_of(body))
        self._content_type = content_type
        self._headers = tuple(headers)
        self._encoded: dict[str, bytes | None] = {}
        self._making: set[str] = set()

    async def answer(self, headers: Mapping[str, str]) -> Answer:
        """200 with the document, or 304 if the client has it. `headers` are the request's."""
        tag = known_tag(headers, self.etag)
        if tag is not None:
            return Answer(304, b"", [("etag", tag), VARY, *self._headers])
        own: Headers = [("etag", self.etag), VARY, *self._headers]
        coding = choice(headers, len(self.body), LEAST_BYTES)
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
                made = await compressed(self.body, coding, STEADY)
                self._encoded[coding] = made if len(made) < MOST_SHARE * len(self.body) else None
            finally:
                self._making.remove(coding)
        return self._encoded[coding]
