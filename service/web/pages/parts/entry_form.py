"""The form of an entry of the catalog: its fields, the entry of what was typed, and the reverse. Pure.

A guide is part of an entry if one of its fields is filled in. Lists have an item a line.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actors.catalog.messages import Kind
from actors.values import Problem, Refused
from service.web.pages.parts.forms import PAGE_PROBLEM, Field, Form, address_of, line_of, sentence_of, text_of
from service.web.pages.parts.messages import ADDRESS, BY_CODE

SLUG = Field(
    "Address",
    "Write an address, such as sorts-receipts.",
    "Write small letters, digits and single hyphens, such as sorts-receipts.",
)
WHO = {
    "who": Field("Who runs it", "Write who runs it, such as A dentist in Lyon."),
    "handle": Field("Public handle", "Write the handle under which others find them, such as @name."),
}
FORMS: Mapping[Kind, Form] = {
    Kind.USECASES: Form(
        {
            "title": Field("Title", "Write a title."),
            "roi": Field("Result", "Write what it brought, such as 2 hours a week."),
            "sourceUrl": Field("Source", ADDRESS),
            **WHO,
            "slug": SLUG,
            "guide_title": Field("Title of the guide", "Write a title for the guide."),
            "guide_category": Field("Category", "Write a category, such as Finance."),
            "guide_opportunity": Field("What it can bring", "Write what can be gained."),
            "guide_audience": Field("For whom", "Write for whom it is."),
            "guide_platforms": Field("Needs"),
            "guide_steps": Field("Steps"),
            "guide_prompt": Field("Prompt", "Write the prompt to start with."),
            "guide_botSlugs": Field("Bot templates", right=SLUG.right),
            "value_amount": Field("Amount in US dollars", "Write the amount, such as 400."),
            "value_label": Field("Of what", "Write what the amount is, such as a month."),
            "value_basis": Field("Basis", "Write where the amount is from."),
            "value_kind": Field("Kind of the amount"),
        }
    ),
    Kind.BOTS: Form(
        {
            "name": Field("Name", "Write a name."),
            "category": Field("Category"),
            "job": Field("What it does", "Write what it does."),
            "templateUrl": Field("Template", ADDRESS),
            **WHO,
            "slug": SLUG,
        }
    ),
}
LINES = ("guide_platforms", "guide_botSlugs", "guide_steps")
"""Fields with an item a line."""
TEXTS = ("roi", "guide_opportunity", "guide_audience", "guide_prompt", "value_basis", "job")
"""Fields of several lines."""
ADDRESSES = ("sourceUrl", "templateUrl")
VALUE_KINDS = {"illustrative": "An illustration", "reported": "Reported by somebody"}
LONGEST_SLUG = 100


def entry_of(kind: Kind, form: Mapping[str, str], added_ms: int | str | None) -> dict[str, Any]:
    """The entry that was typed, which the operation validates. Without a slug, it has that of its name. `added_ms` is a text
    if that is no time, and None if there is none."""
    typed = {name: _typed(form, name) for name in FORMS[kind].fields}
    entry: dict[str, Any] = {name: value for name, value in typed.items() if "_" not in name and value != ""}
    if added_ms is not None:
        entry["addedAt"] = added_ms
    if "slug" not in entry:
        entry["slug"] = slug_of(str(entry.get("title") or entry.get("name") or ""))
    guide: dict[str, Any] = {
        name.removeprefix("guide_"): value for name, value in typed.items() if name.startswith("guide_")
    }
    worth = {name.removeprefix("value_"): value for name, value in typed.items() if name.startswith("value_")}
    if any(value for name, value in worth.items() if name != "kind"):
        guide["value"] = {name: value for name, value in worth.items() if value != ""}
    if any(guide.values()):
        entry["guide"] = {name: value for name, value in guide.items() if value != ""}
    return entry


def _typed(form: Mapping[str, str], name: str) -> str | list[str]:
    if name in LINES:
        return [line.strip() for line in form.get(name, "").splitlines() if line.strip()]
    if name in ADDRESSES:
        return address_of(form, name)
    return (text_of(form, name) or "") if name in TEXTS else line_of(form, name)


def typed_of(kind: Kind, entry: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the form of an entry, in its order. Those that the entry does not have are empty."""
    guide = entry.get("guide") or {}
    parts = {"guide": guide, "value": guide.get("value") or {}}
    found: dict[str, str] = {}
    for name in FORMS[kind].fields:
        part, _, inner = name.partition("_")
        value = parts[part].get(inner, "") if inner else entry.get(name, "")
        found[name] = "\n".join(value) if isinstance(value, list) else str(value)
    return found


def slug_of(name: str) -> str:
    """A slug of the letters and digits of a name: `Sorts receipts (é)` becomes `sorts-receipts-e`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:LONGEST_SLUG].rstrip("-")


def at_fields(refused: Refused, kind: Kind, form: Mapping[str, str]) -> Refused:
    """A refusal of an entry with its problems at the fields of this form: `entry.guide.steps.1` is about the steps."""
    problems = tuple(_at_field(each, kind, form) for each in refused.problems)
    return replace(refused, problems=problems)


def _at_field(problem: Problem, kind: Kind, form: Mapping[str, str]) -> Problem:
    first, *rest = problem.field.removeprefix("entry.").split(".")
    if first == "guide" and rest:
        first, *rest = (
            (f"value_{rest[1]}", *rest[2:]) if rest[0] == "value" and rest[1:] else (f"guide_{rest[0]}", *rest[1:])
        )
    if first == "entry":
        return Problem("", PAGE_PROBLEM, BY_CODE[problem.code])
    field = FORMS[kind].fields.get(first)
    if field is None or not rest or not rest[0].isdigit():
        return replace(problem, field=first)
    lines, number = _typed(form, first), int(rest[0])
    words = sentence_of(replace(problem, field=first), field, lines[number] if number < len(lines) else "")
    return Problem(first, PAGE_PROBLEM, f"Line {number + 1}: {words}")
