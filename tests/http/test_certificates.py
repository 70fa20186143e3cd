"""When the certificates of a server are valid, and what a server reports of it."""

from pathlib import Path

import pytest

from service.http.certificates import Validity, validity_of
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from tests.certificates import make_certificate
from tests.fakes import HandClock
from tests.http.memory_server import LIMITS

YEARS = {2026: 1_767_225_600.0, 2027: 1_798_761_600.0, 2028: 1_830_297_600.0, 2029: 1_861_920_000.0}
"""The Unix times at which they begin."""


def test_a_chain_is_valid_while_all_its_certificates_are(tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    for number, (first, last) in enumerate([(2026, 2029), (2027, 2028)]):
        make_certificate(tmp_path / f"{number}.pem", tmp_path / "key.pem", first=first, last=last)
    chain.write_text("a comment\n" + "and another\n".join((tmp_path / f"{each}.pem").read_text() for each in (0, 1)))
    assert validity_of(tmp_path / "0.pem") == Validity(YEARS[2026], YEARS[2029])
    assert validity_of(chain) == Validity(YEARS[2027], YEARS[2028])


@pytest.mark.parametrize("body", ["", "AAAA", "MAA=", "MIIB", "not base64"])
def test_what_is_no_certificate_has_no_validity(tmp_path: Path, body: str) -> None:
    file = tmp_path / "certificate.pem"
    file.write_text(f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n")
    assert validity_of(file) is None
    assert validity_of(tmp_path / "missing.pem") is None


async def test_the_server_knows_when_its_first_certificate_expires() -> None:
    addresses = [
        ListenAddress("127.0.0.1", 0),
        ListenAddress("127.0.0.1", 0, certificate_expires=2.0),
        ListenAddress("127.0.0.1", 0, certificate_expires=1.0),
    ]
    async with open_listeners(addresses, LIMITS, HandClock(0)) as server:
        assert server.certificate_expires == 1.0
    async with open_listeners(addresses[:1], LIMITS, HandClock(0)) as server:
        assert server.certificate_expires is None
