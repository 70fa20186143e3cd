"""The bookings of all sponsors, for administrators: filters, what needs attention first, refunds, and videos."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.bookings.records import BookingStatus
from service.web.pages.admin.slots import by_name
from service.web.pages.parts.badges import FAILED_REFUNDS, LISTED
from service.web.pages.parts.filters import STATE, filtered
from service.web.pages.parts.forms import Field, Form, address_of, day_ms_of, text_of
from service.web.pages.parts.messages import CHOOSE
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import PLACE, page_at, this_page
from service.web.pages.parts.words import counted

LIST = "/admin/bookings"
FILTERS = ("query", "status", "week", "sponsor", "slot", "trouble")
"""Parameters of the page. Those of the API have the same names; only the week is a date here."""

SEARCH = Form(
    {
        "query": Field("Sponsor, booking or payment"),
        "slot": Field("Slot", CHOOSE, right=CHOOSE),
        "week": Field("Week of", right="Write a date such as 2026-11-30."),
    },
    unseen={"status": STATE, "trouble": STATE, "sponsor": "There is no such sponsor. Search for its name instead."},
)

MAX_TROUBLE = 8
"""Bookings that need attention on one page. The rest is behind the filter for them."""


PAGE_SIZE = 14
"""Other bookings on one page. Each has its forms, and a page stays under 60 kB."""


async def bookings(request: PageRequest) -> Template:
    typed = {name: request.query.get(name) or None for name in FILTERS}
    query = typed | {"week": _week(typed["week"])}
    cursor = request.query.get("cursor")
    # Bookings that need attention stand first, so the rest leaves them out.
    rest = query | {"trouble": typed["trouble"] or "false", "cursor": cursor, "limit": PAGE_SIZE}
    listed = filtered(await request.ask("listAllBookings", query=rest), SEARCH, request.query)
    typed = listed.usable(typed)
    trouble: list[Any] = []
    if typed["trouble"] is None and cursor is None and not listed.refused:
        first = query | {"trouble": "true", "limit": MAX_TROUBLE}
        trouble = (await request.ask("listAllBookings", query=first)).or_raise()["items"]
    slots = await by_name(request)
    counts = (await request.ask("countLists")).or_raise()
    values = {
        "trouble": trouble,
        "bookings": listed.page["items"],
        "filters": typed,
        "filtered": any(typed.values()),
        "slot_choices": _slot_choices(slots, typed["slot"]),
        "states": _states(typed, counts),
        "summary": _summary(typed, counts),
        "failed_refunds": FAILED_REFUNDS,
        "action": this_page(request, *FILTERS, *PLACE),
        "paging": listed.paging(request, *FILTERS, total=_total(typed, counts)),
        "csv": page_at("/api/v1/admin/sponsorships/bookings", format="csv", **typed | {"week": query["week"]}),
    }
    return listed.with_errors(Template("admin_bookings.html", values))


def _slot_choices(slots: Sequence[Mapping[str, Any]], chosen: str | None) -> list[tuple[str, str]]:
    """The slots to choose from, and the chosen one if it is none of them, so that the form says what it filters by."""
    names = {"": "Any"} | {slot["id"]: slot["name"] for slot in slots}
    return list(({chosen or "": "Another slot"} | names).items())


def _total(typed: Mapping[str, str | None], counts: Mapping[str, Any]) -> int | None:
    """The bookings of the paged list, if they are counted: all but those that need attention, or just those."""
    chosen = {name: value for name, value in typed.items() if value}
    if not chosen:
        return int(sum(counts["bookings"].values()) - counts["bookingsInTrouble"])
    return int(counts["bookingsInTrouble"]) if chosen == {"trouble": "true"} else None


def _week(text: str | None) -> str | None:
    """The week of a typed date, as the API takes it. Other text stays as it is, and the operation refuses it."""
    day_ms = None if text is None else day_ms_of(text)
    return text if day_ms is None else str(day_ms)


def _summary(typed: Mapping[str, str | None], counts: Mapping[str, Any]) -> str:
    """How many bookings there are, and how many of them need attention."""
    if typed["sponsor"]:
        return "Bookings of one sponsor"
    number, trouble = sum(counts["bookings"].values()), counts["bookingsInTrouble"]
    if not number:
        return ""
    return f"{counted(number, 'booking')}, {trouble:,} {'needs' if trouble == 1 else 'need'} attention"


def _states(typed: Mapping[str, str | None], counts: Mapping[str, Any]) -> list[tuple[str, str, int, bool]]:
    """A chip for each state that bookings are in, with its number in all bookings."""
    others = {name: typed[name] for name in FILTERS if name not in ("status", "trouble")}
    number, trouble = sum(counts["bookings"].values()), counts["bookingsInTrouble"]
    chips = [
        (page_at(LIST, **others), "All", number, not (typed["status"] or typed["trouble"])),
        (page_at(LIST, trouble="true", **others), "Needs attention", trouble, typed["trouble"] == "true"),
    ]
    for status, count in counts["bookings"].items():
        chosen = typed["status"] == status
        if count or chosen:
            chips.append((page_at(LIST, status=status, **others), LISTED[BookingStatus(status)], count, chosen))
    return chips


async def refund(request: PageRequest) -> SeeOther | FormError:
    if request.form.get("sure") != "yes":
        return FormError.at(sure="Tick the box to confirm the full refund.")
    reason = text_of(request.form, "reason")
    body = None if reason is None else {"reason": reason}
    result = await request.ask("refundBooking", path={"id": request.form.get("booking", "")}, body=body)
    return result.see_other(this_page(request, *FILTERS, *PLACE), "refund_ordered")


async def describe(request: PageRequest) -> SeeOther | FormError:
    body = {
        "youtubeStatus": request.form.get("youtubeStatus", ""),
        "youtubeUrl": address_of(request.form, "youtubeUrl") or None,
        "youtubeNotes": text_of(request.form, "youtubeNotes"),
    }
    result = await request.ask("describeVideo", path={"id": request.form.get("booking", "")}, body=body)
    return result.see_other(this_page(request, *FILTERS, *PLACE), "video_saved")


FORMS = {
    "refund": Form(
        {"reason": Field("Reason", id="reason-{booking}"), "sure": Field("Confirmation", id="sure-{booking}")}
    ),
    "describe": Form(
        {
            "youtubeStatus": Field("The video is", CHOOSE, id="video-{booking}"),
            "youtubeUrl": Field("Address", "Write the address of the published video.", id="address-{booking}"),
            "youtubeNotes": Field("Notes", id="notes-{booking}"),
        }
    ),
}

PAGES = (Page(LIST, bookings, {"refund": refund, "describe": describe}, Audience.ADMIN, forms=FORMS),)
