"""When certificates expire. Pure. Python's `ssl` does not tell it of a server's own certificate."""

import re
import ssl
from datetime import UTC, datetime

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

_VERSION = 0xA0
_FORMATS = {0x17: "%y%m%d%H%M%SZ", 0x18: "%Y%m%d%H%M%SZ"}
"""The formats of UTCTime and GeneralizedTime, by tag."""


def expires_at(pem: str) -> float | None:
    """The Unix time in seconds at which the first certificate of a PEM chain expires; None if it cannot be read."""
    try:
        return min(_not_after(ssl.PEM_cert_to_DER_cert(text)) for text in _CERTIFICATE.findall(pem))
    except (ValueError, IndexError, KeyError):
        return None


def _not_after(certificate: bytes) -> float:
    """The end of a certificate's validity (RFC 5280, 4.1): after the version, if it has one, stand the serial number, the
    signature's algorithm, the issuer, and the validity."""
    _, signed = _elements(_elements(certificate)[0][1])[0]
    fields = [content for tag, content in _elements(signed) if tag != _VERSION]
    tag, moment = _elements(fields[3])[1]
    return datetime.strptime(moment.decode("ascii"), _FORMATS[tag]).replace(tzinfo=UTC).timestamp()


def _elements(der: bytes) -> list[tuple[int, bytes]]:
    """The tag and the content of each element of a DER sequence."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while at < len(der):
        tag, size = der[at], der[at + 1]
        at += 2
        if size & 0x80:
            digits = size & 0x7F
            size = int.from_bytes(der[at : at + digits], "big")
            at += digits
        found.append((tag, der[at : at + size]))
        at += size
    return found
