"""An authenticator in software: makes P-256 credentials, and signs challenges as a browser passes them on."""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.api.conformity import BASE_URL

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text_of(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def bytes_of(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(slots=True)
class Authenticator:
    """One credential. `origin` and `rp_id` are what its browser is at; None is what the options say. `step` is what its
    counter adds for each signature."""

    credential_id: bytes = b"credential 1"
    origin: str = BASE_URL
    rp_id: str | None = None
    verifies: bool = True
    step: int = 1
    count: int = 0
    attestation: str = "none"
    cross_origin: bool = False
    certified: bool = False
    user: bytes = b""
    _key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def creates(self, options: dict[str, Any]) -> dict[str, Any]:
        """The response to options for a new credential."""
        self.user = bytes_of(options["user"]["id"])
        length = len(self.credential_id).to_bytes(2)
        attested = bytes(16) + length + self.credential_id + cbor2.dumps(self.public_key())
        data = self._data(options["rp"]["id"], ATTESTED) + attested
        client_data = self._client_data("webauthn.create", options["challenge"])
        statement = self._certificate(data[:32], client_data) if self.certified else {}
        attestation = {"fmt": self.attestation, "attStmt": statement, "authData": data}
        return self._credential({"clientDataJSON": client_data, "attestationObject": cbor2.dumps(attestation)})

    def shows(self, options: dict[str, Any]) -> dict[str, Any]:
        """The response to options for a signature."""
        self.count += self.step
        data = self._data(options["rpId"], 0)
        client_data = self._client_data("webauthn.get", options["challenge"])
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return self._credential({"clientDataJSON": client_data, "authenticatorData": data, "signature": signature})

    def public_key(self) -> dict[int, Any]:
        """The COSE key: kty EC2, alg ES256, crv P-256, x, y."""
        numbers = self._key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}

    def _certificate(self, host_hash: bytes, client_data: bytes) -> dict[str, Any]:
        """A valid attestation statement of the format `fido-u2f`, with a certificate of its own."""
        maker = ec.generate_private_key(ec.SECP256R1())
        name, day = x509.Name([]), datetime(2026, 1, 1, tzinfo=UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(maker.public_key())
            .serial_number(1)
            .not_valid_before(day)
            .not_valid_after(day + timedelta(days=3_650))
            .sign(maker, SHA256())
        )
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        signed = b"\0" + host_hash + hashlib.sha256(client_data).digest() + self.credential_id + point
        return {"sig": maker.sign(signed, ec.ECDSA(SHA256())), "x5c": [certificate.public_bytes(Encoding.DER)]}

    def _data(self, rp_id: str, flags: int) -> bytes:
        hashed = hashlib.sha256((self.rp_id or rp_id).encode()).digest()
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return hashed + bytes([flags]) + self.count.to_bytes(4)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        told = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.cross_origin}
        return json.dumps(told).encode()

    def _credential(self, response: dict[str, bytes]) -> dict[str, Any]:
        credential_id = text_of(self.credential_id)
        return {
            "id": credential_id,
            "rawId": credential_id,
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {name: text_of(value) for name, value in response.items()},
        }
