"""Wire models of sponsors and of the calling account (specification, "Resources and their fields")."""

from typing import Annotated

from pydantic import BaseModel, Field

from actors.bookings.records import Sponsor as SponsorRecord
from actors.values import Scope
from service.schemas.fields import BillingMode, Milliseconds, Strict
from service.schemas.lists import Page
from service.schemas.texts import NAME
from service.schemas.urls import SponsorUrl

BrandName = Annotated[str, Field(min_length=1, max_length=100), NAME]


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
