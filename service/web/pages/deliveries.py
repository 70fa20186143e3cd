"""Everybody's bookings as administrators see them: refunds, and how far videos are."""

from actors.values import Code, Refused
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following, this_page
from service.web.pages.typed import text_of

FAILED_REFUNDS = ("refund_declined", "refund_failed")
"""Issues after which an administrator may order a refund again."""


async def bookings(visit: PageRequest) -> Template:
    page = (await visit.ask("listAllBookings", query={"cursor": visit.query.get("cursor")})).or_refused()
    values = {
        "bookings": page["items"],
        "failed_refunds": FAILED_REFUNDS,
        "action": this_page(visit, "cursor"),
        "older": following(visit, page),
    }
    return Template("admin_bookings.html", values)


async def refund(visit: PageRequest) -> SeeOther | FormError:
    if visit.form.get("sure") != "yes":
        return FormError(Refused(Code.INVALID_REQUEST, "Tick the box to confirm that all of it is to be paid back."))
    reason = text_of(visit.form, "reason")
    body = None if reason is None else {"reason": reason}
    told = await visit.ask("refundBooking", path={"id": visit.form.get("booking", "")}, body=body)
    return (
        FormError(told.refused) if told.refused is not None else SeeOther(this_page(visit, "cursor"), "refund_ordered")
    )


async def describe(visit: PageRequest) -> SeeOther | FormError:
    body = {
        "youtubeStatus": visit.form.get("youtubeStatus", ""),
        "youtubeUrl": text_of(visit.form, "youtubeUrl"),
        "youtubeNotes": text_of(visit.form, "youtubeNotes"),
    }
    told = await visit.ask("describeVideo", path={"id": visit.form.get("booking", "")}, body=body)
    return FormError(told.refused) if told.refused is not None else SeeOther(this_page(visit, "cursor"), "video_saved")


PAGES = (Page("/admin/bookings", bookings, {"refund": refund, "describe": describe}, Audience.ADMIN),)
