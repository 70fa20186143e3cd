"""The TLS context of a server, and what is wrong with a certificate or a key that cannot be used."""

import re
import ssl
from contextlib import suppress
from pathlib import Path

from service.http.listen_address import ListenError

_CERTIFICATE = re.compile(rb"-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY-----")
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED", re.MULTILINE)

_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
"""The last one means that the certificate is for a key of another kind, such as EC instead of RSA."""
_WEAK = ("_TOO_SMALL", "_TOO_WEAK")
_NOT_YET_VALID, _EXPIRED = 9, 10
"""OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED."""


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
        return path.read_bytes()
    except OSError as error:
        raise ListenError(f"{setting}: cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise ListenError(f"{setting}: {str(path)!r} is not the name of a file") from None  # for example a null byte


def _unusable(certificate: Path, key: Path, reason: str) -> ListenError:
    """The error for files that OpenSSL refuses for its `reason`, such as KEY_VALUES_MISMATCH."""
    if reason in _OTHER_KEY:
        return ListenError(f"tls.key: {key} is not the key of the certificate in {certificate}")
    if reason.endswith(_WEAK):
        return ListenError(
            f"tls.certificate: the certificate in {certificate} is too weak for clients of today: make one with an RSA key "
            "of 2048 bits or an EC key, signed with SHA-256"
        )
    return ListenError(f"tls.certificate, tls.key: {certificate} or {key} is damaged: a part of it cannot be read")


def validity_problem(context: ssl.SSLContext, certificate: Path) -> str:
    """Why clients reject the certificate of `context` today, as one line, or nothing if its dates are good.

    Shakes hands with it in memory, as a client does that trusts this very certificate.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(certificate)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        _shake_hands(context, client)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == _EXPIRED:
            return f"tls.certificate: a certificate in {certificate} has expired: clients reject it; renew it"
        if error.verify_code == _NOT_YET_VALID:
            return (
                f"tls.certificate: a certificate in {certificate} is not valid yet: clients reject it; check the clock"
            )
    return ""


def _shake_hands(server: ssl.SSLContext, client: ssl.SSLContext) -> None:
    """Connect both in memory until the client has verified the server. Raises `SSLCertVerificationError`."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server)
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (asking, serving, asking):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
