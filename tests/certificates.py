"""Certificates for tests."""

from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


def make_certificate(
    certificate: Path, key: Path, *, first: int = 2020, last: int = 2100, weak: bool = False, passphrase: bytes = b""
) -> None:
    """Write a self-signed certificate for localhost, valid from the beginning of a year to that of another, and its key."""
    made = rsa.generate_private_key(65_537, 1_024) if weak else ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    days = datetime(first, 1, 1, tzinfo=UTC), datetime(last, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, made.public_key(), 1, *days)
    lock = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock))
    certificate.write_bytes(builder.sign(made, SHA256()).public_bytes(Encoding.PEM))
