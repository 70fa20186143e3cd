"""The port to WebAuthn: options for the browser, and verification of what its authenticator signed."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from actors.sessions.second_factor import Assertion, Attestation

Response = Mapping[str, Any]
"""The JSON of a browser's `PublicKeyCredential`, with its binary values in base64url."""


def challenge_hash(challenge: bytes) -> bytes:
    """The hash under which a challenge is stored."""
    return hashlib.sha256(challenge).digest()


class RelyingParty(Protocol):
    """This service as the relying party of WebAuthn. Verification needs no I/O."""

    @property
    def available(self) -> bool:
        """Whether browsers offer passkeys at the address of this service. Where not, nothing below may be called."""
        ...

    def creation_options(
        self, user: bytes, email: str, challenge: bytes, registered: Sequence[bytes]
    ) -> Mapping[str, Any]:
        """Options for `navigator.credentials.create`. `user` identifies the account to authenticators, and `registered`
        are its credentials."""
        ...

    def request_options(self, challenge: bytes, allowed: Sequence[bytes]) -> Mapping[str, Any]:
        """Options for `navigator.credentials.get` with one of the `allowed` credentials."""
        ...

    def attested(self, response: Response) -> Attestation | None:
        """The new credential of a response, or None if anything but its challenge is wrong."""
        ...

    def asserted(self, response: Response, public_keys: Mapping[bytes, bytes]) -> Assertion | None:
        """The signature of a response, or None if anything but its challenge and counter is wrong. `public_keys` are those
        of the account, by credential id."""
        ...
