"""Profiles, billing details and campaigns: saving, editing, reviewing, and the digest of what waits. Pure; source: ADR 0020,
0079 and 0103."""

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any

from actors.bookings import notifications
from actors.bookings.messages import (
    Answer,
    CreateCampaign,
    EditCampaign,
    MoveCampaign,
    Origin,
    SaveBillingDetails,
    SaveProfile,
    SendDigest,
)
from actors.bookings.records import RUNNING, Campaign, CampaignStatus, Content, Sponsor
from actors.bookings.transitions import CAMPAIGN_MOVES, CampaignMove, after
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Code, Refused, unknown

unknown_campaign = partial(unknown, "campaign")

PAST = {
    CampaignMove.SUBMIT: "submitted",
    CampaignMove.WITHDRAW: "withdrawn",
    CampaignMove.EDIT: "edited",
    CampaignMove.PAUSE: "paused",
    CampaignMove.RESUME: "resumed",
    CampaignMove.APPROVE: "approved",
    CampaignMove.REJECT: "rejected",
    CampaignMove.APPROVE_EDIT: "edit_approved",
    CampaignMove.REJECT_EDIT: "edit_rejected",
    CampaignMove.WITHDRAW_EDIT: "edit_withdrawn",
}

OF_EDITS = {
    CampaignMove.APPROVE: CampaignMove.APPROVE_EDIT,
    CampaignMove.REJECT: CampaignMove.REJECT_EDIT,
    CampaignMove.WITHDRAW: CampaignMove.WITHDRAW_EDIT,
}
"""The meaning of a move for a campaign whose edit waits for review."""

INITIALS = 3

MAX_NAMED = 10
"""The most campaigns that a digest names."""

REVIEWING = (CampaignMove.APPROVE, CampaignMove.REJECT)
"""Moves of administrators only. Each replaces the review note or removes it."""


def save_profile(unit: UnitOfWork, message: SaveProfile) -> Answer:
    return save_sponsor_profile(unit, message.sponsor, message.origin, message.sponsor.profile)


def save_sponsor_profile(unit: UnitOfWork, wanted: Sponsor, origin: Origin, changes: Mapping[str, Any]) -> Sponsor:
    """Save changes of a profile, or all of a new one. Saving it unchanged has no effect."""
    known = unit.sponsor(wanted.tenant_id)
    sponsor = wanted if known is None else replace(known, **changes)
    if sponsor == known:
        return sponsor
    unit.save_sponsor(sponsor)
    unit.audit(origin, "profile.saved", "sponsor", sponsor.id, sponsor.profile)
    return sponsor


def save_billing_details(unit: UnitOfWork, message: SaveBillingDetails) -> Answer:
    """Save billing details, which change no document that exists. The audit has the names of the changed fields, not their
    values."""
    wanted = message.details
    known = unit.billing(wanted.tenant_id)
    if wanted != known:
        unit.decision.billing[wanted.tenant_id] = wanted
        names = (
            field.name for field in fields(wanted) if getattr(wanted, field.name) != getattr(known, field.name, "")
        )
        changed = ", ".join(name.replace("_", " ") for name in names if name != "tenant_id")
        unit.audit(message.origin, "account.billing_details_saved", "account", wanted.tenant_id, {"changed": changed})
    return wanted


def create_campaign(unit: UnitOfWork, message: CreateCampaign) -> Answer:
    """Store a campaign, or answer a repetition. The audit record names what a key created. Once the record is pruned, a
    repetition is known by the campaign itself, whose id has the key and the body in it."""
    created, known = unit.audited(message.origin.audit_id), unit.campaign(message.campaign.id, None)
    if created is None and known is None:
        refused = too_many_campaigns(unit, message.campaign.tenant_id, new=message.campaign)
        if refused is not None:
            return refused
        store_new_campaign(unit, message.campaign, message.origin)
        return unit.campaign_view(message.campaign)
    if created not in (None, message.campaign.id):
        return Refused(
            Code.IDEMPOTENCY_CONFLICT, "This Idempotency-Key was already used with a different body. Use a new one."
        )
    assert known is not None, "an audited campaign exists"
    return unit.campaign_view(known)


def store_new_campaign(unit: UnitOfWork, campaign: Campaign, origin: Origin) -> None:
    unit.save_campaign(campaign)
    unit.audit(origin, "campaign.created", "campaign", campaign.id, {"name": campaign.name, **asdict(campaign.content)})


def edit_campaign(unit: UnitOfWork, message: EditCampaign) -> Answer:
    """Change a campaign. New content of an approved or paused one waits beside the approved content."""
    campaign = unit.campaign(message.campaign_id, message.tenant_id)
    if campaign is None:
        return unknown_campaign()
    given = {field.name: getattr(message, field.name) for field in fields(Content)}
    content = replace(campaign.newest, **{name: value for name, value in given.items() if value is not None})
    edited = replace(campaign, name=message.name if message.name is not None else campaign.name)
    if content != campaign.newest:
        status = after(CAMPAIGN_MOVES, campaign.status, CampaignMove.EDIT)
        assert status is not None, "a campaign can be edited in every state"
        if status in RUNNING:
            # Writing the approved content again takes the edit back.
            edited = replace(edited, status=status, pending=content if content != campaign.content else None)
        else:
            edited = replace(edited, status=status, content=content)
    if edited == campaign:
        return unit.campaign_view(campaign)
    return _save_edit(unit, campaign, edited, message.origin, "edited")


