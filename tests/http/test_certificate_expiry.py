"""When a certificate expires, held against the answers of the cryptography library."""

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from service.http.certificate_expiry import expires_at
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from tests.fakes import HandClock
from tests.http.memory_server import LIMITS
from tests.http.test_tls import CERTIFICATE

KEY = ec.generate_private_key(ec.SECP256R1())
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def certificate(end: datetime, name: str = "catalog.example.com") -> str:
    """A self-signed certificate in PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(KEY.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(BEGAN).not_valid_after(end)
    return builder.sign(KEY, SHA256()).public_bytes(Encoding.PEM).decode()


@pytest.mark.parametrize(
    "end",
    [
        datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC),
        datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2050, 1, 1, tzinfo=UTC),  # from here on with a year of four digits
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ],
)
def test_the_end_is_that_of_the_certificate(end: datetime) -> None:
    assert expires_at(certificate(end)) == end.timestamp()
    assert expires_at(certificate(end, "a-name-that-needs-a-long-length." * 2)) == end.timestamp()


def test_a_certificate_of_another_tool_is_read_too() -> None:
    text = CERTIFICATE.read_text()
    assert expires_at(text) == x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc.timestamp()


def test_a_chain_ends_with_its_first_certificate_that_expires() -> None:
    ends = [datetime(2026, 6, day, tzinfo=UTC) for day in (3, 1, 2)]
    chain = "Subject: a comment between them\n".join(map(certificate, ends))
    assert expires_at(chain) == datetime(2026, 6, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("body", ["", "AAAA", "MAA=", "MIIB", "MDAwMA==", "MAIwAA==", "not base64"])
def test_what_is_no_certificate_has_no_end(body: str) -> None:
    assert expires_at(f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n") is None
    assert expires_at(body) is None


async def test_the_server_tells_the_end_of_its_listeners_certificates() -> None:
    addresses = [
        ListenAddress("127.0.0.1", 0),
        ListenAddress("127.0.0.1", 0, certificate_expires=2.0),
        ListenAddress("127.0.0.1", 0, certificate_expires=1.0),
    ]
    async with open_listeners(addresses, LIMITS, HandClock(0)) as server:
        assert server.certificate_expires == 1.0
    async with open_listeners(addresses[:1], LIMITS, HandClock(0)) as server:
        assert server.certificate_expires is None
