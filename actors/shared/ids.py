"""Public identifiers from entropy, in base62. Pure."""

import hashlib
import json

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID_BYTES = 16


def base62(number: int, length: int) -> str:
    """The last `length` base62 digits of a non-negative number."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def new_id(prefix: str, entropy: bytes) -> str:
    """A public identifier such as `ten_...`: 22 base62 digits from 16 random bytes, or of a fingerprint."""
    return f"{prefix}_{base62(int.from_bytes(entropy[:ID_BYTES]), 22)}"


def fingerprint(*parts: str | int) -> bytes:
    """A hash that identifies a request body or an idempotency key."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()
