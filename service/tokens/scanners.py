"""Signatures of secret scanners: ECDSA with P-256 and SHA-256 over the whole body of a report.

Source: the secret scanning partner program of GitHub. Its keys are published; an operator writes them into the configuration,
so that no request depends on another service.
"""

from base64 import b64decode
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

LONGEST_SIGNATURE = 200
"""Characters of a signature in base64. One of P-256 has at most 96."""


@lru_cache(32)
def public_key(pem: str) -> "EllipticCurvePublicKey":
    """The public key in a PEM text. Raises `ValueError` for another text, or a key of another kind."""
    # The library takes a tenth of a second to load, and only deployments with such keys need it.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("must be a public key in PEM, from -----BEGIN PUBLIC KEY----- on") from None
    if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise ValueError("must be a public key for ECDSA with the curve P-256")
    return key


def is_signed(body: bytes, signature: str, pem: str) -> bool:
    """Whether `signature`, a DER value in base64, is one of `body` by the key in `pem`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.hashes import SHA256

    if len(signature) > LONGEST_SIGNATURE:
        return False
    try:
        public_key(pem).verify(b64decode(signature, validate=True), body, ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True
