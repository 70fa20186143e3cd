"""The bookings of all sponsors, for administrators: the list with its filters, and a page for each with all that is known of
it, refunds, and its video."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.bookings.records import BookingStatus
from service.web.pages.admin import audit_words
from service.web.pages.admin.slots import by_name, page_of
from service.web.pages.parts.badges import FAILED_REFUNDS, LISTED
from service.web.pages.parts.booking_words import run_of
from service.web.pages.parts.charts import delivery_chart
from service.web.pages.parts.filters import STATE, filtered
from service.web.pages.parts.forms import Field, Form, address_of, day_ms_of, text_of
from service.web.pages.parts.messages import CHOOSE
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import page_at
from service.web.pages.parts.words import when

LIST = "/admin/bookings"
FILTERS = ("query", "status", "week", "sponsor", "slot", "trouble")
"""Parameters of the page. Those of the API have the same names; only the week is a date here."""

SEARCH = Form(
    {
        "query": Field("Sponsor, slot, booking or payment"),
        "slot": Field("Slot", CHOOSE, right=CHOOSE),
        "week": Field("Week of", right="Write a date such as 2026-11-30."),
    },
    unseen={"status": STATE, "trouble": STATE, "sponsor": "There is no such sponsor. Search for its name instead."},
)

PAGE_SIZE = 25
"""Bookings on one page, which stays under 60 kB."""

STEPS = 50
"""Records of the history of a booking on its page."""

ACTS: Mapping[str, str] = {
    "decide_refund": "Decide",
    "refund_again": "Refund again",
    "refund_second_payment": "Refund",
    "answer_dispute": "Answer",
}
"""What the last column of the list leads to."""


async def bookings(request: PageRequest) -> Template:
    typed = {name: request.query.get(name) or None for name in FILTERS}
    query = typed | {"week": _week(typed["week"])}
    asked = query | {"cursor": request.query.get("cursor"), "limit": PAGE_SIZE}
    listed = filtered(await request.ask("listAllBookings", query=asked), SEARCH, request.query)
    typed = listed.usable(typed)
    slots = await by_name(request)
    counts = (await request.ask("countLists")).or_raise()
    paging = listed.paging(request, *FILTERS, total=_total(typed, counts))
    values = {
        "bookings": listed.page["items"],
        "filters": typed,
        "filtered": any(typed.values()),
        "slot_choices": _slot_choices(slots, typed["slot"]),
        "states": _states(typed, counts),
        "total": paging.total,
        "acts": ACTS,
        "paging": paging,
        "csv": page_at("/api/v1/admin/sponsorships/bookings", format="csv", **typed | {"week": query["week"]}),
    }
    return listed.with_errors(Template("admin_bookings.html", values))


def _slot_choices(slots: Sequence[Mapping[str, Any]], chosen: str | None) -> list[tuple[str, str]]:
    """The slots to choose from, and the chosen one if it is none of them, so that the form says what it filters by."""
    names = {"": "Any"} | {slot["id"]: slot["name"] for slot in slots}
    return list(({chosen or "": "Another slot"} | names).items())


def _total(typed: Mapping[str, str | None], counts: Mapping[str, Any]) -> int | None:
    """The bookings of the list, if they are counted: all, those in one state, or those that need attention."""
    match {name: value for name, value in typed.items() if value}:
        case {**others} if not others:
            return int(sum(counts["bookings"].values()))
        case {"status": str(status), **others} if not others:
            return int(counts["bookings"].get(status, 0))
        case {"trouble": "true", **others} if not others:
            return int(counts["bookingsInTrouble"])
        case {"trouble": "requested", **others} if not others:
            return int(counts["refundRequests"])
        case _:
            return None


def _week(text: str | None) -> str | None:
    """The week of a typed date, as the API takes it. Other text stays as it is, and the operation refuses it."""
    day_ms = None if text is None else day_ms_of(text)
    return text if day_ms is None else str(day_ms)


def _states(typed: Mapping[str, str | None], counts: Mapping[str, Any]) -> list[tuple[str, str, int | None, bool]]:
    """A chip for each state that bookings are in, with its number. The results of other filters are not counted by state."""
    others = {name: typed[name] for name in FILTERS if name not in ("status", "trouble")}
    counted = not any(others.values())
    chips = [
        ({}, "All", sum(counts["bookings"].values()), not (typed["status"] or typed["trouble"])),
        ({"trouble": "true"}, "Needs attention", counts["bookingsInTrouble"], typed["trouble"] == "true"),
        *(
            ({"status": status}, LISTED[BookingStatus(status)], count, typed["status"] == status)
            for status, count in counts["bookings"].items()
            if count or typed["status"] == status
        ),
    ]
    return [
        (page_at(LIST, **others | own), words, number if counted else None, chosen)
        for own, words, number, chosen in chips
    ]


async def booking(request: PageRequest) -> Template:
    found = (await request.ask("readDossier", path=request.path_values)).or_raise()
    shown = found["booking"]
    records = (await request.ask("listAudit", query={"targetId": shown["id"], "limit": STEPS})).or_raise()
    days, refund = found["days"], _can_refund(shown)
    values = {
        **found,
        "steps": [_step(record, request.now_ms) for record in records["items"] or _known(found)],
        "earlier": records["hasMore"],
        "chart": delivery_chart(days, request.now_ms, shown["weekEnd"]) if days else None,
        "can_refund": refund,
        "failed_refunds": FAILED_REFUNDS,
        "has_video": shown.get("packageKind") in ("youtube", "bundle"),
        "slot_page": page_of(shown["slotId"]),
        "run": run_of(shown, request.now_ms),
    }
    return Template("admin_booking.html", values)


def _can_refund(shown: Mapping[str, Any]) -> bool:
    issue = shown.get("paymentIssue")
    return (shown["status"] == "paid" and issue != "disputed") or (
        shown["status"] == "refunding" and issue in FAILED_REFUNDS
    )


def _known(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps that the booking itself tells, newest first, if the audit has none of them, or no longer."""
    times = {"booking.paid": found["paidAt"], "booking.reserved": found["booking"]["createdAt"]}
    return [{"action": action, "createdAt": at_ms} for action, at_ms in times.items() if at_ms is not None]


