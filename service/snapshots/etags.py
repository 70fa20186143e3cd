"""Strong ETags, made from a body's digest and so the same on every node. Pure."""

from base64 import urlsafe_b64encode
from hashlib import blake2b

DIGEST_BYTES = 16


def digest_of(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def etag_of(digest: bytes) -> str:
    return f'"{urlsafe_b64encode(digest).rstrip(b"=").decode()}"'
