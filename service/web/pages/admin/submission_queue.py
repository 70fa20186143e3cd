"""The review queue of submissions: each beside the entry that the catalog has now, with what differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.catalog.messages import Kind
from service.web.pages.admin.record_changes import words_between
from service.web.pages.parts.entry_form import ADDRESSES, FORMS, typed_of
from service.web.pages.parts.filters import STATE, filtered
from service.web.pages.parts.forms import Field, Form, text_of
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import PLACE, next_row, page_at, row_with_focus, this_page

PAGE_SIZE = 5
"""Submissions on one page. Each can have several long texts."""

TITLES: Mapping[str, str] = {"pending": "Waiting", "accepted": "Accepted", "declined": "Declined"}
FILTERS = Form({"query": Field("Entry, email or id")}, unseen={"status": STATE})
HERE = ("status", "query", *PLACE)
"""The parameters that a decision keeps."""

REASONS = (
    "The catalog has this entry already.",
    "The source does not say this.",
    "The source cannot be opened.",
    "Describe what it does, rather than praise it.",
    "It does not fit into this catalog.",
)
"""Notes of a decline that are ready to be chosen."""

OUTDATED: Mapping[str, str] = {
    "taken": "The catalog has an entry at this address now.",
    "changed": "The entry has been changed since this edit was proposed.",
    "retired": "The entry has been retired since this edit was proposed.",
}

Parts = Sequence[tuple[str, str]]
"""Parts of a text, each with what became of it: `same`, `gone` or `new`."""


@dataclass(frozen=True, slots=True)
class Line:
    """One field of a submission: its label, what it was when the edit was proposed (None: the same as now), what it is in the
    catalog, and what is proposed. `link` is what is proposed if that is an address."""

    label: str
    base: str | None
    current: Parts
    proposed: Parts
    link: str = ""


async def queue(request: PageRequest) -> Template:
    state, text = request.query.get("status") or "pending", request.query.get("query") or None
    order = "oldest" if state == "pending" else "newest"
    query = {
        "status": state,
        "query": text,
        "order": order,
        "limit": PAGE_SIZE,
        "cursor": request.query.get("cursor"),
    }
    listed = filtered(await request.ask("listAllSubmissions", query=query), FILTERS, request.query)
    waiting = (await request.ask("countLists")).or_raise()["submissions"]
    values = {
        "entries": [{"item": item, "lines": lines_of(item)} for item in listed.page["items"]],
        "state": state,
        "text": text,
        "title": TITLES.get(state, "All"),
        "states": [
            (
                page_at("/admin/submissions", status=each, query=text),
                words,
                waiting if each == "pending" and not text else None,
                each == state,
            )
            for each, words in TITLES.items()
        ],
        "waiting_here": waiting,
        "outdated": OUTDATED,
        "reasons": REASONS,
        "at": row_with_focus(request, len(listed.page["items"])),
        "action": this_page(request, *HERE),
        "paging": listed.paging(request, "status", "query", total=waiting if state == "pending" and not text else None),
    }
    return listed.with_errors(Template("admin_submissions.html", values))


def lines_of(item: Mapping[str, Any]) -> list[Line]:
    """The fields of a new entry. Of an edit, those that differ between what it was, what it is and what is proposed."""
    kind, proposed = Kind(item["kind"]), typed_of(Kind(item["kind"]), item["entry"])
    # A decided submission is compared with what it was about: the catalog goes on.
    stored = item.get("current") if item["status"] == "pending" else item.get("base")
    current = typed_of(kind, stored or {})
    base = typed_of(kind, item["base"]) if "base" in item else current
    new = "base" not in item and not stored
    return [
        _line(field.label, base[name], current[name], proposed[name], link=name in ADDRESSES)
        for name, field in FORMS[kind].fields.items()
        if (proposed[name] if new else len({base[name], current[name], proposed[name]}) > 1)
    ]


def _line(label: str, base: str, current: str, proposed: str, *, link: bool) -> Line:
    parts = words_between(current, proposed) if current else [("same", proposed)] * bool(proposed)
    return Line(
        label,
        None if base == current else base,
        [part for part in parts if part[0] != "new"] if current else (),
        [part for part in parts if part[0] != "gone"],
        proposed if link else "",
    )


def _deciding(decision: str) -> Act:
    async def act(request: PageRequest) -> SeeOther | FormError:
        note = text_of(request.form, "note")
        if decision == "decline" and note is None:
            return FormError.at(note="Write why you decline it. The account reads it.")
        body = {"decision": decision, "seen": request.form.get("seen", "")} | ({} if note is None else {"note": note})
        result = await request.ask("reviewSubmission", path={"id": request.form.get("submission", "")}, body=body)
        if result.refused is not None:
            return FormError(result.refused)
        return SeeOther(next_row(request, *HERE), f"submission_{result.json['submission']['status']}")

    return act


DECIDING = Form({"note": Field("Note", id="note-{submission}")})
DECISIONS = ("accept", "decline")
ACTIONS = {decision: _deciding(decision) for decision in DECISIONS}

PAGES = (Page("/admin/submissions", queue, ACTIONS, Audience.ADMIN, forms=dict.fromkeys(DECISIONS, DECIDING)),)