def _step(record: Mapping[str, Any], now_ms: int) -> tuple[str, str, bool]:
    """A step of the history: what was done, when, and by whom."""
    by = record.get("actorEmail") or ("actorType" in record and audit_words.way(record))
    at = str(when(record["createdAt"], now_ms, first=True))
    return audit_words.done(record["action"]), f"{at}, {by}" if by else at, False


async def refund(request: PageRequest) -> SeeOther | FormError:
    if request.form.get("sure") != "yes":
        return FormError.at(sure="Tick the box to confirm the full refund.")
    reason = text_of(request.form, "reason")
    body = None if reason is None else {"reason": reason}
    result = await request.ask("refundBooking", path=request.path_values, body=body)
    return result.see_other(request.path, "refund_ordered")


async def decline(request: PageRequest) -> SeeOther | FormError:
    note = text_of(request.form, "note")
    if note is None:
        return FormError.at(note="Write why you decline the refund. The sponsor reads it.")
    result = await request.ask("declineRefund", path=request.path_values, body={"note": note})
    return result.see_other(request.path, "refund_request_declined")


async def describe(request: PageRequest) -> SeeOther | FormError:
    body = {
        "youtubeStatus": request.form.get("youtubeStatus", ""),
        "youtubeUrl": address_of(request.form, "youtubeUrl") or None,
        "youtubeNotes": text_of(request.form, "youtubeNotes"),
    }
    result = await request.ask("describeVideo", path=request.path_values, body=body)
    return result.see_other(request.path, "video_saved")


FORMS = {
    "refund": Form({"reason": Field("Reason"), "sure": Field("Confirmation")}),
    "decline": Form({"note": Field("Note to the sponsor")}),
    "describe": Form(
        {
            "youtubeStatus": Field("The video is", CHOOSE),
            "youtubeUrl": Field("Address", "Write the address of the published video."),
            "youtubeNotes": Field("Notes"),
        }
    ),
}

PAGES = (
    Page(LIST, bookings, who=Audience.ADMIN),
    Page(
        f"{LIST}/{{id}}",
        booking,
        {"refund": refund, "decline": decline, "describe": describe},
        Audience.ADMIN,
        forms=FORMS,
    ),
)
