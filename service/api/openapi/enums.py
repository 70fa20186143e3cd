"""Names for sets of values that several models and parameters share, so that generated clients have one class for each."""

from collections.abc import Mapping
from typing import Any

NAMED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "BillingMode": ("Whether money moves (`live`) or not (`test`).", ("test", "live")),
    "Side": ("Column of the page in which a slot is shown.", ("left", "right")),
    "PackageKind": (
        "What the price of a slot includes: a place on the website, a video, or both (`bundle`).",
        ("website", "youtube", "bundle"),
    ),
    "VideoStatus": ("State of the video of a booking.", ("planned", "published")),
    "CampaignStatus": (
        "State of a campaign; only approved ones are shown.",
        ("draft", "pending", "approved", "rejected", "paused"),
    ),
    "BookingStatus": (
        "State of a booking; its weeks are held while it is reserved, in checkout or paid.",
        ("reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded"),
    ),
    "Tier": ("Tier of an account, which decides on its quota.", ("claimed", "upgraded")),
    "KeyTier": ("Tier of a key, which decides on its quota.", ("anonymous", "claimed", "upgraded")),
    "EventKind": ("Kind of event on a placement.", ("impression", "click")),
    "FileFormat": ("Format of a list; `csv` is a file.", ("json", "csv")),
}
"""Descriptions and values by name."""

_NAMES = {values: name for name, (_, values) in NAMED.items()}
_ITS_OWN = ("description", "default", "examples")
"""Keywords that a place keeps beside the reference."""


def named_values() -> dict[str, Any]:
    """The component schemas of the sets."""
    return {
        name: {"title": name, "description": description, "type": "string", "enum": list(values)}
        for name, (description, values) in NAMED.items()
    }


def with_names(part: Any) -> Any:
    """A part of the document in which references replace the values of these sets."""
    if isinstance(part, list):
        return [with_names(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    values = part.get("enum")
    if part.get("type") == "string" and isinstance(values, list) and tuple(values) in _NAMES:
        kept = {key: part[key] for key in _ITS_OWN if key in part}
        return {"$ref": f"#/components/schemas/{_NAMES[tuple(values)]}", **kept}
    return {key: inner if key in ("example", "examples") else with_names(inner) for key, inner in part.items()}
