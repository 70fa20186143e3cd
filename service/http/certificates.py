"""The TLS context of a server, and what is wrong with a certificate or a key that cannot be used."""

import re
import ssl
from dataclasses import dataclass
from pathlib import Path

from service.http.listen_address import ListenError

_CERTIFICATE = re.compile(rb"-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----")
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)

_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""The last one means that the certificate is for a key of another kind, such as EC instead of RSA."""
MAX_BYTES = 1024 * 1024
"""A chain or a key is some kilobytes long; a device has no end."""
_WEAK = ("_TOO_SMALL", "_TOO_WEAK")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or newer for a server, offering HTTP/2 and HTTP/1.1. Raises `ListenError` for files that cannot be used.

    A certificate that has expired can be used: to refuse it would take the service from those who accept it.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"])
    chain, secret = _read(certificate, "tls.certificate"), _read(key, "tls.key")
    if not _CERTIFICATE.search(chain):
        raise ListenError(f"tls.certificate: {certificate} holds no certificate in PEM format")
    if _ENCRYPTED.search(secret):
        raise ListenError(f"tls.key: {key} is protected by a passphrase: store the key without one")
    if not _KEY.search(secret):
        raise ListenError(f"tls.key: {key} holds no private key in PEM format")
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except ssl.SSLError as error:
        raise _unusable(certificate, key, error.reason or "") from None
    return context


def _read(path: Path, setting: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ListenError(f"{setting}: cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise ListenError(f"{setting}: {str(path)!r} is not the name of a file") from None  # for example a null byte
    if len(content) > MAX_BYTES:
        raise ListenError(f"{setting}: {path} is longer than 1 MiB")
    return content


def _unusable(certificate: Path, key: Path, reason: str) -> ListenError:
    """The error for files that OpenSSL refuses for its `reason`, such as KEY_VALUES_MISMATCH."""
    if reason in _OTHER_KEY:
        return ListenError(f"tls.key: {key} is not the key of the certificate in {certificate}")
    if reason.endswith(_WEAK):
        return ListenError(
            f"tls.certificate: the certificate in {certificate} is too weak for current clients: make one with an RSA key "
            "of 2048 bits or an EC key, signed with SHA-256"
        )
    return ListenError(f"tls.certificate, tls.key: {certificate} or {key} is damaged: a part of it cannot be read")


@dataclass(frozen=True, slots=True)
class Validity:
    """The period in which all certificates of a chain are valid: Unix times in seconds."""

    begins: float
    ends: float


def validity_of(certificate: Path) -> Validity | None:
    """The validity of a chain in PEM; None if it cannot be read."""
    from cryptography.x509 import load_pem_x509_certificates  # it takes long to load, and few processes need it

    try:
        chain = load_pem_x509_certificates(certificate.read_bytes())
    except (OSError, ValueError):
        return None
    begins = max(each.not_valid_before_utc.timestamp() for each in chain)
    return Validity(begins, min(each.not_valid_after_utc.timestamp() for each in chain))


def validity_problem(certificate: Path, now: float) -> str:
    """Return why clients reject the chain at a Unix time, as one line; empty if its dates are good."""
    validity = validity_of(certificate)
    if validity is not None and validity.ends < now:
        return f"tls.certificate: a certificate in {certificate} has expired: clients reject it; renew it"
    if validity is not None and now < validity.begins:
        return f"tls.certificate: a certificate in {certificate} is not valid yet: clients reject it; check the clock"
    return ""
