"""Wire models of passkeys: what browsers get from and pass to WebAuthn, and the passkeys of an account."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from service.schemas.fields import Milliseconds, Strict, optional
from service.schemas.texts import NAME

_BASE64URL = r"^[A-Za-z0-9_-]+$"

PasskeyName = Annotated[str, Field(min_length=1, max_length=60), NAME]
CredentialId = Annotated[str, Field(min_length=1, max_length=1_364, pattern=_BASE64URL)]
Bytes = Annotated[str, Field(min_length=1, max_length=16_384, pattern=_BASE64URL)]
"""A binary value in base64url without padding."""


class Ceremony(BaseModel):
    """The options that a page passes to the browser's WebAuthn, with binary values in base64url."""

    publicKey: dict[str, Any] = Field(description="`PublicKeyCredentialCreationOptionsJSON` or `...RequestOptionsJSON`")


class _Credential(BaseModel):
    """The browser's JSON of a credential has more fields, which are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    id: CredentialId = Field(description="Id of the credential, in base64url")
    rawId: CredentialId = Field(description="The same as `id`")
    type: Literal["public-key"] = Field(description="Always `public-key`")


class AttestationData(BaseModel, strict=True):
    """A new passkey, in base64url."""

    clientDataJSON: Bytes = Field(description="Data of the browser: the challenge and the origin")
    attestationObject: Bytes = Field(description="The public key and what the authenticator says about itself")


class AssertionData(BaseModel, strict=True):
    """The signature of a passkey, in base64url."""

    clientDataJSON: Bytes = Field(description="Data of the browser: the challenge and the origin")
    authenticatorData: Bytes = Field(description="Data of the authenticator: its host, flags and counter")
    signature: Bytes = Field(description="Signature over both")


class RegisteredCredential(_Credential):
    """The browser's `RegistrationResponseJSON`."""

    response: AttestationData = Field(description="The new passkey")


class ShownCredential(_Credential):
    """The browser's `AuthenticationResponseJSON`."""

    response: AssertionData = Field(description="The signature")


class PasskeyAddition(Strict):
    """A name and a new passkey."""

    name: PasskeyName = Field(description="Name to tell the passkey by; one line")
    credential: RegisteredCredential = Field(description="The browser's response to the challenge")


class PasskeyShown(Strict):
    """A signature of a passkey."""

    credential: ShownCredential = Field(description="The browser's response to the challenge")


class PasskeyEdit(Strict):
    """A new name."""

    name: PasskeyName = Field(description="Name to tell the passkey by; one line")


class PasskeyView(BaseModel):
    """A passkey as seen by its account."""

    id: str = Field(description="Id of the passkey")
    name: str = Field(description="Name of the passkey")
    createdAt: Milliseconds
    lastUsedAt: Milliseconds | None = optional("Epoch milliseconds; absent if it was not used since it was added")


class PasskeyList(BaseModel):
    """The passkeys of the account, oldest first."""

    items: list[PasskeyView] = Field(description="The passkeys")
    mayAdd: bool = Field(
        description="Whether this session may add one; otherwise it has to show one first, or sign in anew"
    )
    confirmedUntil: Milliseconds | None = optional("Epoch milliseconds; until then this session may remove passkeys")


class PasskeyConfirmed(BaseModel):
    """The session is confirmed."""

    confirmedUntil: Milliseconds = Field(description="Epoch milliseconds; until then this session may remove passkeys")


class PasskeyRemoved(BaseModel):
    """The passkey is removed."""

    removed: Literal[True] = Field(description="Always true")
