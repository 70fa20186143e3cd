"""Strong ETags, made from a body's digest and so the same on every node. Pure."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from actors.catalog.messages import VERSION_BYTES as DIGEST_BYTES
from actors.catalog.messages import version_of as digest_of

__all__ = ["DIGEST_BYTES", "digest_in", "digest_of", "etag_of"]

_ETAG = re.compile(r'"([A-Za-z0-9_-]{22})(-(br|gzip)(-best)?)?"')
"""The ETag of a digest, in any coding of the body (`service.api.encodings.tag_in`)."""


def digest_in(etag: str) -> bytes | None:
    """The digest of which an ETag was made, whatever the coding of the body. None if it is no ETag of this service."""
    found = _ETAG.fullmatch(etag)
    return None if found is None else urlsafe_b64decode(f"{found[1]}==")


def etag_of(digest: bytes) -> str:
    return f'"{urlsafe_b64encode(digest).rstrip(b"=").decode()}"'
