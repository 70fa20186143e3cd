"""Strong ETags, made from a body's digest and so the same on every node, and their comparison. Pure."""

from base64 import urlsafe_b64encode
from hashlib import blake2b

DIGEST_BYTES = 16


def digest_of(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def etag_of(digest: bytes) -> str:
    return f'"{urlsafe_b64encode(digest).rstrip(b"=").decode()}"'


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether If-None-Match contains the tag (RFC 9110, section 13.1.2: weak comparison, a list, or `*`)."""
    if if_none_match is None:
        return False
    named = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in named or etag in named
