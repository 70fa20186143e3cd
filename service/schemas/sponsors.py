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
    name: BrandName
    website: SponsorUrl


class Profile(BaseModel):
    name: str
    website: str


class ProfileSaved(BaseModel):
    profile: Profile


class Identity(BaseModel):
    """The account of the calling key. `profile` is null until one is saved; `scopes` are those currently in effect."""

    profile: Profile | None
    email: str
    isAdmin: bool
    isDemo: bool
    scopes: list[Scope]
    billingMode: BillingMode


class Sponsor(BaseModel):
    """A sponsor as seen by administrators."""

    name: str
    website: str
    id: str
    createdAt: Milliseconds

    @classmethod
    def of(cls, sponsor: SponsorRecord) -> "Sponsor":
        return cls(name=sponsor.name, website=sponsor.website, id=sponsor.id, createdAt=sponsor.created_ms)


class SponsorPage(Page):
    """Sponsors, newest first."""

    items: list[Sponsor]
