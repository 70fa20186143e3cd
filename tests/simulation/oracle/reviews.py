"""Reviews of campaigns: approved content changes only by an approval, and what is approved is what was read."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from actors.bookings.records import Campaign, CampaignStatus
from actors.values import AuditRecord
from tests.simulation.oracle.bookings import CONTENT, RUNNING
from tests.simulation.oracle.log import Commit, moved
from tests.simulation.rules import BOOKINGS

if TYPE_CHECKING:
    from tests.simulation.world import World

Words = dict[str, str]


def content_follows_from_the_reviews(world: "World", commit: Commit) -> Iterator[str]:
    """The records of a campaign, one after the other, lead to its content and to its edit."""
    for campaign_id, (before, after) in commit.of("campaigns").items():
        audits = commit.audits_of(campaign_id)
        if before is None:
            created = json.loads(audits[0].changes) if audits else {}
            words: Words = {name: created.get(_wire(name), "") for name in CONTENT}
            status, edit, audits = CampaignStatus.PENDING, None, audits[1:]
        else:
            words, status = asdict(before.content), before.status
            edit = None if before.pending is None else asdict(before.pending)
        for audit in audits:
            status = CampaignStatus((moved(audit) or (status, status))[1])
            words, edit = _after(audit, status, words, edit)
        found = None if after.pending is None else asdict(after.pending)
        if (asdict(after.content), found) != (words, edit):
            yield f"the records of {campaign_id} lead to {words} and the edit {edit}, but it has {after}"


def _after(audit: AuditRecord, status: CampaignStatus, words: Words, edit: Words | None) -> tuple[Words, Words | None]:
    changes = json.loads(audit.changes)
    match audit.action:
        case "campaign.edited" if status in RUNNING:
            newest = dict(edit or words)
            for name in CONTENT:
                _, new = changes.get(_wire(f"pending_{name}"), (None, newest[name]))
                newest[name] = words[name] if new is None else new
            return words, newest if newest != words else None
        case "campaign.edited":
            return {name: changes.get(_wire(name), (None, words[name]))[1] for name in CONTENT}, None
        case "campaign.edit_approved":
            return edit or words, None
        case "campaign.paused" | "campaign.resumed":
            return words, edit
    return words, None


def _wire(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def approvals_are_about_what_waits(world: "World", commit: Commit) -> Iterator[str]:
    """A review of an edit needs one. Approved content is shown under the sponsor's name."""
    for campaign_id, (before, after) in commit.of("campaigns").items():
        edit = before is not None and _has_edit(before)
        for audit in commit.audits_of(campaign_id):
            if audit.action == "campaign.edited":
                edit = edit or any(name.startswith("pending") for name in json.loads(audit.changes))
            elif audit.action.startswith("campaign.edit_"):
                if not edit:
                    yield f"{audit.action} of {campaign_id} is about no edit: {before}"
                edit = False
        if after.status in RUNNING and after.shown_as is None:
            yield f"{campaign_id} is {after.status} under no name"


def _has_edit(campaign: Campaign) -> bool:
    return campaign.pending is not None and campaign.status in RUNNING


def digests_come_in_time_and_not_too_often(world: "World", commit: Commit) -> Iterator[str]:
    before_ms, mailed_ms = commit.digests
    if mailed_ms == before_ms:
        return
    if mailed_ms != commit.now_ms or mailed_ms < before_ms + BOOKINGS.digest_ms:
        yield f"a digest was mailed at {mailed_ms} after that of {before_ms}"
    rows = [
        row
        for campaign_id in world.memory.campaigns
        for row in world.log.during("campaigns", campaign_id, commit.tick - 1, commit.tick)
    ]
    if not any((row.submitted_ms or 0) > before_ms for row in rows if row is not None):
        yield f"a digest was mailed at {mailed_ms}, but nothing was submitted since {before_ms}"
