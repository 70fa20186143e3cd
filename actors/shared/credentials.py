"""Key texts, tokens and emailed codes: made from entropy, checked, hashed. Pure.

A key is `cs_<kind>_<32 base62>_<6 base62 CRC32>`. The checksum rejects typos and guesses without
a database lookup; only the hash is stored.
"""

import hashlib
import hmac
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

RANDOM_LENGTH = 32
CHECKSUM_LENGTH = 6
SHOWN_LENGTH = 4
ENTROPY_BYTES = 48
"""Random bytes for 32 base62 digits (384 bits reduced to 190, bias below 2**-190) or 43 (to 256, bias below 2**-127)."""

TOKEN_LENGTH = 43
"""Base62 digits of the token of a session, device, browser or sign-in link: 256 bits."""

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PAIRS = [one + other for one in ALPHABET for other in ALPHABET]
ID_BYTES = 16


class Kind(StrEnum):
    """The kinds of keys; part of a key's text."""

    ANONYMOUS = "anon"
    USER = "user"
    SCOPED = "scoped"


_KEY = re.compile(
    rf"cs_({'|'.join(Kind)})_([0-9A-Za-z]{{{RANDOM_LENGTH}}})_([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})", re.ASCII
)


@dataclass(frozen=True, slots=True)
class TokenKind:
    """A kind of token: its prefix, and how many base62 digits follow it."""

    prefix: str
    length: int = TOKEN_LENGTH

    def new(self, entropy: bytes) -> str:
        """A token from `ENTROPY_BYTES` random bytes."""
        return self.prefix + _random(entropy, self.length)

    def matches(self, text: str) -> bool:
        """Whether the text has the format of such a token."""
        digits = text.removeprefix(self.prefix)
        is_complete = len(digits) == self.length and len(text) == len(self.prefix) + self.length
        return is_complete and digits.isascii() and digits.isalnum()


CLAIM_TOKEN = TokenKind("clm_", RANDOM_LENGTH)
SESSION_TOKEN = TokenKind("sst_")
"""The value of a session cookie."""
DEVICE_CODE = TokenKind("dvc_")
"""The polling credential of a device (RFC 8628, `device_code`)."""
BROWSER_TOKEN = TokenKind("brw_")
"""The value of the cookie of a browser that asks for a sign-in code."""
SIGN_IN_LINK_TOKEN = TokenKind("sgn_")
"""The token of an operator's sign-in link."""
SHARE_TOKEN = TokenKind("rpt_")
"""The token of a link to a shared report."""
AUTHORIZATION_CODE = TokenKind("aco_")
"""The code that a client exchanges for a key (RFC 6749, 4.1)."""
REFRESH_TOKEN = TokenKind("rft_", 2 * TOKEN_LENGTH)
"""Half of it stays for as long as the authorization, and half is replaced with each use."""


def new_key(kind: Kind, entropy: bytes) -> str:
    """A key text from `ENTROPY_BYTES` random bytes."""
    body = f"cs_{kind}_{_random(entropy)}"
    return f"{body}_{_checksum(body)}"


def renewed_key(shown: bytes, entropy: bytes) -> str:
    """The text of a scoped key that has others before and after it. Its displayed prefix depends on `shown` alone."""
    body = f"cs_{Kind.SCOPED}_{_random(shown)[:SHOWN_LENGTH]}{_random(entropy)[SHOWN_LENGTH:]}"
    return f"{body}_{_checksum(body)}"


def is_key(text: str) -> bool:
    """Whether the text has the format of a key and a valid checksum."""
    return _KEY.fullmatch(text) is not None and text[-CHECKSUM_LENGTH:] == _checksum(text[: -CHECKSUM_LENGTH - 1])


def prefix_of(key: str) -> str:
    """The part that may be displayed: up to and including the first `SHOWN_LENGTH` random characters."""
    return key[: -(RANDOM_LENGTH + CHECKSUM_LENGTH + 1) + SHOWN_LENGTH]


def digest(secret: str) -> bytes:
    """SHA-256 of a key or token. With 190 random bits, a slow hash is not needed."""
    return hashlib.sha256(secret.encode()).digest()


def code_from(server_secret: bytes, nonce: bytes) -> str:
    """The 6-digit code that belongs to a random nonce. Derived by HMAC, so that neither the outbox nor a database dump
    contains a code: rendering it takes the server's secret."""
    mac = hmac.digest(server_secret, b"emailed-code\0" + nonce, "sha256")
    return f"{int.from_bytes(mac) % 1_000_000:06d}"


def long_code(code_of: Callable[[bytes], str], nonce: bytes) -> str:
    """The 12-digit code that belongs to a nonce. `code_of` derives a short one."""
    return code_of(nonce) + code_of(b"long\0" + nonce)


def derived_entropy(server_secret: bytes, purpose: str, token: str) -> bytes:
    """`ENTROPY_BYTES` bytes that only the server, and only with this token, can make again."""
    return hmac.digest(server_secret, f"{purpose}\0{token}".encode(), "sha512")[:ENTROPY_BYTES]


def code_proof(server_secret: bytes, subject: bytes, email: str, code: str) -> bytes:
    """The stored proof of a code: an HMAC that binds it to the subject (such as a claim token's hash) and the email."""
    message = b"code-proof\0" + subject + email.encode() + b"\0" + code.encode()
    return hmac.digest(server_secret, message, "sha256")


def constant_time_equal(one: bytes, other: bytes) -> bool:
    """Equality in constant time."""
    return hmac.compare_digest(one, other)


def _random(entropy: bytes, length: int = RANDOM_LENGTH) -> str:
    assert len(entropy) >= ENTROPY_BYTES, "too little entropy"
    return base62(int.from_bytes(entropy), length)


def _checksum(body: str) -> str:
    return base62(zlib.crc32(body.encode()), CHECKSUM_LENGTH)


def base62(number: int, length: int) -> str:
    """The last `length` base62 digits of a non-negative number."""
    pairs = []
    for _ in range((length + 1) // 2):
        number, pair = divmod(number, 62 * 62)
        pairs.append(_PAIRS[pair])
    return "".join(reversed(pairs))[-length:]


def new_id(prefix: str, entropy: bytes) -> str:
    """A public identifier such as `ten_...`: 22 base62 digits from 16 random bytes, or of a fingerprint."""
    return f"{prefix}_{base62(int.from_bytes(entropy[:ID_BYTES]), 22)}"


def fingerprint(*parts: str | int) -> bytes:
    """A hash that identifies a request body or an idempotency key."""
    return hashlib.sha256(json.dumps(parts).encode()).digest()
