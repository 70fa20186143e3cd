"""The audit in words: the changes of a record, and the changes of a campaign since its last approval. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any

from service.web.pages.parts.words import day, moment, money

LABELS: Mapping[str, str] = {
    "logoText": "Logo",
    "sponsorName": "Sponsor name",
    "headline": "Headline",
    "body": "Text",
    "cta": "Call to action",
    "targetUrl": "Link",
}
"""The parts of a campaign that visitors see, in the order of the ad."""

READ_FIRST = ("status", "name", "headline", "body", "cta", "targetUrl", "logoText")
"""The order in which a person reads the changes of a record; the database keeps none. Others follow as they come."""

LISTS = frozenset({"scopes"})
"""Fields whose value is a list. In all other fields, a list of two is the old and the new value."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_SENTENCES = re.compile(r"[^.!?\n]*(?:[.!?]+|\n|$)\s*")
_LINES = re.compile(r"[^\n]*(?:\n|$)")
MOST_PARTS = 200
"""Parts of a text that are compared: the time grows with their square. Longer texts are compared by sentences or lines, or as
a whole."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one field; `before` is None if there was no value before, or if it is not known."""

    name: str
    now: str
    before: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """The changes since the last approval. `approved_ms` is None without a known approval; `known` is then false if the
    audit was too long to be sure."""

    approved_ms: int | None
    known: bool
    changes: Sequence[Change] = ()


def changes_of(changes: Mapping[str, Any]) -> list[Change]:
    """The changes of an audit record, with amounts and moments in words. What a new thing does not have is no change."""
    currency = changes.get("currency")
    currency = currency if isinstance(currency, str) else "usd"  # slots have prices in it
    places = {name: place for place, name in enumerate(READ_FIRST)}
    return [
        Change(name, _words(name, value[1], currency), None if value[0] is None else _words(name, value[0], currency))
        if isinstance(value, list) and len(value) == 2 and name not in LISTS
        else Change(name, _words(name, value, currency))
        for name, value in sorted(changes.items(), key=lambda item: places.get(item[0], len(places)))
        if value is not None
    ]


APPROVALS = ("campaign.approved", "campaign.edit_approved")


def news_of(campaign: Mapping[str, Any], records: Sequence[Mapping[str, Any]], *, complete: bool) -> News:
    """The visible changes since the last approval: those of the waiting edit, or those in the audit records, newest first.
    `complete`: no record is missing."""
    revision: Mapping[str, Any] = campaign.get("pendingRevision") or {}
    before = {name: campaign[name] for name in revision}
    campaign = {**campaign, **revision}
    for place, record in enumerate(records):
        if record["action"] in APPROVALS:
            before |= _name_approved(records[place:])
            fresh = [
                Change(name, str(campaign.get(name, "")), str(before[name]))
                for name in LABELS
                if name in before and before[name] != campaign.get(name)
            ]
            return News(record["createdAt"], known=True, changes=fresh)
        if record["action"] == "campaign.edited":
            # Older records overwrite newer ones, so that the approved value remains.
            before |= {name: pair[0] for name, pair in record["changes"].items() if name in LABELS}
    return News(None, known=complete)


def _name_approved(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The approved sponsor name. The audit holds it only at approvals that changed it."""
    for record in records:
        if record["action"] in APPROVALS and "shownAs" in record["changes"]:
            return {"sponsorName": record["changes"]["shownAs"][1]}
    return {}


def _words(name: str, value: Any, currency: str) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and name.endswith("Cents"):
        return money(value, currency)
    if isinstance(value, int) and name == "weekStart":
        return day(value)
    if isinstance(value, int) and name.endswith("Ms"):
        return moment(value).words
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return str(value)


def words_between(before: str, now: str) -> list[tuple[str, str]]:
    """The parts of both texts in order, each with what became of it: `same`, `gone` or `new`. The parts that are not new
    make up `before`, and those that are not gone `now`. Texts that share no word stay whole."""
    for pattern in (_WORDS, _SENTENCES, _LINES):
        old, new = (list(filter(None, pattern.findall(text))) for text in (before, now))
        if max(len(old), len(new)) <= MOST_PARTS:
            break
    else:
        old, new = [before], [now]
    parts = list(_merged(_parts(old, new)))
    if any(kind == "same" and text.strip() for kind, text in parts):
        return parts
    return parts if before == now else [(kind, text) for kind, text in (("gone", before), ("new", now)) if text]


def _parts(old: list[str], new: list[str]) -> Iterator[tuple[str, str]]:
    for kind, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", "".join(old[old_from:old_to])
            continue
        if old_from < old_to:
            yield "gone", "".join(old[old_from:old_to])
        if new_from < new_to:
            yield "new", "".join(new[new_from:new_to])


def _merged(parts: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Join neighbours of one kind, so that a page has few elements."""
    for kind, group in groupby(parts, key=itemgetter(0)):
        yield kind, "".join(text for _, text in group)
