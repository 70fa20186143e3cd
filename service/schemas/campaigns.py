"""Wire models of campaigns and their review (specification, "Resources and their fields")."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from actors.bookings.records import CampaignView, Content
from service.schemas.fields import Edit, Milliseconds, Strict, absent, optional
from service.schemas.lists import Page
from service.schemas.rows import filled
from service.schemas.texts import SLOGAN, TITLE, Note, mixed_words
from service.schemas.urls import SponsorUrl

CampaignName = Annotated[str, Field(min_length=1, max_length=80), TITLE]
Headline = Annotated[str, Field(min_length=1, max_length=55), SLOGAN]
Copy = Annotated[str, Field(min_length=1, max_length=140), SLOGAN]
Cta = Annotated[str, Field(min_length=1, max_length=24), SLOGAN]
LogoText = Annotated[str, Field(min_length=1, max_length=3), TITLE]


class CampaignBody(Strict):
    """A new campaign."""

    name: CampaignName = Field(description="Name of the campaign, for you and administrators; one line")
    headline: Headline = Field(description="Headline of the ad; one line")
    body: Copy = Field(description="Text of the ad; one line")
    cta: Cta = Field(description="Text of the ad's button; one line")
    targetUrl: SponsorUrl = Field(description="Web address to which the ad leads; a public host")
    logoText: LogoText = Field(description="One to three characters that stand for a logo")

    def content(self) -> Content:
        return Content(self.headline, self.body, self.cta, self.targetUrl, self.logoText)


class CampaignEdit(Edit):
    """Changes to a campaign; absent fields stay."""

    name: CampaignName = absent("Name of the campaign; one line")
    headline: Headline = absent("Headline of the ad; one line")
    body: Copy = absent("Text of the ad; one line")
    cta: Cta = absent("Text of the ad's button; one line")
    targetUrl: SponsorUrl = absent("Web address to which the ad leads; a public host")
    logoText: LogoText = absent("One to three characters that stand for a logo")


class Seen(Strict):
    """The content of a campaign as the reviewer read it, optionally with the sponsor's name."""

    headline: str = Field(description="Headline that you read")
    body: str = Field(description="Text that you read")
    cta: str = Field(description="Text of the button that you read")
    targetUrl: str = Field(description="Web address that you read")
    logoText: str = Field(description="Logo text that you read")
    sponsorName: str | None = Field(default=None, description="Name of the sponsor that you read; null or absent: any")


class Review(Strict):
    """An administrator's decision on a campaign. A rejection needs a `note` with the reason.

    Send the content that you reviewed as `seen`: if the campaign was edited or the sponsor renamed since, the API
    returns 409.
    """

    decision: Literal["approve", "reject", "pause", "resume"] = Field(description="Decision on the campaign")
    note: Annotated[Note | None, Field(validate_default=True)] = Field(
        default=None, description="Note for the sponsor; required to reject"
    )
    seen: Seen | None = Field(default=None, description="The content that you reviewed")

    @field_validator("note")
    @classmethod
    def _reason(cls, note: str | None, info: ValidationInfo) -> str | None:
        if note is None and info.data.get("decision") == "reject":
            raise ValueError("is required for a rejection, with the reason")
        return note


class Revision(BaseModel):
    """Content of a campaign."""

    headline: str = Field(description="Headline of the ad")
    body: str = Field(description="Text of the ad")
    cta: str = Field(description="Text of the ad's button")
    targetUrl: str = Field(description="Web address to which the ad leads")
    logoText: str = Field(description="One to three characters that stand for a logo")

    @classmethod
    def of(cls, content: Content) -> "Revision":
        return filled(cls, content)


class Campaign(BaseModel):
    """A sponsor's creative."""

    id: str = Field(description="Id of the campaign")
    name: str = Field(description="Name of the campaign, for you and administrators")
    headline: str = Field(description="Headline of the ad")
    body: str = Field(description="Text of the ad")
    cta: str = Field(description="Text of the ad's button")
    targetUrl: str = Field(description="Web address to which the ad leads")
    logoText: str = Field(description="One to three characters that stand for a logo")
    status: Literal["draft", "pending", "approved", "rejected", "paused"] = Field(
        description="State; only `approved` campaigns are shown"
    )
    createdAt: Milliseconds
    reviewNote: str | None = optional("The administrator's note of the last review")
    sponsorName: str | None = optional("Name of the sponsor's profile, once there is one")
    pendingRevision: Revision | None = optional(
        "An edit that waits for review. The approved content is shown until an administrator approves the edit"
    )
    submittedAt: Milliseconds | None = optional(
        "When the campaign or its edit began to wait for review, in epoch milliseconds"
    )
    mixedWords: list[str] | None = optional(
        "For administrators: words that mix Latin, Cyrillic, Greek or other letters that look alike"
    )

    @classmethod
    def for_review(cls, view: CampaignView) -> "Campaign":
        """A campaign as administrators see it."""
        shown = cls.of(view)
        newest = shown.pendingRevision or shown
        texts = (shown.sponsorName or "", shown.name, newest.headline, newest.body, newest.cta, newest.logoText)
        return shown.model_copy(update={"mixedWords": mixed_words(texts) or None})

    @classmethod
    def of(cls, view: CampaignView) -> "Campaign":
        campaign = view.campaign
        return filled(
            cls,
            campaign,
            campaign.content,
            view,
            pendingRevision=None if campaign.edit is None else Revision.of(campaign.edit),
            submittedAt=campaign.submitted_ms if campaign.waits else None,
            mixedWords=None,
        )


class CampaignAnswer(BaseModel):
    """One campaign."""

    campaign: Campaign = Field(description="The campaign")


class CampaignPage(Page):
    """Campaigns, newest first."""

    items: list[Campaign] = Field(description="Campaigns of this page")
