"""Wire models of sponsors and of the calling account (specification, "Resources and their fields")."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from actors.bookings.records import BillingDetails as BillingDetailsRecord
from actors.bookings.records import Sponsor as SponsorRecord
from actors.values import Scope
from service.schemas.countries import COUNTRIES
from service.schemas.fields import BillingMode, Milliseconds, Strict, absent, optional
from service.schemas.keys import Email
from service.schemas.lists import Page
from service.schemas.rows import filled
from service.schemas.texts import ADDRESS, NAME, TITLE, unlinked
from service.schemas.urls import SponsorUrl

BrandName = Annotated[str, Field(min_length=1, max_length=100), NAME]


def _country(code: str) -> str:
    if code not in COUNTRIES:
        raise ValueError("must be the code of a country in ISO 3166-1, two capital letters such as CH")
    return code


LegalName = Annotated[str, Field(min_length=1, max_length=200), TITLE, AfterValidator(unlinked)]
PostalAddress = Annotated[str, Field(min_length=1, max_length=500), ADDRESS, AfterValidator(unlinked)]
Country = Annotated[str, AfterValidator(_country), WithJsonSchema({"type": "string", "enum": list(COUNTRIES)})]
TaxId = Annotated[str, Field(min_length=1, max_length=50), TITLE]
OrderReference = Annotated[str, Field(min_length=1, max_length=100), TITLE]


class BillingDetailsBody(Strict):
    """The billing details to save. They replace all earlier ones."""

    legalName: LegalName = Field(description="Legal name of the company or person; one line")
    address: PostalAddress = Field(
        description="Postal address without the country: at most 8 lines of at most 100 characters, separated by line feeds"
    )
    country: Country = Field(description="Country: a code of ISO 3166-1 alpha-2, such as CH")
    taxId: TaxId = absent("Tax number of the company, such as that of VAT; it is not verified")
    reference: OrderReference = absent("A reference of the buyer, such as the number of a purchase order")
    email: Email = absent("Email address to name on invoices; absent: that of the account")


class BillingDetails(BaseModel):
    """The buyer that the next invoices of an account name."""

    legalName: str = Field(description="Legal name of the company or person")
    address: str = Field(description="Postal address. Lines are separated by line feeds")
    country: str = Field(description="A code of ISO 3166-1 alpha-2")
    taxId: str | None = optional("Tax number of the company")
    reference: str | None = optional("A reference of the buyer")
    email: str | None = optional("Email address to name on invoices, if it is not that of the account")

    @classmethod
    def of(cls, details: BillingDetailsRecord) -> "BillingDetails":
        return filled(
            cls,
            details,
            taxId=details.tax_id or None,
            reference=details.reference or None,
            email=details.email or None,
        )


class BillingDetailsAnswer(BaseModel):
    """The billing details of an account."""

    billingDetails: BillingDetails | None = Field(description="The details; null until they are saved")


class BillingDetailsSaved(BaseModel):
    """The saved billing details."""

    billingDetails: BillingDetails = Field(description="The details")


class ProfileBody(Strict):
    """The profile to save."""

    name: BrandName = Field(description="Name of the brand, shown with its ads; one line")
    website: SponsorUrl = Field(description="Website of the brand; a public host")


class Profile(BaseModel):
    """A sponsor as shown to visitors."""

    name: str = Field(description="Name of the brand")
    website: str = Field(description="Website of the brand")

    @classmethod
    def of(cls, sponsor: SponsorRecord) -> "Profile":
        return cls(**sponsor.profile)


class ProfileSaved(BaseModel):
    """The saved profile."""

    profile: Profile = Field(description="The profile")


class Identity(BaseModel):
    """The account of the calling key. `profile` is null until one is saved; `scopes` are those currently in effect."""

    profile: Profile | None = Field(description="The sponsor's profile; null until one is saved")
    email: str = Field(description="Email address of the account, in lower case")
    isAdmin: bool = Field(description="Whether the account is an administrator's")
    isDemo: bool = Field(description="Whether the account belongs to the demo")
    scopes: list[Scope] = Field(description="Scopes of the key that are in effect now")
    billingMode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")


class Sponsor(Profile):
    """A sponsor as seen by administrators."""

    id: str = Field(description="Id of the sponsor")
    createdAt: Milliseconds

    @classmethod
    def of(cls, sponsor: SponsorRecord) -> "Sponsor":
        return cls(**sponsor.profile, id=sponsor.id, createdAt=sponsor.created_ms)


class SponsorPage(Page):
    """Sponsors, newest first."""

    items: list[Sponsor] = Field(description="Sponsors of this page")