def move_campaign(unit: UnitOfWork, message: MoveCampaign) -> Answer:
    assert message.move not in OF_EDITS.values(), "requests name moves of campaigns"
    campaign = unit.campaign(message.campaign_id, message.tenant_id)
    if campaign is None:
        return unknown_campaign()
    if message.tenant_id is not None and message.move in REVIEWING:
        return Refused(Code.FORBIDDEN, "Only administrators can review campaigns.")
    if message.seen not in (None, campaign.newest):
        return Refused(Code.INVALID_STATE, "This campaign has been edited since you read it. Read it again.")
    sponsor = unit.sponsor(campaign.tenant_id)
    if message.seen_as is not None and (sponsor is None or sponsor.name != message.seen_as):
        return Refused(Code.INVALID_STATE, "This campaign's sponsor has been renamed since you read it. Read it again.")
    move = message.move if campaign.edit is None else OF_EDITS.get(message.move, message.move)
    status = after(CAMPAIGN_MOVES, campaign.status, move)
    if status is None:
        return Refused(Code.INVALID_STATE, f"A campaign that is {campaign.status} cannot be {PAST[message.move]}.")
    note = message.note if message.move in REVIEWING or message.note is not None else campaign.review_note
    moved = replace(campaign, status=status, review_note=note)
    if message.move is CampaignMove.APPROVE:
        if sponsor is None:
            return Refused(Code.PROFILE_REQUIRED, "This sponsor has no profile yet, so there is no name to approve.")
        moved = replace(moved, shown_as=sponsor.name, content=campaign.newest)
    if move not in (CampaignMove.PAUSE, CampaignMove.RESUME):
        moved = replace(moved, pending=None)
    answer = _save_edit(unit, campaign, moved, message.origin, PAST[move])
    if not isinstance(answer, Refused) and message.move in REVIEWING:
        notifications.publish_review(unit, moved, f"campaign_{PAST[message.move]}", edit=move in OF_EDITS.values())
    return answer


def _save_edit(unit: UnitOfWork, before: Campaign, now: Campaign, origin: Origin, past: str) -> Answer:
    """Store and audit a changed campaign, unless too many of its account would wait for review."""
    if not now.waits:
        now = replace(now, submitted_ms=None)
    elif not before.waits:
        refused = _all_pending(unit, now.tenant_id)
        if refused is not None:
            return refused
        now = replace(now, submitted_ms=unit.now_ms)
    unit.save_campaign(now)
    unit.audit(origin, f"campaign.{past}", "campaign", now.id, _difference(before, now))
    return unit.campaign_view(now)


def too_many_campaigns(unit: UnitOfWork, tenant_id: str, *, new: Campaign | None) -> Refused | None:
    """Return why the account cannot have this new campaign, which waits for review; None if it can, or if there is none."""
    if new is None:
        return None
    total, most = unit.campaigns_of(tenant_id).total, unit.rules.campaigns
    if total >= most:
        words = f"This account has {most} campaigns, the maximum. Edit one of them instead."
        return Refused(Code.CAMPAIGN_LIMIT, words)
    return _all_pending(unit, tenant_id)


def _all_pending(unit: UnitOfWork, tenant_id: str) -> Refused | None:
    most = unit.rules.pending_campaigns
    if unit.campaigns_of(tenant_id).pending < most:
        return None
    words = f"{unit.having(tenant_id)} {most} campaigns that wait for review, the maximum."
    return Refused(Code.CAMPAIGN_LIMIT, f"{words} Wait for a review, or withdraw one.")


def is_bookable(campaign: Campaign) -> bool:
    return campaign.status is not CampaignStatus.REJECTED


def _difference(before: Campaign, now: Campaign) -> dict[str, list[str | None]]:
    """The changed fields, each with its old and new value."""
    old, new = _audited_fields(before), _audited_fields(now)
    names = {**old, **new}
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


def _audited_fields(campaign: Campaign) -> dict[str, str | None]:
    content, newest = asdict(campaign.content), asdict(campaign.newest)
    return {
        "name": campaign.name,
        "status": campaign.status,
        "review_note": campaign.review_note,
        "shown_as": campaign.shown_as,
        **content,
        **{f"pending_{name}": value for name, value in newest.items() if value != content[name]},
    }


def initials(name: str) -> str:
    """Up to 3 initials of a brand in capitals, or its first character if it has no letter or digit."""
    words = [word for word in name.split() if any(character.isalnum() for character in word)]
    letters = [next(character for character in word if character.isalnum()) for word in words]
    return "".join(letters).upper()[:INITIALS] or name.strip()[:1]


def send_digest(unit: UnitOfWork, _: SendDigest) -> Answer:
    """Write the digest, if a campaign was submitted since the last one and that is old enough."""
    reviews = unit.reviews
    if reviews.newest_ms <= reviews.mailed_ms or unit.now_ms < reviews.mailed_ms + unit.rules.digest_ms:
        return False
    if unit.decision.digest_ms is None:
        lines = [f"{view.sponsor_name or 'No name'}: {view.campaign.newest.headline}" for view in reviews.first]
        notifications.mail_review_digest(unit, reviews.count, "\n".join(lines))
        unit.decision.digest_ms = unit.now_ms
    return True
