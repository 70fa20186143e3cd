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
    """What a page passes to the browser's WebAuthn, with binary values in base64url."""

    publicKey: dict[str, Any] = Field(description="`PublicKeyCredentialCreationOptionsJSON` or `...RequestOptionsJSON`")


class _Credential(BaseModel):
    """The browser's JSON of a credential has more fields, which are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    id: CredentialId
    rawId: CredentialId
    type: Literal["public-key"]


class AttestationData(BaseModel, strict=True):
    clientDataJSON: Bytes
    attestationObject: Bytes


class AssertionData(BaseModel, strict=True):
    clientDataJSON: Bytes
    authenticatorData: Bytes
    signature: Bytes


class RegisteredCredential(_Credential):
    """The browser's `RegistrationResponseJSON`."""

    response: AttestationData


class ShownCredential(_Credential):
    """The browser's `AuthenticationResponseJSON`."""

    response: AssertionData


class PasskeyAddition(Strict):
    name: PasskeyName
    credential: RegisteredCredential


class PasskeyShown(Strict):
    credential: ShownCredential


class PasskeyEdit(Strict):
    name: PasskeyName


class PasskeyView(BaseModel):
    """A passkey as seen by its account."""

    id: str
    name: str
    createdAt: Milliseconds
    lastUsedAt: int | None = optional("Epoch milliseconds; absent if it was not used since it was added")


class PasskeyList(BaseModel):
    """The passkeys of the account, oldest first."""

    items: list[PasskeyView]
    mayAdd: bool = Field(
        description="Whether this session may add one; otherwise it has to show one first, or sign in anew"
    )
    confirmedUntil: int | None = optional("Epoch milliseconds; until then this session may remove passkeys")


class PasskeyConfirmed(BaseModel):
    confirmedUntil: int = Field(description="Epoch milliseconds; until then this session may remove passkeys")


class PasskeyRemoved(BaseModel):
    removed: Literal[True]
