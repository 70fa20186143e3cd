"""The audit in words: what a change was, and what of a campaign is new since it was last approved. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.web.pages.words import moment, money

LABELS: Mapping[str, str] = {
    "logoText": "Logo",
    "sponsorName": "Sponsor name",
    "headline": "Headline",
    "body": "Text",
    "cta": "Call to action",
    "targetUrl": "Link",
}
"""What visitors see of a campaign, in the order in which they see it."""

LISTS = frozenset({"scopes"})
"""Fields that hold a list of values; elsewhere a list of two is what was before and what is now."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field; `before` is None where only what it was set to is known."""

    name: str
    now: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """What is new since the last approval. `approved_ms` is None where there was none, or none that is known."""

    approved_ms: int | None
    known: bool
    changes: Sequence[Change] = ()


def changes_of(changes: Mapping[str, Any]) -> list[Change]:
    """The changes of an audit record, with amounts and moments as people write them."""
    words = []
    for name, value in changes.items():
        if isinstance(value, list) and len(value) == 2 and name not in LISTS:
            words.append(Change(name, _words(name, value[1]), _words(name, value[0])))
        else:
            words.append(Change(name, _words(name, value)))
    return words


def news_of(campaign: Mapping[str, Any], records: Sequence[Mapping[str, Any]], *, complete: bool) -> News:
    """What of a campaign is not what was approved last, from its audit, newest first. `complete`: no record is missing."""
    before: dict[str, Any] = {}
    for place, record in enumerate(records):
        if record["action"] == "campaign.approved":
            before |= _name_approved(records[place:])
            fresh = [
                Change(name, str(campaign.get(name, "")), str(before[name]))
                for name in LABELS
                if name in before and before[name] != campaign.get(name)
            ]
            return News(record["createdAt"], known=True, changes=fresh)
        if record["action"] == "campaign.edited":
            # The older the record, the nearer to what was approved.
            before |= {name: pair[0] for name, pair in record["changes"].items() if name in LABELS}
    return News(None, known=complete)


def _name_approved(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sponsor's name that was approved: the audit tells it where it changed."""
    for record in records:
        if record["action"] == "campaign.approved" and "shownAs" in record["changes"]:
            return {"sponsorName": record["changes"]["shownAs"][1]}
    return {}


def _words(name: str, value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("Cents"):
        return money(value)
    if isinstance(value, int) and (name.endswith("Ms") or name == "weekStart"):
        return moment(value)["words"]
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return str(value)
