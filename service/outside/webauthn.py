"""This service as the relying party of WebAuthn, with the library `webauthn`.

The library and the cryptography that it stands on take a tenth of a second and 14 MiB to load, so the first passkey loads
them.
"""

import logging
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from actors.sessions.relying_party import Response, challenge_hash
from actors.sessions.second_factor import Assertion, Attestation

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

NAME = "Catalog"
TIMEOUT_MS = 300_000
"""How long a browser asks its person. The challenge ends by itself."""

FORMATS = ("none", "packed")
"""Attestation formats that browsers send when none is asked for: an authenticator may sign with the new key itself."""

KEY_BYTES = 2_048

log = logging.getLogger(__name__)


def rp_id_of(base_url: str) -> str | None:
    """The host name that passkeys belong to. None where browsers offer none: at an IP address, and without https unless
    the host is `localhost`."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    local = host == "localhost" or host.endswith(".localhost")
    return host if host and not _is_address(host) and (local or parts.scheme == "https") else None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class WebAuthn:
    """Passkeys for the service at `base_url`, which is the origin of its pages as browsers send it: user verification is
    required, and attestation is not asked for."""

    def __init__(self, base_url: str) -> None:
        self._rp_id = rp_id_of(base_url)
        self._origin = base_url

    @property
    def available(self) -> bool:
        return self._rp_id is not None

    def creation_options(
        self, user: bytes, email: str, challenge: bytes, registered: Sequence[bytes]
    ) -> Mapping[str, Any]:
        from webauthn import generate_registration_options
        from webauthn.helpers import options_to_json_dict
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = generate_registration_options(
            rp_id=self._host,
            rp_name=NAME,
            user_name=email,
            user_id=user,
            challenge=challenge,
            timeout=TIMEOUT_MS,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.REQUIRED
            ),
            exclude_credentials=_descriptors(registered),
        )
        return options_to_json_dict(options)

    def request_options(self, challenge: bytes, allowed: Sequence[bytes]) -> Mapping[str, Any]:
        from webauthn import generate_authentication_options
        from webauthn.helpers import options_to_json_dict
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=self._host,
            challenge=challenge,
            timeout=TIMEOUT_MS,
            allow_credentials=_descriptors(allowed),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json_dict(options)

    def attested(self, response: Response) -> Attestation | None:
        try:
            return self._attested(response)
        except Exception as error:
            _log_refusal("registration", error)
            return None

    def asserted(self, response: Response, public_keys: Mapping[bytes, bytes]) -> Assertion | None:
        try:
            return self._asserted(response, public_keys)
        except Exception as error:
            _log_refusal("signature", error)
            return None

    def _attested(self, response: Response) -> Attestation:
        from webauthn import base64url_to_bytes, verify_registration_response
        from webauthn.helpers import (
            decode_credential_public_key,
            decoded_public_key_to_cryptography,
            parse_attestation_object,
        )

        form = parse_attestation_object(base64url_to_bytes(response["response"]["attestationObject"])).fmt
        if form not in FORMATS:
            raise ValueError(f"the attestation format {form!r} was not asked for")
        challenge = _challenge_of(response)
        verified = verify_registration_response(
            credential=dict(response),
            expected_challenge=challenge,
            expected_rp_id=self._host,
            expected_origin=self._origin,
            require_user_verification=True,
        )
        if len(verified.credential_public_key) > KEY_BYTES:
            raise ValueError("the public key is too long")
        # A key that cannot verify anything would lock its owner out.
        decoded_public_key_to_cryptography(decode_credential_public_key(verified.credential_public_key))
        return Attestation(
            challenge_hash(challenge), verified.credential_id, verified.credential_public_key, verified.sign_count
        )

    def _asserted(self, response: Response, public_keys: Mapping[bytes, bytes]) -> Assertion:
        from webauthn import base64url_to_bytes, verify_authentication_response

        challenge = _challenge_of(response)
        verified = verify_authentication_response(
            credential=dict(response),
            expected_challenge=challenge,
            expected_rp_id=self._host,
            expected_origin=self._origin,
            credential_public_key=public_keys[base64url_to_bytes(response["rawId"])],
            # The rules compare the counter, in the transaction that keeps the new one.
            credential_current_sign_count=0,
            require_user_verification=True,
        )
        return Assertion(challenge_hash(challenge), verified.credential_id, verified.new_sign_count)

    @property
    def _host(self) -> str:
        assert self._rp_id is not None, "there are no passkeys at this address"
        return self._rp_id


def _challenge_of(response: Response) -> bytes:
    """The challenge that the browser has signed; whether it was ours is decided later. Raises ValueError if a page of
    another site embedded ours."""
    from webauthn import base64url_to_bytes
    from webauthn.helpers import parse_client_data_json

    client_data = parse_client_data_json(base64url_to_bytes(response["response"]["clientDataJSON"]))
    if client_data.cross_origin:
        raise ValueError("the page was inside a page of another site")
    return client_data.challenge


def _descriptors(credential_ids: Sequence[bytes]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=each) for each in credential_ids]


def _log_refusal(what: str, error: Exception) -> None:
    """Log why a passkey was refused. The parsers of CBOR, keys and signatures raise errors of many kinds, and all of them
    mean that the browser sent something wrong."""
    log.info("the %s of a passkey was refused: %.200r", what, str(error))
